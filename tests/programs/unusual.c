// Uses what the kernel and libc offer and few programs use: argv[1] says what. Prints what
// happened.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "block.h"

extern char** environ;

BLOCK void counted(void) { work(20); }
BLOCK void burn(int times) {
  for (int i = 0; i < times; ++i) counted();
}
static void* burn_in_thread(void* times) {
  burn((int)(intptr_t)times);
  return times;
}
static void show_status(const char* what, int status) {
  if (WIFEXITED(status)) printf("%s: exit %d\n", what, WEXITSTATUS(status));
  if (WIFSIGNALED(status)) printf("%s: signal %d\n", what, WTERMSIG(status));
}
static void wait_and_show(const char* what, pid_t child) {
  int status = 0;
  if (waitpid(child, &status, __WALL) != child) printf("%s: %s\n", what, strerror(errno));
  show_status(what, status);
}
static volatile sig_atomic_t seen;
static void on_signal(int number) { seen = seen + (number != 0); }
static void handle(int number, int flags) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
  sigaction(number, &action, NULL);
}
static void show_lines_of(const char* path, const char* const* names) {
  char line[512];
  FILE* file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    for (int i = 0; names[i]; ++i)
      if (!strncmp(line, names[i], strlen(names[i]))) fputs(line, stdout);
  }
  if (file) fclose(file);
}

// Children by the newest call, as posix_spawn of newer systems makes them.
static void by_clone3(void) {
  int descriptor = -1;
  struct clone_args args = {.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
                            .pidfd = (uintptr_t)&descriptor,
                            .exit_signal = SIGCHLD};
  handle(SIGUSR1, 0);
  fflush(stdout);
  const long child = syscall(SYS_clone3, &args, sizeof args);
  if (child == 0) {
    struct sigaction action;
    sigaction(SIGUSR1, NULL, &action);
    burn(500);  // many samples
    pthread_t thread;
    pthread_create(&thread, NULL, burn_in_thread, (void*)100);
    pthread_join(thread, NULL);
    _exit(action.sa_handler == SIG_DFL ? 11 : 12);
  }
  burn(200);
  siginfo_t info;
  printf("signal 0: %ld\n", syscall(SYS_pidfd_send_signal, descriptor, 0, NULL, 0));
  if (waitid(P_PIDFD, (id_t)descriptor, &info, WEXITED) != 0) perror("waitid");
  printf("ended: %d %d\n", info.si_pid == child, info.si_status);
  printf("descriptor of the child: %d\n", descriptor);
}

// A child in our memory, and beside us: vfork without the wait.
static int in_shared_memory(void* argument) {
  *(volatile int*)argument = (int)syscall(SYS_getpid);
  for (int i = 0; i < 100; ++i) work(1000);
  _exit(21);
}
static void shared_memory(void) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  volatile int number = 0;
  const int child =
      clone(in_shared_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, (void*)&number);
  burn(300);
  wait_and_show("in our memory", child);
  printf("same memory: %d\n", number == child);
  burn(300);
}

static void programs_in_memory(void) {
  char* arguments[] = {"sh", "-c", "exit 7", NULL};
  for (int how = 0; how < 3; ++how) {
    const int memory = memfd_create("program", MFD_CLOEXEC);
    const int program = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    char buffer[1 << 16];
    for (ssize_t got; (got = read(program, buffer, sizeof buffer)) > 0;)
      if (write(memory, buffer, (size_t)got) != got) abort();
    close(program);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      burn(100);
      if (how == 0) fexecve(memory, arguments, environ);
      if (how == 1) execveat(memory, "", arguments, environ, AT_EMPTY_PATH);
      if (how == 2) syscall(SYS_execveat, memory, "", arguments, environ, AT_EMPTY_PATH);
      _exit(99);
    }
    wait_and_show("program in memory", child);
    printf("next descriptor: %d\n", memory);
    close(memory);
  }
}

