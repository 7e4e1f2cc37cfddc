// Functions that libc calls in threads of its own: for timers, and for a message in a queue.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
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

int main(void) {
  sem_init(&ended, 0, 0);
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
