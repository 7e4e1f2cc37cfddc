// Looks for traces of somebody who stops its only thread and makes it call functions.
//   undisturbed sleep|wait|read|compute
// Until there is a file "stop", it does this again and again and compares the result with what it
// must be: sleeps, waits for a descriptor with a time limit, reads what a child writes, or computes
// in vector registers. It also looks whether its signal mask has changed, and whether a signal
// still reaches it. At the end it prints how often something was wrong.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMs = 3, kRounds = 200000, kLanes = 16 };

static volatile sig_atomic_t signals;
static void on_signal(int number) {
  (void)number;
  ++signals;
}

static long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static int sleeps(void) {
  const struct timespec time = {0, kMs * 1000000L};
  const long start = now_us();
  return nanosleep(&time, NULL) == 0 && now_us() - start >= kMs * 1000;
}

static int waits(void) {
  const long start = now_us();
  return poll(NULL, 0, kMs) == 0 && now_us() - start >= kMs * 1000;
}

static int reads(void) {
  static int from = -1;
  static unsigned char next;
  if (from < 0) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    if (fork() == 0) {
      close(ends[0]);
      for (unsigned char byte = 0;; ++byte) {
        usleep(kMs * 1000);
        if (write(ends[1], &byte, 1) != 1) _exit(0);
      }
    }
    close(ends[1]);
    from = ends[0];
  }
  unsigned char byte;
  return read(from, &byte, 1) == 1 && byte == next++;
}

// All values stay in vector registers.
__attribute__((noinline)) static double sum(void) {
  typedef double Lanes __attribute__((vector_size(16)));
  Lanes values[kLanes / 2];
  for (int i = 0; i < kLanes / 2; ++i) values[i] = (Lanes){i, i + 0.5};
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLanes / 2; ++i) values[i] = values[i] * 0.999 + 1;
  }
  double all = 0;
  for (int i = 0; i < kLanes / 2; ++i) all += values[i][0] + values[i][1];
  return all;
}
static int computes(void) {
  static double first;
  const double all = sum();
  if (first == 0) first = all;
  return all == first;
}

static int is_undisturbed(void) {
  sigset_t mask, expected;
  sigemptyset(&expected);
  sigaddset(&expected, SIGUSR2);
  sigprocmask(SIG_SETMASK, NULL, &mask);
  const int before = signals;
  raise(SIGUSR1);
  return memcmp(&mask, &expected, sizeof(long)) == 0 && signals == before + 1;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "sleep";
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  signal(SIGUSR1, on_signal);
  long wrong = 0, rounds = 0;
  do {
    const int is_right = strcmp(how, "sleep") == 0  ? sleeps()
                         : strcmp(how, "wait") == 0 ? waits()
                         : strcmp(how, "read") == 0 ? reads()
                                                    : computes();
    if (!is_right || !is_undisturbed()) ++wrong;
    ++rounds;
  } while (access("stop", F_OK) != 0);
  printf("wrong %ld\n", wrong);
  return rounds == 0;
}
