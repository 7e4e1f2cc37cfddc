// ten: ten contexts with known shares of CPU time, sleep, waits for a pipe, futex and epoll, page
// faults and allocations. Prints on stderr "KIND CONTEXT AMOUNT", as it measured them itself: ns,
// faults, bytes.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))
#define END __asm__ volatile("")

enum { kRounds = 3, kContexts = 10 };
enum { kCpu, kSleep, kPipe, kFutex, kEpoll, kFaults, kBytes, kKinds };
static const char* const kNames[] = {"cpu", "sleep", "pipe", "futex", "epoll", "faults", "bytes"};
static const long kShareNs = 2 * 1000 * 1000;
static long measured[kKinds][kContexts];

static long now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}
static long off_processor(void) {
  return now_ns(CLOCK_MONOTONIC) - now_ns(CLOCK_THREAD_CPUTIME_ID);
}
static long faults_so_far(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Another thread that wakes this one by a pipe, a futex or an eventfd, after a time.
static int ask[2], answer[2], event, epoll, futex_word;
struct request {
  int kind;
  long ns;
};
static void* answers(void* unused) {
  struct request request;
  while (read(ask[0], &request, sizeof request) == sizeof request) {
    const struct timespec delay = {0, request.ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
    if (request.kind == kPipe && write(answer[1], "x", 1) != 1) abort();
    if (request.kind == kEpoll) eventfd_write(event, 1);
    if (request.kind != kFutex) continue;
    __atomic_store_n(&futex_word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return unused;
}
static void begin(int kind, long ns) {
  const struct request request = {kind, ns};
  if (write(ask[1], &request, sizeof request) != sizeof request) abort();
}

KEEP static void in_sleep(long ns) {
  const struct timespec delay = {0, ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
  END;
}
KEEP static void in_pipe(long ns) {
  char c;
  begin(kPipe, ns);
  if (read(answer[0], &c, 1) != 1) abort();
}
KEEP static void in_futex(long ns) {
  futex_word = 0;
  begin(kFutex, ns);
  while (__atomic_load_n(&futex_word, __ATOMIC_SEQ_CST) == 0) {
    syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
}
KEEP static void in_epoll(long ns) {
  struct epoll_event found;
  eventfd_t value;
  begin(kEpoll, ns);
  if (epoll_wait(epoll, &found, 1, -1) != 1) abort();
  eventfd_read(event, &value);
}
KEEP static void in_faults(long pages) {
  const size_t bytes = (size_t)pages * 4096;
  volatile char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) abort();
  madvise((void*)at, bytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < bytes; i += 4096) at[i] = 1;
  munmap((void*)at, bytes);
}
KEEP static void in_bytes(long blocks) {
  for (long i = 0; i < blocks; ++i) {
    void* volatile block = malloc(1000);
    free(block);
  }
}
KEEP static void in_cpu(long ns) {
  const long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  // Mostly in user mode, as most programs.
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (volatile int i = 0; i < 200000; ++i) {
    }
  }
}

static void context(int k) {
  static void (*const kWaits[])(long) = {in_sleep, in_pipe, in_futex, in_epoll};
  const long cpu_before = now_ns(CLOCK_THREAD_CPUTIME_ID), faults_before = faults_so_far();
  for (int kind = kSleep; kind <= kEpoll; ++kind) {
    const long before = off_processor();
    kWaits[kind - kSleep]((k + 1) * kShareNs);
    measured[kind][k] += off_processor() - before;
  }
  in_bytes((k + 1) * 100);
  measured[kBytes][k] += (k + 1) * 100 * 1000;
  in_faults((k + 1) * 50);
  in_cpu((k + 1) * kShareNs);
  measured[kFaults][k] += faults_so_far() - faults_before;
  measured[kCpu][k] += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
}

#include "contexts.h"

int main(void) {
  struct epoll_event wanted = {.events = EPOLLIN};
  pthread_t other;
  if (pipe(ask) != 0 || pipe(answer) != 0) return 1;
  event = eventfd(0, 0);
  epoll = epoll_create1(0);
  epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
  pthread_create(&other, NULL, answers, NULL);
  in_cpu(2 * kShareNs);  // faults of the start belong to no context below
  for (int round = 0; round < kRounds; ++round) {
    for (int k = 0; k < kContexts; ++k) kAllContexts[k]();
  }
  close(ask[1]);
  pthread_join(other, NULL);
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int k = 0; k < kContexts; ++k) {
      fprintf(stderr, "%s context_%d %ld\n", kNames[kind], k, measured[kind][k]);
    }
  }
  return 0;
}
