#include "capture/threads.h"

#include <errno.h>
#include <sys/prctl.h>

#include <algorithm>

#include "arch/kernel.h"
#include "capture/clock.h"
#include "capture/kernel_file.h"
#include "capture/own_memory.h"
#include "capture/own_signal_stack.h"
#include "capture/sampling_timer.h"
#include "capture/signals.h"
#include "capture/thread_choice.h"
#include "signal_safe/edge_cache.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/profile_switch.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"
#include "signal_safe/usage.h"
#include "signal_safe/waits.h"

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::Entry;
using signal_safe::FilledPages;
using signal_safe::GrowingMemory;
using signal_safe::kGateWord;
using signal_safe::kNoFrame;
using signal_safe::kRootGateWord;
using signal_safe::kSlackEntries;
using signal_safe::session;
using signal_safe::Slot;
using signal_safe::Stack;
using signal_safe::ThreadState;
using signal_safe::Word;

void count_lost_thread() {
  __atomic_fetch_add(&session.arena.header()->lost_threads, 1, __ATOMIC_RELAXED);
}

namespace {

// A machine stack of n bytes holds at most n / 8 return addresses, and an entry takes 16 bytes, so
// native frames cannot overrun a shadow stack of twice the size. The slack is for stacks that we do
// not know, and for the C API, which is checked.
constexpr std::uint64_t kShadowSlackBytes = 1 << 20;
// The main thread's stack may grow beyond its current limit, if the program raises the limit.
constexpr std::uint64_t kLeastMainShadowBytes = 64ull << 20;
constexpr std::uint64_t kLeastShadowBytes = 256 << 10;
constexpr std::uint64_t kMostShadowBytes = 4ull << 30;
// Before it grows: 4096 calls deep.
constexpr std::uint64_t kFirstShadowBytes = 64 << 10;

// While recording is off: how often a running thread checks whether it is time to start, per second
// of its CPU time.
constexpr std::uint32_t kWatchHz = 20;

constinit const Settings kDefaults;
const Settings* profile_settings = &kDefaults;
bool perf_allowed = true;
bool are_found_later = false;
void (*tell_end)() = nullptr;  // of found threads
std::atomic<bool> is_watching{false};
std::atomic<bool> is_timer_lacking{false};
std::uint64_t recording_since_ns = 0;  // when it was turned on; 0: from the start on

// Keeps a thread, and its thread-local storage, from ending as long as this lives. All signals are
// blocked meanwhile, because the thread may wait for it.
class Pin {
 public:
  explicit Pin(ThreadMemory& memory) : memory_(memory) {
    std::uint32_t attached = ThreadMemory::kAttached;
    held_ = memory.use.compare_exchange_strong(attached, ThreadMemory::kPinned);
  }
  ~Pin() {
    if (held_) memory_.use.store(ThreadMemory::kAttached);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  explicit operator bool() const { return held_; }

 private:
  AllSignalsBlocked guard_;
  ThreadMemory& memory_;
  bool held_;
};

// Calls change(state) while the thread cannot end, unless it has ended or is ending. Nobody pins a
// thread for longer than some system calls take.
template <typename Change>
void pin_and(ThreadMemory& memory, Change change) {
  for (;;) {
    if (Pin pin{memory}) return change(memory.state);
    const std::uint32_t use = memory.use.load();
    if (use != ThreadMemory::kAttached && use != ThreadMemory::kPinned) return;
    pause_shortly();
  }
}

template <typename Change>
void for_each_pinned(Change change) {
  for (ThreadMemory* memory = newest_thread_memory(); memory; memory = memory->next_all) {
    pin_and(*memory, change);
  }
}

void let_hooks_look_up_in(ThreadState& thread, Slot* cache) {
  __atomic_store_n(&thread.hot->cache, cache, __ATOMIC_RELEASE);
}

// Gives the thread the cache and the timer that it should have now, if it has no timer: `passed_ns`
// of the first period have passed. Threads that are behind take their cache themselves, and have an
// empty one until then.
void follow_recording(ThreadState& thread, std::uint64_t passed_ns = 0) {
  if (thread.is_left_out) return;
  if (!session.recording.load()) {
    let_hooks_look_up_in(thread, session.empty_cache);
  } else if (__atomic_load_n(&thread.is_behind, __ATOMIC_RELAXED) == 0) {
    let_hooks_look_up_in(thread, thread.cache.slots);
  } else if (thread.hot->cache == nullptr) {
    let_hooks_look_up_in(thread, session.empty_cache);
  }
  if (profile_settings->recording.clock == format::Clock::kTicks || thread.sampling_page ||
      thread.has_timer || session.is_confined.load(std::memory_order_relaxed)) {
    return;
  }
  if (session.recording.load()) {
    const auto source =
        arm_timer(thread, kSamplingSignal, profile_settings->rate_hz, perf_allowed, passed_ns);
    if (!thread.sampling_page && !thread.has_timer && !has_ended(thread.tid)) {
      is_timer_lacking.store(true);
    }
    auto* header = session.arena.header();
    if (header->source == format::SampleSource::kNone) header->source = source;
  } else if (is_watching.load()) {
    arm_timer(thread, kSamplingSignal, kWatchHz, false, 0);
  }
}

// A thread's name, ended by a 0.
struct Name {
  char text[sizeof format::Thread{}.name] = {};
};

Name own_name() {
  Name name;
  kernel_call(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name.text));
  return name;
}

// Whether the user's filter leaves out threads of this name.
bool must_leave_out(const Name& name) {
  return !keeps_thread(profile_settings->threads.c_str(), name.text);
}

void show_name(format::Thread& record, const Name& name) {
  __builtin_memcpy(record.name, name.text, sizeof name.text);
}

// How many of the record's threads were left out.
std::uint32_t left_out_count(const format::Thread& record) {
  return record.flags >> format::kThreadsLeftOutShift;
}

constexpr std::uint32_t kOneLeftOut = 1u << format::kThreadsLeftOutShift;

// What is counted between two charges, too, is not known for the time before now.
void forget_counts(ThreadState& thread) {
  thread.knows_faults = false;
  if (thread.waits != nullptr) {
    thread.waits->knows_switches = false;
    thread.switches.is_old = true;
  }
}

// Time that passed before recording belongs to no context.
void skip_time(ThreadState& thread) {
  thread.last_cpu_ns = clock_ns(cpu_clock_of(thread.tid));
  thread.last_wall_ns = signal_safe::monotonic_ns();
  thread.kernel_time = {};
  thread.last_tick_cpu_ns = thread.last_cpu_ns;
  thread.stopped_cpu_ns = 0;
  thread.tree.note_sampled(0);
  forget_counts(thread);
}

// Recording is turned off. What has passed since the last sample is not charged here, where nothing
// tells its context: the next sample does, as if the times of recording were one. So sections that
// are shorter than a period have their samples, too.
void note_stop(ThreadState& thread, std::uint64_t wall) {
  if (thread.is_left_out) return;
  thread.stopped_cpu_ns = clock_ns(cpu_clock_of(thread.tid));
  thread.stopped_wall_ns = wall;
}

void go_on_from_stop(ThreadState& thread) {
  // What fble-prof attach shows begins anew.
  if (thread.stopped_cpu_ns == 0 || are_found_later) return skip_time(thread);
  const std::uint64_t cpu = clock_ns(cpu_clock_of(thread.tid));
  if (cpu < thread.stopped_cpu_ns) return;  // it has just ended
  thread.last_cpu_ns += cpu - thread.stopped_cpu_ns;
  thread.last_tick_cpu_ns += cpu - thread.stopped_cpu_ns;
  thread.last_wall_ns += signal_safe::monotonic_ns() - thread.stopped_wall_ns;
  thread.stopped_cpu_ns = 0;
  forget_counts(thread);
}

// What the thread computed since its last sample, by which the next one comes sooner.
std::uint64_t since_sample_ns(const ThreadState& thread) {
  const std::uint64_t cpu = clock_ns(cpu_clock_of(thread.tid));
  return cpu > thread.last_cpu_ns ? cpu - thread.last_cpu_ns : 0;
}

void reset_memory(ThreadMemory& memory) {
  memory.state.main_stack = {};
  memory.state.context = nullptr;
  memory.state.signal_stack.low = memory.state.signal_stack.high = 0;
  memory.state.busy = 0;
  memory.state.is_behind = 0;
  memory.state.is_left_out = false;
  memory.state.stopped_cpu_ns = 0;
  // The thread before had another clock, and a stack that may be gone.
  memory.state.resting_until_ns = 0;
  memory.state.searches_in_vain = 0;
  memory.state.known.forget();
  if (memory.state.rates != nullptr) memory.state.rates->forget();
  if (memory.state.allocations != nullptr) memory.state.allocations->newest = nullptr;
}

// Provides shadow memory for a machine stack; keeps existing memory if it is large enough. A
// replacement has at least twice the size, so the replaced pieces, which stay unused, add up to
// less than the used one. With `growing`, the memory is small at first, if it can grow.
bool provide_shadow(Entry** shadow, std::uint64_t* bytes, GrowingMemory** growing,
                    std::uint64_t wanted) {
  if (*shadow && *bytes >= wanted) return true;
  const std::uint64_t size = *bytes * 2 > wanted ? *bytes * 2 : wanted;
  // A new kind of system call could end a program that was confined before it started.
  GrowingMemory* made = growing && perf_allowed && size > kFirstShadowBytes
                            ? take_growing_memory(kFirstShadowBytes, size)
                            : nullptr;
  void* memory = made ? made->base : take_memory(size, InChild::kCopied);
  if (!memory) return false;
  *shadow = static_cast<Entry*>(memory);
  *bytes = size;
  if (growing) *growing = made;
  return true;
}

void set_up_stack(Stack& stack, Word gate, Entry* shadow, std::uint64_t bytes,
                  GrowingMemory* growing) {
  shadow[0] = {kNoFrame, gate};
  stack.gate = shadow;
  if (growing) bytes = growing->bytes.load(std::memory_order_acquire);
  stack.memory = growing;
  stack.limit = shadow + bytes / sizeof(Entry) - kSlackEntries;
  stack.saved_top = shadow;
}

// The thread ends inside a context of the C API. The entries stay there: another thread may
// continue in that context.
void leave_context(ThreadState& state) {
  if (state.is_left_out) return;
  state.current->saved_top = state.hot->top;
  state.current = &state.main_stack;
  state.context = nullptr;
}

// Whether the calling thread has a state. Threads that cannot be profiled have 1 there.
bool has_state() { return reinterpret_cast<std::uint64_t>(fbleprof_hot.self) > 1; }

void give_up_on_this_thread() {
  count_lost_thread();
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);
}

