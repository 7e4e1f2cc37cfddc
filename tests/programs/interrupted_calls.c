// Blocks in calls that the program's own alarm ends. Each must end with EINTR at the first alarm;
// and where its handler has SA_RESTART, with what the handler provides.
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

static int alarms, ends[2], listener, provides;
static sem_t semaphore;

static void on_alarm(int number) {
  (void)number;
  ++alarms;
  if (provides && write(ends[1], "x", 1) != 1) _exit(1);
}

static void set_handler(int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  action.sa_flags = flags;
  sigaction(SIGALRM, &action, NULL);
}

static void set_alarm(long first_us, long next_us) {
  const struct itimerval when = {{0, next_us}, {0, first_us}};
  setitimer(ITIMER_REAL, &when, NULL);
}

static int call_read(void) {
  char byte;
  return (int)read(ends[0], &byte, 1);
}
static int call_accept(void) { return accept(listener, NULL, NULL); }
static int call_sem_wait(void) { return sem_wait(&semaphore); }
static int call_wait(void) { return (int)waitpid(-1, NULL, 0); }

static const struct {
  const char* name;
  int (*call)(void);
} calls[] = {{"read", call_read},
             {"accept", call_accept},
             {"sem_wait", call_sem_wait},
             {"waitpid", call_wait}};
enum { kCalls = sizeof calls / sizeof calls[0], kRounds = 1600 };

int main(void) {
  if (pipe(ends) != 0 || sem_init(&semaphore, 0, 0) != 0) return 1;
  struct sockaddr address = {AF_UNIX, ""};
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  // Only the family: Linux chooses a name.
  if (bind(listener, &address, sizeof address.sa_family) != 0 || listen(listener, 1) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  int late[kCalls] = {0}, other[kCalls] = {0};
  set_handler(0);
  for (int i = 0; i < kRounds; ++i) {
    alarms = 0;
    // The second alarm saves a call that has missed the first.
    set_alarm(1000, 200000);
    const int result = calls[i % kCalls].call();
    const int error = errno;
    set_alarm(0, 0);
    late[i % kCalls] += alarms > 1;
    other[i % kCalls] += result >= 0 || error != EINTR;
  }
  for (int i = 0; i < kCalls; ++i)
    printf("%s: late %d, other %d\n", calls[i].name, late[i], other[i]);
  set_handler(SA_RESTART);
  provides = 1;
  int ended = 0;
  for (int i = 0; i < kRounds / 4; ++i) {
    set_alarm(1000, 0);
    ended += call_read() != 1;
  }
  printf("restarted calls that ended: %d\n", ended);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}
