// Calls that the recorder stands in front of, with arguments at the edge of what they take and
// beyond it. Prints what each returns, and its errno: edge_calls
// [signals|processes|threads|descriptors|system|refused]...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// The value of the call, and errno if the call set it.
#define SAY(call)                                                  \
  do {                                                             \
    errno = 0;                                                     \
    const long value_ = (long)(call);                              \
    const int error_ = errno;                                      \
    printf("%s: %ld%s%s\n", #call, value_, error_ != 0 ? " " : "", \
           error_ != 0 ? strerrorname_np(error_) : "");            \
  } while (0)
// The same for calls that return a descriptor or an address.
#define MAKES(call) SAY((call) >= 0)

typedef void Handler(int);

static volatile sig_atomic_t seen;
static void on_signal(int number) { seen = number; }
static void* nowhere(void) {
  static void* volatile bad = (void*)8;
  return bad;
}

Handler* sysv_signal(int number, Handler* handler);
Handler* __sysv_signal(int number, Handler* handler);
Handler* bsd_signal(int number, Handler* handler);

// What a handler is called here.
static const char* name_of(Handler* handler) {
  return handler == SIG_DFL     ? "default"
         : handler == SIG_IGN   ? "ignored"
         : handler == SIG_HOLD  ? "held"
         : handler == SIG_ERR   ? "error"
         : handler == on_signal ? "ours"
                                : "other";
}
#define HANDLER(call)                                                             \
  do {                                                                            \
    errno = 0;                                                                    \
    const char* name_ = name_of(call);                                            \
    printf("%s, %d: %s %d\n", #call, number, name_, name_[0] == 'e' ? errno : 0); \
  } while (0)

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void actions_of(int number) {
  HANDLER(signal(number, on_signal));
  HANDLER(signal(number, SIG_ERR));
  HANDLER(bsd_signal(number, SIG_IGN));
  HANDLER(ssignal(number, SIG_DFL));
  HANDLER(sysv_signal(number, on_signal));
  HANDLER(__sysv_signal(number, SIG_ERR));
  HANDLER(__sysv_signal(number, SIG_DFL));
  HANDLER(sigset(number, on_signal));
  HANDLER(sigset(number, SIG_ERR));
  HANDLER(sigset(number, SIG_HOLD));
  HANDLER(sigset(number, SIG_HOLD));
  HANDLER(sigset(number, SIG_DFL));
  SAY(sigignore(number));
  SAY(siginterrupt(number, 1));
  HANDLER(signal(number, on_signal));
  struct sigaction action;
  SAY(sigaction(number, NULL, &action));
  SAY(siginterrupt(number, 0));
  SAY(sighold(number));
  SAY(sigrelse(number));
  HANDLER(signal(number, SIG_DFL));
}

// The linker warns of a program that names it.
static int mask_bits(void) {
  int (*function)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "siggetmask");
  return function != NULL ? function() : 0;
}

static void* interrupt(void* thread) {
  struct timespec soon = {0, 20 * 1000 * 1000};
  nanosleep(&soon, NULL);
  pthread_kill(*(pthread_t*)thread, SIGUSR2);
  nanosleep(&soon, NULL);
  pthread_kill(*(pthread_t*)thread, SIGPROF);
  return NULL;
}

