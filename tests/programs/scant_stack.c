// A handler on a signal stack that leaves it 3 kB makes calls that wait, and allocates: recorders
// of waits and allocations must not take more. Prints how often it ran.
#define _GNU_SOURCE
#include <poll.h>
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

static int ends[2];
static volatile int handled;
static void* volatile block;

static void on_signal(int number) {
  char byte;
  (void)number;
  if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1) abort();
  poll(NULL, 0, 1);
  block = malloc(1000);
  free(block);
  ++handled;
}

int main(void) {
  enum { kTimes = 50, kPage = 4096, kRoom = 3072 };
  size_t frame = getauxval(AT_MINSIGSTKSZ);
  if (frame == 0) frame = 2048;
  const size_t bytes = (frame + kRoom + 15) / 16 * 16, pages = (bytes + kPage - 1) / kPage * kPage;
  char* area =
      mmap(NULL, pages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(area, kPage, PROT_NONE);  // overflow is death
  const stack_t stack = {.ss_sp = area + kPage, .ss_size = bytes};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  if (pipe(ends) != 0 || sigaltstack(&stack, NULL) != 0) return 1;
  block = malloc(1);
  free(block);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < kTimes; ++i) raise(SIGUSR1);
  printf("handled %d\n", handled);
  return 0;
}
