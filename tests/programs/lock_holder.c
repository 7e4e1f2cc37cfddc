// Locks its current directory, like programs that allow only one instance, while children of it
// fork.
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  if (fork() == 0) {
    for (int i = 0; i < 500; ++i) {
      if (fork() == 0) _exit(0);
      wait(NULL);
    }
    _exit(0);
  }
  const int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int status, refused = 0;
  while (waitpid(-1, &status, WNOHANG) == 0) {
    if (flock(directory, LOCK_EX | LOCK_NB) != 0) ++refused;
    flock(directory, LOCK_UN);
    usleep(100);
  }
  printf("refused %d\n", refused);
  return 0;
}
