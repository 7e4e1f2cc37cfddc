/* Usage: attached_ignored GO: ignores SIGPROF, and sleeps until the file GO exists. Then it starts
 * programs, which say whether they find the signal ignored, and so do the children before. At its
 * end a child sets the default action, and asks. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static const char* action(void) {
  struct sigaction now;
  if (sigaction(SIGPROF, NULL, &now) != 0) return "not told";
  return now.sa_handler == SIG_IGN ? "ignored" : now.sa_handler == SIG_DFL ? "default" : "handled";
}

static const char self[] = "/proc/self/exe";

static void become(const char* way) {
  char* const next[] = {"attached_ignored", "next", (char*)way, NULL};
  execve("/does/not/exist", next, environ);
  execve(self, next, environ);
  _exit(1);
}

static void wait_for(pid_t child) {
  int status = -1;
  if (waitpid(child, &status, 0) != child || status != 0) printf("status %x\n", status);
}

static void start(const char* way) {
  fflush(stdout);
  pid_t child = -1;
  if (strcmp(way, "spawn") == 0) {
    char* const next[] = {"attached_ignored", "next", (char*)way, NULL};
    if (posix_spawn(&child, self, NULL, NULL, next, environ) != 0) return;
  } else if (strcmp(way, "vfork") == 0) {
    child = vfork();
    if (child == 0) become(way);
  } else {
    child = fork();
    if (child == 0) {
      if (strcmp(way, "default") == 0) signal(SIGPROF, SIG_DFL);
      printf("a child, %s: %s\n", way, action());
      fflush(stdout);
      become(way);
    }
  }
  wait_for(child);
}

int main(int argc, char** argv) {
  if (argc == 3) {
    printf("a program, %s: %s\n", argv[2], action());
    return 0;
  }
  if (argc != 2) return 2;
  signal(SIGPROF, SIG_IGN);
  while (access(argv[1], F_OK) != 0) usleep(20000);
  start("fork");
  start("vfork");
  start("spawn");
  start("default");
  printf("at the end: %s\n", action());
  return 0;
}
