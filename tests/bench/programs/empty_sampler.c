// The lower bound of sampling: the same signals at the same rate as ours, with a handler that does
// nothing. A library to preload; EMPTY_SAMPLER_RATE in Hz; main thread only.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void on_signal(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  (void)context;
}

static void arm_jiffy_timer(long period_ns) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  timer_t timer;
  const struct timespec period = {period_ns / 1000000000, period_ns % 1000000000};
  const struct itimerspec interval = {period, period};
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0) {
    timer_settime(timer, 0, &interval, NULL);
  }
}

__attribute__((constructor)) static void arm(void) {
  const char* rate = getenv("EMPTY_SAMPLER_RATE");
  const long period_ns = 1000000000 / (rate ? atol(rate) : 1000);
  struct sigaction action = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  sigaction(SIGPROF, &action, NULL);
  arm_jiffy_timer(period_ns);
  struct perf_event_attr attributes = {.size = sizeof attributes,
                                       .type = PERF_TYPE_SOFTWARE,
                                       .config = PERF_COUNT_SW_TASK_CLOCK,
                                       .sample_period = (unsigned long)period_ns,
                                       .wakeup_events = 1,
                                       .exclude_kernel = 1,
                                       .exclude_hv = 1,
                                       .disabled = 1};
  const int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return;
  const struct f_owner_ex owner = {F_OWNER_TID, (int)syscall(SYS_gettid)};
  fcntl(fd, F_SETOWN_EX, &owner);
  fcntl(fd, F_SETSIG, SIGPROF);
  fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
  mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);  // keeps the event alive
  syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
  close(fd);
}
