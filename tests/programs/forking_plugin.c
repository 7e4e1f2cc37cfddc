// A library whose destructor forks. The child goes on in dlclose.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((destructor)) static void end(void) {
  int status = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child > 0 && waitpid(child, &status, 0) == child) printf("the child: %x\n", (unsigned)status);
}
