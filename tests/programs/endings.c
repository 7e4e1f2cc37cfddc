// Does known work, then ends in the way given by argv[1].
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"

BLOCK void counted(void) { work(20); }
BLOCK void all_work(void) {
  for (int i = 0; i < 12345; ++i) counted();
}
BLOCK void in_atexit(void) { KEEP; }
static void at_exit(void) { in_atexit(); }

BLOCK void* exit_here(void* unused) {
  counted();
  exit(8);
  return unused;
}

static volatile int* volatile nowhere;

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  if (!strcmp(how, "closed")) {  // the lowest descriptors belong to the program
    for (int fd = 0; fd < 3; ++fd) close(fd);
    all_work();
    int fd = open("/dev/null", O_RDONLY);
    return fd == 0 ? 40 : 41;
  }
  if (!strcmp(how, "descriptors")) {  // which ones are open
    all_work();
    for (int fd = 0; fd < 1024; ++fd)
      if (fcntl(fd, F_GETFD) != -1) printf("%d ", fd);
    printf("\n");
    return 0;
  }
  atexit(at_exit);
  all_work();
  expect("main", "all_work", 1);
  expect("all_work", "counted", 12345);
  fflush(stdout);
  if (!strcmp(how, "return")) return 3;
  if (!strcmp(how, "exit")) exit(4);
  if (!strcmp(how, "_exit")) _exit(5);
  if (!strcmp(how, "quick_exit")) quick_exit(6);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "kill")) raise(SIGKILL);
  if (!strcmp(how, "term")) raise(SIGTERM);
  if (!strcmp(how, "segv")) *nowhere = 1;
  if (!strcmp(how, "thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, exit_here, NULL);
    for (;;) pause();
  }
  if (!strcmp(how, "pthread_exit")) pthread_exit(NULL);
  if (!strcmp(how, "exec")) {
    unsetenv("LD_PRELOAD");
    execl("/bin/sh", "sh", "-c", "exit 7", (char*)NULL);
  }
  if (!strcmp(how, "failed-exec")) {
    execl("/nonexistent", "nonexistent", (char*)NULL);
    perror("exec");
    return 0;
  }
  if (!strcmp(how, "daemon")) {  // the child tells what it has; argv[2]: a file for that
    if (daemon(0, 0) != 0) return 9;
    char directory[99] = "", stream[3][99] = {"", "", ""};
    counted();
    for (int fd = 0; fd < 3; ++fd) {
      char name[] = "/proc/self/fd/0";
      name[sizeof name - 2] += (char)fd;
      if (readlink(name, stream[fd], sizeof stream[fd] - 1) < 0) return 9;
    }
    FILE* file = fopen(argc > 2 ? argv[2] : "/dev/null", "w");
    fprintf(file, "%s %s %s %s, leads its session: %d, lowest: %d\n", getcwd(directory, 99),
            stream[0], stream[1], stream[2], getsid(0) == getpid(), fileno(file));
    fclose(file);
    return 0;
  }
  if (!strcmp(how, "fill")) {  // argv[2] megabytes of memory
    const int wanted = argc > 2 ? atoi(argv[2]) : 1;
    int got = 0;
    for (char* block; got < wanted && (block = malloc(1 << 20)); ++got) memset(block, 1, 1 << 20);
    printf("%d of %d\n", got, wanted);
    return 0;
  }
  if (!strcmp(how, "wait")) {  // until killed from outside
    puts("waiting");
    fflush(stdout);
    for (;;) pause();
  }
  return 2;
}
