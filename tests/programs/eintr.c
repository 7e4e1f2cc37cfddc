// Makes every call that a signal can interrupt, many times, while this and another thread burn CPU
// time before each. None may return early.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "block.h"

static volatile int done;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int epoll_fd, socket_pair[2], sem_id, futex_word;
static sigset_t usr1;

BLOCK void burn(void) { work(2000); }

static void* burner(void* unused) {
  while (!done) burn();
  return unused;
}

static struct timespec in_3_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += 3000000;
  if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, ++t.tv_sec;
  return t;
}

static const struct timespec three_ms = {0, 3000000};
static int call_poll(void) { return poll(NULL, 0, 3); }
static int call_ppoll(void) { return ppoll(NULL, 0, &three_ms, NULL); }
static int call_select(void) {
  struct timeval t = {0, 3000};
  return select(0, NULL, NULL, NULL, &t);
}
static int call_pselect(void) { return pselect(0, NULL, NULL, NULL, &three_ms, NULL); }
static int call_epoll(void) {
  struct epoll_event event;
  return epoll_wait(epoll_fd, &event, 1, 3);
}
static int call_nanosleep(void) { return nanosleep(&three_ms, NULL); }
static int call_clock_nanosleep(void) {
  errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &three_ms, NULL);
  return errno ? -1 : 0;
}
static int call_usleep(void) { return usleep(3000); }
static int call_sem(void) {
  struct timespec t = in_3_ms();
  return sem_timedwait(&semaphore, &t);
}
static int call_cond(void) {
  struct timespec t = in_3_ms();
  pthread_mutex_lock(&mutex);
  errno = pthread_cond_timedwait(&condition, &mutex, &t);
  pthread_mutex_unlock(&mutex);
  return -1;
}
static int call_futex(void) {
  return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &three_ms, NULL, 0);
}
static int call_semtimedop(void) {
  struct sembuf take = {0, -1, 0};
  return semtimedop(sem_id, &take, 1, &three_ms);
}
static int call_sigtimedwait(void) { return sigtimedwait(&usr1, NULL, &three_ms); }
static int call_recv(void) {
  char byte;
  return recv(socket_pair[0], &byte, 1, 0);
}

int main(void) {
  static const struct {
    const char* name;
    int (*call)(void);
  } calls[] = {
      {"poll", call_poll},         {"ppoll", call_ppoll},
      {"select", call_select},     {"pselect", call_pselect},
      {"epoll_wait", call_epoll},  {"nanosleep", call_nanosleep},
      {"usleep", call_usleep},     {"clock_nanosleep", call_clock_nanosleep},
      {"sem_timedwait", call_sem}, {"pthread_cond_timedwait", call_cond},
      {"futex", call_futex},       {"semtimedop", call_semtimedop},
      {"recv", call_recv},         {"sigtimedwait", call_sigtimedwait},
  };
  struct timeval timeout = {0, 3000};
  pthread_t thread;
  sem_init(&semaphore, 0, 0);
  epoll_fd = epoll_create1(0);
  sem_id = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT);
  socketpair(AF_UNIX, SOCK_STREAM, 0, socket_pair);
  setsockopt(socket_pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_create(&thread, NULL, burner, NULL);
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; ++i) {
    int interrupted = 0;
    for (int times = 0; times < 50; ++times) {
      burn();
      errno = 0;
      if (calls[i].call() < 0 && errno == EINTR) ++interrupted;
    }
    printf("%s: %d interrupted\n", calls[i].name, interrupted);
  }
  done = 1;
  pthread_join(thread, NULL);
  if (sem_id >= 0) semctl(sem_id, 0, IPC_RMID);
  // Long enough that a signal which wakes sleepers would cut it short.
  burn();
  printf("sleep left: %u\n", sleep(1));
  return 0;
}