static int fault_descriptor;
static char* fault_page;
static void* serve_faults(void* pages) {
  for (intptr_t i = 0; i < (intptr_t)pages; ++i) {
    struct uffd_msg message;
    if (read(fault_descriptor, &message, sizeof message) != sizeof message) return NULL;
    counted();
    struct uffdio_copy copy = {
        .dst = message.arg.pagefault.address & ~4095ul, .src = (uintptr_t)fault_page, .len = 4096};
    ioctl(fault_descriptor, UFFDIO_COPY, &copy);
  }
  return NULL;
}
static void user_faults(void) {
  fault_descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (fault_descriptor < 0) {
    printf("userfaultfd: %s\n", strerror(errno));
    return;
  }
  struct uffdio_api api = {.api = UFFD_API};
  ioctl(fault_descriptor, UFFDIO_API, &api);
  const size_t pages = 500;
  char* memory =
      mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fault_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(fault_page, 5, 4096);
  struct uffdio_register area = {.range = {(uintptr_t)memory, pages * 4096},
                                 .mode = UFFDIO_REGISTER_MODE_MISSING};
  ioctl(fault_descriptor, UFFDIO_REGISTER, &area);
  pthread_t thread;
  pthread_create(&thread, NULL, serve_faults, (void*)pages);
  long sum = 0;
  for (size_t i = 0; i < pages; ++i) sum += memory[i * 4096], counted();
  pthread_join(thread, NULL);
  printf("sum %ld\n", sum);
}

// Its completions interrupt nothing, and nothing of ours interrupts its waits.
static void ring(void) {
  struct io_uring_params params = {0};
  const int fd = (int)syscall(SYS_io_uring_setup, 8, &params);
  if (fd < 0) {
    printf("io_uring: %s\n", strerror(errno));
    return;
  }
  char* sq = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
  char* cq = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_CQ_RING);
  struct io_uring_sqe* entries =
      mmap(NULL, params.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
  unsigned* tail = (unsigned*)(sq + params.sq_off.tail);
  const unsigned mask = *(unsigned*)(sq + params.sq_off.ring_mask);
  unsigned* array = (unsigned*)(sq + params.sq_off.array);
  unsigned *head = (unsigned*)(cq + params.cq_off.head),
           *end = (unsigned*)(cq + params.cq_off.tail);
  int interrupted = 0, done = 0;
  struct __kernel_timespec wait = {0, 2000000};
  for (int i = 0; i < 300; ++i) {
    burn(10);
    const unsigned at = *tail & mask;
    memset(&entries[at], 0, sizeof entries[at]);
    entries[at].opcode = IORING_OP_TIMEOUT;
    entries[at].addr = (uintptr_t)&wait;
    entries[at].len = 1;
    array[at] = at;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0);
    interrupted += syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0;
    while (__atomic_load_n(end, __ATOMIC_ACQUIRE) != *head) {
      ++done;
      __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    }
  }
  printf("done %d, interrupted %d\n", done, interrupted);
}

// Restartable sequences: libc registers one for each thread; the program may use its own.
static void sequences(void) {
  static __thread struct {
    uint32_t cpu_start, cpu;
    uint64_t sequence;
    uint32_t flags, rest[3];
  } __attribute__((aligned(32))) own;
  printf("registered again: %ld %d\n", syscall(SYS_rseq, &own, 32, 0, 0x53053053), errno);
  long lost = 0, times = 0;
  for (int i = 0; i < 200; ++i) {
    burn(5);
    unsigned cpu = 0;
    lost += syscall(SYS_getcpu, &cpu, NULL, NULL) != 0;
    times += sched_getcpu() >= 0;
  }
  printf("%ld %ld\n", lost, times);
}

// /proc/self belongs to root from then on, and nobody may trace the process.
static void not_dumpable(void) {
  prctl(PR_SET_DUMPABLE, 0);
  burn(300);
  pthread_t thread;
  pthread_create(&thread, NULL, burn_in_thread, (void*)300);
  pthread_join(thread, NULL);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    burn(300);
    _exit(5);
  }
  wait_and_show("child", child);
  child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 6", (char*)NULL);
    _exit(99);
  }
  wait_and_show("program", child);
  printf("dumpable: %d\n", prctl(PR_GET_DUMPABLE));
}

// Allows read, write, _exit and sigreturn; all else kills.
static void strict(const char* how) {
  burn(300);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    long result = 0;
    if (!strcmp(how, "prctl")) result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (!strcmp(how, "syscall"))
      result = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    if (!strcmp(how, "seccomp")) result = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    burn(2000);
    if (write(1, result == 0 ? "strict\n" : "failed\n", 7) != 7) syscall(SYS_exit, 1);
    syscall(SYS_exit, 8);
  }
  wait_and_show("confined", child);
}

