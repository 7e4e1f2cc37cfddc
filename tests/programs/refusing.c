// Runs a program whose system calls are refused, as an older kernel or a sandbox does:
//   refusing RULE... -- PROGRAM ARGUMENTS...
// A rule is CALL=ERROR, or CALL/N/VALUE=ERROR for calls whose argument N has that value; all are
// numbers.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct sock_filter filter[512];
static unsigned short length;

static void add(unsigned short code, unsigned value, unsigned char yes, unsigned char no) {
  if (length == 512) exit(125);
  filter[length++] = (struct sock_filter){code, yes, no, value};
}

static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0); }

int main(int argc, char** argv) {
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    unsigned call, argument, value, error;
    load(offsetof(struct seccomp_data, nr));
    if (sscanf(argv[at], "%u/%u/%u=%u", &call, &argument, &value, &error) == 4) {
      add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3);
      load(offsetof(struct seccomp_data, args) + 8 * argument);
      add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    } else if (sscanf(argv[at], "%u=%u", &call, &error) == 2) {
      add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    } else {
      fprintf(stderr, "refusing: %s: not a rule\n", argv[at]);
      return 125;
    }
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0, 0);
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  if (at + 1 >= argc) return 125;
  const struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("refusing: seccomp");
    return 125;
  }
  execvp(argv[at + 1], argv + at + 1);
  perror(argv[at + 1]);
  return 127;
}