static void wait_for_profiling_signal(void) {
  const struct timespec none = {0, 0}, wrong = {0, -1}, minute = {60, 0};
  sigset_t profiling, other;
  siginfo_t about;
  sigemptyset(&profiling);
  sigaddset(&profiling, SIGPROF);
  sigemptyset(&other);
  sigaddset(&other, SIGUSR1);
  SAY(sigtimedwait(&profiling, NULL, &none));
  SAY(sigtimedwait(&other, NULL, &none));
  SAY(sigtimedwait(&profiling, NULL, &wrong));
  SAY(sigtimedwait(nowhere(), NULL, &none));
  signal(SIGPROF, on_signal);
  signal(SIGUSR2, on_signal);
  sigprocmask(SIG_BLOCK, &profiling, NULL);
  raise(SIGPROF);
  sigset_t pending;
  SAY(sigpending(&pending));
  SAY(sigismember(&pending, SIGPROF));
  SAY(sigpending(nowhere()));
  SAY(sigtimedwait(&profiling, &about, &none));
  SAY(about.si_signo);
  SAY(sigpending(&pending));
  SAY(sigismember(&pending, SIGPROF));
  raise(SIGPROF);
  SAY(sigwaitinfo(&profiling, &about));
  raise(SIGPROF);
  int number = 0;
  SAY(sigwait(&profiling, &number));
  SAY(number);
  sigprocmask(SIG_BLOCK, &other, NULL);
  raise(SIGUSR1);
  SAY(sigwait(&other, &number));
  SAY(number);
  raise(SIGUSR1);
  SAY(sigwaitinfo(&other, NULL));
  // A handler interrupts the first two, and does not end the third.
  pthread_t self = pthread_self(), thread;
  pthread_create(&thread, NULL, interrupt, &self);
  SAY(sigtimedwait(&profiling, NULL, &minute));
  SAY(sigtimedwait(&profiling, NULL, &minute));
  pthread_join(thread, NULL);
  pthread_create(&thread, NULL, interrupt, &self);
  number = 0;
  SAY(sigwait(&profiling, &number));
  SAY(number);
  pthread_join(thread, NULL);
  SAY(seen);
  sigprocmask(SIG_UNBLOCK, &profiling, NULL);
}

static void signals(void) {
  const int numbers[] = {INT_MIN, -1,      0,  SIGTERM, SIGUSR2, SIGPROF, SIGBUS,
                         SIGKILL, SIGSTOP, 32, 33,      64,      65,      INT_MAX};
  for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; ++i) actions_of(numbers[i]);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  sigaddset(&set, SIGUSR1);
  SAY(sigprocmask(99, &set, NULL));
  SAY(sigprocmask(99, NULL, &old));
  SAY(sigprocmask(SIG_BLOCK, NULL, nowhere()));
  SAY(pthread_sigmask(99, &set, NULL));
  SAY(pthread_sigmask(SIG_BLOCK, NULL, NULL));
  SAY(sigsetmask(1 << (SIGPROF - 1) | 1 << (SIGHUP - 1)));
  SAY(mask_bits());
  SAY(sigblock(1 << (SIGUSR1 - 1)));
  SAY(sigsetmask(0));
  SAY(mask_bits());
  const struct timespec none = {0, 0};
  SAY(sigsuspend(nowhere()));
  SAY(ppoll(NULL, 0, &none, NULL));
  SAY(ppoll(NULL, 0, &none, &set));
  SAY(ppoll(NULL, 0, &none, nowhere()));
  SAY(pselect(0, NULL, NULL, NULL, &none, &set));
  SAY(pselect(0, NULL, NULL, NULL, &none, nowhere()));
  struct epoll_event event;
  SAY(epoll_pwait(-1, &event, 1, 0, &set));
  SAY(epoll_pwait2(-1, &event, 1, &none, &set));
  MAKES(signalfd(-1, &set, 0));
  SAY(signalfd(-1, &set, 0x7fff));
  SAY(signalfd(-1, nowhere(), 0));
  SAY(signalfd(12345, &set, 0));
  static char memory[65536];
  const stack_t small = {memory, 0, 16}, wrong = {memory, 0x7f00, sizeof memory},
                good = {memory, 0, sizeof memory}, off = {NULL, SS_DISABLE, 0};
  stack_t before;
  SAY(sigaltstack(NULL, NULL));
  SAY(sigaltstack(NULL, &before));
  SAY(before.ss_flags);
  SAY(sigaltstack(&small, NULL));
  SAY(sigaltstack(&wrong, NULL));
  SAY(sigaltstack(nowhere(), NULL));
  SAY(sigaltstack(&good, &before));
  SAY(sigaltstack(NULL, nowhere()));
  SAY(sigaltstack(&off, &before));
  SAY(before.ss_sp == memory && before.ss_size == sizeof memory);
  wait_for_profiling_signal();
}

static int leave(void* status) { return (int)(intptr_t)status; }
static void wait_for_child(const char* what, pid_t child) {
  int status = 0;
  const pid_t ended = waitpid(child, &status, __WALL);
  printf("%s: %d %x\n", what, child > 0 && ended == child, status);
}

