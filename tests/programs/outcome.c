// outcome FILE [@LIMIT=VALUE...] [NAME=VALUE...] PROGRAM [ARGUMENT...]: runs the program under
// these resource limits, with these variables added to its environment and without a test harness's
// signal mask and descriptors, and writes to FILE how it ended: "exit N" or "signal N".
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_limit(const char* text) {
  static const struct {
    const char* name;
    int resource;
  } limits[] = {{"as", RLIMIT_AS},       {"data", RLIMIT_DATA},
                {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE},
                {"stack", RLIMIT_STACK}, {"sigpending", RLIMIT_SIGPENDING}};
  for (unsigned i = 0; i < sizeof limits / sizeof *limits; ++i) {
    size_t length = strlen(limits[i].name);
    if (strncmp(text, limits[i].name, length) != 0 || text[length] != '=') continue;
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = strtoul(text + length + 1, NULL, 10);
    if (setrlimit(limits[i].resource, &limit) == 0) return;
  }
  fprintf(stderr, "outcome: cannot set limit %s\n", text);
  _exit(127);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  pid_t pid = fork();
  if (pid == 0) {
    close_range(3, ~0U, 0);
    int i = 2;
    for (; i < argc && argv[i][0] == '@'; ++i) set_limit(argv[i] + 1);
    for (; i < argc && strchr(argv[i], '='); ++i) putenv(argv[i]);
    execvp(argv[i], argv + i);
    perror(argv[i]);
    _exit(127);
  }
  int status;
  while (waitpid(pid, &status, 0) < 0) continue;
  FILE* file = fopen(argv[1], "w");
  if (!file) return 2;
  if (WIFSIGNALED(status))
    fprintf(file, "signal %d\n", WTERMSIG(status));
  else
    fprintf(file, "exit %d\n", WEXITSTATUS(status));
  return fclose(file) != 0;
}
