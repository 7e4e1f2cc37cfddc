// Waits of known kinds and lengths in ten contexts, and programs that end in the middle of a wait.
//   waits split       ten contexts: in context k, k shares of CPU time and of each kind of wait
//   waits idle FILE   an idle server: writes FILE when it waits; ends at a signal
//   waits workers     threads that wait for work until the process ends
//   waits naps FILE   threads that sleep in calls that otherwise wait for descriptors, and one that
//                     reads FILE, which it makes, from its disk
//   waits seldom      calls that few programs make, of 0.1 s each
//   waits fork        a child that waits on its own
//   waits cancel      threads cancelled, and waits left by siglongjmp
//   waits jumps       waits left by siglongjmp and, on a stack that is then unmapped, by setcontext
//   waits plugins A B two plugins, loaded in turn at one address
//   waits locks       two contexts that hold a lock for which another one waits
//   waits crowded     two threads that compute on one processor
//   waits stopped     recording stops after 0.2 s of a wait of 1 s
//   waits stopped_for_good   the same, and the wait does not end before the program
//   waits started     recording starts after 0.2 s of a wait of 1 s
//   waits started_for_good   the same, and the wait does not end before the program
//   waits interrupted recording is off for 0.4 s of a wait of 1 s
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fbleprof/fbleprof.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static const long kShareNs = 1000 * 1000;  // of each kind of wait, for context 1

static long now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

// The program's own measurements, by kind and context.
enum { kSleep, kPipe, kFutex, kEpoll, kCond, kFileLock, kKinds };
static const char* const kNames[] = {"sleep", "pipe", "futex", "epoll", "cond", "filelock"};
static long waited_ns[kKinds][10];
static int early, interrupted;

// The other side of the waits: a thread that answers after the requested time.
static int ask[2], answer[2], file;
static int futex_word;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_signalled;
static sem_t is_locked;

struct request {
  int kind;
  long ns;
};

static void* answers(void* unused) {
  struct request request;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int own = open(path, O_RDWR);
  while (read(ask[0], &request, sizeof request) == sizeof request) {
    const struct timespec delay = {request.ns / 1000000000, request.ns % 1000000000};
    if (request.kind == kFileLock) {
      flock(own, LOCK_EX);
      sem_post(&is_locked);
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
    switch (request.kind) {
      case kFutex:
        __atomic_store_n(&futex_word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &futex_word, FUTEX_WAKE, 1, NULL, NULL, 0);
        break;
      case kCond:
        pthread_mutex_lock(&mutex);
        is_signalled = 1;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
        break;
      case kFileLock:
        flock(own, LOCK_UN);
        break;
      default:
        if (write(answer[1], "x", 1) != 1) abort();
    }
  }
  return unused;
}

static void begin(int kind, long ns) {
  const struct request request = {kind, ns};
  if (write(ask[1], &request, sizeof request) != sizeof request) abort();
}

// Counts calls that a signal interrupted.
static long checked(long result) {
  if (result < 0 && errno == EINTR) ++interrupted;
  return result;
}

KEEP static void in_sleep(long ns) {
  const struct timespec delay = {ns / 1000000000, ns % 1000000000};
  if (clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL) == EINTR) ++interrupted;
}
KEEP static void in_pipe(long ns) {
  char c;
  begin(kPipe, ns);
  if (checked(read(answer[0], &c, 1)) != 1) abort();
}
KEEP static void in_futex(long ns) {
  futex_word = 0;
  begin(kFutex, ns);
  while (__atomic_load_n(&futex_word, __ATOMIC_SEQ_CST) == 0) {
    checked(syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, NULL, NULL, 0));
  }
}
KEEP static void in_epoll(long ns) {
  static int epoll = -1;
  struct epoll_event event = {.events = EPOLLIN};
  char c;
  if (epoll < 0) {
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, answer[0], &event);
  }
  begin(kEpoll, ns);
  if (checked(epoll_wait(epoll, &event, 1, 10000)) != 1) abort();
  if (read(answer[0], &c, 1) != 1) abort();
}
KEEP static void in_cond(long ns) {
  is_signalled = 0;
  begin(kCond, ns);
  pthread_mutex_lock(&mutex);
  while (!is_signalled) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}
