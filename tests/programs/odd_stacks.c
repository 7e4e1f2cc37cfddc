// Stacks and code that a hook must not trust.
//   zero       a coroutine by hand: the return address of its first function is 0
//   edge       generated code at the very beginning of its mapping calls a hooked function
//   fiber      makecontext on the same memory, first as a small stack, then as a large one
//   alternate  a signal stack that is made larger between two signals
//   switch     a large stack switched to by hand, deeper than the thread's own
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "block.h"

enum { kLarge = 64 << 20, kDeep = 1500000 };

BLOCK long recurse(long n) {
  if (n == 0) return 0;
  long below = recurse(n - 1);
  KEEP;
  return below + 1;
}

BLOCK long leaf(long n) {
  KEEP;
  return n + 1;
}

UNHOOKED static char* stack_of(size_t bytes) {
  char* memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) exit(2);
  return memory;
}

BLOCK void coroutine(void) {
  long n = 0;
  for (int i = 0; i < 1000; ++i) n = leaf(n);
  printf("coroutine %ld\n", n);
  fflush(stdout);
  _Exit(0);
}

BLOCK void deep_coroutine(void) {
  printf("deep %ld\n", recurse(20 * (long)kDeep));
  fflush(stdout);
  _Exit(0);
}

UNHOOKED static void jump_to(void (*function)(void), size_t bytes) {
  void** sp = (void**)(stack_of(bytes) + bytes - 64);
  *--sp = NULL;
  __asm__ volatile("mov %0, %%rsp\n\tjmp *%1" : : "r"(sp), "r"(function) : "memory");
}

static ucontext_t main_context, fiber_context;
static long fiber_depth;

BLOCK void fiber(void) { printf("fiber %ld\n", recurse(fiber_depth)); }

static volatile long handler_depth;
BLOCK void on_signal(int number) {
  (void)number;
  long depth = recurse(handler_depth);
  char text[32];
  snprintf(text, sizeof text, "handler %ld", depth);
  puts(text);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "zero";
  if (!strcmp(what, "zero")) jump_to(coroutine, 1 << 20);
  if (!strcmp(what, "switch")) jump_to(deep_coroutine, (size_t)4 << 30);
  if (!strcmp(what, "edge")) {
    char* pages = stack_of(2 * 4096);
    mprotect(pages, 4096, PROT_NONE);
    memcpy(pages + 4096, "\xff\xd0\xc3", 3);  // call *%rax; ret
    mprotect(pages + 4096, 4096, PROT_READ | PROT_EXEC);
    long result = 0;
    for (int i = 0; i < 1000; ++i) {
      long argument = 41;
      __asm__ volatile("call *%2"
                       : "=a"(result), "+D"(argument)
                       : "r"(pages + 4096), "a"(leaf)
                       : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    }
    printf("edge %ld\n", result);
  }
  if (!strcmp(what, "fiber")) {
    char* memory = stack_of(kLarge);
    for (int i = 0; i < 2; ++i) {
      getcontext(&fiber_context);
      fiber_context.uc_stack.ss_sp = memory;
      fiber_context.uc_stack.ss_size = i == 0 ? 16384 : kLarge;
      fiber_context.uc_link = &main_context;
      fiber_depth = i == 0 ? 10 : kDeep / 4;
      makecontext(&fiber_context, fiber, 0);
      swapcontext(&main_context, &fiber_context);
    }
  }
  if (!strcmp(what, "alternate")) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    stack_t stack = {.ss_sp = stack_of(kLarge), .ss_size = 16384};
    for (int i = 0; i < 2; ++i) {
      sigaltstack(&stack, NULL);
      handler_depth = i == 0 ? 10 : kDeep / 4;
      raise(SIGUSR1);
      stack.ss_size = kLarge;
    }
  }
  return 0;
}