// As checkpoint tools and systemd do, which change what ps shows.
static void arguments_moved(char** argv) {
  static char title[] = "another title";
  burn(200);
  const size_t bytes = 4096;
  char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(at, title, sizeof title);
  const int first = prctl(PR_SET_MM, PR_SET_MM_ARG_START, at, 0, 0);
  const int last = prctl(PR_SET_MM, PR_SET_MM_ARG_END, at + sizeof title, 0, 0);
  printf("moved: %d %d\n", first, last);
  memset(argv[0], 'x', strlen(argv[0]));
  environ = NULL;
  burn(200);
  char text[64] = "";
  const int fd = open("/proc/self/cmdline", O_RDONLY);
  if (read(fd, text, sizeof text - 1) < 0) perror("read");
  printf("descriptor %d%s\n", fd, first == 0 && last == 0 && strcmp(text, title) != 0 ? text : "");
  close(fd);
  fflush(stdout);
  char* arguments[] = {"sh", "-c", "exit 3", NULL};
  const pid_t child = fork();
  if (child == 0) {
    execve("/bin/sh", arguments, NULL);
    _exit(99);
  }
  wait_and_show("without environment", child);
}

enum { kAutoDisarm = (int)(1u << 31) };  // SS_AUTODISARM, which old headers lack
static void on_alternate(int number) {
  stack_t inside, none = {.ss_flags = SS_DISABLE};
  sigaltstack(NULL, &inside);
  const int refused = sigaltstack(&none, NULL);
  printf("signal %d: flags %x, size %zu, change %d %s\n", number, inside.ss_flags, inside.ss_size,
         refused, refused ? strerror(errno) : "");
  burn(50);
}
static void alternate_stacks(void) {
  const size_t sizes[] = {2048, 8192, 65536};
  for (int i = 0; i < 3; ++i) {
    for (int flags = 0; flags < 2; ++flags) {
      static char memory[65536] __attribute__((aligned(4096)));
      stack_t own = {.ss_sp = memory, .ss_size = sizes[i], .ss_flags = flags ? kAutoDisarm : 0};
      stack_t now;
      const int result = sigaltstack(&own, NULL);
      sigaltstack(NULL, &now);
      printf("%zu %d: %d, flags %x, size %zu\n", sizes[i], flags, result, now.ss_flags,
             now.ss_size);
      if (result != 0 || sizes[i] < 65536) continue;
      struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};
      sigaction(SIGUSR1, &action, NULL);
      burn(100);
      raise(SIGUSR1);
      raise(SIGUSR1);
      sigaltstack(NULL, &now);
      printf("afterwards: flags %x\n", now.ss_flags);
    }
  }
}

static volatile sig_atomic_t in_threads;
static void on_event(union sigval value) {
  in_threads = in_threads + value.sival_int;
  burn(5);
}
// Every way in which a timer tells that it expired.
static void timers(void) {
  struct sigevent kinds[4] = {
      {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1},
      {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_event, .sigev_value.sival_int = 1},
      {.sigev_notify = SIGEV_NONE},
      {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2}};
  kinds[3]._sigev_un._tid = gettid();
  handle(SIGUSR1, SA_RESTART);
  handle(SIGUSR2, SA_RESTART);
  handle(SIGALRM, SA_RESTART);
  handle(SIGVTALRM, SA_RESTART);
  timer_t all[12];
  int made = 0;
  const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
  for (int clock = 0; clock < 3; ++clock) {
    for (int kind = 0; kind < 4; ++kind) {
      if (timer_create(clocks[clock], &kinds[kind], &all[made]) != 0) {
        printf("%d %d: %s\n", clock, kind, strerror(errno));
        continue;
      }
      const struct itimerspec often = {{0, 3000000}, {0, 3000000}};
      timer_settime(all[made++], 0, &often, NULL);
    }
  }
  const struct itimerval both = {{0, 5000}, {0, 5000}};
  setitimer(ITIMER_REAL, &both, NULL);
  setitimer(ITIMER_VIRTUAL, &both, NULL);
  burn(10000);
  struct itimerspec left;
  int armed = 0;
  for (int i = 0; i < made; ++i)
    armed += timer_gettime(all[i], &left) == 0 && left.it_interval.tv_nsec == 3000000;
  for (int i = 0; i < made; ++i) timer_delete(all[i]);
  const struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &none, NULL);
  setitimer(ITIMER_VIRTUAL, &none, NULL);
  printf("made %d, armed %d, signals %d, threads %d\n", made, armed, seen > 20, in_threads > 5);
}

