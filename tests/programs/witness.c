// A preloaded library that records, when the program exits, what it would leave to its successors:
// descriptors, signals, timers, limits. WITNESS names the file. Lines that begin with "size" are
// amounts; all others must be the same under a profiler.
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char path[4096];
static pid_t owner;

__attribute__((constructor)) static void begin(void) {
  const char* name = getenv("WITNESS");
  if (!name) return;
  snprintf(path, sizeof path, "%s", name);
  owner = getpid();
  unsetenv("WITNESS");  // programs that this one executes are not asked
}

static void tell_descriptors(FILE* out) {
  for (int fd = 0; fd < 256; ++fd) {
    char link[64], name[256] = "";
    if (fd == fileno(out) || fcntl(fd, F_GETFD) == -1) continue;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, name, sizeof name - 1) < 0) name[0] = 0;
    char* number = strchr(name, '[');  // pipes and sockets
    if (number) *number = 0;
    fprintf(out, "descriptor %d %s %x %x\n", fd, fd < 3 ? "" : name, fcntl(fd, F_GETFD),
            fcntl(fd, F_GETFL));
  }
}

static void tell_signals(FILE* out) {
  sigset_t blocked, pending;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  sigpending(&pending);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) continue;
    fprintf(out, "signal %d %s %x %d %d\n", number,
            action.sa_handler == SIG_DFL   ? "default"
            : action.sa_handler == SIG_IGN ? "ignored"
                                           : "handled",
            (unsigned)action.sa_flags & ~0x04000000u, sigismember(&blocked, number),
            sigismember(&pending, number));
  }
  stack_t stack;
  if (sigaltstack(NULL, &stack) == 0) {
    fprintf(out, "signal stack %d %zu\n", stack.ss_flags, stack.ss_size);
  }
}

static void tell_rest(FILE* out) {
  for (int which = 0; which < 3; ++which) {
    struct itimerval timer = {0};
    getitimer((__itimer_which_t)which, &timer);
    fprintf(out, "timer %d %ld\n", which, (long)timer.it_interval.tv_usec);
  }
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) continue;
    fprintf(out, "limit %d %lx %lx\n", resource, limit.rlim_cur, limit.rlim_max);
  }
  const mode_t mask = umask(0);
  umask(mask);
  fprintf(out, "umask %o\n", mask);
  char line[512], *text = NULL;
  size_t size = 0;
  FILE* memory = open_memstream(&text, &size);
  malloc_info(0, memory);
  fclose(memory);
  int arenas = 0;
  for (const char* at = text; (at = strstr(at, "<heap")) != NULL; ++at) ++arenas;
  free(text);
  fprintf(out, "arenas %d\n", arenas);
  FILE* maps = fopen("/proc/self/maps", "r");
  long mappings = 0;
  while (maps && fgets(line, sizeof line, maps)) ++mappings;
  if (maps) fclose(maps);
  fprintf(out, "size mappings %ld\n", mappings);
}

__attribute__((destructor)) static void end(void) {
  if (!path[0] || getpid() != owner) return;
  FILE* out = fopen(path, "we");
  if (!out) return;
  tell_descriptors(out);
  tell_signals(out);
  tell_rest(out);
  fclose(out);
}
