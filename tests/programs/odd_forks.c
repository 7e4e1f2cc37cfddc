// Makes a child without fork(): odd_forks clone|syscall|clone3|instruction|timer|destructor. The
// child computes in two threads, the parent in others, for the same time. clone3 and instruction
// (the same by a system call of the program's own) reset all handlers in the child.
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void* compute(void* argument) {
  const double end = cpu() + 0.1;
  while (cpu() < end) continue;
  return argument;
}
static void compute_in_threads(int count) {
  pthread_t thread[2];
  for (int i = 0; i < count; ++i) pthread_create(&thread[i], NULL, compute, NULL);
  for (int i = 0; i < count; ++i) pthread_join(thread[i], NULL);
}
static void on_usr1(int number) { _exit(number); }
static int child(void* argument) {
  (void)argument;
  compute_in_threads(2);
  exit(0);
}
static void make_child_without_handlers(int is_by_instruction) {
  struct clone_args args = {.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
  long pid = SYS_clone3;
  signal(SIGUSR1, on_usr1);
  if (is_by_instruction) {
    __asm__ volatile("syscall" : "+a"(pid) : "D"(&args), "S"(sizeof args) : "rcx", "r11", "memory");
  } else {
    pid = syscall(SYS_clone3, &args, sizeof args);
  }
  if (pid == 0) {
    struct sigaction action;
    sigaction(SIGUSR1, NULL, &action);
    if (action.sa_handler != SIG_DFL) _exit(1);
    compute_in_threads(2);
    sigaction(SIGUSR1, NULL, &action);
    if (action.sa_handler != SIG_DFL) _exit(2);
    raise(SIGUSR1);
  }
  compute_in_threads(2);
  int status = 0;
  waitpid((int)pid, &status, 0);
  printf("child: %x\n", status);
}
static volatile int done;
static void fork_here(void* argument) {
  if (fork() == 0) child(argument);
  int status;
  wait(&status);
  done = 1;
}
static void on_timer(union sigval value) { fork_here(value.sival_ptr); }

static pthread_key_t key;
static void* end_with_key(void* argument) {
  pthread_setspecific(key, argument);
  return NULL;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  compute_in_threads(1);
  if (!strcmp(how, "clone")) {
    char* stack = malloc(1 << 20);
    const int pid = clone(child, stack + (1 << 20), SIGCHLD, NULL);
    compute_in_threads(2);
    waitpid(pid, NULL, 0);
  } else if (!strcmp(how, "syscall")) {
    const long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) child(NULL);
    compute_in_threads(2);
    waitpid((int)pid, NULL, 0);
  } else if (!strcmp(how, "clone3") || !strcmp(how, "instruction")) {
    make_child_without_handlers(!strcmp(how, "instruction"));
  } else if (!strcmp(how, "timer")) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
    timer_t timer;
    timer_create(CLOCK_REALTIME, &event, &timer);
    const struct itimerspec soon = {.it_value = {0, 1000000}};
    timer_settime(timer, 0, &soon, NULL);
    while (!done) usleep(1000);
    compute_in_threads(2);
  } else {
    pthread_key_create(&key, fork_here);
    pthread_t thread;
    pthread_create(&thread, NULL, end_with_key, &key);
    pthread_join(thread, NULL);
    compute_in_threads(2);
  }
  puts("done");
  return 0;
}
