#include "capture/found_threads.h"

#include <signal.h>
#include <time.h>

#include <atomic>

#include "arch/kernel.h"
#include "capture/clock.h"
#include "capture/kernel_file.h"
#include "capture/process_facts.h"
#include "capture/sampling_timer.h"
#include "capture/signal_stack.h"
#include "capture/signals.h"
#include "capture/stack_bounds.h"
#include "capture/threads.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using signal_safe::session;

namespace {

constexpr std::uint64_t kBetweenNs = 100'000'000;

bool are_found = false;
bool do_tell_end = false;
std::atomic<bool> is_looking{false};
std::atomic<std::uint64_t> looked_ns{0};

// A thread that was seen. Threads for which the table has no place are not sampled.
struct Seen {
  std::uint32_t tid;    // 0: free
  std::uint32_t round;  // when it was last seen
  int timer;            // waits for the thread to run
  bool has_timer;
  bool blocks;  // the signal, or waits for it, when it was last asked
};
constexpr std::uint32_t kMostThreads = 8192;
Seen seen[kMostThreads];
std::uint32_t seen_end = 0;  // end of the places in use
std::uint32_t round = 0;
std::uint32_t blocking = 0;  // how many threads block the signal

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

std::uint32_t number_of(const char* name) {
  std::uint32_t number = 0;
  for (; *name >= '0' && *name <= '9'; ++name) {
    number = number * 10 + static_cast<std::uint32_t>(*name - '0');
  }
  return *name ? 0 : number;
}

// Whether the timer still waits. If the thread was another one, with the same number, it does not.
bool is_timer_armed(const Seen& thread) {
  itimerspec left{};
  if (!thread.has_timer ||
      kernel_failed(kernel_call(SYS_timer_gettime, thread.timer, reinterpret_cast<long>(&left)))) {
    return false;
  }
  return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
}

void drop_timer(Seen& thread) {
  if (thread.has_timer) kernel_call(SYS_timer_delete, thread.timer);
  thread.has_timer = false;
}

// Threads are listed in order of creation, so most are at the same place as last time.
Seen* place_of(std::uint32_t tid, std::uint32_t* hint) {
  Seen* free = nullptr;
  for (std::uint32_t i = 0; i < seen_end; ++i) {
    Seen& each = seen[(*hint + i) % seen_end];
    if (each.tid == tid) return *hint = static_cast<std::uint32_t>(&each - seen) + 1, &each;
    if (each.tid == 0) free = &each;
  }
  if (!free && seen_end < kMostThreads) free = &seen[seen_end++];
  if (free) *free = {tid, 0, 0, false, false};
  return free;
}

void set_blocks(Seen& thread, bool blocks) {
  blocking += (blocks ? 1 : 0) - (thread.blocks ? 1 : 0);
  thread.blocks = blocks;
}

// A thread that blocks all signals may wait for them (sigwait, signalfd), and would be given ours.
// To ask takes longer than all else here, so of many that did, only some are asked each time.
bool is_blocking(Seen& thread) {
  constexpr std::uint32_t kAskedAtOnce = 64;
  const auto place = static_cast<std::uint32_t>(&thread - seen);
  if (!thread.blocks || (place + round) % (1 + blocking / kAskedAtOnce) == 0) {
    set_blocks(thread, !accepts_signal(thread.tid, kSamplingSignal));
  }
  return thread.blocks;
}

void note(std::uint32_t tid, std::uint32_t* hint) {
  Seen* thread = place_of(tid, hint);
  if (!thread) return;
  thread->round = round;
  if (is_attached(tid)) {
    set_blocks(*thread, false);
    return drop_timer(*thread);
  }
  if (is_timer_armed(*thread)) return;
  drop_timer(*thread);
  // Asked here, while is_looking: see forget_waiting_threads.
  if (!session.recording.load()) return;
  // All signals are blocked here, whatever the program blocks.
  if (tid != static_cast<std::uint32_t>(kernel_call(SYS_gettid)) && is_blocking(*thread)) return;
  thread->has_timer = make_waking_timer(tid, kSamplingSignal, &thread->timer);
}

bool read_threads() {
  alignas(8) static char entries[32768];
  const File folder("/proc/self/task", O_RDONLY | O_DIRECTORY);
  if (!folder) return false;
  std::uint32_t hint = 0;
  for (;;) {
    const long got = kernel_call(SYS_getdents64, folder.fd(), reinterpret_cast<long>(entries),
                                 static_cast<long>(sizeof entries));
    if (got <= 0) return got == 0;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      if (const std::uint32_t tid = number_of(entry->name)) note(tid, &hint);
      at += entry->length;
    }
  }
}

