/* The C API with arguments at the edge of what it takes: api_edges recorded|nothing|full|busy
 * PROFILE. Prints what does not hold. recorded: with a recorder; nothing: with none, or where it
 * can make no profile; full: until its memory ends; busy: writes PROFILE.0 and on. */
#include <errno.h>
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed;
static void hold(int holds, const char* what, int line) {
  if (holds) return;
  printf("line %d: %s\n", line, what);
  ++failed;
}
#define HOLDS(condition) hold(condition, #condition, __LINE__)

static fbleprof_source source_of(const char* name, const char* file, uint32_t line) {
  fbleprof_source source = {name, file, line, 0, "Test"};
  return source;
}

static int stop_at_once(const fbleprof_visit* visit, void* argument) {
  (void)visit;
  ++*(int*)argument;
  return 7;
}
/* What a query tells of the block that `argument` names. */
struct Asked {
  const char* name;
  uint64_t calls, back_calls, tail_calls;
  int profiles;
};
static int add_up(const fbleprof_visit* visit, void* argument) {
  struct Asked* asked = (struct Asked*)argument;
  if (!visit->name || visit->name_length != strlen(asked->name) ||
      memcmp(visit->name, asked->name, visit->name_length) != 0) {
    return 0;
  }
  asked->calls += visit->calls;
  asked->back_calls += visit->back_calls;
  asked->tail_calls += visit->tail_calls;
  asked->profiles += visit->profile != NULL;
  return 0;
}
static struct Asked ask(const char* name) {
  struct Asked asked = {name, 0, 0, 0, 0};
  fbleprof_query(add_up, &asked);
  return asked;
}

static void no_address_space(int is_none) {
  static struct rlimit before;
  struct rlimit none;
  if (is_none) {
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 1;
    setrlimit(RLIMIT_AS, &none);
  } else {
    setrlimit(RLIMIT_AS, &before);
  }
}

static void blocks(void) {
  fbleprof_source source = source_of("by number", "file", 3), other;
  char* long_name = (char*)malloc(70001);
  memset(long_name, 'n', 70000);
  long_name[70000] = 0;
  HOLDS(fbleprof_block_new(NULL, NULL, 0) == 0);
  HOLDS(fbleprof_block_new("no line", "file", -1) != 0);
  HOLDS(fbleprof_block_new("", NULL, 0) != 0);
  HOLDS(fbleprof_block_new(long_name, long_name, 1) != 0);
  HOLDS(fbleprof_block_add(7, NULL) == 0);
  HOLDS(fbleprof_block_add(FBLEPROF_MOST_NUMBER + 1, &source) == 0);
  HOLDS(fbleprof_block_add(FBLEPROF_MOST_NUMBER, &source) == FBLEPROF_MOST_NUMBER);
  HOLDS(fbleprof_block_add(0, &source) > FBLEPROF_MOST_NUMBER);

  HOLDS(fbleprof_block_of_key(0) == 0);
  HOLDS(fbleprof_block_of_key((uint64_t)1 << 56) == 0);
  HOLDS(fbleprof_block_of_key(99) == 0);
  HOLDS(fbleprof_block_with_key(0, &source) == 0);
  HOLDS(fbleprof_block_with_key((uint64_t)1 << 56, &source) == 0);
  HOLDS(fbleprof_block_with_key(5, NULL) == 0);
  const fbleprof_block first = fbleprof_block_with_key(5, &source);
  HOLDS(first != 0 && fbleprof_block_with_key(5, &source) == first);
  HOLDS(fbleprof_block_of_key(5) == first);
  /* Whatever differs makes the key another function's. */
  const fbleprof_source others[] = {
      source_of("by number", "file", 4), source_of("by numbers", "file", 3),
      source_of("by", "file", 3),        source_of("by number", "fill", 3),
      source_of("by number", NULL, 3),   source_of("", "file", 3),
      source_of("by number", "", 3),     source_of(long_name, "file", 3)};
  fbleprof_block before = first;
  for (unsigned i = 0; i < sizeof others / sizeof *others; ++i) {
    const fbleprof_block now = fbleprof_block_with_key(5, &others[i]);
    HOLDS(now != 0 && now != before);
    HOLDS(fbleprof_block_with_key(5, &others[i]) == now);
    HOLDS(fbleprof_block_of_key(5) == now);
    before = now;
  }
  other = source_of(NULL, NULL, 3);
  const fbleprof_block nameless = fbleprof_block_with_key(6, &other);
  other.name = other.file = "";
  HOLDS(nameless != 0 && fbleprof_block_with_key(6, &other) == nameless);

  HOLDS(fbleprof_block_rename(first, NULL) == -1);
  HOLDS(fbleprof_block_rename(first, "") == -1);
  HOLDS(fbleprof_block_rename(0, "name") == -1);
  HOLDS(fbleprof_block_rename(FBLEPROF_MOST_NUMBER - 1, "name") == -1);
  HOLDS(fbleprof_block_rename(first, "renamed") == 0);
  free(long_name);
}