std::uint64_t shadow_bytes_for(StackBounds bounds, bool is_main) {
  const std::uint64_t bytes = 2 * (bounds.high - bounds.low) + kShadowSlackBytes;
  if (const std::uint64_t limit = limit_of_memory(); limit != RLIM_INFINITY) {
    // Take only a share of it: there may be hundreds of threads.
    const std::uint64_t share = limit / (is_main ? 16 : 1024);
    std::uint64_t size = kLeastShadowBytes;
    while (2 * size <= share && size < bytes) size *= 2;
    return size;
  }
  if (is_main && bytes < kLeastMainShadowBytes) return kLeastMainShadowBytes;
  return bytes < kMostShadowBytes ? bytes : kMostShadowBytes;
}

}  // namespace

void find_threads_later(void (*tell_end_of_thread)()) {
  are_found_later = true;
  tell_end = tell_end_of_thread;
}

namespace {
// Another thread may be about to turn recording off: then the next sample does it, if there is one.
void change_event_of_this_thread() {
  ThreadMemory& memory = *memory_of(fbleprof_hot.self);
  const Pin pin{memory};
  if (pin && !session.is_confined.load(std::memory_order_relaxed)) {
    change_event(memory.state, kSamplingSignal);
  }
}
}  // namespace

void configure_threads(const Settings& settings, bool allow_perf) {
  profile_settings = &settings;
  on_samples_that_change_sampling(change_event_of_this_thread);
  perf_allowed = allow_perf;
  if (allow_perf) allow_own_signal_stacks();
  if (!session.empty_cache) {
    const std::size_t slots = limit_of_memory() == RLIM_INFINITY ? signal_safe::kMostCacheSlots
                                                                 : signal_safe::kFirstCacheSlots;
    session.empty_cache = static_cast<Slot*>(take_memory(slots * sizeof(Slot), InChild::kCopied));
    session.empty_cache_slots = slots;
  }
}