void forget_ended_threads() {
  // One reading of the directory can leave out a thread that runs, if another ends meanwhile.
  for (std::uint32_t i = 0; i < seen_end; ++i) {
    if (seen[i].tid == 0 || seen[i].round == round || !has_ended(seen[i].tid)) continue;
    drop_timer(seen[i]);
    end_found_thread(seen[i].tid);
    set_blocks(seen[i], false);
    seen[i].tid = 0;
  }
}

}  // namespace

void expect_found_threads(void (*tell_end)()) {
  are_found = true;
  do_tell_end = tell_end != nullptr;
  find_threads_later(tell_end);
}
bool are_threads_found() { return are_found; }
bool do_found_threads_tell_end() { return are_found && do_tell_end; }

void find_threads() {
  if (is_looking.exchange(true)) return;
  looked_ns.store(signal_safe::monotonic_ns());
  ++round;
  if (read_threads()) forget_ended_threads();
  let_finding_go_on();
}

void find_all_threads() {
  // Those that start a thread or a process block all signals for a moment. Perhaps no sample of
  // another thread looks again.
  constexpr std::uint64_t kForNs = 3'000'000;
  const std::uint64_t since = signal_safe::monotonic_ns();
  do find_threads();
  while (__atomic_load_n(&blocking, __ATOMIC_RELAXED) != 0 &&
         signal_safe::monotonic_ns() - since < kForNs && (pause_shortly(), true));
}

bool find_threads_sometimes() {
  if (signal_safe::monotonic_ns() - looked_ns.load() < kBetweenNs) return false;
  find_threads();
  return true;
}

bool forget_waiting_threads() {
  if (is_looking.exchange(true)) return false;
  for (std::uint32_t i = 0; i < seen_end; ++i) drop_timer(seen[i]);
  is_looking.store(false);
  return true;
}

bool hold_finding_back() {
  constexpr int kTries = 1000;
  int tries = 0;
  while (is_looking.exchange(true)) {
    if (++tries == kTries) return false;
    kernel_call(SYS_sched_yield);
  }
  const auto own = static_cast<std::uint32_t>(kernel_call(SYS_gettid));
  for (std::uint32_t i = 0; i < seen_end; ++i) {
    if (seen[i].tid == own) drop_timer(seen[i]);
  }
  return true;
}

void let_finding_go_on() {
  is_looking.store(false);
  // Whoever turned recording off meanwhile could not forget them.
  if (!session.recording.load()) forget_waiting_threads();
}

void forget_found_threads() {
  seen_end = blocking = 0;
  is_looking.store(false);
}

namespace {

bool is_main_thread() { return kernel_call(SYS_getpid) == kernel_call(SYS_gettid); }

}  // namespace

void attach_borrowed_thread() {
  if (!is_main_thread() || fbleprof_hot.self || fbleprof_attach_lazily) return;
  attach_this_thread(bounds_of_main_thread(), clock_ns(CLOCK_THREAD_CPUTIME_ID));
  learn_signal_stack();
}

void attach_found_thread(std::uint64_t sp) {
  StackBounds bounds = bounds_of_main_thread();  // its mapping grows
  if (!is_main_thread() || sp < bounds.low || sp >= bounds.high) bounds = bounds_of_stack_at(sp);
  attach_this_thread(bounds, clock_ns(CLOCK_THREAD_CPUTIME_ID));
  learn_signal_stack();
}

}  // namespace fbleprof::capture