static void processes(void) {
  char* arguments[] = {"nothing", NULL};
  char* environment[] = {"A=1", NULL};
  char* with_bad_variable[] = {"A=1", nowhere(), NULL};
  char name[] = "/tmp/edge_calls.XXXXXX";
  const int file = mkstemp(name);
  SAY(execve("/nowhere/program", arguments, environment));
  SAY(execve(nowhere(), arguments, environment));
  SAY(execve("/bin/true", nowhere(), environment));
  SAY(execve("/bin/true", arguments, nowhere()));
  SAY(execve("/bin/true", arguments, with_bad_variable));
  SAY(execve("/", arguments, environment));
  SAY(execve(name, arguments, environment));
  SAY(execv("/nowhere/program", arguments));
  SAY(execv(name, arguments));
  SAY(execvp("edge-calls-nowhere", arguments));
  SAY(execvp("", arguments));
  SAY(execvpe("edge-calls-nowhere", arguments, environment));
  SAY(execl("/nowhere/program", "program", (char*)NULL));
  SAY(execl("/nowhere/program", "program", "a", "b", "c", (char*)NULL));
  SAY(execlp("edge-calls-nowhere", "program", "a", (char*)NULL));
  SAY(execle("/nowhere/program", "program", (char*)NULL, environment));
  SAY(execle("/nowhere/program", "program", "a", (char*)NULL, environment));
  SAY(fexecve(-1, arguments, environment));
  SAY(fexecve(file, arguments, environment));
  SAY(fexecve(file, nowhere(), environment));
  SAY(execveat(-1, "", arguments, environment, AT_EMPTY_PATH));
  SAY(execveat(file, "", nowhere(), environment, AT_EMPTY_PATH));
  SAY(execveat(AT_FDCWD, "/nowhere/program", arguments, environment, 0));
  SAY(syscall(SYS_execve, "/nowhere/program", arguments, environment));
  SAY(syscall(SYS_execve, "/bin/true", arguments, nowhere()));
  SAY(syscall(SYS_execveat, AT_FDCWD, "/nowhere/program", arguments, environment, 0));
  SAY(syscall(SYS_execveat, -1, "", nowhere(), environment, AT_EMPTY_PATH));
  close(file);
  unlink(name);

  static char stack[65536] __attribute__((aligned(16)));
  SAY(clone(NULL, stack + sizeof stack, SIGCHLD, NULL));
  SAY(clone(leave, NULL, SIGCHLD, NULL));
  SAY(clone(leave, stack + sizeof stack, CLONE_THREAD, NULL));
  SAY(clone(leave, stack + sizeof stack, CLONE_VM | CLONE_THREAD, NULL));
  wait_for_child("clone", clone(leave, stack + sizeof stack, SIGCHLD, (void*)3));
  wait_for_child("clone with memory",
                 clone(leave, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, (void*)4));
  SAY(syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0));
  SAY(syscall(SYS_clone, CLONE_VM | CLONE_THREAD, 0, 0, 0, 0));
  SAY(syscall(SYS_clone3, nowhere(), 64));
  SAY(syscall(SYS_clone3, NULL, 0));
  uint64_t wrong_clone[8] = {CLONE_THREAD};
  SAY(syscall(SYS_clone3, wrong_clone, sizeof wrong_clone));
  wrong_clone[0] |= CLONE_VM;
  SAY(syscall(SYS_clone3, wrong_clone, sizeof wrong_clone));
  pid_t child = _Fork();
  if (child == 0) _exit(5);
  wait_for_child("_Fork", child);
  child = (pid_t)syscall(SYS_fork);
  if (child == 0) syscall(SYS_exit_group, 6);
  wait_for_child("fork by system call", child);
  child = fork();
  if (child == 0) _Exit(7);
  wait_for_child("fork", child);

  // A child in the parent's memory unloads the parent's library.
  void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
  SAY(library != NULL);
  volatile int unloaded = -1;
  child = vfork();
  if (child == 0) {
    unloaded = dlclose(library);
    _exit(8);
  }
  wait_for_child("vfork", child);
  SAY(unloaded);
  SAY(dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_NOLOAD) == NULL);
  SAY(dlclose(dlopen("libBrokenLocale.so.1", RTLD_NOW)));

  SAY(mlockall(0));
  SAY(mlockall(64));
  SAY(mlockall(MCL_CURRENT | 64));
  SAY(mlockall(MCL_ONFAULT));
  SAY(prctl(12345, 0, 0, 0, 0));
  SAY(prctl(PR_SET_NAME, "edge", 0, 0, 0));
  SAY(prctl(PR_SET_NAME, nowhere(), 0, 0, 0));
  SAY(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
  SAY(prctl(PR_SET_TSC, 99, 0, 0, 0));
  SAY(syscall(SYS_prctl, PR_SET_NAME, "edges", 0, 0, 0));
  SAY(syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0));
  struct {
    Handler* handler;
    unsigned long flags;
    void* restorer;
    uint64_t mask;
  } action = {SIG_IGN, 0, NULL, 0}, old;
  SAY(syscall(SYS_rt_sigaction, SIGTERM, &action, NULL, 8));
  SAY(syscall(SYS_rt_sigaction, SIGTERM, NULL, &old, 8));
  SAY(old.handler == SIG_IGN);
  SAY(syscall(SYS_rt_sigaction, SIGTERM, nowhere(), NULL, 8));
  SAY(syscall(SYS_rt_sigaction, SIGTERM, NULL, nowhere(), 8));
  SAY(syscall(SYS_rt_sigaction, SIGTERM, &action, NULL, 4));
  SAY(syscall(SYS_rt_sigaction, SIGKILL, &action, NULL, 8));
  SAY(syscall(SYS_rt_sigaction, SIGPROF, NULL, &old, 8));
  SAY(old.handler == SIG_DFL);
  SAY(syscall(SYS_rt_sigaction, 99, NULL, &old, 8));
  SAY(syscall(SYS_sigaltstack, nowhere(), NULL));
  unsigned available = SECCOMP_RET_KILL_PROCESS;
  SAY(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &available));
  SAY(syscall(SYS_seccomp, 99, 0, NULL));
  SAY(syscall(12345));
  // These ask what the kernel supports.
  SAY(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL));
  SAY(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL));
  SAY(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, nowhere()));
  SAY(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0));
  SAY(prctl(PR_SET_SECCOMP, 99, 0, 0, 0));
  // From here on the recorder takes the program for confined.
  SAY(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nowhere()));
  SAY(syscall(SYS_clone3, nowhere(), 64));
  SAY(execve("/bin/true", arguments, nowhere()));
}

