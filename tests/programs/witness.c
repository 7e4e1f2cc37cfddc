// A preloaded library that records, when the program ends, what it would leave to its successors:
// descriptors, signals, timers, limits. WITNESS names the file. Lines that begin with "size" are
// amounts; all others must be the same under a profiler. A handler may end the program, so nothing
// here allocates, except at the usual end.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static char path[4096];
static pid_t owner;
static volatile int is_confined;  // then the calls that we need may be forbidden
static char text[1 << 20];
static size_t length;

__attribute__((constructor)) static void begin(void) {
  const char* name = getenv("WITNESS");
  if (!name) return;
  // A program that this process executes is asked, too; children are not.
  char number[16];
  snprintf(number, sizeof number, "%d", (int)getpid());
  const char* asked = getenv("WITNESS_PROCESS");
  if (asked && strcmp(asked, number) != 0) return;
  setenv("WITNESS_PROCESS", number, 1);
  snprintf(path, sizeof path, "%s", name);
  owner = getpid();
}

__attribute__((format(printf, 1, 2))) static void tell(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int bytes = vsnprintf(text + length, sizeof text - length, format, arguments);
  va_end(arguments);
  if (bytes > 0 && length + bytes < sizeof text) length += bytes;
}

// The event that the recorder samples with may be open: it closes at an exec.
static int is_recorders(int fd, const char* name) {
  return fd > 255 && strcmp(name, "anon_inode:[perf_event]") == 0 &&
         (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

static void tell_descriptor(int fd) {
  char link[64], name[256] = "";
  if (fcntl(fd, F_GETFD) == -1) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, name, sizeof name - 1) < 0) name[0] = 0;
  if (is_recorders(fd, name)) return;
  char* number = strchr(name, '[');  // pipes and sockets
  if (number) *number = 0;
  tell("descriptor %d %s %x %x\n", fd, fd < 3 ? "" : name, fcntl(fd, F_GETFD), fcntl(fd, F_GETFL));
}

static void sort(int* numbers, int count) {  // qsort allocates
  for (int i = 1; i < count; ++i) {
    const int number = numbers[i];
    int at = i;
    for (; at > 0 && numbers[at - 1] > number; --at) numbers[at] = numbers[at - 1];
    numbers[at] = number;
  }
}

static void tell_descriptors(void) {
  enum { kMost = 4096 };
  static int found[kMost];
  static char buffer[4096] __attribute__((aligned(8)));
  int count = 0;
  const int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int fd = 0; directory < 0 && fd < 256; ++fd) tell_descriptor(fd);
  if (directory < 0) return;
  long bytes;
  while ((bytes = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < bytes;) {
      const struct dirent64* entry = (const struct dirent64*)(buffer + at);
      const int fd = entry->d_name[0] == '.' ? directory : atoi(entry->d_name);
      if (fd != directory && count < kMost) found[count++] = fd;
      at += entry->d_reclen;
    }
  }
  close(directory);
  sort(found, count);
  for (int i = 0; i < count; ++i) tell_descriptor(found[i]);
}

static void tell_signals(void) {
  sigset_t blocked, pending;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  sigpending(&pending);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) continue;
    unsigned long mask = 0;
    for (int other = 1; other < 64; ++other) {
      if (sigismember(&action.sa_mask, other) == 1) mask |= 1ul << other;
    }
    tell("signal %d %s %x %lx %d %d\n", number,
         action.sa_handler == SIG_DFL   ? "default"
         : action.sa_handler == SIG_IGN ? "ignored"
                                        : "handled",
         (unsigned)action.sa_flags, mask, sigismember(&blocked, number),
         sigismember(&pending, number));
  }
  stack_t stack;
  if (sigaltstack(NULL, &stack) == 0) {
    tell("signal stack %d %zu\n", stack.ss_flags, stack.ss_size);
  }
}