namespace {
// Faults before the recording, those of the loader, belong to no context.
void start_faults(ThreadState& state, std::uint64_t cpu_from_ns) {
  rusage usage{};
  const bool has_run = cpu_from_ns != 0 && session.options.faults;
  state.knows_faults = !has_run || signal_safe::read_usage(&usage);
  state.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  state.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
}

// Makes the calling thread the owner of `memory`.
void attach(ThreadMemory* memory, StackBounds bounds, std::uint64_t cpu_from_ns) {
  const auto pid = kernel_call(SYS_getpid), tid = kernel_call(SYS_gettid);
  reset_memory(*memory);
  ThreadState& state = memory->state;
  if (!provide_shadow(&memory->shadow, &memory->shadow_bytes, &memory->growing_shadow,
                      shadow_bytes_for(bounds, pid == tid))) {
    give_back(memory);
    return give_up_on_this_thread();
  }
  state.hot = are_found_later && !tell_end ? &memory->hot : &fbleprof_hot;
  state.hot->cache_mask = fbleprof_hot.cache_mask = state.cache.mask;
  if (are_found_later) {
    state.is_behind = ThreadState::kBehind;
    state.hot->cache = session.empty_cache;
  }
  state.tid = static_cast<std::uint32_t>(tid);
  state.main_stack.low = bounds.low;
  state.main_stack.high = bounds.high ? bounds.high : ~std::uint64_t{0};
  state.main_stack.base = state.main_stack.tree = state.tree.root();
  state.main_stack.file = session.this_file();
  set_up_stack(state.main_stack, kRootGateWord, memory->shadow, memory->shadow_bytes,
               memory->growing_shadow);
  state.current = &state.main_stack;
  state.canary->alive = 1;
  state.record->tid = state.tid;
  state.record->flags |= format::kThreadRunning;
  state.record->end_ns = 0;
  state.record->threads_served += 1;
  const Name name = own_name();
  state.is_left_out = must_leave_out(name);
  if (state.is_left_out) state.record->flags += kOneLeftOut;
  // What the record shows is of others, if there were any.
  if (!state.is_left_out || left_out_count(*state.record) == state.record->threads_served) {
    show_name(*state.record, name);
  }
  state.last_cpu_ns = cpu_from_ns;
  state.kernel_time = {};
  state.last_tick_cpu_ns = cpu_from_ns;
  start_faults(state, cpu_from_ns);
  state.tree.note_sampled(0);
  state.record->wait_since_ns = 0;
  if (state.waits != nullptr) signal_safe::start_thread(*state.waits);
  state.last_wall_ns = pid == tid ? std::max(session.start_monotonic_ns, recording_since_ns)
                                  : signal_safe::monotonic_ns();
  memory->use.store(ThreadMemory::kAttached);
  // Only a pinned thread has timers: who turns recording off meanwhile finds this one attached, and
  // waits, or this one finds it off. After a detach, a timer that nobody knew would end the
  // program.
  pin_and(*memory, [](ThreadState& thread) { follow_recording(thread); });
  provide_signal_stack(state);
  state.hot->limit = fbleprof_hot.limit = state.main_stack.limit;
  state.hot->self = fbleprof_hot.self = &state;
  asm volatile("" ::: "memory");
  if (!state.is_left_out) state.hot->top = fbleprof_hot.top = state.main_stack.gate;
  if (are_found_later && tell_end) tell_end();
}

// A thread that was left out has a name that is kept. It need not be the calling thread.
void begin_thread(ThreadState& thread) {
  skip_time(thread);
  thread.is_behind = ThreadState::kBehind;
  thread.is_left_out = false;
  thread.record->flags -= kOneLeftOut;
  follow_recording(thread);
  __atomic_store_n(&thread.hot->top, thread.main_stack.gate, __ATOMIC_RELEASE);
}

// The calling thread has a name that is left out. What it did before stays in the profile.
void leave_out_from_here(ThreadState& thread) {
  // Its entries are needed when these end.
  if (thread.context != nullptr || thread.profiles != 0) return;
  SamplingBlocked guard;
  disarm_timer(thread);
  drain_pending();
  signal_safe::charge_rest(thread);
  signal_safe::flush_level(thread);
  thread.is_left_out = true;
  thread.record->flags += kOneLeftOut;
  thread.hot->top = nullptr;
  // It may be in a handler.
  thread.current = &thread.main_stack;
  thread.hot->limit = thread.main_stack.limit;
}

void follow_name(ThreadState& thread, const Name& name) {
  const bool must_go = must_leave_out(name);
  // While a thread is left out, its record shows the name of one that is not.
  if (!must_go) show_name(*thread.record, name);
  if (thread.is_left_out && !must_go) begin_thread(thread);
  if (!thread.is_left_out && must_go && thread.hot == &fbleprof_hot) leave_out_from_here(thread);
}

// False: the memory is not in use.
bool follow_name_in(ThreadMemory& memory, const Name& name) {
  const Pin pin{memory};
  if (pin) follow_name(memory.state, name);
  return static_cast<bool>(pin);
}
}  // namespace

