// Forbids itself, by seccomp, everything but the calls it makes itself, then works and ends.
// argv[1]: kill (the forbidden kills) | errno (it fails with ENOSYS)
// argv[2]: raw (not through prctl) | fork (what fork takes is allowed; a child works, too) | pipes
//          (pipe and close are allowed, and made)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

BLOCK void before(void) { work(20); }
BLOCK void counted(void) { work(20); }

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char** argv) {
  unsigned verdict =
      argc > 1 && !strcmp(argv[1], "errno") ? SECCOMP_RET_ERRNO | 38 : SECCOMP_RET_KILL_PROCESS;
  const int forks = argc > 2 && !strcmp(argv[2], "fork");
  const int pipes = argc > 2 && !strcmp(argv[2], "pipes");
  const int raw = argc > 2 && !forks && !pipes;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_rt_sigreturn),
      ALLOW(SYS_exit_group),
      ALLOW(forks ? SYS_clone : SYS_write),
      ALLOW(forks ? SYS_wait4 : SYS_write),
      ALLOW(forks ? SYS_set_robust_list : SYS_write),
      ALLOW(forks ? SYS_rt_sigprocmask : SYS_write),
      ALLOW(pipes ? SYS_pipe : SYS_write),
      ALLOW(pipes ? SYS_pipe2 : SYS_write),
      ALLOW(pipes ? SYS_close : SYS_write),
      BPF_STMT(BPF_RET | BPF_K, verdict),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  // What libraries ask beforehand, to learn what the kernel supports, confines nothing.
  syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
  for (int i = 0; i < 1000; ++i) before();
  expect("main", "before", 1000), expect("main", "counted", 10000);
  fflush(stdout);
  int before_it[2], after_it[2];
  if (pipes && pipe(before_it) != 0) return 1;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  long result = raw ? syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)
                    : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  if (result != 0) return 1;
  if (pipes && (pipe(after_it) != 0 || close(before_it[0]) != 0)) return 1;
  if (forks) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (int i = 0; i < 10000; ++i) counted();
      _exit(3);
    }
    int status = -1;
    if (waitpid(pid, &status, 0) != pid || status != 3 << 8) exit(1);
  }
  for (int i = 0; i < 10000; ++i) counted();
  if (write(1, "still alive\n", 12) != 12) return 1;
  exit(9);
}