static void queries(void) {
  const fbleprof_block outer = fbleprof_block_new("outer", "file", 1),
                       inner = fbleprof_block_new("inner", NULL, 0),
                       tail = fbleprof_block_new("tail", NULL, 0),
                       never = fbleprof_block_new("never", NULL, 0);
  for (int i = 0; i < 5; ++i) {
    fbleprof_enter(outer);
    fbleprof_enter(inner);
    fbleprof_enter(outer);
    fbleprof_enter(inner);
    fbleprof_enter(outer);
    fbleprof_enter(inner);
    fbleprof_replace(tail);
    fbleprof_leave(tail);
    for (int k = 0; k < 2; ++k) {
      fbleprof_leave(outer);
      fbleprof_leave(inner);
    }
    fbleprof_leave(outer);
  }
  int visits = 0;
  HOLDS(fbleprof_query(NULL, NULL) == 0);
  HOLDS(fbleprof_query(stop_at_once, &visits) == 7 && visits == 1);
  struct Asked asked = ask("inner");
  HOLDS(asked.calls + asked.back_calls == 15 && asked.back_calls > 0);
  asked = ask("tail");
  HOLDS(asked.calls + asked.tail_calls == 5);
  fbleprof_visit sum;
  HOLDS(fbleprof_query_pair(outer, inner, NULL) == -1);
  HOLDS(fbleprof_query_pair(outer, 0, &sum) == -1);
  HOLDS(fbleprof_query_pair(outer, FBLEPROF_MOST_NUMBER - 1, &sum) == -1);
  HOLDS(fbleprof_query_pair(FBLEPROF_MOST_NUMBER - 1, inner, &sum) == -1);
  HOLDS(fbleprof_query_pair(outer, inner, &sum) == 0 && sum.calls + sum.back_calls == 15);
  HOLDS(fbleprof_query_pair(0, inner, &sum) == 0 && sum.calls + sum.back_calls == 15);
  HOLDS(fbleprof_query_pair(never, inner, &sum) == 0 && sum.calls + sum.back_calls == 0);
  HOLDS(fbleprof_query_pair(inner, tail, &sum) == 0 && sum.tail_calls == 5);
  no_address_space(1);
  const int result = fbleprof_query(stop_at_once, &visits);
  no_address_space(0);
  HOLDS(result == -1);
}

