#include "capture/sampling_timer.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>

#include "arch/kernel.h"
#include "capture/clock.h"
#include "format/events.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using signal_safe::ThreadState;

namespace {

constexpr long kPage = 4096;
// Each event is a mapping, of which a process may have 65,530; 30,000 threads need 60,000 for their
// stacks. Beyond this number of events, threads have only the timer.
constexpr int kMostEvents = 2000;
int events = 0;
// Unprivileged users may lock 516 kB for the pages of events, and those that signal come first.
constexpr int kMostRings = 24;
int rings = 0;

// How many threads have an event's descriptor open, and how many forks are under way.
std::atomic<int> opening{0}, forking{0};

// While this lives and is true, the calling thread may open an event, and no fork is under way.
// Signals are blocked: a handler might fork, and wait for us. We do not wait for a fork: it may
// wait for a lock of the code that a handler of ours has interrupted.
class Opening {
 public:
  Opening() {
    const std::uint64_t all = ~std::uint64_t{0};
    kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all),
                reinterpret_cast<long>(&old_mask_), sizeof all);
    opening.fetch_add(1);
    may_open_ = forking.load() == 0;
  }
  ~Opening() {
    opening.fetch_sub(1);
    kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&old_mask_), 0,
                sizeof old_mask_);
  }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  explicit operator bool() const { return may_open_; }

 private:
  std::uint64_t old_mask_ = 0;
  bool may_open_ = false;
};

const char timer_mark = 0;  // its address is the value of our timers' signals

// Linux's; libc's headers lack it.
struct OwnerOfDescriptor {
  int type, pid;
};
constexpr int kSetOwnerEx = 15, kOwnerIsThread = 0, kSetSignal = 10;

// With a period of exactly one millisecond, a program that works in rounds of a millisecond would
// be sampled at the same point of each round: a share of 30 % was reported as 1 to 59 %. A longer
// period moves through the round. A drift below one percent was often lost on a virtual machine,
// where events came up to 0.8 % early in the thread's time. 1/16.2 is the golden section of a
// tenth, so that few samples cover the round evenly.
std::uint64_t drifting(std::uint64_t period_ns) { return period_ns + period_ns * 10 / 162; }

bool is_caller(std::uint32_t tid) { return kernel_call(SYS_gettid) == static_cast<long>(tid); }