// A thread reads all signals from a descriptor while others compute.
static int signals_fd;
static void* read_signals(void* other) {
  int read_count = 0, foreign = 0;
  struct signalfd_siginfo info;
  while (read(signals_fd, &info, sizeof info) == sizeof info && info.ssi_signo != SIGTERM) {
    ++read_count;
    foreign += info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGCHLD;
  }
  printf("read %d, others %d\n", read_count > 0, foreign);
  return other;
}
static void signal_descriptor(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  signals_fd = signalfd(-1, &all, SFD_CLOEXEC);
  pthread_t reader, worker[2];
  pthread_create(&reader, NULL, read_signals, NULL);
  for (int i = 0; i < 2; ++i) pthread_create(&worker[i], NULL, burn_in_thread, (void*)3000);
  for (int i = 0; i < 50; ++i) {
    kill(getpid(), SIGUSR1);
    counted();
  }
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  for (int i = 0; i < 2; ++i) pthread_join(worker[i], NULL);
  kill(getpid(), SIGTERM);
  pthread_join(reader, NULL);
}

// All attributes of posix_spawn: the child shows what it got.
static void spawn_attributes(void) {
  const char* names[] = {"SigBlk", "SigIgn", NULL};
  fflush(stdout);
  for (int turn = 0; turn < 16; ++turn) {
    const int how = turn / 2;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    short flags = 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    signal(SIGPIPE, SIG_IGN);
    if (how == 1) posix_spawnattr_setsigmask(&attributes, &set), flags |= POSIX_SPAWN_SETSIGMASK;
    if (how == 2) {
      sigaddset(&set, SIGPIPE);
      posix_spawnattr_setsigdefault(&attributes, &set), flags |= POSIX_SPAWN_SETSIGDEF;
    }
    if (how == 3) posix_spawnattr_setpgroup(&attributes, 0), flags |= POSIX_SPAWN_SETPGROUP;
    if (how == 4) flags |= POSIX_SPAWN_SETSID;
    if (how == 5) flags |= POSIX_SPAWN_RESETIDS | POSIX_SPAWN_USEVFORK;
    if (how == 6) posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (how == 7) posix_spawn_file_actions_addchdir_np(&actions, "/");
    posix_spawnattr_setflags(&attributes, flags);
    char* of_status[] = {"grep", "-E", "^Sig(Blk|Ign)|^FDSize", "/proc/self/status", NULL};
    char* of_files[] = {"ls", "/proc/self/fd", NULL};
    pid_t child = 0;
    burn(60);
    char** arguments = turn % 2 ? of_files : of_status;
    const int result =
        posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environ);
    printf("%d: %d\n", how, result);
    wait_and_show("spawned", child);
    fflush(stdout);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  show_lines_of("/proc/self/status", names);
}

// Cancelled at any moment, also in hooks.
static volatile int cleaned;
static void clean(void* argument) {
  __atomic_fetch_add(&cleaned, (int)(intptr_t)argument, __ATOMIC_RELAXED);
}
static void* cancelled(void* asynchronous) {
  if (asynchronous) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  pthread_cleanup_push(clean, (void*)1);
  for (;;) {
    counted();
    if (!asynchronous) pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  return NULL;
}
static void cancellation(void) {
  int ended = 0;
  for (int i = 0; i < 200; ++i) {
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, cancelled, (void*)(intptr_t)(i & 1));
    work(i * 7 % 100 * 10);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    ended += result == PTHREAD_CANCELED;
  }
  printf("cancelled %d, cleaned up %d\n", ended, cleaned >= 100);
}

