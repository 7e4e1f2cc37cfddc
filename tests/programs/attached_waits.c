/* Usage: attached_waits WAY: all its threads block all signals. One waits for them ("sigwait",
 * "sigtimedwait", "signalfd"), and computes for 20 ms after each SIGUSR1. Prints what came, and
 * ends at anything else. At SIGUSR2 it ends well. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static sigset_t all;
static const char* way;

static void compute(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
           seconds);
}

static int next_signal(int descriptor) {
  struct signalfd_siginfo read_info;
  siginfo_t info;
  int number = 0;
  if (strcmp(way, "signalfd") == 0) {
    return read(descriptor, &read_info, sizeof read_info) == sizeof read_info
               ? (int)read_info.ssi_signo
               : -1;
  }
  if (strcmp(way, "sigtimedwait") == 0) {
    const struct timespec limit = {60, 0};
    return sigtimedwait(&all, &info, &limit);
  }
  return sigwait(&all, &number) == 0 ? number : -1;
}

static void* wait_for_signals(void* result) {
  const int descriptor = signalfd(-1, &all, 0);
  for (;;) {
    const int number = next_signal(descriptor);
    printf("%s\n", number == SIGUSR1 ? "work" : number == SIGUSR2 ? "end" : strsignal(number));
    if (number == SIGUSR1) compute(0.02);
    if (number != SIGUSR1) return *(int*)result = number == SIGUSR2 ? 0 : 1, result;
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  way = argv[1];
  setvbuf(stdout, NULL, _IOLBF, 0);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  pthread_t thread;
  int result = 1;
  if (pthread_create(&thread, NULL, wait_for_signals, &result) != 0) return 1;
  pthread_join(thread, NULL);
  return result;
}