static void contexts(void) {
  const fbleprof_block green = fbleprof_block_new("green", NULL, 0);
  fbleprof_context* context = fbleprof_context_new(0);
  HOLDS(context != NULL && context != FBLEPROF_NOT_SWITCHED);
  HOLDS(fbleprof_context_current() == NULL);
  HOLDS(fbleprof_context_switch(FBLEPROF_NOT_SWITCHED) == FBLEPROF_NOT_SWITCHED);
  HOLDS(fbleprof_context_reset(NULL) == -1);
  HOLDS(fbleprof_context_reset(FBLEPROF_NOT_SWITCHED) == -1);
  HOLDS(fbleprof_context_reset(context) == 0);
  HOLDS(fbleprof_context_switch(NULL) == NULL);
  HOLDS(fbleprof_context_switch(context) == NULL);
  HOLDS(fbleprof_context_current() == context);
  HOLDS(fbleprof_context_switch(context) == context);
  HOLDS(fbleprof_context_reset(context) == -1);
  fbleprof_context_free(context); /* the thread is in it: it stays */
  fbleprof_enter(green);
  fbleprof_context_free(NULL);
  fbleprof_context_free(FBLEPROF_NOT_SWITCHED);
  /* A profile that began in a context keeps it. */
  fbleprof_profile* profile = fbleprof_profile_new("of a context");
  HOLDS(fbleprof_profile_with(profile) == NULL);
  fbleprof_enter(green);
  HOLDS(fbleprof_context_switch(NULL) == context);
  fbleprof_context_free(context);
  HOLDS(fbleprof_context_switch(context) == NULL);
  fbleprof_leave(green);
  HOLDS(fbleprof_profile_with(NULL) == profile);
  HOLDS(fbleprof_context_switch(NULL) == context);
  fbleprof_context_free(context);
  fbleprof_context* small = fbleprof_context_new(1);
  fbleprof_context_switch(small);
  for (int i = 0; i < 5; ++i) fbleprof_enter(green);
  for (int i = 0; i < 5; ++i) fbleprof_leave(green);
  fbleprof_context_switch(NULL);
  fbleprof_context_free(small);
  fbleprof_context* large = fbleprof_context_new((size_t)-1);
  HOLDS(large != NULL);
  fbleprof_context_free(large);
  no_address_space(1);
  fbleprof_context* none = fbleprof_context_new(100);
  no_address_space(0);
  HOLDS(none == NULL);
}

static void profiles(const char* path) {
  const fbleprof_block block = fbleprof_block_new("in a profile", NULL, 0);
  fbleprof_profile *first = fbleprof_profile_new("first"), *nameless = fbleprof_profile_new(NULL),
                   *empty = fbleprof_profile_new("");
  HOLDS(first && nameless && empty && first != nameless);
  HOLDS(fbleprof_profile_with(NULL) == NULL);
  HOLDS(fbleprof_profile_with(first) == NULL);
  HOLDS(fbleprof_profile_with(first) == first);
  for (int i = 0; i < 3; ++i) {
    fbleprof_enter(block);
    fbleprof_leave(block);
  }
  fbleprof_profile_free(first); /* in use: it stays */
  HOLDS(fbleprof_profile_with(nameless) == first);
  fbleprof_enter(block);
  fbleprof_leave(block);
  HOLDS(fbleprof_profile_with(first) == nameless);
  fbleprof_enter(block);
  fbleprof_leave(block);
  HOLDS(fbleprof_profile_with(NULL) == first);
  const struct Asked asked = ask("in a profile");
  HOLDS(asked.calls == 5 && asked.profiles == 2);
  HOLDS(fbleprof_profile_write(first, NULL) == EINVAL);
  HOLDS(fbleprof_profile_write(first, "/nowhere/profile") == ENOENT);
  HOLDS(fbleprof_profile_write(first, "/dev/full") != 0);
  HOLDS(fbleprof_profile_write(first, path) == 0);
  no_address_space(1);
  const int without_memory = fbleprof_profile_write(first, path);
  no_address_space(0);
  HOLDS(without_memory == ENOMEM);
  fbleprof_profile_free(NULL);
  fbleprof_profile_free(first);
  fbleprof_profile_free(first); /* it is free */
  HOLDS(fbleprof_profile_with(first) == NULL);
  HOLDS(fbleprof_profile_with(NULL) == NULL);
  HOLDS(fbleprof_profile_new("again") == first);
  HOLDS(ask("in a profile").calls == 1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    failed = 0;
    /* The parent's profiles are not the child's. */
    HOLDS(fbleprof_profile_with(nameless) == NULL);
    HOLDS(fbleprof_profile_with(NULL) == NULL);
    HOLDS(fbleprof_profile_write(nameless, path) == EINVAL);
    fbleprof_profile_free(nameless);
    fbleprof_profile* own = fbleprof_profile_new("child");
    HOLDS(own != NULL && own != first && own != nameless);
    exit(failed);
  }
  int status = -1;
  waitpid(child, &status, 0);
  HOLDS(status == 0);
}

