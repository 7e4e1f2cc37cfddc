// Damages its own profile (argv[2]) in the way given by argv[1], while it is written, and goes on.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"

BLOCK void counted(void) { work(20); }
BLOCK void more(int n);
BLOCK void deeper(int n) {
  counted();
  if (n > 0) more(n - 1);
  KEEP;
}
BLOCK void more(int n) {
  if (n > 0) deeper(n - 1);
  KEEP;
}

int main(int argc, char** argv) {
  for (int i = 0; i < 5000; ++i) counted();
  if (argc > 2) {
    const char* how = argv[1];
    const char* path = argv[2];
    int failed = 0;
    if (!strcmp(how, "truncate")) failed = truncate(path, 0);
    if (!strcmp(how, "delete")) failed = unlink(path);
    if (!strcmp(how, "replace")) {
      failed = unlink(path);
      int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
      if (write(fd, "not a profile\n", 14) != 14) failed = 1;
      close(fd);
    }
    (void)failed;  // there is no profile in a run without the profiler
  }
  for (int i = 0; i < 5000; ++i) deeper(10);
  puts("done");
  return 0;
}
