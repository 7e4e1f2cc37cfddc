// Functions that libc calls in threads of its own: for timers, and for a message in a queue.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "block.h"

static sem_t ended;
static long sums[2];

BLOCK void of_timer(union sigval value) {
  work(30000);
  __atomic_fetch_add(&sums[0], value.sival_int, __ATOMIC_SEQ_CST);
  sem_post(&ended);
}

BLOCK void of_queue(union sigval value) {
  work(90000);
  __atomic_fetch_add(&sums[1], strlen(value.sival_ptr), __ATOMIC_SEQ_CST);
  sem_post(&ended);
}

static void wait_for_end(void) {
  while (sem_wait(&ended) != 0 && errno == EINTR) continue;
}

BLOCK void of_another(union sigval value) { of_timer(value); }

// Timers for many functions and values, of which only the last one runs out.
static void make_many(int first, int can_map) {
  enum { kMany = 400 };
  timer_t timers[kMany];
  struct sigevent event = {.sigev_notify = SIGEV_THREAD};
  int made = 0;
  sums[0] = 0;
  struct rlimit before, none;
  getrlimit(RLIMIT_AS, &before);
  none = before;
  none.rlim_cur = 1;
  if (!can_map) setrlimit(RLIMIT_AS, &none);
  for (int i = 0; i < kMany; ++i) {
    event.sigev_notify_function = i % 2 ? of_timer : of_another;
    event.sigev_value.sival_ptr = NULL;
    event.sigev_value.sival_int = first + i / 2;
    made += timer_create(CLOCK_MONOTONIC, &event, &timers[i]) == 0;
  }
  setrlimit(RLIMIT_AS, &before);
  if (made == kMany) {
    const struct itimerspec once = {.it_value = {0, 1000000}};
    timer_settime(timers[kMany - 1], 0, &once, NULL);
    wait_for_end();
    for (int i = 0; i < kMany; ++i) timer_delete(timers[i]);
  }
  printf("many: %d %ld\n", made, sums[0]);
}

// Calls that make no thread.
static void make_none(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_NONE};
  printf("by a signal: %d\n", timer_create(CLOCK_MONOTONIC, NULL, &timer));
  printf("not at all: %d\n", timer_create(CLOCK_MONOTONIC, &event, &timer));
  printf("no queue: %d\n", mq_notify(-1, NULL));
}

int main(void) {
  sem_init(&ended, 0, 0);
  make_none();
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = of_timer};
  // The last one is like the first one.
  for (int i = 0; i < 5; ++i) {
    timer_t timer;
    event.sigev_value.sival_int = 1 + i % 4;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
    const struct itimerspec once = {.it_value = {0, 1000000}};
    timer_settime(timer, 0, &once, NULL);
    wait_for_end();
    timer_delete(timer);
  }
  printf("timers: %ld\n", sums[0]);
  make_many(1000, 1);
  make_many(5000, 0);  // with memory that the first ones have given back
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
  char name[32];
  snprintf(name, sizeof name, "/fbleprof.%d", (int)getpid());
  const mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
  event.sigev_notify_function = of_queue;
  event.sigev_value.sival_ptr = "a message";
  printf("queue: %s\n", queue == (mqd_t)-1 ? strerror(errno) : "made");
  if (queue != (mqd_t)-1) {
    mq_unlink(name);
    printf("notified: %d\n", mq_notify(queue, &event));
    mq_send(queue, "message", 8, 0);
    wait_for_end();
    printf("queue: %ld\n", sums[1]);
  }
  return 0;
}
