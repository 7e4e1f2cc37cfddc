// Its first call of a function that fble-prof can count is made in a child.
//   first_hook fork|vfork FIFO   waits until something is written to the FIFO
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kCalls = 1000 };

__attribute__((noinline)) unsigned long step(unsigned long x) {
  return x * 6364136223846793005u + 1442695040888963407u;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  char byte;
  const int fifo = open(argv[2], O_RDONLY);
  if (fifo < 0 || read(fifo, &byte, 1) != 1) return 2;
  const pid_t child = strcmp(argv[1], "vfork") == 0 ? vfork() : fork();
  if (child == 0) {
    unsigned long x = 1;
    for (int i = 0; i < kCalls; ++i) x = step(x);
    _exit(x == 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  printf("child %d, then %lu\n", status, step(1) & 1);
  return 0;
}