void note_thread_name(unsigned long thread, const char* text) {
  if (!session.arena.base() || are_found_later || !may_samples_come()) return;
  Name name;
  for (std::uint32_t i = 0; text[i] && i + 1 < sizeof name.text; ++i) name.text[i] = text[i];
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  if (thread == here) {
    if (has_state()) follow_name_in(*memory_of(fbleprof_hot.self), name);
    return;
  }
  // The variables of all threads have one distance from their threads' pointers.
  const std::uint64_t hot = reinterpret_cast<std::uint64_t>(&fbleprof_hot) - here + thread;
  for (ThreadMemory* memory = newest_thread_memory(); memory; memory = memory->next_all) {
    const bool is_its = reinterpret_cast<std::uint64_t>(memory->state.hot) == hot;
    if (is_its && follow_name_in(*memory, name)) return;
  }
}

void note_own_name() {
  if (!may_samples_come()) return;
  note_thread_name(reinterpret_cast<unsigned long>(__builtin_thread_pointer()), own_name().text);
}

void attach_this_thread(StackBounds bounds, std::uint64_t cpu_from_ns) {
  // Code that this calls may be rewritten, and its hook would attach the thread once more.
  static __thread bool attaching;
  if (fbleprof_hot.self || attaching || !session.arena.base()) return;
  attaching = true;
  if (ThreadMemory* memory = take_thread_memory()) {
    attach(memory, bounds, cpu_from_ns);
  } else {
    give_up_on_this_thread();
  }
  attaching = false;
}