// The owner of a lock ends without unlocking it: a thread, and a process. At last, the next owner
// unlocks it without making it consistent: nobody can lock it from then on.
static pthread_mutex_t* robust;
static void* take(void* unused) {
  pthread_mutex_lock(robust);
  burn(10);
  return unused;
}
static void* lock_lost(void* unused) {
  printf("lock: %s\n", strerror(pthread_mutex_lock(robust)));
  return unused;
}
static void robust_locks(void) {
  robust = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(robust, &attributes);
  int died = 0;
  for (int i = 0; i < 60; ++i) {
    if (i % 3 == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, take, NULL);
      pthread_join(thread, NULL);
    } else {
      const pid_t child = fork();
      if (child == 0) {
        take(NULL);
        if (i % 3 == 1) _exit(0);
        raise(SIGKILL);
      }
      waitpid(child, NULL, 0);
    }
    const int result = pthread_mutex_lock(robust);
    died += result == EOWNERDEAD;
    pthread_mutex_consistent(robust);
    pthread_mutex_unlock(robust);
  }
  printf("owners died: %d\n", died);
  pthread_t thread;
  pthread_create(&thread, NULL, take, NULL);
  pthread_join(thread, NULL);
  printf("lock: %s\n", strerror(pthread_mutex_lock(robust)));
  pthread_mutex_unlock(robust);
  lock_lost(NULL);
  pthread_create(&thread, NULL, lock_lost, NULL);
  pthread_join(thread, NULL);
}

static ucontext_t places[4];
static volatile long jumps;
BLOCK void jump_on(int from) {
  if (++jumps < 20000) setcontext(&places[(from + 1) % 4]);
}
static void contexts(void) {
  volatile int last = 0;
  for (volatile int i = 0; i < 4; ++i) {
    getcontext(&places[i]);
    last = i;
    counted();
    if (jumps > 0) jump_on((int)(jumps % 4));
    if (jumps >= 20000) break;
  }
  if (jumps < 20000) jump_on(last);
  printf("jumps %ld\n", (long)jumps);
}

// Much more environment and arguments than usual.
static void large_arguments(char* self) {
  fflush(stdout);
  static char variable[20000][16], *variables[20010], *arguments[20003];
  int count = 0;
  for (char** at = environ; *at && count < 100; ++at)
    if (strstr(*at, "FBLEPROF") || strstr(*at, "LD_PRELOAD") || strstr(*at, "WITNESS"))
      variables[count++] = *at;
  for (int i = 0; i < 19000; ++i) {
    sprintf(variable[i], "V%d=%d", i, i);
    variables[count++] = variable[i];
  }
  arguments[0] = self;
  arguments[1] = "count-arguments";
  for (int i = 2; i < 20000; ++i)
    arguments[i] = "an-argument-that-is-rather-long-so-that-they-are-1-MB";
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit stack = {64 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &stack);
    execve(self, arguments, variables);
    perror("execve");
    _exit(99);
  }
  wait_and_show("large", child);
}

// Descriptors are closed and taken over by other threads while threads start and children are made.
static volatile int is_over;
static void* close_all(void* unused) {
  while (!is_over) {
    closefrom(3);
    const int fd = open("/dev/null", O_RDONLY);
    if (fd >= 0) dup2(fd, 40), close(fd), close(40);
  }
  return unused;
}
static void closing(void) {
  pthread_t closer, thread;
  pthread_create(&closer, NULL, close_all, NULL);
  int ended = 0;
  for (int i = 0; i < 200; ++i) {
    if (pthread_create(&thread, NULL, burn_in_thread, (void*)2) == 0) pthread_join(thread, NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(4);
    int status = 0;
    ended += waitpid(child, &status, 0) == child && status == 4 << 8;
  }
  is_over = 1;
  pthread_join(closer, NULL);
  printf("children %d\n", ended);
}

// Adopts orphans and waits for every kind of child: only its own may come.
static void subreaper(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fflush(stdout);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (fork() == 0) {
        burn(20);
        _exit(30);
      }
      _exit(31);
    }
  }
  int orphans = 0, own = 0, others = 0, status;
  for (pid_t got; (got = waitpid(-1, &status, __WALL)) > 0;) {
    if (status == 30 << 8)
      ++orphans;
    else if (status == 31 << 8)
      ++own;
    else
      ++others;
  }
  printf("%d %d, others %d, %s\n", own, orphans, others, strerror(errno));
}