KEEP static void in_filelock(long ns) {
  begin(kFileLock, ns);
  sem_wait(&is_locked);
  checked(flock(file, LOCK_EX));
  flock(file, LOCK_UN);
}
KEEP static void compute(long ns) {
  const long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

static void (*const kWaits[kKinds])(long) = {in_sleep, in_pipe, in_futex,
                                             in_epoll, in_cond, in_filelock};

static void context(int k) {
  const long ns = (k + 1) * kShareNs;
  for (int kind = 0; kind < kKinds; ++kind) {
    const long before = now_ns(CLOCK_MONOTONIC);
    kWaits[kind](ns);
    const long passed = now_ns(CLOCK_MONOTONIC) - before;
    if (passed < ns) ++early;
    waited_ns[kind][k] += passed;
  }
  compute(ns);
}

#include "contexts.h"

static int split(void) {
  pthread_t other;
  char name[] = "/tmp/waits.XXXXXX";
  file = mkstemp(name);
  sem_init(&is_locked, 0, 0);
  if (file < 0 || pipe(ask) != 0 || pipe(answer) != 0) return 1;
  pthread_create(&other, NULL, answers, NULL);
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < 10; ++k) kAllContexts[k]();
  }
  close(ask[1]);
  pthread_join(other, NULL);
  unlink(name);
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int k = 0; k < 10; ++k) {
      fprintf(stderr, "waited %s context_%d %ld\n", kNames[kind], k, waited_ns[kind][k]);
    }
  }
  printf("early %d, interrupted %d\n", early, interrupted);
  return 0;
}

static volatile sig_atomic_t is_over;
static void end(int number) { is_over = number; }

KEEP static void serve(int epoll) {
  struct epoll_event event;
  while (!is_over) epoll_wait(epoll, &event, 1, -1);
}

static int idle(const char* path) {
  FILE* ready = fopen(path, "w");
  if (ready == NULL) return 1;
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGUSR1, &action, NULL);
  fprintf(ready, "%d\n", getpid());
  fclose(ready);
  serve(epoll_create1(0));
  puts("over");
  return 0;
}

KEEP static void* work(void* unused) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&condition, &mutex);
  return unused;
}
static int workers(void) {
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
  }
  usleep(150000);
  puts("over");
  return 0;
}