ThreadStart* prepare_thread() {
  if (!session.arena.base()) return nullptr;
  note_split_stack();
  ThreadMemory* memory = take_thread_memory();
  if (memory) return &memory->start;
  count_lost_thread();
  return nullptr;
}

void cancel_thread(ThreadStart* start) { give_back(memory_of(start)); }

namespace {
std::uint64_t cpu_of_this_thread() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

// Charges what the calling thread has computed since then as our own cost, to its root: it sets up
// or removes the thread's timer. Samples are blocked.
void charge_own_work(ThreadState& state, std::uint64_t cpu_since) {
  if (state.is_left_out || !signal_safe::takes_time(state)) return;
  const std::uint64_t now = cpu_of_this_thread();
  if (now <= cpu_since) return;
  const std::uint64_t own = now - cpu_since;
  state.last_cpu_ns += own;
  state.last_tick_cpu_ns += own;
  const std::uint64_t wall = signal_safe::monotonic_ns();
  const std::uint64_t passed = wall > state.last_wall_ns ? wall - state.last_wall_ns : 0;
  state.last_wall_ns += std::min(own, passed);
  state.record->cpu_ns += own;
  state.record->wall_ns += own;
  state.tree.values_or_root(state.tree.root())[signal_safe::kOwnCostNs] += own;
}
}  // namespace

