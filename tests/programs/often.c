// Calls one function very often, and others seldom, in two threads. One of these tail-calls the
// first. Writes how often each was called to the file that is named, because that depends on the
// machine. With a second argument, it turns recording off and on by SIGUSR1 meanwhile.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kPerRound = 1 << 17, kSeldom = 1 << 14, kJumps = 8 };

__attribute__((noinline)) int seldom(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

// Called 10 million times a second or more, and calls another function sometimes.
__attribute__((noinline)) int often(int x) {
  if (x % kSeldom == 0) x = seldom(x) - 1;
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

// Like between files, the jump has five bytes: each function is in a section of its own.
__attribute__((noinline)) int jumps(int x) {
  __asm__ volatile("" : "+r"(x));
  return often(x + 1);
}

__attribute__((noinline)) void one_round(void) {
  for (int i = 0; i < kPerRound;) i = often(i);
  for (int i = 0; i < kJumps; ++i) jumps(1);
}

static long cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Works until the thread has used so much CPU time, and returns the number of rounds.
static long work_until(long ms) {
  long rounds = 0;
  for (; cpu_ms() < ms; ++rounds) one_round();
  return rounds;
}

static void* work(void* rounds) {
  *(long*)rounds = work_until(1500);
  return NULL;
}

static void report(const char* path, long rounds) {
  FILE* file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "one_round %ld\noften %ld\nseldom %ld\njumps %ld\n", rounds,
          rounds * (kPerRound + kJumps), rounds * (kPerRound / kSeldom), rounds * kJumps);
  fclose(file);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2) signal(SIGUSR1, SIG_IGN);
  long rounds[2] = {0, 0};
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, &rounds[1]) != 0) return 2;
  rounds[0] = work_until(750);
  if (argc > 2) raise(SIGUSR1);
  if (argc > 2) raise(SIGUSR1);
  rounds[0] += work_until(1500);
  pthread_join(thread, NULL);
  report(argv[1], rounds[0] + rounds[1]);
  // A child calls it, too.
  const pid_t child = fork();
  if (child == 0) {
    one_round();
    return 0;
  }
  int status;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
