// Runs a program of whose system calls one fails:
//   refusing_once CALL=ERROR PLACE COUNT -- PROGRAM ARGUMENTS...
// The calls with the number CALL of the program and its children are counted, from 1; the one with
// the number PLACE fails with ERROR (0: none does). Writes their number into the file COUNT, and
// ends as the program does.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(unsigned call, char** command) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(125);
  raise(SIGSTOP);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("refusing_once: seccomp");
    _exit(125);
  }
  execvp(command[0], command);
  perror(command[0]);
  _exit(127);
}

static void fail(pid_t pid, unsigned error) {
  struct user_regs_struct registers;
  ptrace(PTRACE_GETREGS, pid, NULL, &registers);
  registers.orig_rax = (unsigned long long)-1;  // no call
  registers.rax = (unsigned long long)-(long long)error;
  ptrace(PTRACE_SETREGS, pid, NULL, &registers);
}

int main(int argc, char** argv) {
  unsigned call, error;
  if (argc < 6 || sscanf(argv[1], "%u=%u", &call, &error) != 2 || strcmp(argv[4], "--") != 0) {
    return 125;
  }
  const unsigned place = (unsigned)atoi(argv[2]);
  const pid_t program = fork();
  if (program == 0) become(call, argv + 5);
  int status;
  if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) return 125;
  ptrace(PTRACE_SETOPTIONS, program, NULL,
         PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
             PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  ptrace(PTRACE_CONT, program, NULL, NULL);
  unsigned count = 0;
  int result = 125;
  for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (pid == program) result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    const int event = status >> 16;
    int signal = event == 0 ? WSTOPSIG(status) : 0;
    if (event == 0 && signal == SIGSTOP) signal = 0;  // a new child
    if (event == PTRACE_EVENT_SECCOMP && ++count == place) fail(pid, error);
    ptrace(PTRACE_CONT, pid, NULL, signal);
  }
  FILE* file = fopen(argv[3], "w");
  if (!file) return 125;
  fprintf(file, "%u\n", count);
  fclose(file);
  return result;
}