void attach_prepared_thread(ThreadStart* start, StackBounds bounds) {
  const std::uint64_t began = cpu_of_this_thread();
  ThreadMemory* memory = memory_of(start);
  attach(memory, bounds, 0);
  if (fbleprof_hot.self != &memory->state) return;
  // Another thread may turn recording off.
  if (Pin pin{*memory}) charge_own_work(memory->state, began);
}

namespace {
// From here on, no other thread arms or stops the timers, nor gives it a name.
void begin_end(ThreadMemory& memory) {
  std::uint32_t attached = ThreadMemory::kAttached;
  while (!memory.use.compare_exchange_weak(attached, ThreadMemory::kEnding)) {
    attached = ThreadMemory::kAttached;
    pause_shortly();
  }
}

void end_use(ThreadMemory& memory) {
  memory.use.store(ThreadMemory::kFree);
  give_back(&memory);
}
}  // namespace

void detach_this_thread() {
  if (!has_state()) return;
  ThreadState& state = *fbleprof_hot.self;
  ThreadMemory& memory = *memory_of(&state);
  const SamplingBlocked guard;
  begin_end(memory);
  const bool may_ask_kernel = may_samples_come();
  if (may_ask_kernel) {
    const std::uint64_t began = cpu_of_this_thread();
    disarm_timer(state);
    drain_pending();
    if (state.canary->alive) charge_own_work(state, began);
  } else if (state.canary->alive) {
    signal_safe::flush_level(state);
  }
  if (state.canary->alive && may_ask_kernel) {
    if (!state.is_left_out) signal_safe::charge_rest(state);
    while (state.profiles != 0) signal_safe::end_profile(state, state.hot->top);
    signal_safe::flush_level(state);
    if (!state.is_left_out) show_name(*state.record, own_name());
    state.record->end_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
    state.record->flags &= ~format::kThreadRunning;
    state.record->wait_since_ns = 0;
  }
  if (state.canary->alive && state.waits != nullptr) signal_safe::end_thread(*state.waits);
  leave_context(state);
  fbleprof_hot.top = nullptr;
  asm volatile("" ::: "memory");
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);  // hooks stay off
  // If the thread runs there (in a handler of the program's that has called pthread_exit), no other
  // thread may have the memory.
  const bool is_free = !may_ask_kernel || withdraw_signal_stack();
  if (is_free) {
    end_use(memory);
  } else {
    memory.use.store(ThreadMemory::kFree);
  }
}

void for_each_attached(void (*function)(ThreadState& thread, void* argument), void* argument) {
  for (ThreadMemory* memory = newest_thread_memory(); memory; memory = memory->next_all) {
    if (memory->use.load(std::memory_order_acquire) != ThreadMemory::kFree) {
      function(memory->state, argument);
    }
  }
}

bool is_attached(std::uint32_t tid) {
  for (ThreadMemory* memory = newest_thread_memory(); memory; memory = memory->next_all) {
    if (memory->state.tid == tid && memory->use.load() != ThreadMemory::kFree) return true;
  }
  return false;
}

