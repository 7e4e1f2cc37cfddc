// deep HOW: recursion of a depth that a shadow stack must grow for.
//   main, thread   there, twice
//   fork           half of it in the parent, the rest in a child
//   confined       after the program confined itself (seccomp), in the thread that did and in
//   another one
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

enum { kDeep = 100000 };

static void (*half_way)(void);

BLOCK long recurse(long n) {
  if (n == 0) return 0;
  if (n == kDeep / 2 && half_way) half_way();
  long below = recurse(n - 1);
  KEEP;
  return below + 1;
}

static pthread_barrier_t barrier;

BLOCK void* twice(void* waits) {
  if (waits) pthread_barrier_wait(&barrier), pthread_barrier_wait(&barrier);
  recurse(kDeep);
  recurse(kDeep);
  return NULL;
}

UNHOOKED static void go_on_in_child(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
  fflush(stdout);
  _exit(0);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "main";
  pthread_t thread;
  if (!strcmp(how, "fork")) {
    half_way = go_on_in_child;
    recurse(kDeep);
    return 0;
  }
  if (!strcmp(how, "thread")) {
    pthread_create(&thread, NULL, twice, NULL);
    pthread_join(thread, NULL);
  } else if (!strcmp(how, "confined")) {
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, twice, &barrier);
    pthread_barrier_wait(&barrier);
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter)) return 77;
    pthread_barrier_wait(&barrier);
    twice(NULL);
    pthread_join(thread, NULL);
  } else {
    twice(NULL);
  }
  const long threads = !strcmp(how, "confined") ? 2 : 1;
  expect("twice", "recurse", 2 * threads);
  expect("recurse", "recurse", 2 * threads * kDeep);
  return 0;
}