static int count_arenas(void) {
  char* info = NULL;
  size_t size = 0;
  FILE* memory = open_memstream(&info, &size);
  malloc_info(0, memory);
  fclose(memory);
  int arenas = 0;
  for (const char* at = info; (at = strstr(at, "<heap")) != NULL; ++at) ++arenas;
  free(info);
  return arenas;
}

static void tell_rest(void) {
  for (int which = 0; which < 3; ++which) {
    struct itimerval timer = {0};
    getitimer((__itimer_which_t)which, &timer);
    tell("timer %d %ld\n", which, (long)timer.it_interval.tv_usec);
  }
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) continue;
    tell("limit %d %lx %lx\n", resource, limit.rlim_cur, limit.rlim_max);
  }
  const mode_t mask = umask(0);
  umask(mask);
  tell("umask %o\n", mask);
  static char buffer[65536];
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  long mappings = 0, bytes;
  while ((bytes = read(maps, buffer, sizeof buffer)) > 0) {
    for (long i = 0; i < bytes; ++i) mappings += buffer[i] == '\n';
  }
  if (maps >= 0) close(maps);
  tell("size mappings %ld\n", mappings);
}

static int is_asked(void) { return path[0] && getpid() == owner && !is_confined; }

// `arenas` below 0: at a sudden end, where nothing may allocate to count them.
static void witness(int arenas) {
  if (!is_asked()) return;
  length = 0;
  tell_descriptors();
  tell_signals();
  if (arenas >= 0) tell("arenas %d\n", arenas);
  tell_rest();
  const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0) return;
  if (write(out, text, length) < 0) unlink(path);
  close(out);
}

static int arenas_at_end;

static ssize_t witness_flush(void* unused, const char* bytes, size_t size) {
  (void)unused, (void)bytes;
  witness(arenas_at_end);
  return (ssize_t)size;
}

// The recorder ends after all destructors. The last that libc's exit() does is to flush streams, so
// one of them looks.
__attribute__((destructor)) static void end(void) {
  if (!is_asked()) return;
  arenas_at_end = count_arenas();
  static char buffer[64];
  FILE* last = fopencookie(NULL, "w", (cookie_io_functions_t){NULL, witness_flush, NULL, NULL});
  if (!last || setvbuf(last, buffer, _IOFBF, sizeof buffer) != 0 || fputc('.', last) == EOF) {
    witness(arenas_at_end);
  }
}

#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, #name))

#define ENDS(name)                     \
  void name(int status) {              \
    witness(-1);                       \
    NEXT(name, void (*)(int))(status); \
    __builtin_unreachable();           \
  }
ENDS(_exit)
ENDS(_Exit)
ENDS(quick_exit)

// Not at each call: the loader's lock is taken, and locks are made of syscall(SYS_futex).
static int (*next_prctl)(int, ...);
static long (*next_syscall)(long, ...);
__attribute__((constructor)) static void find_next(void) {
  if (!next_prctl) next_prctl = NEXT(prctl, int (*)(int, ...));
  if (!next_syscall) next_syscall = NEXT(syscall, long (*)(long, ...));
}

int prctl(int option, ...) {
  unsigned long more[4];
  va_list arguments;
  va_start(arguments, option);
  for (int i = 0; i < 4; ++i) more[i] = va_arg(arguments, unsigned long);
  va_end(arguments);
  const int before = is_confined;
  if (option == PR_SET_SECCOMP) is_confined = 1;
  find_next();
  const int result = next_prctl(option, more[0], more[1], more[2], more[3]);
  if (result != 0) is_confined = before;
  return result;
}
long syscall(long number, ...) {
  long more[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; ++i) more[i] = va_arg(arguments, long);
  va_end(arguments);
  const int before = is_confined;
  if (number == SYS_seccomp || (number == SYS_prctl && more[0] == PR_SET_SECCOMP)) is_confined = 1;
  find_next();
  const long result = next_syscall(number, more[0], more[1], more[2], more[3], more[4], more[5]);
  if (result < 0) is_confined = before;
  return result;
}
