// A signal ends child processes in threads that are not attached: in a child that may have no
// profile, and in a thread behind its last destructor of ours.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_key_t key;

// libc calls destructors in up to four rounds.
static void destroy(void* round) {
  const long n = (long)round;
  if (n < 4) {
    pthread_setspecific(key, (void*)(n + 1));
  } else {
    raise(SIGTERM);
  }
}
static void* run(void* unused) {
  pthread_setspecific(key, (void*)1);
  return unused;
}

static void end_here(void) { raise(SIGTERM); }
static void end_in_destructor(void) {
  pthread_t thread;
  pthread_key_create(&key, destroy);
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
}

static void in_child(const char* what, void (*end)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    end();
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%s: signal %d\n", what, WTERMSIG(status));
}

int main(void) {
  in_child("the child", end_here);
  in_child("a destructor", end_in_destructor);
  return 0;
}
