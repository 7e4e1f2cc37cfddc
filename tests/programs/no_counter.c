// Forbids itself to read the time-stamp counter: any read, including by the vDSO's clock_gettime,
// raises SIGSEGV. Works, has a thread that works, and ends. argv[1]: raw (not through prctl).
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "block.h"

BLOCK void counted(void) { work(20); }

BLOCK void* run(void* unused) {
  for (int i = 0; i < 2000; ++i) {
    counted();
    KEEP;
  }
  return unused;
}

int main(int argc, char** argv) {
  (void)argv;
  long result = argc > 1 ? syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)
                         : prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  if (result != 0) puts("the counter cannot be forbidden");
  run(NULL);
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  expect("run", "counted", 4000);
  return 5;
}
