// A handler on a signal stack that leaves it 3 kB makes calls that wait and that end waits, calls
// functions of the program, and allocates: recorders must not take more. Prints how often it ran.
//   scant_stack fault   then the handler of a fault, which raises the fatal one for when it returns
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static int ends[2], to_peer[2];
static volatile int handled;
static void* volatile block;

__attribute__((noinline)) static void count(void) { ++handled; }
static void (*volatile through_pointer)(void) = count;
__attribute__((noinline)) static void count_by_jump(void) { through_pointer(); }

static void* peer(void* unused) {
  char byte;
  while (read(to_peer[0], &byte, 1) == 1) {
  }
  return unused;
}

static void on_signal(int number) {
  char byte;
  (void)number;
  if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1) abort();
  poll(NULL, 0, 1);
  block = malloc(1000);
  free(block);
  count_by_jump();
  if (write(to_peer[1], "x", 1) != 1) abort();  // it waits
}

static void on_fault(int number) {
  signal(number, SIG_DFL);
  raise(number);  // blocked
  on_signal(number);
  if (write(1, "reported\n", 9) != 9) abort();
}

int main(int argc, char** argv) {
  enum { kTimes = 50, kPage = 4096, kRoom = 3072 };
  size_t frame = getauxval(AT_MINSIGSTKSZ);
  if (frame == 0) frame = 2048;
  const size_t bytes = (frame + kRoom + 15) / 16 * 16, pages = (bytes + kPage - 1) / kPage * kPage;
  stack_t stacks[2];
  for (int i = 0; i < 2; ++i) {
    char* area =
        mmap(NULL, pages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(area, kPage, PROT_NONE);  // overflow is death
    stacks[i] = (stack_t){.ss_sp = area + kPage, .ss_size = bytes};
  }
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  pthread_t thread;
  if (pipe(ends) != 0 || pipe(to_peer) != 0 || pthread_create(&thread, NULL, peer, NULL) != 0) {
    return 1;
  }
  if (sigaltstack(&stacks[0], NULL) != 0) return 1;
  block = malloc(1);
  free(block);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < kTimes; ++i) raise(SIGUSR1);
  // The recorder may still be where the handler was.
  if (sigaltstack(&stacks[1], NULL) != 0) return 1;
  for (int i = 0; i < kTimes; ++i) raise(SIGUSR1);
  if (argc > 1 && strcmp(argv[1], "fault") == 0) {
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, NULL);
    raise(SIGSEGV);
  }
  close(to_peer[1]);
  pthread_join(thread, NULL);
  printf("handled %d\n", handled);
  return 0;
}