KEEP static void* naps_in_poll(void* unused) {
  for (int i = 0; i < 15; ++i) poll(NULL, 0, 20);
  return unused;
}
KEEP static void* naps_in_select(void* unused) {
  for (int i = 0; i < 15; ++i) {
    struct timeval time = {0, 20 * 1000};
    select(i % 2 ? FD_SETSIZE : 0, NULL, NULL, NULL, &time);
  }
  return unused;
}
KEEP static void* naps_in_calls(void* unused) {
  for (int i = 0; i < 15; ++i) syscall(SYS_poll, NULL, 0, 20);
  return unused;
}
enum { kBlock = 4096, kBlocks = 256 };
static char* block;
// Makes the file. -1: it cannot be read past memory.
static int open_disk(const char* path) {
  block = mmap(NULL, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int disk = open(path, O_CREAT | O_RDWR | O_DIRECT, 0600);
  for (int i = 0; i < kBlocks; ++i) {
    if (write(disk, block, kBlock) != kBlock) return -1;
  }
  return disk;
}
KEEP static void* reads_disk(void* disk) {
  const long end = now_ns(CLOCK_MONOTONIC) + 300 * 1000 * 1000;
  for (long i = 0; now_ns(CLOCK_MONOTONIC) < end; i = (i + 7) % kBlocks) {
    if (pread((int)(intptr_t)disk, block, kBlock, i * kBlock) != kBlock) abort();
  }
  return NULL;
}
static int naps(const char* path) {
  pthread_t threads[4];
  const int disk = open_disk(path);
  if (disk < 0) puts("no direct access");
  pthread_create(&threads[0], NULL, naps_in_poll, NULL);
  pthread_create(&threads[1], NULL, naps_in_select, NULL);
  pthread_create(&threads[2], NULL, naps_in_calls, NULL);
  if (disk >= 0) pthread_create(&threads[3], NULL, reads_disk, (void*)(intptr_t)disk);
  for (int i = 0; i < (disk >= 0 ? 4 : 3); ++i) pthread_join(threads[i], NULL);
  return 0;
}

KEEP static void* answers_later(void* fd) {
  usleep(100 * 1000);
  if (write((int)(intptr_t)fd, "x", 1) != 1) abort();
  return NULL;
}
static int seldom(void) {
  pthread_t thread;
  char byte;
  if (pipe(answer) != 0) return 1;
  pthread_create(&thread, NULL, answers_later, (void*)(intptr_t)answer[1]);
  struct aiocb one = {
      .aio_fildes = answer[0], .aio_buf = &byte, .aio_nbytes = 1, .aio_lio_opcode = LIO_READ};
  struct aiocb* list[] = {&one};
  if (lio_listio(LIO_WAIT, list, 1, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  const struct timespec time = {0, 100 * 1000 * 1000};
  if (syscall(SYS_rt_sigtimedwait, &set, NULL, &time, 8) != -1 || errno != EAGAIN) return 1;
  puts("over");
  return 0;
}

KEEP static void parent_waits(pid_t child) {
  waitpid(child, NULL, 0);
  __asm__ volatile("");
}
KEEP static void child_waits(void) {
  usleep(100000);
  __asm__ volatile("");
}
static int forks(void) {
  in_sleep(50 * 1000 * 1000);
  const pid_t child = fork();
  if (child == 0) {
    child_waits();
    child_waits();
    compute(20 * 1000 * 1000);
    exit(0);
  }
  parent_waits(child);
  if (system("exit 3") != 3 << 8) return 1;
  puts("over");
  return 0;
}

static sigjmp_buf left;
static void leave(int number) { siglongjmp(left, number); }
KEEP static void* cancelled(void* unused) {
  char c;
  (void)!read(ask[0], &c, 1);
  return unused;
}
KEEP static void leaves(void) {
  char c;
  if (sigsetjmp(left, 1) == 0) {
    ualarm(300 * 1000, 0);
    (void)!read(ask[0], &c, 1);
  }
}
// How many threads wait for objects, as the recorder counts them.
static int count_wanted(void) {
  const uint16_t* wanted = dlsym(RTLD_DEFAULT, "fbleprof_wanted");
  int sum = 0;
  for (int i = 0; wanted != NULL && i < 2048; ++i) sum += wanted[i];
  return sum;
}
static int cancel(void) {
  void* result = NULL;
  pthread_t thread;
  if (pipe(ask) != 0) return 1;
  pthread_create(&thread, NULL, cancelled, NULL);
  usleep(50000);
  int in_child = 0;
  const pid_t child = fork();
  if (child == 0) _exit(count_wanted());
  waitpid(child, &in_child, 0);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  const int wanted = count_wanted();
  signal(SIGALRM, leave);
  leaves();
  compute(100 * 1000 * 1000);
  in_sleep(100 * 1000 * 1000);
  printf("cancelled %d, wanted %d, in a child %x\n", result == PTHREAD_CANCELED, wanted, in_child);
  return 0;
}

// In no call of libc's: the wait is unseen.
KEEP static void unseen(long ns) {
  const struct timespec delay = {ns / 1000000000, ns % 1000000000};
  long result = SYS_nanosleep;
  __asm__ volatile("syscall" : "+a"(result) : "D"(&delay), "S"(NULL) : "rcx", "r11", "memory");
}

static ucontext_t outside, fiber;
static void leave_fiber(int number) {
  (void)number;
  setcontext(&outside);
}
static void fiber_reads(void) {
  char c;
  (void)!read(ask[0], &c, 1);
}
// Its stack is made after the fiber's, so below.
KEEP static void* leaves_fiber(void* stack) {
  static volatile int is_left;
  getcontext(&outside);
  if (!is_left) {
    is_left = 1;
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = 1 << 16;
    makecontext(&fiber, fiber_reads, 0);
    ualarm(50000, 0);
    setcontext(&fiber);
  }
  munmap(stack, 1 << 16);
  in_sleep(20 * 1000 * 1000);
  return NULL;
}
static int jumps(void) {
  pthread_t thread;
  sigset_t alarms;
  void* stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pipe(ask) != 0 || stack == MAP_FAILED) return 1;
  signal(SIGALRM, leave);
  leaves();
  unseen(300 * 1000 * 1000);
  signal(SIGALRM, leave_fiber);
  pthread_create(&thread, NULL, leaves_fiber, stack);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, NULL);
  pthread_join(thread, NULL);
  puts("over");
  return 0;
}

static int plugins(char** files) {
  for (int i = 0; i < 10; ++i) {
    void* plugin = dlopen(files[i % 2], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) return puts(dlerror()), 1;
    ((void (*)(void))dlsym(plugin, "run_plugin"))();
    dlclose(plugin);
  }
  puts("over");
  return 0;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int is_held, is_wanted;  // so that each hold has one wait, on a busy machine, too
static void await(const int* flag, int value) {
  while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) != value) in_sleep(50 * 1000);
}
KEEP static void hold(long ns) {
  pthread_mutex_lock(&held);
  __atomic_store_n(&is_held, 1, __ATOMIC_SEQ_CST);
  await(&is_wanted, 1);
  in_sleep(ns);
  __atomic_store_n(&is_held, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&held);
  await(&is_wanted, 0);
}
KEEP static void hold_long(void) {
  hold(20 * 1000 * 1000);
  __asm__ volatile("");
}
KEEP static void hold_short(void) {
  hold(5 * 1000 * 1000);
  __asm__ volatile("");
}
enum { kHolds = 20 };
KEEP static void* contend(void* unused) {
  for (int i = 0; i < kHolds; ++i) {
    await(&is_held, 1);
    __atomic_store_n(&is_wanted, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    __atomic_store_n(&is_wanted, 0, __ATOMIC_SEQ_CST);
  }
  return unused;
}
static int locks(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, contend, NULL);
  for (int i = 0; i < kHolds / 2; ++i) {
    hold_long();
    hold_short();
  }
  pthread_join(thread, NULL);
  puts("over");
  return 0;
}