static void* count(void* number) { return (char*)number + 1; }
static int count_more(void* number) { return (int)(intptr_t)number + 1; }

static void threads(void) {
  struct rlimit before, none;
  getrlimit(RLIMIT_AS, &before);
  none = before;
  none.rlim_cur = 1;
  pthread_t thread;
  thrd_t other;
  printf("no memory\n");
  setrlimit(RLIMIT_AS, &none);
  const int made = pthread_create(&thread, NULL, count, NULL);
  const int made_other = thrd_create(&other, count_more, NULL);
  setrlimit(RLIMIT_AS, &before);
  SAY(made);
  SAY(made_other != thrd_success);
  void* result = NULL;
  SAY(pthread_create(&thread, NULL, count, (void*)1));
  SAY(pthread_setname_np(thread, "a name that is much too long"));
  SAY(pthread_join(thread, &result));
  SAY((long)result);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  SAY(pthread_create(&thread, &attributes, count, (void*)2));
  SAY(pthread_join(thread, &result));
  SAY((long)result);
  SAY(thrd_create(&other, count_more, (void*)3));
  int status = 0;
  SAY(thrd_join(other, &status));
  SAY(status);
  SAY(pthread_setname_np(pthread_self(), "edge"));
  struct sched_param parameters = {.sched_priority = 99};
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
  SAY(pthread_attr_setschedparam(&attributes, &parameters));
  pthread_attr_destroy(&attributes);
}

