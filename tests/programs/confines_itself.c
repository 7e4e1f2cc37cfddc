// Allows itself few system calls (seccomp), and works and sleeps until the first byte of a file is
// not 0. Prints how many of its sleeps failed or ended early, and ends with status 7.
//   confines_itself FILE HOW [NUMBER...]
// HOW  none     no filter
//      strict   seccomp's strict mode; it does not sleep
//      kill, trap, fail   what else happens to calls but write, clock_nanosleep, rt_sigreturn,
//               exit_group and those with these numbers
//      forbid, forbid-code   only these calls kill, or, of them, those that want executable memory
//      pass     a filter that allows everything
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;
static struct sock_filter filter[1024];
static unsigned short length;

static void add(unsigned short code, unsigned value, unsigned char yes, unsigned char no) {
  if (length == 1024) _exit(125);
  filter[length++] = (struct sock_filter){code, yes, no, value};
}

static void decide(unsigned number, unsigned verdict) {
  add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
  add(BPF_RET | BPF_K, verdict, 0, 0);
}

static void forbid_code(unsigned number) {
  add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]), 0, 0);
  add(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1);
  add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void confine(const char* how, char** numbers) {
  const int forbids = strncmp(how, "forbid", 6) == 0,
            has_rest = strcmp(how, "pass") == 0 || forbids;
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  for (; *numbers; ++numbers) {
    const unsigned number = (unsigned)atoi(*numbers);
    if (strcmp(how, "forbid-code") == 0) {
      forbid_code(number);
    } else {
      decide(number, forbids ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW);
    }
  }
  decide(SYS_write, SECCOMP_RET_ALLOW);
  decide(SYS_clock_nanosleep, SECCOMP_RET_ALLOW);
  decide(SYS_rt_sigreturn, SECCOMP_RET_ALLOW);
  decide(SYS_exit_group, SECCOMP_RET_ALLOW);
  add(BPF_RET | BPF_K,
      has_rest                   ? SECCOMP_RET_ALLOW
      : strcmp(how, "kill") == 0 ? SECCOMP_RET_KILL_PROCESS
      : strcmp(how, "trap") == 0 ? SECCOMP_RET_TRAP
                                 : SECCOMP_RET_ERRNO | EPERM,
      0, 0);
  const struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(125);
  }
}

__attribute__((noinline)) void works(void) {
  for (unsigned i = 0; i < 1000000; ++i) sum += i;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  if (argc < 3) return 125;
  const int file = open(argv[1], O_RDONLY), is_strict = strcmp(argv[2], "strict") == 0;
  const volatile char* is_told = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
  if (is_told == MAP_FAILED) return 125;
  if (is_strict) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (!is_strict && strcmp(argv[2], "none") != 0) confine(argv[2], argv + 3);
  int bad_sleeps = 0;
  while (!*is_told) {
    works();
    if (is_strict) continue;
    const double before = seconds();
    const struct timespec time = {0, 150000000};
    if (nanosleep(&time, NULL) != 0 || seconds() - before < 0.15) ++bad_sleeps;
  }
  char text[] = "0 bad sleeps\n";
  text[0] = (char)('0' + (bad_sleeps < 9 ? bad_sleeps : 9));
  if (write(1, text, sizeof text - 1) < 0) return 1;
  if (is_strict) syscall(SYS_exit, 7);
  exit(7);
}
