// The price of calls that may block. Prints "NAME NS" for each: the least CPU time of one call, of
// several rounds. A sleep is made 20 calls deep.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE* zeros;

static void lock_pair(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
static void poll_nothing(void) { poll(NULL, 0, 0); }
static void close_nothing(void) { close(-1); }
static void get_byte(void) { (void)getc(zeros); }
static void sleep_shortly(void) {
  const struct timespec shortly = {0, 30000};
  nanosleep(&shortly, NULL);
}
static __attribute__((noinline)) void deep(int frames) {
  if (frames > 0) {
    deep(frames - 1);
  } else {
    sleep_shortly();
  }
  __asm__ volatile("");
}
// With the frames above and below.
static void sleep_deep(void) { deep(12); }

static void measure(const char* name, void (*call)(void), int calls) {
  double best = 1e18;
  for (int round = 0; round < 15; ++round) {
    const double begin = now_ns();
    for (int i = 0; i < calls; ++i) call();
    const double each = (now_ns() - begin) / calls;
    if (each < best) best = each;
  }
  printf("%s %.1f\n", name, best);
}

int main(void) {
  zeros = fopen("/dev/zero", "r");
  if (zeros == NULL) return 1;
  measure("mutex", lock_pair, 100000);
  measure("poll", poll_nothing, 20000);
  measure("close", close_nothing, 20000);
  measure("getc", get_byte, 100000);
  measure("sleep", sleep_deep, 200);
  return 0;
}