// The ends of pipes and the like, also with numbers that are larger than usual.
static void descriptors(void) {
  int ends[2], pair[2];
  char byte = 'b';
  struct epoll_event event = {.events = EPOLLIN};
  SAY(pipe(nowhere()));
  SAY(pipe2(ends, 1 << 30));
  SAY(pipe2(ends, O_CLOEXEC));
  SAY(socketpair(AF_INET, SOCK_STREAM, 0, pair));
  SAY(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  SAY(eventfd(0, 1 << 30));
  const int counter = eventfd(0, 0), plain = open("/dev/null", O_RDWR), watch = epoll_create1(0);
  eventfd_t value = 0;
  SAY(eventfd_write(counter, 7));
  SAY(eventfd_read(counter, &value));
  SAY((long)value);
  SAY(eventfd_read(-1, &value));
  SAY(eventfd_write(-1, 1));
  SAY(epoll_ctl(-1, EPOLL_CTL_ADD, ends[0], &event));
  SAY(epoll_ctl(watch, 99, ends[0], &event));
  SAY(epoll_ctl(watch, EPOLL_CTL_ADD, ends[0], &event));
  SAY(epoll_ctl(watch, EPOLL_CTL_ADD, pair[0], &event));
  SAY(epoll_ctl(watch, EPOLL_CTL_ADD, plain, &event));
  SAY(epoll_ctl(watch, EPOLL_CTL_MOD, ends[0], &event));
  SAY(epoll_ctl(watch, EPOLL_CTL_DEL, pair[0], NULL));
  SAY(epoll_wait(watch, &event, 1, 0));
  SAY(write(ends[1], &byte, 1));
  SAY(epoll_wait(watch, &event, 1, 0));
  SAY(read(ends[0], &byte, 1));
  SAY(send(pair[0], &byte, 1, 0));
  SAY(recv(pair[1], &byte, 1, 0));
  SAY(write(-1, &byte, 1));
  SAY(read(-1, &byte, 1));
  SAY(read(ends[0], nowhere(), 0));
  SAY(dup2(ends[0], ends[0]) == ends[0]);
  SAY(dup2(-1, ends[0]));
  SAY(dup3(ends[0], ends[0], 0));
  SAY(dup3(pair[0], pair[1], 0) == pair[1]);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  if (limit.rlim_max > 5010 && setrlimit(RLIMIT_NOFILE, &limit) == 0) {
    SAY(dup2(ends[0], 5000));
    SAY(dup2(ends[1], 5001));
    SAY(write(5001, &byte, 1));
    SAY(read(5000, &byte, 1));
    SAY(epoll_ctl(watch, EPOLL_CTL_ADD, 5000, &event));
    SAY(close(5000));
    SAY(close(5000));
    SAY(close(5001));
    // Numbers beyond those of which the recorder knows the ends.
    int known[2];
    SAY(pipe(known));
    static char is_ours[4097];
    for (int i = 0; i < 4097; ++i) {
      is_ours[i] = (char)(i != 4095 && fcntl(i, F_GETFD) < 0);
      if (is_ours[i]) dup2(counter, i);
    }
    int far[2], late[2];
    SAY(pipe(far));
    SAY(far[0] >= 4095 && far[1] > 4095);
    SAY(socketpair(AF_UNIX, SOCK_STREAM, 0, late));
    const int watcher = epoll_create1(0);
    SAY(epoll_ctl(watcher, EPOLL_CTL_ADD, far[0], &event));
    SAY(epoll_ctl(watcher, EPOLL_CTL_ADD, known[0], &event));
    SAY(write(known[1], &byte, 1));
    SAY(epoll_wait(watcher, &event, 1, 0));
    SAY(read(known[0], &byte, 1));
    SAY(write(far[1], &byte, 1));
    SAY(epoll_wait(watcher, &event, 1, 0));
    SAY(read(far[0], &byte, 1));
    SAY(write(late[1], &byte, 1));
    SAY(read(late[0], &byte, 1));
    close(watcher);
    for (int i = 0; i < 2; ++i) close(far[i]), close(late[i]), close(known[i]);
    for (int i = 0; i < 4097; ++i) {
      if (is_ours[i]) close(i);
    }
  }
  SAY(close(watch));
  SAY(write(ends[1], &byte, 1));
  SAY(close(ends[1]));
  SAY(read(ends[0], &byte, 1));
  SAY(read(ends[0], &byte, 1));
  SAY(close(ends[0]));
  SAY(close(pair[0]));
  SAY(close(-1));
  SAY(close(counter));
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  char name[] = "/tmp/edge_calls.XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  SAY(fcntl(file, F_SETLKW, &lock));
  SAY(fcntl(file, F_SETLK, &lock));
  lock.l_type = F_UNLCK;
  SAY(fcntl(file, F_SETLKW, &lock));
  lock.l_type = F_RDLCK;
  SAY(fcntl(file, F_OFD_SETLKW, &lock));
  SAY(fcntl(file, F_GETFD));
  SAY(fcntl(-1, F_SETLKW, &lock));
  SAY(fcntl(file, 12345));
  close(file);
  close(plain);
}

static jmp_buf plain_jump, old_jump;
static sigjmp_buf signal_jump;

// Calls that may wait, by number.
static void system_calls(void) {
  int word = 1;
  const struct timespec none = {0, 0};
  struct timeval no_time = {0, 0};
  struct pollfd polled = {-1, POLLIN, 0};
  char byte;
  struct iovec part = {&byte, 1};
  SAY(syscall(SYS_futex, &word, FUTEX_WAIT, 2, NULL));
  SAY(syscall(SYS_futex, &word, FUTEX_WAIT, 1, &none));
  SAY(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 2, NULL, NULL, ~0));
  SAY(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
  SAY(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, ~0));
  SAY(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, (void*)1, &word,
              FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)));
  SAY(syscall(SYS_futex, &word, FUTEX_REQUEUE, 1, (void*)1, &word));
  int lock = 0;
  SAY(syscall(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL));
  SAY(syscall(SYS_futex, &lock, FUTEX_UNLOCK_PI, 0));
  SAY(syscall(SYS_futex, nowhere(), FUTEX_WAKE, 1));
  SAY(syscall(SYS_futex, (char*)&word + 1, FUTEX_WAIT, 1, NULL));
  SAY(syscall(SYS_poll, &polled, 1, 0));
  SAY(syscall(SYS_ppoll, &polled, 1, &none, NULL, 8));
  SAY(syscall(SYS_select, 0, NULL, NULL, NULL, &no_time));
  SAY(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &none, NULL));
  SAY(syscall(SYS_nanosleep, &none, NULL));
  SAY(syscall(SYS_clock_nanosleep, 99, 0, &none, NULL));
  SAY(syscall(SYS_wait4, -1, NULL, 0, NULL));
  SAY(syscall(SYS_waitid, P_ALL, 0, NULL, WEXITED, NULL));
  SAY(syscall(SYS_io_getevents, 1, 0, 0, NULL, NULL));
  SAY(syscall(SYS_epoll_wait, -1, NULL, 1, 0));
  SAY(syscall(SYS_epoll_pwait, -1, NULL, 1, 0, NULL, 8));
  SAY(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0) < 0);
  SAY(syscall(SYS_read, -1, &byte, 1));
  SAY(syscall(SYS_write, -1, &byte, 1));
  SAY(syscall(SYS_preadv2, -1, &part, 1, 0, 0, 0));
  SAY(syscall(SYS_pwritev2, -1, &part, 1, 0, 0, 0));
  SAY(syscall(SYS_fsync, -1));
  SAY(syscall(SYS_fdatasync, -1));
  SAY(syscall(SYS_flock, -1, LOCK_EX));
  SAY(syscall(SYS_getpid) == getpid());
  volatile int jumps = 0;
  if (setjmp(plain_jump) == 0) {
    ++jumps;
    longjmp(plain_jump, 1);
  }
  if (_setjmp(old_jump) == 0) {
    ++jumps;
    _longjmp(old_jump, 2);
  }
  const int value = sigsetjmp(signal_jump, 1);
  if (value == 0) {
    ++jumps;
    siglongjmp(signal_jump, 5);
  }
  SAY(value);
  SAY(jumps);
}

// With a kernel that refuses actions, masks and waits (refusing.c).
static void refused(void) {
  const int number = SIGTERM;
  HANDLER(signal(number, on_signal));
  HANDLER(sysv_signal(number, on_signal));
  SAY(sigignore(number));
  SAY(siginterrupt(number, 1));
  SAY(sigblock(1));
  SAY(sighold(number));
  SAY(mask_bits());
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  int got = 0;
  SAY(sigwait(&set, &got));
  SAY(got);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "signals")) signals();
    if (!strcmp(argv[i], "processes")) processes();
    if (!strcmp(argv[i], "threads")) threads();
    if (!strcmp(argv[i], "descriptors")) descriptors();
    if (!strcmp(argv[i], "system")) system_calls();
    if (!strcmp(argv[i], "refused")) refused();
  }
  puts("done");
  return 0;
}