static void control(void) {
  HOLDS(fbleprof_is_enabled() == 1);
  fbleprof_stop();
  fbleprof_stop();
  HOLDS(fbleprof_is_enabled() == 0);
  HOLDS(fbleprof_snapshot("while it is off") == 0);
  fbleprof_start();
  fbleprof_start();
  HOLDS(fbleprof_is_enabled() == 1);
  HOLDS(fbleprof_snapshot(NULL) == 0);
  char long_name[400];
  memset(long_name, 's', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = 0;
  HOLDS(fbleprof_snapshot(long_name) == 0);
  fbleprof_tick(3);
  uint64_t* counter = fbleprof_tick_counter();
  HOLDS(counter != NULL);
  if (counter) *counter += 4;
  HOLDS(fbleprof_reset() == 0);
  fbleprof_flush();
}

static uint64_t calls_of_pair(fbleprof_block caller, fbleprof_block callee) {
  fbleprof_visit sum;
  return fbleprof_query_pair(caller, callee, &sum) == 0 ? sum.calls : 0;
}

/* What a block calls after blocks began and ended while recording was off. */
static void off(void) {
  const fbleprof_block outer = fbleprof_block_new("outer", NULL, 0);
  const fbleprof_block inner = fbleprof_block_new("inner of off", NULL, 0);
  fbleprof_block then[5];
  for (int i = 0; i < 5; ++i) then[i] = fbleprof_block_new("then", NULL, i);
  for (int i = 0; i < 5; ++i) {
    const uint64_t mark = fbleprof_mark();
    fbleprof_enter(outer);
    if (i < 2) fbleprof_enter(inner);
    fbleprof_stop();
    if (i == 0) fbleprof_rewind(mark);
    if (i == 1) fbleprof_leave(outer);
    if (i >= 3) fbleprof_enter(inner);
    if (i == 2) fbleprof_replace(inner);
    if (i == 2 || i == 3) fbleprof_leave(inner);
    fbleprof_start();
    fbleprof_enter(then[i]);
    fbleprof_leave(then[i]);
    fbleprof_rewind(mark);
    HOLDS(calls_of_pair(outer, then[i]) == (i >= 3));
    HOLDS(calls_of_pair(inner, then[i]) == 0);
  }
  HOLDS(calls_of_pair(outer, inner) == 2);
}

static void nothing(const char* path) {
  const fbleprof_source source = source_of("name", "file", 3);
  int visits = 0;
  fbleprof_visit sum;
  HOLDS(fbleprof_is_enabled() == 0);
  HOLDS(fbleprof_block_new("name", NULL, 0) == 0);
  HOLDS(fbleprof_block_add(7, &source) == 0);
  HOLDS(fbleprof_block_of_key(7) == 0);
  HOLDS(fbleprof_block_with_key(7, &source) == 0);
  HOLDS(fbleprof_block_rename(7, "other") <= 0);
  HOLDS(fbleprof_query(stop_at_once, &visits) == 0 && visits == 0);
  HOLDS(fbleprof_query_pair(0, 7, &sum) == -1);
  HOLDS(fbleprof_profile_new("name") == NULL);
  HOLDS(fbleprof_profile_with(NULL) == NULL);
  HOLDS(fbleprof_profile_write(NULL, path) == 0);
  fbleprof_profile_free(NULL);
  fbleprof_context* context = fbleprof_context_new(10);
  HOLDS(context == NULL);
  const fbleprof_context* before = fbleprof_context_switch(context);
  HOLDS(before == NULL || before == FBLEPROF_NOT_SWITCHED);
  HOLDS(fbleprof_context_reset(context) <= 0);
  fbleprof_context_free(context);
  HOLDS(fbleprof_snapshot("name") == -1);
  HOLDS(fbleprof_reset() == -1);
  fbleprof_start();
  fbleprof_stop();
  fbleprof_flush();
  fbleprof_enter(1);
  fbleprof_enter_from(1, 5);
  fbleprof_redo(1);
  fbleprof_replace(1);
  fbleprof_replace_below(1);
  fbleprof_leave(1);
  fbleprof_leave_newest();
  fbleprof_rewind(fbleprof_mark());
  fbleprof_tick(5);
}

static void full(void) {
  char name[1000];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  fbleprof_block last = 0, block;
  for (int i = 0; i < 1000000 && (block = fbleprof_block_new(name, NULL, i)) != 0; ++i)
    last = block;
  fbleprof_source source = source_of("name", "file", 3);
  HOLDS(last != 0);
  int blocks = 0;
  while (blocks < 1000000 && fbleprof_block_add(0, &source) != 0) ++blocks;
  HOLDS(blocks < 1000000);
  HOLDS(fbleprof_block_with_key(5, &source) == 0);
  HOLDS(fbleprof_block_of_key(5) == 0);
  HOLDS(fbleprof_block_rename(last, name) == -1);
  HOLDS(fbleprof_profile_new(name) == NULL);
  HOLDS(fbleprof_snapshot("none") == -1);
  fbleprof_context* context = fbleprof_context_new(10); /* not in that memory */
  HOLDS(context != NULL);
  fbleprof_context_free(context);
  for (int i = 0; i < 3; ++i) {
    fbleprof_enter(last);
    fbleprof_leave(last);
  }
}

/* Threads begin, end, and meet new contexts, blocks and profiles while the profile is written. */
enum { kBlocks = 300, kGrowing = 3, kWritten = 10 };
static fbleprof_block some[kBlocks];
static atomic_int is_done;

static void* grow(void* seed) {
  unsigned at = *(unsigned*)seed;
  while (!is_done) {
    const uint64_t mark = fbleprof_mark();
    for (int depth = 0; depth < 6; ++depth) fbleprof_enter(some[rand_r(&at) % kBlocks]);
    fbleprof_tick(1);
    char name[30];
    snprintf(name, sizeof name, "new %u", rand_r(&at) % 10000);
    if (rand_r(&at) % 50 == 0) fbleprof_enter(fbleprof_block_new(name, NULL, 0));
    fbleprof_rewind(mark);
  }
  return NULL;
}

static void* enter_once(void* argument) {
  (void)argument;
  fbleprof_enter(some[0]);
  usleep(1000);
  fbleprof_leave(some[0]);
  return NULL;
}

static void* begin_threads(void* argument) {
  (void)argument;
  pthread_t thread;
  while (!is_done) {
    if (pthread_create(&thread, NULL, enter_once, NULL) == 0) pthread_detach(thread);
    usleep(300);
  }
  return NULL;
}

static void* remake_profiles(void* argument) {
  char name[30];
  for (unsigned i = 0; !is_done; ++i) {
    snprintf(name, sizeof name, "profile %u", i);
    fbleprof_profile_free(fbleprof_profile_new(name));
    if (i % 20 == 19) usleep(100);
  }
  return argument;
}

static void busy(const char* path) {
  char name[4096];
  for (int i = 0; i < kBlocks; ++i) {
    snprintf(name, sizeof name, "some %d", i);
    some[i] = fbleprof_block_new(name, NULL, 0);
  }
  pthread_t threads[kGrowing + 2];
  unsigned seeds[kGrowing];
  for (unsigned i = 0; i < kGrowing; ++i) {
    seeds[i] = i + 1;
    HOLDS(pthread_create(&threads[i], NULL, grow, &seeds[i]) == 0);
  }
  HOLDS(pthread_create(&threads[kGrowing], NULL, begin_threads, NULL) == 0);
  HOLDS(pthread_create(&threads[kGrowing + 1], NULL, remake_profiles, NULL) == 0);
  for (int i = 0; i < kWritten; ++i) {
    usleep(20000);
    snprintf(name, sizeof name, "%s.%d", path, i);
    HOLDS(fbleprof_profile_write(NULL, name) == 0);
  }
  is_done = 1;
  for (int i = 0; i <= kGrowing + 1; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "nothing") == 0) nothing(argv[2]);
  if (strcmp(argv[1], "full") == 0) full();
  if (strcmp(argv[1], "busy") == 0) busy(argv[2]);
  if (strcmp(argv[1], "recorded") == 0) {
    blocks();
    queries();
    contexts();
    profiles(argv[2]);
    control();
    off();
  }
  printf("failed %d\n", failed);
  return 0;
}
