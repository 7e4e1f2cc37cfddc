// Threads of every kind. argv[1]: many | short N | endings | main-first | small-stacks |
// full-stacks | clone | timer.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "block.h"

BLOCK void task(void) { work(1); }
BLOCK void at_end(void) { KEEP; }

BLOCK void* run_tasks(void* times) {
  for (long i = 0; i < (long)times; ++i) task();
  return NULL;
}

static pthread_t start(void* (*function)(void*), void* argument, pthread_attr_t* attributes) {
  pthread_t thread;
  if (pthread_create(&thread, attributes, function, argument) != 0) {
    puts("no thread");
    exit(1);
  }
  return thread;
}

// 200 threads that are all alive at once
BLOCK void many(void) {
  enum { kThreads = 200, kTasks = 500 };
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) threads[i] = start(run_tasks, (void*)kTasks, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  expect("run_tasks", "task", kThreads * kTasks);
}

// Short threads, eight at a time
BLOCK void short_ones(long count) {
  pthread_t threads[8];
  for (long i = 0; i < count; i += 8) {
    for (int j = 0; j < 8; ++j) threads[j] = start(run_tasks, (void*)2, NULL);
    for (int j = 0; j < 8; ++j) pthread_join(threads[j], NULL);
  }
  expect("run_tasks", "task", count * 2);
}

// Each way a thread can end, 100 times
static pthread_key_t key;
static pthread_barrier_t barrier;
BLOCK void on_thread_end(void* unused) {
  (void)unused;
  at_end();
  KEEP;
}
BLOCK void* by_return(void* unused) {
  pthread_setspecific(key, &key);
  task();
  return unused;
}
BLOCK void leave_thread(void) { pthread_exit(NULL); }
BLOCK void* by_exit(void* unused) {
  pthread_setspecific(key, &key);
  task();
  leave_thread();
  return unused;
}
BLOCK void* by_cancel(void* unused) {
  pthread_setspecific(key, &key);
  task();
  pthread_barrier_wait(&barrier);
  for (;;) pause();
  return unused;
}
BLOCK void* by_async_cancel(void* unused) {
  pthread_setspecific(key, &key);
  task();
  pthread_barrier_wait(&barrier);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) work(1);
  return unused;
}
static volatile int detached_left;
BLOCK void* detached(void* unused) {
  task();
  __atomic_sub_fetch(&detached_left, 1, __ATOMIC_SEQ_CST);
  return unused;
}
BLOCK void endings(void) {
  enum { kTimes = 100 };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_key_create(&key, on_thread_end);
  pthread_barrier_init(&barrier, NULL, 2);
  detached_left = kTimes;
  for (int i = 0; i < kTimes; ++i) {
    void* result;
    pthread_join(start(by_return, NULL, NULL), NULL);
    pthread_join(start(by_exit, NULL, NULL), NULL);
    pthread_t thread = start(by_cancel, NULL, NULL);
    pthread_barrier_wait(&barrier);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) puts("not cancelled");
    thread = start(by_async_cancel, NULL, NULL);
    pthread_barrier_wait(&barrier);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) puts("not cancelled");
    start(detached, NULL, &attributes);
  }
  while (__atomic_load_n(&detached_left, __ATOMIC_SEQ_CST) > 0) usleep(1000);
  expect("by_return", "task", kTimes);
  expect("by_exit", "task", kTimes);
  expect("by_exit", "leave_thread", kTimes);
  expect("by_cancel", "task", kTimes);
  expect("by_async_cancel", "task", kTimes);
  expect("detached", "task", kTimes);
  expect("on_thread_end", "at_end", 4 * kTimes);
}

BLOCK void* outlives_main(void* unused) {
  usleep(100000);
  for (int i = 0; i < 1000; ++i) task();
  expect("outlives_main", "task", 1000);
  return unused;
}