constexpr format::Event kClock = {"", "ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0};

// Never signals: a signal when a thread leaves its processor would interrupt a sleeping call.
perf_event_attr switch_attributes() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_type = PERF_SAMPLE_TIME;
  attributes.sample_id_all = attributes.context_switch = attributes.use_clockid = 1;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

// The descriptor of an event of a thread (0: the calling one).
long open_descriptor(const perf_event_attr& attributes, long tid) {
  return kernel_call(SYS_perf_event_open, reinterpret_cast<long>(&attributes), tid, -1, -1,
                     PERF_FLAG_FD_CLOEXEC);
}

void unmap_ring(ThreadState& thread) {
  using signal_safe::SwitchRing;
  if (thread.switches.page == nullptr) return;
  kernel_call(SYS_munmap, reinterpret_cast<long>(thread.switches.page),
              SwitchRing::kHeadBytes + SwitchRing::kBytes);
  thread.switches = {};
  __atomic_fetch_sub(&rings, 1, __ATOMIC_RELAXED);
}

void open_ring(ThreadState& thread) {
  using signal_safe::SwitchRing;
  if (thread.switches.page != nullptr && thread.switches.tid == thread.tid) return;
  unmap_ring(thread);  // of a thread that had this memory before
  if (__atomic_load_n(&rings, __ATOMIC_RELAXED) >= kMostRings) return;
  const perf_event_attr attributes = switch_attributes();
  const Opening guard;
  if (!guard) return;
  const long fd =
      open_descriptor(attributes, is_caller(thread.tid) ? 0 : static_cast<long>(thread.tid));
  if (kernel_failed(fd)) return;
  const long page = kernel_call(SYS_mmap, 0, SwitchRing::kHeadBytes + SwitchRing::kBytes, PROT_READ,
                                MAP_SHARED, fd, 0);
  kernel_call(SYS_close, fd);
  if (kernel_failed(page)) return;
  thread.switches = {reinterpret_cast<void*>(page), thread.tid, 0, false, 0};
  __atomic_fetch_add(&rings, 1, __ATOMIC_RELAXED);
}

// The handler of another thread may be reading its ring, so that thread keeps it until it ends.
void close_ring(ThreadState& thread) {
  if (is_caller(thread.tid)) unmap_ring(thread);
}

// A clock's event only signals. The samples of others are kept, too, so that they can be counted:
// signals that come together are one.
long bytes_of(const signal_safe::Options& options) {
  return options.event != 0 ? 2 * kPage : kPage;
}

// Only with an Opening that says yes.
void* open_event(std::uint32_t tid, int signal_number, std::uint64_t period,
                 const signal_safe::Options& options) {
  const bool is_clock = options.event == 0;
  perf_event_attr attributes =
      format::attributes_of(is_clock ? kClock : format::kEvents[options.event - 1]);
  attributes.sample_period = period;
  attributes.wakeup_events = 1;
  const long fd = open_descriptor(attributes, is_caller(tid) ? 0 : static_cast<long>(tid));
  if (kernel_failed(fd)) return nullptr;
  const OwnerOfDescriptor owner{kOwnerIsThread, static_cast<int>(tid)};
  long page = -1;
  if (!kernel_failed(kernel_call(SYS_fcntl, fd, kSetOwnerEx, reinterpret_cast<long>(&owner))) &&
      !kernel_failed(kernel_call(SYS_fcntl, fd, kSetSignal, signal_number)) &&
      !kernel_failed(kernel_call(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK))) {
    page = kernel_call(SYS_mmap, 0, bytes_of(options), PROT_READ, MAP_SHARED, fd, 0);
    if (!kernel_failed(page)) kernel_call(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
  }
  kernel_call(SYS_close, fd);
  return kernel_failed(page) ? nullptr : reinterpret_cast<void*>(page);
}

bool make_timer(std::uint32_t tid, int signal_number, const itimerspec& when, int* timer) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number;
  event.sigev_value.sival_ptr = const_cast<char*>(&timer_mark);
  event._sigev_un._tid = static_cast<int>(tid);
  int id = 0;  // the kernel's type, not libc's timer_t
  const clockid_t clock = is_caller(tid) ? CLOCK_THREAD_CPUTIME_ID : cpu_clock_of(tid);
  if (kernel_failed(kernel_call(SYS_timer_create, clock, reinterpret_cast<long>(&event),
                                reinterpret_cast<long>(&id)))) {
    return false;
  }
  kernel_call(SYS_timer_settime, id, 0, reinterpret_cast<long>(&when), 0);
  *timer = id;
  return true;
}

struct Rate {
  std::uint32_t hz;

  std::uint64_t period_ns() const { return 1'000'000'000u / hz; }
  std::uint64_t event_period_ns() const { return drifting(period_ns()); }
};

timespec time_of(std::uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

// How long the first period is, of which something has passed.
std::uint64_t first_of(std::uint64_t period_ns, std::uint64_t passed_ns) {
  constexpr std::uint64_t kLeastNs = 10'000;
  const std::uint64_t first = period_ns - passed_ns % period_ns;
  return first > kLeastNs ? first : kLeastNs;
}

void start_event(const Opening& guard, ThreadState& thread, int signal_number, Rate rate,
                 std::uint64_t passed_ns) {
  thread.event_period_ns = 0;
  if (__atomic_load_n(&events, __ATOMIC_RELAXED) >= kMostEvents) return;
  const signal_safe::Options& options = thread.session->options;
  const bool is_clock = options.event == 0;
  const std::uint64_t period_ns = rate.event_period_ns(), first = first_of(period_ns, passed_ns);
  // Other events stand for the clock. Each sample charges a whole period of them, as the first one
  // would if the times of recording were one.
  const std::uint64_t of_events = options.event_period * first / period_ns;
  const std::uint64_t period = is_clock ? first : of_events != 0 ? of_events : 1;
  if (guard) thread.sampling_page = open_event(thread.tid, signal_number, period, options);
  thread.events_seen = 0;
  if (thread.sampling_page) __atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
  if (thread.sampling_page && is_clock) thread.event_period_ns = period_ns;
  // The period becomes whole; the fork ends.
  if (!guard || (thread.sampling_page && passed_ns != 0)) thread.next_rate_hz = rate.hz;
}

// The thread's handler may be reading the page.
void end_event(ThreadState& thread) {
  void* const page = thread.sampling_page;
  if (!page) return;
  __atomic_store_n(&thread.sampling_page, nullptr, __ATOMIC_SEQ_CST);
  while (!is_caller(thread.tid) && __atomic_load_n(&thread.reads_page, __ATOMIC_SEQ_CST)) {
    pause_shortly();
  }
  kernel_call(SYS_munmap, reinterpret_cast<long>(page), bytes_of(thread.session->options));
  __atomic_fetch_sub(&events, 1, __ATOMIC_RELAXED);
  thread.event_period_ns = 0;
}

}  // namespace

void settle_event(Settings& settings, bool allow_perf) {
  signal_safe::Options& options = settings.recording;
  if (options.event == 0) return;
  const format::Event& event = format::kEvents[options.event - 1];
  perf_event_attr attributes = format::attributes_of(event);
  const long fd = allow_perf ? open_descriptor(attributes, 0) : -1;
  if (kernel_failed(fd)) {
    settings.complaints.add("FBLEPROF_CLOCK=")
        .add(event.name)
        .add(": this machine or container does not count this event; CPU time is recorded\n");
    options.event = 0;
    return;
  }
  kernel_call(SYS_close, fd);
  const std::uint64_t period = event.at_1khz * 1000 / settings.rate_hz;
  options.event_period = period != 0 ? period : 1;
}

void settle_switches(Settings& settings, bool allow_perf) {
  signal_safe::Options& options = settings.recording;
  options.preempted = false;
  if (!options.waits || !allow_perf) return;
  const long fd = open_descriptor(switch_attributes(), 0);
  if (kernel_failed(fd)) return;
  kernel_call(SYS_close, fd);
  options.preempted = true;
}

std::uint64_t take_events(ThreadState& thread, int code) {
  const signal_safe::Options& options = thread.session->options;
  if (options.event == 0 || code != POLL_IN) return 0;
  // Another thread, which ends the event, waits for this one.
  __atomic_store_n(&thread.reads_page, true, __ATOMIC_SEQ_CST);
  const auto* page = static_cast<const perf_event_mmap_page*>(
      __atomic_load_n(&thread.sampling_page, __ATOMIC_SEQ_CST));
  std::uint64_t head = thread.events_seen;
  if (page != nullptr) head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  __atomic_store_n(&thread.reads_page, false, __ATOMIC_RELEASE);
  // A sample without contents is a head of 8 bytes.
  constexpr std::uint64_t kSampleBytes = 8;
  const std::uint64_t samples = (head - thread.events_seen) / kSampleBytes;
  thread.events_seen = head;
  return samples * options.event_period;
}

format::SampleSource arm_timer(ThreadState& thread, int signal_number, std::uint32_t rate_hz,
                               bool allow_perf, std::uint64_t passed_ns) {
  const Rate rate{rate_hz};
  if (allow_perf) start_event(Opening(), thread, signal_number, rate, passed_ns);
  if (allow_perf && thread.session->options.preempted) open_ring(thread);
  const bool timer = make_timer(
      thread.tid, signal_number,
      {time_of(rate.period_ns()), time_of(first_of(rate.period_ns(), passed_ns))}, &thread.timer);
  thread.has_timer = timer;
  const bool is_clock = thread.sampling_page && thread.session->options.event == 0;
  return is_clock ? format::SampleSource::kTaskClock
         : timer  ? format::SampleSource::kCpuTimer
                  : format::SampleSource::kNone;
}

bool make_waking_timer(std::uint32_t tid, int signal_number, int* timer) {
  return make_timer(tid, signal_number, {{0, 0}, {0, 1'000'000}}, timer);
}

void change_event(ThreadState& thread, int signal_number) {
  const std::uint32_t rate_hz = thread.next_rate_hz;
  if (rate_hz == 0) return;
  {
    const Opening guard;
    // Without the timer, no sample would come back to this.
    if (!guard && !thread.has_timer) return;
    end_event(thread);  // at once: its short period must not repeat
    start_event(guard, thread, signal_number, Rate{rate_hz}, 0);
  }
  // Until the system allows it, each tick tries again.
  thread.next_rate_hz = thread.sampling_page ? 0 : rate_hz;
  if (thread.session->options.preempted) open_ring(thread);
}

void disarm_timer(ThreadState& thread) {
  end_event(thread);
  thread.next_rate_hz = 0;
  close_ring(thread);
  if (thread.has_timer) kernel_call(SYS_timer_delete, thread.timer);
  thread.has_timer = false;
}

void hold_back_events() {
  forking.fetch_add(1);
  while (opening.load() != 0) pause_shortly();
}

void let_events_go_on() {
  // 0: meanwhile this process was noticed as a forked child.
  int before = forking.load();
  while (before > 0 && !forking.compare_exchange_weak(before, before - 1)) {
  }
}

void forget_timers() {
  events = rings = 0;
  opening.store(0);
  forking.store(0);
}

bool is_timer_signal(int code, const void* value) {
  return code == POLL_IN || (code == SI_TIMER && value == &timer_mark);
}

}  // namespace fbleprof::capture