void end_found_thread(std::uint32_t tid) {
  for (ThreadMemory* memory = newest_thread_memory(); memory; memory = memory->next_all) {
    std::uint32_t attached = ThreadMemory::kAttached;
    if (memory->state.tid != tid ||
        !memory->use.compare_exchange_strong(attached, ThreadMemory::kEnding)) {
      continue;
    }
    ThreadState& state = memory->state;
    disarm_timer(state);
    state.record->end_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
    state.record->flags &= ~format::kThreadRunning;
    end_use(*memory);
  }
}

bool has_ended(std::uint32_t tid) {
  return kernel_call(SYS_tgkill, kernel_call(SYS_getpid), tid, 0) == -ESRCH;
}

bool take_lack_of_timers() { return is_timer_lacking.exchange(false); }

void abandon_all_threads() {
  is_timer_lacking.store(false);
  forget_thread_memory();
  forget_timers();
  fbleprof_hot = {};
}

void arm_this_thread() {
  if (!fbleprof_hot.top) return;
  ThreadMemory& memory = *memory_of(fbleprof_hot.self);
  SamplingBlocked guard;
  pin_and(memory, [](ThreadState& thread) { follow_recording(thread); });
}

void charge_rest_of_this_thread() {
  if (!may_samples_come()) return;  // the clock is a system call
  if (!fbleprof_hot.top || !fbleprof_hot.self->canary->alive) return;
  ThreadState& thread = *fbleprof_hot.self;
  SamplingBlocked guard;
  // If another thread turns it off at this moment, at most what passed since then is charged, too.
  if (session.recording.load()) return signal_safe::charge_rest(thread);
  // Another thread may be about to turn it on.
  if (Pin pin{*memory_of(&thread)}) signal_safe::charge_until_stop(thread);
}

namespace {
// Frames of handlers on an array of one of the thread's functions are above those of the functions
// that the function calls, but newer: they must not be taken for the thread's own.
void leave_out_of(Stack& around, const Stack& stack) {
  const bool is_inside = stack.low >= around.low && stack.high <= around.high;
  around.hole_low = is_inside ? stack.low : 0;
  around.hole_bytes = is_inside ? stack.high - stack.low : 0;
}
}  // namespace

StackBounds signal_stack_of_this_thread() {
  if (!has_state()) return {};
  const Stack& stack = fbleprof_hot.self->signal_stack;
  return {stack.low, stack.high};
}

void note_signal_stack(void* base, std::uint64_t bytes) {
  // A thread that is left out may get a name that is kept.
  if (!has_state()) return;
  ThreadState& state = *fbleprof_hot.self;
  ThreadMemory* memory = memory_of(&state);
  SamplingBlocked guard;
  // A handler whose hooks ran there has returned, and no hook has run since.
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  if (state.current == &state.signal_stack && state.busy == 0 && state.hot->top != nullptr) {
    signal_safe::switch_stack(state, here, {});
  }
  const std::uint64_t wanted = 2 * bytes + kPageBytes;
  if (!base || state.current == &state.signal_stack ||
      !provide_shadow(&memory->signal_shadow, &memory->signal_shadow_bytes, nullptr, wanted)) {
    if (!base) {
      state.signal_stack.low = state.signal_stack.high = 0;
      leave_out_of(state.main_stack, state.signal_stack);
    }
    return;
  }
  set_up_stack(state.signal_stack, kGateWord, memory->signal_shadow, memory->signal_shadow_bytes,
               nullptr);
  state.signal_stack.low = reinterpret_cast<std::uint64_t>(base);
  state.signal_stack.high = state.signal_stack.low + bytes;
  leave_out_of(state.main_stack, state.signal_stack);
}

