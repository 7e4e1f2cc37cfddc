/* Usage: held_blocks WAY: what holds blocks that are not lost.
 *   inside  a pointer far inside of a large block is all that leads to it
 *   child   in a forked child: its parent's table
 *   later   a table from a time at which recording was off
 *   profile blocks that live longer than the profile of the C API to which they belong
 *   many    more sampled blocks than the recorder's table has room for
 * keep() allocates them. */
#include <fbleprof/fbleprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct node {
  struct node* next;
  char content[100];
};

enum { kBlocks = 1000 };
static struct node** table;
static char* inside;
static void** many;

__attribute__((noinline)) static struct node* keep(void) {
  struct node* made = malloc(sizeof *made);
  if (made == NULL) abort();
  memset(made, 0, sizeof *made);
  return made;
}

__attribute__((noinline)) static void keep_large(void) {
  char* large = malloc(1 << 20);
  if (large == NULL) abort();
  inside = large + (400 << 10);
}

__attribute__((noinline)) static void keep_many(long count) {
  for (long i = 0; i < count; ++i) many[i] = malloc(16);
}

__attribute__((noinline)) static void forget_stack(void) {
  char content[20000];
  memset(content, 0, sizeof content);
  __asm__ volatile("" ::"r"(content) : "memory");
}

static void fill_table(void) {
  for (int i = 0; i < kBlocks; ++i) {
    table[i] = keep();
    table[i]->next = keep();
  }
}

static void make_table(void) {
  table = calloc(kBlocks, sizeof *table);
  if (table == NULL) abort();
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "inside") == 0) {
    keep_large();
    forget_stack();
  } else if (strcmp(way, "child") == 0) {
    make_table();
    const pid_t child = fork();
    if (child == 0) {
      fill_table();
      // A child that computes for less than two sampling periods has no profile.
      while (clock() < CLOCKS_PER_SEC / 50) {
      }
      exit(0);
    }
    if (waitpid(child, NULL, 0) != child) abort();
  } else if (strcmp(way, "later") == 0) {
    fbleprof_stop();
    make_table();
    fbleprof_start();
    fill_table();
  } else if (strcmp(way, "profile") == 0) {
    make_table();
    for (int i = 0; i < 10; ++i) {
      fbleprof_profile* profile = fbleprof_profile_new("request");
      fbleprof_profile* before = fbleprof_profile_with(profile);
      if (i > 0) free(table[i - 1]);
      table[i] = keep();
      fbleprof_profile_with(before);
      fbleprof_profile_free(profile);
    }
  } else if (strcmp(way, "many") == 0) {
    const long count = 600000;
    many = malloc((size_t)count * sizeof *many);
    if (many == NULL) abort();
    keep_many(count);
    for (long i = 0; i < count; ++i) free(many[i]);
    free(many);
  }
  puts("done");
  return 0;
}