KEEP static void* crowd(void* unused) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(sched_getcpu(), &first);
  pthread_t other;
  sched_setaffinity(0, sizeof first, &first);
  if (unused == NULL) pthread_create(&other, NULL, crowd, &first);
  compute(100 * 1000 * 1000);
  if (unused == NULL) pthread_join(other, NULL);
  return NULL;
}
static int crowded(void) {
  crowd(NULL);
  puts("over");
  return 0;
}

static int is_asleep;
KEEP static void* sleeps(void* ns) {
  __atomic_store_n(&is_asleep, 1, __ATOMIC_RELEASE);
  in_sleep((long)ns);
  return ns;
}
static int recorded_in_part(const char* what) {
  enum { kMs = 1000 * 1000 };
  const int is_for_good = strstr(what, "for_good") != NULL;
  const int is_started = strncmp(what, "started", 7) == 0;
  pthread_t thread;
  if (is_started) fbleprof_stop();
  pthread_create(&thread, NULL, sleeps, (void*)(is_for_good ? 60000L * kMs : 1000L * kMs));
  while (__atomic_load_n(&is_asleep, __ATOMIC_ACQUIRE) == 0) sched_yield();
  in_sleep(200 * kMs);
  if (is_started) fbleprof_start();
  if (!is_started) fbleprof_stop();
  in_sleep(400 * kMs);
  if (strcmp(what, "interrupted") == 0) fbleprof_start();
  if (!is_for_good) pthread_join(thread, NULL);
  puts("over");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "split") == 0) return split();
  if (strcmp(what, "idle") == 0 && argc > 2) return idle(argv[2]);
  if (strcmp(what, "workers") == 0) return workers();
  if (strcmp(what, "naps") == 0 && argc > 2) return naps(argv[2]);
  if (strcmp(what, "seldom") == 0) return seldom();
  if (strcmp(what, "jumps") == 0) return jumps();
  if (strcmp(what, "plugins") == 0 && argc > 3) return plugins(argv + 2);
  if (strcmp(what, "fork") == 0) return forks();
  if (strcmp(what, "cancel") == 0) return cancel();
  if (strcmp(what, "locks") == 0) return locks();
  if (strcmp(what, "crowded") == 0) return crowded();
  if (*what != 0) return recorded_in_part(what);
  return 2;
}
