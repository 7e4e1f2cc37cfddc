// Usage: ending_threads WAY: what others do to threads at the moment at which these end, or sample.
//   named    gives them names; then turns recording off and on
//   toggled  turns recording off and on; then other threads compute, in work()
//   faults   turns recording off and on while threads have page faults
//   sections turns recording on for work() only, a tenth of a sampling period each time, and
//            computes as long between in rest(); a second thread computes in other() all the time
//   profile  records into a profile of its own while it is in work(), a tenth of a period each time
//   renamed  a thread names itself and computes; so does the main thread, which ends the process
//   apart    a thread "parser" computes; then, in its memory, one "helper"
#define _GNU_SOURCE
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static volatile unsigned long sum;
static volatile int go;

#define COMPUTES(name, step)                                         \
  __attribute__((noinline)) static void name(double seconds) {       \
    const double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;       \
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)                       \
      for (int i = 0; i < 1000; ++i) sum += step * (unsigned long)i; \
  }
/* The functions differ, so that no compiler makes them one. */
COMPUTES(work, 1)
COMPUTES(rest, 2)
COMPUTES(other, 3)

static void count_to(long most) {
  for (volatile long i = 0; i < most; ++i) {
  }
}

static void* counts(void* most) {
  while (!go) {
  }
  count_to((long)most);
  return NULL;
}

static void* works(void* name) {
  if (name != NULL) pthread_setname_np(pthread_self(), name);
  work(0.3);
  return NULL;
}

static void* works_on(void* name) {
  pthread_setname_np(pthread_self(), name);
  while (go >= 0) work(0.1);
  return name;
}

static void* is_other(void* unused) {
  while (go) other(0.01);
  return unused;
}

static pthread_t start(void* (*function)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, argument) != 0) abort();
  return thread;
}

static void named(void) {
  enum { kThreads = 60, kRounds = 40 };
  go = 1;
  for (int round = 0; round < kRounds; ++round) {
    pthread_t threads[kThreads];
    for (long i = 0; i < kThreads; ++i) {
      threads[i] = start(counts, (void*)(i * 800));
      count_to(20000);
      pthread_setname_np(threads[i], "kept");
    }
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < 10; ++i) {
    fbleprof_stop();
    fbleprof_start();
  }
}

static void toggled(void) {
  enum { kThreads = 6, kRounds = 300 };
  pthread_t threads[kThreads];
  for (int round = 0; round < kRounds; ++round) {
    go = 0;
    fbleprof_stop();
    for (int i = 0; i < kThreads; ++i) threads[i] = start(counts, (void*)(long)(rand() % 100000));
    go = 1;
    fbleprof_start();
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < kThreads; ++i) threads[i] = start(works, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

static void* has_faults(void* unused) {
  enum { kBytes = 1 << 20 };
  char* memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  while (go) {
    for (int i = 0; i < kBytes; i += 4096) memory[i] = 1;
    madvise(memory, kBytes, MADV_DONTNEED);
  }
  munmap(memory, kBytes);
  return unused;
}

static void faults(void) {
  enum { kThreads = 3, kRounds = 500 };
  pthread_t threads[kThreads];
  go = 1;
  for (int i = 0; i < kThreads; ++i) threads[i] = start(has_faults, NULL);
  for (int round = 0; round < kRounds; ++round) {
    fbleprof_stop();
    fbleprof_start();
  }
  go = 0;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

static void sections(void) {
  go = 1;
  const pthread_t thread = start(is_other, NULL);
  for (int i = 0; i < 4000; ++i) {
    fbleprof_start();
    work(1e-4);
    fbleprof_stop();
    rest(1e-4);
  }
  go = 0;
  pthread_join(thread, NULL);
}

static void profile(void) {
  fbleprof_profile* own = fbleprof_profile_new("own");
  for (int i = 0; i < 4000; ++i) {
    fbleprof_profile* before = fbleprof_profile_with(own);
    work(1e-4);
    fbleprof_profile_with(before);
    rest(1e-4);
  }
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "named") == 0) named();
  if (strcmp(way, "toggled") == 0) toggled();
  if (strcmp(way, "faults") == 0) faults();
  if (strcmp(way, "sections") == 0) sections();
  if (strcmp(way, "profile") == 0) profile();
  if (strcmp(way, "renamed") == 0) {
    start(works_on, "worker");
    work(0.3);
  }
  if (strcmp(way, "apart") == 0) {
    pthread_join(start(works, "parser"), NULL);
    pthread_join(start(works, "helper"), NULL);
  }
  puts("done");
  return 0;
}