namespace {
void note_recording(bool is_on) {
  format::Header& header = *session.arena.header();
  const std::uint64_t now = signal_safe::monotonic_ns(), since = header.off_since_ns;
  if (is_on && since != 0) {
    header.off_since_ns = 0;
    header.off_ns += now - since;
  } else if (!is_on && since == 0) {
    header.off_since_ns = now;
  }
  header.is_recording = is_on ? 1 : 0;
}

void pause_waits(ThreadState& thread, std::uint64_t wall) {
  if (thread.waits == nullptr || thread.is_left_out || thread.busy) return;
  const std::uint64_t cpu = clock_ns(cpu_clock_of(thread.tid));
  if (cpu != 0) signal_safe::pause_open_waits(thread, cpu, wall);
}

// Not so in the middle of attaching: others' changes reach the thread then, and its own, too.
bool is_this(const ThreadState& thread) { return &thread == fbleprof_hot.self; }

template <typename Change>
void pin_this_and(Change change) {
  if (has_state()) pin_and(*memory_of(fbleprof_hot.self), change);
}
}  // namespace

void disarm_all_threads() {
  for_each_pinned([](ThreadState& thread) { disarm_timer(thread); });
}

void stop_all_threads(Stopped how) {
  is_watching.store(how == Stopped::kWatching);
  const bool was_recording = session.recording.exchange(false);
  note_recording(false);
  const std::uint64_t now = signal_safe::monotonic_ns();
  if (was_recording) pin_this_and([&](ThreadState& thread) { note_stop(thread, now); });
  for_each_pinned([&](ThreadState& thread) {
    disarm_timer(thread);
    follow_recording(thread);
    pause_waits(thread, now);
    if (was_recording && !is_this(thread)) note_stop(thread, now);
  });
}

void start_all_threads(Charged from) {
  for_each_pinned([&](ThreadState& thread) {
    disarm_timer(thread);
    if (from != Charged::kFromNow) return;
    // If this thread has not stopped, what was before is not recorded even if another thread ends
    // the process now.
    if (!is_this(thread) || thread.stopped_cpu_ns == 0) go_on_from_stop(thread);
    // Found threads call hooks only while their code is changed.
    const std::uint32_t behind =
        are_found_later ? ThreadState::kBehindWithOldEntries : ThreadState::kBehind;
    __atomic_store_n(&thread.is_behind, behind, __ATOMIC_RELAXED);
  });
  is_watching.store(false);
  const std::uint64_t now = signal_safe::monotonic_ns();
  if (from == Charged::kFromNow) recording_since_ns = now;
  session.recording.store(true);
  note_recording(true);
  for_each_pinned([&](ThreadState& thread) {
    if (from != Charged::kFromNow) return follow_recording(thread);
    if (is_this(thread)) return;
    follow_recording(thread, since_sample_ns(thread));
    signal_safe::resume_open_waits(thread, now);
  });
}

void start_this_thread() {
  pin_this_and([](ThreadState& thread) {
    // The clock stands still until the timer is armed.
    const std::uint64_t stopped = thread.stopped_cpu_ns, last = thread.last_cpu_ns;
    follow_recording(thread, stopped > last ? stopped - last : 0);
    go_on_from_stop(thread);
    signal_safe::resume_open_waits(thread, signal_safe::monotonic_ns());
  });
}

std::uint64_t forget_code() {
  const std::uint32_t emptied = session.caches_emptied.fetch_add(1, std::memory_order_seq_cst);
  constexpr std::uint32_t kVisits = 256 - FilledPages::kFirstVisit;
  const auto visit = static_cast<std::uint8_t>(FilledPages::kFirstVisit + emptied % kVisits);
  std::uint64_t pages = 0;
  // Include threads that have ended: the next ones take over their caches unchanged. A slot does
  // not name its call site, so empty all. The owner may be filling one at this moment, with a call
  // that it makes: that code is still loaded.
  for (ThreadMemory* memory = newest_thread_memory(); memory; memory = memory->next_all) {
    pages += signal_safe::empty_filled_pages(memory->state, visit);
  }
  return pages;
}

}  // namespace fbleprof::capture
