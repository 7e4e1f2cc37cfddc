// locked [LIMIT]: locks all memory in core, as real-time programs do; with a limit, as a user.
// locked attached GO: the same, and goes on when the file GO exists.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void* nothing(void* argument) { return argument; }

int main(int argc, char** argv) {
  if (argc == 2) {
    const rlim_t bytes = strtoul(argv[1], NULL, 10);
    const struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(65534) || setuid(65534)) return 77;
  }
  const int result = mlockall(MCL_CURRENT | MCL_FUTURE);
  printf("mlockall: %s\n", result ? strerror(errno) : "done");
  fflush(stdout);
  while (argc == 3 && access(argv[2], F_OK) != 0) usleep(20000);
  int started = 0;
  for (int i = 0; i < 10; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0) continue;
    pthread_join(thread, NULL);
    ++started;
  }
  printf("threads: %d\n", started);
  char line[256];
  long locked = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status)) sscanf(line, "VmLck: %ld", &locked);
  printf("locked: %s\n", locked < 20000 ? "its own" : "too much");
  return 0;
}