// Gives up the shared tables of descriptors, then its process numbers.
static void* apart(void* unused) {
  const int files = unshare(CLONE_FILES | CLONE_FS);
  closefrom(3);
  burn(100);
  if (chdir("/") != 0) perror("chdir");
  printf("unshare: %d\n", files);
  pthread_t thread;
  return unused ? unused
                : (pthread_create(&thread, NULL, burn_in_thread, (void*)50),
                   pthread_join(thread, NULL), NULL);
}
static void unshared(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, apart, NULL);
  pthread_join(thread, NULL);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(44);
    const pid_t first = fork();
    if (first == 0) {
      burn(100);
      _exit(getpid() == 1 ? 41 : 42);
    }
    int status = 0;
    waitpid(first, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  wait_and_show("own numbers", child);
}

static int depth_of(volatile char* top) {
  volatile char here[4096];
  here[0] = 1;
  return top - here < (6 << 20) ? depth_of(top) + here[0] : 0;
}
static void stack_and_layout(void) {
  volatile char top = 0;
  struct rlimit stack;
  getrlimit(RLIMIT_STACK, &stack);
  pthread_attr_t attributes;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  printf("limit %lx, deep %d, attributes %d\n", (unsigned long)stack.rlim_cur,
         depth_of(&top) > 1000, size > 4096);
  pthread_t thread;
  const int result = pthread_create(&thread, NULL, burn_in_thread, (void*)200);
  if (result == 0) pthread_join(thread, NULL);
  printf("thread: %d, personality %x\n", result, personality(~0u));
  burn(300);
}

static void no_more_processes(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {0, 0};
    if (setgid(65533) != 0 || setuid(65533) != 0) _exit(70);
    setrlimit(RLIMIT_NPROC, &limit);
    burn(100);
    pthread_t thread;
    const int thread_result = pthread_create(&thread, NULL, burn_in_thread, (void*)5);
    const int fork_result = fork() < 0 ? errno : 0;
    printf("thread: %s, fork: %s\n", strerror(thread_result), strerror(fork_result));
    fflush(stdout);
    _exit(9);
  }
  wait_and_show("no more processes", child);
}

static void processor_time_limit(void) {
  handle(SIGXCPU, SA_RESTART);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {1, 2};
    setrlimit(RLIMIT_CPU, &limit);
    while (!seen) counted();
    if (write(1, "SIGXCPU\n", 8) != 8) _exit(1);
    for (;;) counted();
  }
  wait_and_show("processor time", child);
}

// Children that nobody waits for, and a handler that waits for all.
static void on_child(int number) {
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) seen = seen + 1;
}
static void unawaited(void) {
  struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
  sigaction(SIGCHLD, &action, NULL);
  fflush(stdout);
  for (int i = 0; i < 10; ++i)
    if (fork() == 0) _exit(0);
  const int none = waitpid(-1, NULL, 0);
  printf("waitpid: %d %s\n", none, strerror(errno));
  action.sa_handler = on_child;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCHLD, &action, NULL);
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    burn(3);
  }
  while (seen < 50) pause();
  printf("waited for %d\n", (int)seen);
}

// A memory barrier by page protection: a fault at each first write, as collectors of garbage use.
static char* guarded;
static volatile int faults;
static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  faults = faults + 1;
  mprotect((void*)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
  counted();
}
static void write_barrier(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  guarded = mmap(NULL, 64 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int round = 0; round < 50; ++round) {
    mprotect(guarded, 64 * 4096, PROT_READ);
    for (int i = 0; i < 64; ++i) guarded[i * 4096] = 1;
  }
  printf("faults %d\n", faults);
}

// More mappings than a process may have: some threads cannot start then.
static void all_mappings(void) {
  int made = 0;
  static char* at[70000];
  while (made < 70000) {
    char* got =
        mmap(NULL, 4096, made & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) break;
    at[made++] = got;
  }
  pthread_t thread;
  const int refused = pthread_create(&thread, NULL, burn_in_thread, (void*)10);
  if (refused == 0) pthread_join(thread, NULL);
  burn(200);
  for (int i = 0; i < made; ++i) munmap(at[i], 4096);
  const int result = pthread_create(&thread, NULL, burn_in_thread, (void*)100);
  if (result == 0) pthread_join(thread, NULL);
  printf("many: %d, refused %d, afterwards %d\n", made > 60000, refused, result);
}

