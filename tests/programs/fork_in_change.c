// Forks while another thread takes snapshots, or turns recording off and on, all the time:
// fork_in_change snapshot|switch. Each child does the same once.
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int takes_snapshots;

static void change(void) {
  if (takes_snapshots) {
    fbleprof_snapshot("here");
  } else {
    fbleprof_stop();
    fbleprof_start();
  }
}
static void* change_always(void* argument) {
  for (;;) change();
  return argument;
}

int main(int argc, char** argv) {
  takes_snapshots = argc > 1 && !strcmp(argv[1], "snapshot");
  pthread_t thread;
  pthread_create(&thread, NULL, change_always, NULL);
  usleep(20000);
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // the end of one that waits with all signals blocked
      change();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) printf("child %d: %x\n", i, (unsigned)status);
  }
  puts("done");
  fflush(stdout);
  _exit(0);  // the other thread goes on
}
