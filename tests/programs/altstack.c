// A handler on an alternate stack that lies below or above the thread's own stack or inside it, or
// is small. The handler calls blocks and burns CPU time, so that samples hit it there.
// argv[1]: below | above | inside | main (inside that of the first thread) | forked (the same, in a
// child of the process that set it) | named (inside; then the thread gets a name, "recorded") |
// tiny | scant, where a handler has 3 kB: too little for a sample on top | useless, too small for
// any handler: nothing is to run there.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static volatile long sink;
static char *alternate, *alternate_end;
static volatile int off_stack;

BLOCK void on_alternate(void) {
  char here;
  if (&here < alternate || &here >= alternate_end) off_stack = 1;
  work(2000);
}
BLOCK void on_signal(int number) {
  (void)number;
  on_alternate();
  KEEP;
}
BLOCK void leaf(void) { sink = sink + 1; }
BLOCK void raiser(int depth) {
  if (depth > 1)
    raiser(depth - 1);
  else
    raise(SIGUSR1);
  leaf();
  KEEP;
}
BLOCK void after(void) { sink = sink + 1; }

enum { kTimes = 100 };
static int is_named, is_forked;
static void set_stack(void) {
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_sp = alternate;
  stack.ss_size = alternate_end - alternate;
  if (sigaltstack(&stack, NULL) != 0) abort();
}
BLOCK void* run(void* unused) {
  (void)unused;
  if (!is_named && !is_forked) set_stack();
  for (int i = 0; i < kTimes; ++i) {
    raiser(5);
    after();
  }
  return NULL;
}
// The stack is an array of a function that goes on to call others, whose frames are below it.
BLOCK void* run_inside(void* unused) {
  char local[1 << 16];
  alternate = local;
  alternate_end = local + sizeof local;
  if (is_named || is_forked) set_stack();
  if (is_named) pthread_setname_np(pthread_self(), "recorded");
  const pid_t child = is_forked ? fork() : 0;
  if (child != 0) {
    int status = 1;
    waitpid(child, &status, 0);
    exit(status != 0);
  }
  run(unused);
  const stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  alternate_end = (char*)-1;
  alternate = NULL;
  raiser(1);
  KEEP;
  return NULL;
}

static void show(const char* what, const stack_t* stack) {
  printf("%s: flags %x, size %zu, ours %d\n", what, (unsigned)stack->ss_flags, stack->ss_size,
         stack->ss_sp == alternate);
}
BLOCK int work_with_useless_stack(void) {
  static char memory[2048];
  alternate = memory;
  stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory}, old;
  const stack_t none = {.ss_flags = SS_DISABLE};
  for (int i = 0; i < 2; ++i) {
    stack_t* same = &stack;
    if (sigaltstack(same, i == 0 ? &old : same) != 0) return 1;
    show("before", i == 0 ? &old : same);
    sigaltstack(NULL, &old);
    show("now", &old);
    work(100000);
  }
  int status = 0;
  for (int i = 0; i < 20 && (status == 0 || status == SIGTERM); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      work(10000);
      raise(SIGTERM);
    }
    waitpid(child, &status, 0);
  }
  printf("child: %x\n", status);
  syscall(SYS_sigaltstack, &none, &old);
  show("replaced", &old);
  sigaltstack(NULL, &old);
  printf("off: %d\n", (old.ss_flags & SS_DISABLE) != 0);
  return 0;
}

int main(int argc, char** argv) {
  const char* where = argc > 1 ? argv[1] : "below";
  if (!strcmp(where, "useless")) return work_with_useless_stack();
  const size_t stack_bytes = 1 << 20, space = 1 << 16;
  size_t alternate_bytes = space;
  const int is_small = !strcmp(where, "tiny") || !strcmp(where, "scant");
  size_t frame = getauxval(AT_MINSIGSTKSZ);
  if (frame == 0) frame = 2048;
  if (!strcmp(where, "tiny")) {
    // The smallest stack on which the program's own handler and one more signal fit.
    alternate_bytes = 2 * frame + 1024;
    if (alternate_bytes < 8192) alternate_bytes = 8192;
    alternate_bytes = (alternate_bytes + 4095) / 4096 * 4096;
  } else if (is_small) {
    alternate_bytes = (frame + 3072 + 15) / 16 * 16;
  }
  // [alternate below] [guard] [thread's stack] [guard] [alternate above]
  char* area = mmap(NULL, 2 * space + stack_bytes + 2 * 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* stack = area + space + 4096;
  mprotect(area + space, 4096, PROT_NONE);
  mprotect(stack + stack_bytes, 4096, PROT_NONE);
  alternate = !strcmp(where, "above") ? stack + stack_bytes + 4096 : area;
  if (is_small) {  // a guard page at its end: overflow is death
    alternate = area + space - (alternate_bytes + 4095) / 4096 * 4096;
    mprotect(alternate - 4096, 4096, PROT_NONE);
  }
  alternate_end = alternate + alternate_bytes;

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, NULL);

  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  is_forked = !strcmp(where, "forked");
  is_named = !strcmp(where, "named");
  const int is_main = is_forked || !strcmp(where, "main");
  const int is_inside = is_main || is_named || !strcmp(where, "inside");
  if (pthread_attr_setstack(&attributes, stack, stack_bytes) != 0) return 1;
  if (is_main) run_inside(NULL);
  if (!is_main && pthread_create(&thread, &attributes, is_inside ? run_inside : run, NULL) != 0) {
    return 1;
  }
  if (!is_main) pthread_join(thread, NULL);
  printf("off the alternate stack: %d\n", off_stack);
  if (!is_named) {
    expect("run_inside", "run", is_inside);
    expect("run_inside", "raiser", is_inside);
  }
  expect("run", "raiser", kTimes);
  expect("raiser", "raiser", 4 * kTimes);
  expect("raiser", "on_signal", kTimes + is_inside);
  expect("on_signal", "on_alternate", kTimes + is_inside);
  expect("raiser", "leaf", 5 * kTimes + is_inside);
  expect("run", "after", kTimes);
  expect("raiser", "after", 0);
  return 0;
}