// 16 KiB stacks, the smallest that there are
BLOCK void small_stacks(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  long bytes = sysconf(_SC_THREAD_STACK_MIN);
  if (bytes < 16384) bytes = 16384;
  bytes = (bytes + 4095) / 4096 * 4096;
  if (pthread_attr_setstacksize(&attributes, bytes) != 0) puts("no small stack");
  for (int i = 0; i < 20; ++i) pthread_join(start(run_tasks, (void*)5000, &attributes), NULL);
  expect("run_tasks", "task", 20 * 5000);
}

// The same, nearly full: what a signal frame needs is left, and 1.5 kB for the handler
static char* lowest;  // of the thread's stack
UNHOOKED __attribute__((noinline)) static void fill_stack(void) {
  const long frame = (long)getauxval(51);  // AT_MINSIGSTKSZ, since Linux 5.14
  const long room = (frame ? frame : 3632) + 1536;
  char here[64];
  __asm__ volatile("" : : "r"(here) : "memory");
  if (here - lowest > room + 128) {
    fill_stack();
  } else {
    work(20000);
  }
  KEEP;
}
BLOCK void* fill(void* unused) {
  task();
  fill_stack();
  task();
  return unused;
}
BLOCK void full_stacks(void) {
  enum { kBytes = 16384, kGuard = 4096 };
  char* stack =
      mmap(NULL, kGuard + kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(stack, kGuard, PROT_NONE);
  lowest = stack + kGuard;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, lowest, kBytes) != 0) puts("no small stack");
  for (int i = 0; i < 5; ++i) pthread_join(start(fill, NULL, &attributes), NULL);
  expect("fill", "task", 10);
}

// Raw clone: a thread unknown to libc, on its creator's TLS.
BLOCK void raw_task(void) { work(1); }
BLOCK int raw_thread(void* unused) {
  (void)unused;
  for (int i = 0; i < 10000; ++i) raw_task();
  return 7;
}
BLOCK void raw_clone(void) {
  size_t bytes = 1 << 18;
  char* stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int status = 0;
  int pid = clone(raw_thread, stack + bytes, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
  while (waitpid(pid, &status, 0) < 0) continue;
  printf("raw thread returned %d\n", WEXITSTATUS(status));
  for (int i = 0; i < 1000; ++i) task();
  expect("raw_clone", "task", 1000);
}

// 300 threads that libc starts, one after another, without a call of pthread_create that we see.
enum { kExpirations = 300 };
static timer_t again;
static volatile int expirations;
BLOCK void on_expiry(union sigval unused) {
  (void)unused;
  task();
  const struct itimerspec soon = {.it_value = {0, 100000}};
  if (__atomic_add_fetch(&expirations, 1, __ATOMIC_SEQ_CST) < kExpirations)
    timer_settime(again, 0, &soon, NULL);
}
static int count_mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  int lines = 0;
  for (int c; maps && (c = getc(maps)) != EOF;) lines += c == '\n';
  if (maps) fclose(maps);
  return lines;
}
BLOCK void of_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_expiry};
  const struct itimerspec soon = {.it_value = {0, 100000}};
  timer_create(CLOCK_MONOTONIC, &event, &again);
  const int before = count_mappings();
  timer_settime(again, 0, &soon, NULL);
  while (expirations < kExpirations) usleep(1000);
  usleep(100000);  // the last one ends
  printf("they leave nothing behind: %d\n", count_mappings() < before + kExpirations / 2);
  expect("on_expiry", "task", kExpirations);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "many";
  if (!strcmp(how, "many"))
    many();
  else if (!strcmp(how, "short"))
    short_ones(argc > 2 ? atol(argv[2]) : 100000);
  else if (!strcmp(how, "endings"))
    endings();
  else if (!strcmp(how, "small-stacks"))
    small_stacks();
  else if (!strcmp(how, "full-stacks"))
    full_stacks();
  else if (!strcmp(how, "clone"))
    raw_clone();
  else if (!strcmp(how, "timer"))
    of_timer();
  else if (!strcmp(how, "main-first")) {
    start(outlives_main, NULL, NULL);
    pthread_exit(NULL);
  } else
    return 2;
  return 0;
}