// Another user in all threads: libc tells each thread by a signal of its own.
static volatile int users_seen;
static void* be_another(void* unused) {
  while (!is_over) counted();
  __atomic_fetch_add(&users_seen, geteuid() == 65532, __ATOMIC_RELAXED);
  return unused;
}
static void change_user(void) {
  pthread_t thread[4];
  for (int i = 0; i < 4; ++i) pthread_create(&thread[i], NULL, be_another, NULL);
  burn(100);
  const int result = setegid(65532) | seteuid(65532);
  burn(100);
  is_over = 1;
  for (int i = 0; i < 4; ++i) pthread_join(thread[i], NULL);
  printf("seteuid: %d, seen in %d threads\n", result, users_seen);
}

// Confines itself to no files at all (Landlock): the recorder's are among them.
static void landlock(void) {
  struct {
    uint64_t files;
  } all = {0x1fff};
  const int rules = (int)syscall(444, &all, sizeof all, 0);
  if (rules < 0) exit(77);
  burn(100);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  printf("confined: %ld\n", syscall(446, rules, 0));
  close(rules);
  const int file = open("file", O_RDWR | O_CREAT, 0600);
  printf("open: %s\n", file < 0 ? strerror(errno) : "done");
  pthread_t thread;
  if (pthread_create(&thread, NULL, burn_in_thread, (void*)100) == 0) pthread_join(thread, NULL);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    burn(100);
    execl("/bin/true", "true", NULL);
    _exit(errno == EACCES ? 6 : 7);
  }
  wait_and_show("child", child);
}

// Threads that are moved from processor to processor.
static void* move_about(void* first) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  for (int i = 0; i < 200; ++i) {
    const int cpu = (int)(((intptr_t)first + i) % CPU_SETSIZE);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (CPU_ISSET(cpu, &all)) sched_setaffinity(0, sizeof one, &one);
    if (i % CPU_COUNT(&all) == 0) sched_yield();
    counted();
  }
  sched_setaffinity(0, sizeof all, &all);
  return NULL;
}
static void affinity(void) {
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  pthread_t thread[3];
  for (intptr_t i = 0; i < 3; ++i) pthread_create(&thread[i], NULL, move_about, (void*)(i * 7));
  for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
  sched_getaffinity(0, sizeof after, &after);
  printf("the same processors: %d\n", CPU_EQUAL(&before, &after));
  expect("move_about", "counted", 600);
}

// Takes memory until it is ended: by the kernel, if a control group limits it.
static void all_memory(void) {
  burn(1000);
  for (int i = 0; i < 200; ++i) {
    char* memory = malloc(1 << 20);
    if (memory) memset(memory, 1, 1 << 20);
    burn(5);
  }
  puts("it has 200 MB");
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const struct {
    const char* name;
    void (*run)(void);
  } all[] = {{"clone3", by_clone3},
             {"shared-memory", shared_memory},
             {"memfd", programs_in_memory},
             {"userfaultfd", user_faults},
             {"io_uring", ring},
             {"rseq", sequences},
             {"dumpable", not_dumpable},
             {"altstacks", alternate_stacks},
             {"timers", timers},
             {"signalfd", signal_descriptor},
             {"spawn", spawn_attributes},
             {"cancel", cancellation},
             {"robust", robust_locks},
             {"contexts", contexts},
             {"closing", closing},
             {"subreaper", subreaper},
             {"unshare", unshared},
             {"layout", stack_and_layout},
             {"nproc", no_more_processes},
             {"cpu-limit", processor_time_limit},
             {"unawaited", unawaited},
             {"write-barrier", write_barrier},
             {"mappings", all_mappings},
             {"users", change_user},
             {"landlock", landlock},
             {"affinity", affinity},
             {"memory", all_memory}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    if (strcmp(how, all[i].name) != 0) continue;
    all[i].run();
    return 0;
  }
  if (!strcmp(how, "strict")) {
    strict(argc > 2 ? argv[2] : "prctl");
  } else if (!strcmp(how, "arguments")) {
    arguments_moved(argv);
  } else if (!strcmp(how, "large")) {
    large_arguments(argv[0]);
  } else if (!strcmp(how, "count-arguments")) {
    int variables = 0;
    for (char** at = environ; *at; ++at) variables += (*at)[0] == 'V';
    printf("%d arguments, %d variables\n", argc, variables);
    burn(50);
  } else {
    return 1;
  }
  return 0;
}
