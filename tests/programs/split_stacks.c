// Threads whose stacks are small, and grow by pieces (-fsplit-stack): functions run with little
// room below them again and again. Signal stacks are what the program sets, and no others.
//
// "wait" runs until a signal ends it.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "block.h"

BLOCK long leaf(long x) { return x * 3 + 1; }
BLOCK long down(long depth) {
  volatile char here[300];
  here[0] = 1;
  return depth == 0 ? 0 : down(depth - 1) + leaf(depth) + here[0];
}
// Each time from another place, so that the functions end at all distances from their piece's end.
BLOCK long shifted(int i) {
  volatile char* place = __builtin_alloca(16 * (size_t)(i + 1));
  place[0] = 0;
  return down(10000 + i) + place[0];
}
BLOCK void* run(void* unused) {
  long sum = 0;
  for (int i = 0; i < 30; ++i) sum += shifted(i);
  printf("%ld\n", sum);
  return unused;
}

static char memory[65536];
static void tell_signal_stack(void) {
  stack_t now;
  memset(&now, 1, sizeof now);
  if (sigaltstack(NULL, &now) != 0) perror("sigaltstack");
  printf("signal stack: %s, %zu bytes, flags %d\n",
         now.ss_sp == memory ? "ours"
         : now.ss_sp == NULL ? "none"
                             : "another",
         now.ss_size, now.ss_flags);
}
static void change_signal_stack(int flags, size_t bytes) {
  stack_t next = {.ss_sp = memory, .ss_size = bytes, .ss_flags = flags}, before;
  memset(&before, 1, sizeof before);
  if (sigaltstack(&next, &before) != 0) perror("sigaltstack");
  printf("was at %s, %zu bytes, flags %d\n", before.ss_sp == memory ? "ours" : "another",
         before.ss_size, before.ss_flags);
  tell_signal_stack();
}
static void* run_with_signal_stacks(void* unused) {
  tell_signal_stack();
  run(unused);
  tell_signal_stack();
  change_signal_stack(0, sizeof memory);
  run(unused);
  change_signal_stack(0, 2048);
  run(unused);
  change_signal_stack(SS_DISABLE, 0);
  return run(unused);
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "wait") == 0) {
    printf("waits\n");
    fflush(stdout);
    return pause();
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run_with_signal_stacks, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  run_with_signal_stacks(NULL);
  return 0;
}
