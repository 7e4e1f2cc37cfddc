#include "signal_safe/waits.h"

#include "arch/hash.h"
#include "arch/kernel.h"
#include "signal_safe/context_at.h"
#include "signal_safe/entries.h"
#include "signal_safe/little_room.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/poisson.h"
#include "signal_safe/preemption.h"
#include "signal_safe/profile_switch.h"
#include "signal_safe/session.h"
#include "signal_safe/usage.h"
#include "signal_safe/wait_calls.h"
#include "signal_safe/wait_words.h"

#define FBLEPROF_FOR_WRAPPERS extern "C" __attribute__((visibility("default")))

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// Less time off the processor than this is no wait: reading the clocks takes as long.
constexpr std::uint64_t kLeastChargedNs = 1'000;

// fbleprof_wait::since_ns of a wait that began while recording was off: no clock was read.
constexpr std::uint64_t kBeganUnrecorded = 1;

// The facts that the wrapper knows about its call.
struct Call {
  std::uint64_t frame;
  const void* callee;  // null: none
  format::WaitKind kind;
  const std::uint64_t* words() const { return reinterpret_cast<const std::uint64_t*>(frame); }
  std::uint64_t site() const { return words()[1]; }
  std::uint64_t return_slot() const { return frame + 8; }
  // The caller's state when the wrapper returns.
  MachineState state() const { return {site(), return_slot() + 8, words()[0], 0, nullptr}; }
};

// ---- Known contexts of calls

const Entry* newest_entry(const ThreadState& thread, const Call& call) {
  const Entry* top = thread.hot->top;
  while (top->frame + FRAME_BIAS <= call.return_slot()) --top;
  return top;
}

std::uint64_t epoch_of(const ThreadState& thread, const WaitThread& own) {
  // Both numbers only grow, so their sum changes with either.
  const std::uint32_t unloaded = thread.session->caches_emptied.load(std::memory_order_relaxed) +
                                 thread.session->code_map.epoch();
  return std::uint64_t{own.served} << 32 | unloaded;
}

KnownWait& slot_for(WaitThread& own, const Call& call) {
  const std::uint64_t hash =
      arch::hash_of(call.frame ^ call.site() << 20, reinterpret_cast<std::uint64_t>(call.callee));
  return own.known[hash % WaitThread::kKnown];
}

// The known context of this call; null if there is none.
KnownWait* find(ThreadState& thread, WaitThread& own, const Call& call) {
  KnownWait& known = slot_for(own, call);
  if (known.frame != call.frame || known.site != call.site() || known.callee != call.callee ||
      known.root != thread.tree.root() || known.epoch != epoch_of(thread, own)) {
    return nullptr;
  }
  const Entry* entry = newest_entry(thread, call);
  if (known.word != entry->word || known.entry_frame != entry->frame) return nullptr;
  for (std::uint32_t i = 0; i < known.count; ++i) {
    if (*reinterpret_cast<const std::uint64_t*>(known.returns[i].slot) != known.returns[i].content)
      return nullptr;
  }
  return &known;
}

// Keeps the return addresses that the last walk found, as far as there is room. They can be read
// again as long as the thread has the stack that holds them.
void keep_returns(const ThreadState& thread, KnownWait& known, std::uint32_t walks_before) {
  const KnownStack& walked = thread.known;
  const Stack& stack = thread.main_stack;
  known.count = 0;
  known.is_exact = walked.walks() == walks_before;  // the newest entry was enough
  if (known.is_exact || !walked.is_whole() || stack.low == 0) return;
  const std::uint32_t frames = walked.frames();
  const std::uint32_t count = frames <= KnownWait::kFrames ? frames : KnownWait::kFrames;
  for (std::uint32_t i = 0; i < count; ++i) {
    const WalkedFrame& frame = walked.frame(i);
    if (!stack.contains(frame.slot)) return;
    known.returns[i].slot = frame.slot;
    known.returns[i].content = frame.pc;
  }
  known.count = count;
  known.is_exact = count == frames;
}

bool is_counted(const ThreadState& thread, Ref node) {
  if (node == thread.tree.root()) return false;
  if (thread.tree.block_of(node) != arch::kNoBlock) return true;
  const Ref function = thread.tree.function_of(node);
  return (thread.session->arena.at<format::Function>(function)->flags & format::kFunctionHooked) !=
         0;
}

// The node of the call itself, below the context that makes it.
Ref node_of_call(const BusyGuard& guard, ThreadState& thread, const Call& call, Ref context) {
  Session& session = *thread.session;
  if (call.callee == nullptr) return context;
  if (!session.options.native_below && is_counted(thread, context)) return context;
  const Ref function = session.code_map.function_at(reinterpret_cast<std::uint64_t>(call.callee));
  if (function == 0) return context;
  return thread.tree.enter(guard, context, function, call.site(), format::kEdgeSampled).to;
}

KnownWait& find_out_here(const BusyGuard& guard, ThreadState& thread, WaitThread& own,
                         const Call& call) {
  settle_profiles(thread,
                  filter_by_address(thread.current->gate, thread.hot->top, call.return_slot()));
  const std::uint32_t walks = thread.known.walks();
  const Ref context = context_at(guard, thread, call.state(), Reached::kByReturn);
  KnownWait& known = slot_for(own, call);
  // A handler that interrupts this must miss.
  known.frame = 0;
  asm volatile("" ::: "memory");
  keep_returns(thread, known, walks);
  known.node = node_of_call(guard, thread, call, context);
  known.values = thread.tree.values(guard, known.node);
  known.site = call.site();
  known.callee = call.callee;
  known.root = thread.tree.root();
  known.epoch = epoch_of(thread, own);
  const Entry* entry = newest_entry(thread, call);
  known.word = entry->word;
  known.entry_frame = entry->frame;
  asm volatile("" ::: "memory");
  known.frame = call.frame;
  return known;
}

KnownWait& find_out(const BusyGuard& guard, ThreadState& thread, WaitThread& own,
                    const Call& call) {
  KnownWait* found = nullptr;
  call_with_room(thread, [&] { found = &find_out_here(guard, thread, own, call); });
  return *found;
}

// Limits the share of time that walks at the begin of calls take.
bool may_walk(const ThreadState& thread, WaitThread& own) {
  constexpr std::uint64_t kNsPerWalk = 50'000, kMost = 64;
  const std::uint64_t now = thread.session->clocks.wall_ns();
  const std::uint64_t earned = (now - own.refilled_ns) / kNsPerWalk;
  if (earned != 0) {
    own.tokens = own.tokens + earned < kMost ? own.tokens + earned : kMost;
    own.refilled_ns = now;
  }
  if (own.tokens == 0) return false;
  --own.tokens;
  return true;
}

[[gnu::noinline]] KnownWait* find_out_at_begin(ThreadState& thread, WaitThread& own,
                                               const Call& call) {
  if (!may_walk(thread, own)) return nullptr;
  const BusyGuard guard(thread);
  return guard ? &find_out(guard, thread, own, call) : nullptr;
}

// ---- Charging

std::uint64_t* wait_words(const ThreadState& thread, std::uint64_t* values) {
  return values + thread.session->options.wait_words;
}

void add_wait(ThreadState& thread, std::uint64_t* values, format::WaitKind kind, std::uint64_t ns) {
  std::uint64_t* words = wait_words(thread, values);
  words[kWaitNs] += ns;
  words[kWaits] += 1;
  if (kind == format::WaitKind::kForEvents) words[kEventWaitNs] += ns;
  if (kind == format::WaitKind::kForPeers) words[kPeerWaitNs] += ns;
  if (words[kLongestWaitNs] < ns) words[kLongestWaitNs] = ns;
  words[kWaitClass + format::wait_class(ns)] += 1;
  values[kWallNs] += ns;
  thread.record->wall_ns += ns;
  thread.last_wall_ns += ns;
}

std::uint64_t off_processor(const ThreadState& thread, std::uint64_t cpu, std::uint64_t wall) {
  const std::uint64_t passed = wall > thread.last_wall_ns ? wall - thread.last_wall_ns : 0;
  const std::uint64_t used = cpu > thread.last_cpu_ns ? cpu - thread.last_cpu_ns : 0;
  return passed > used ? passed - used : 0;
}

// The same, according to the current clocks.
std::uint64_t off_processor_now(ThreadState& thread) {
  const Clocks& clocks = thread.session->clocks;
  constexpr int kTries = 4;
  for (int i = 0;; ++i) {
    const auto last = *static_cast<const volatile std::uint64_t*>(&thread.last_wall_ns);
    const std::uint64_t cpu = clocks.cpu_ns(), wall = clocks.wall_ns();
    // A sample between the two readings would have charged some of the time.
    if (last != *static_cast<const volatile std::uint64_t*>(&thread.last_wall_ns) && i < kTries) {
      continue;
    }
    thread.session->show_clock(wall);
    return off_processor(thread, cpu, wall);
  }
}

// Adds a wait that goes on, up to `wall`.
void add_open_wait(ThreadState& thread, Ref context, format::WaitKind kind, std::uint64_t since,
                   std::uint64_t cpu, std::uint64_t wall) {
  const std::uint64_t off = off_processor(thread, cpu, wall);
  const std::uint64_t passed = wall > since ? wall - since : 0;
  const std::uint64_t ns = off < passed ? off : passed;
  if (ns >= kLeastChargedNs) add_wait(thread, thread.tree.values_or_root(context), kind, ns);
}

// Not in a vfork child, which runs in its parent's memory. Not in a program that has confined
// itself: a system call might end it.
bool may_charge(const ThreadState& thread) {
  return thread.session->options.waits &&
         arch::kernel_call(SYS_gettid) == static_cast<long>(thread.tid);
}

// The node of a wait that another context ended: below the call, with the functions of that
// context, innermost first. `as`: what they did, for CodeMap::stand_in.
Ref below_other(const BusyGuard& guard, ThreadState& thread, Ref call, Ref other,
                std::uint16_t as) {
  constexpr int kFrames = 3;
  Session& session = *thread.session;
  if (!session.options.native_below) return call;
  Ref node = call;
  for (int i = 0; i < kFrames; ++i) {
    const auto* at = session.arena.at<format::Node>(other);
    if (at->parent == 0) break;  // the root
    const Ref function = session.code_map.stand_in(at->function, as);
    if (function == 0) break;
    node = thread.tree.enter(guard, node, function, 0, format::kEdgeSampled).to;
    other = at->parent;
  }
  return node;
}

[[gnu::noinline]] void charge(ThreadState& thread, WaitThread& own, const fbleprof_wait& wait,
                              std::uint64_t most_ns) {
  const Call call{wait.frame, wait.callee, wait.kind};
  if (!thread.canary->alive || !may_charge(thread)) return;
  const BusyGuard guard(thread);
  if (!guard) return;
  const std::uint64_t off = off_processor_now(thread);
  const std::uint64_t ns = off < most_ns ? off : most_ns;
  // Short calls that hardly wait are examined less often: up to once in about a millisecond.
  constexpr std::uint32_t kMostPatience = 5;
  if (ns >= most_ns / 4) {
    own.patience = 0;
  } else if (own.patience < kMostPatience) {
    ++own.patience;
  }
  if (ns < kLeastChargedNs) return;
  KnownWait* known = find(thread, own, call);
  if (known == nullptr || !known->is_exact) known = &find_out(guard, thread, own, call);
  Ref node = known->node;
  if (wait.object != nullptr) {
    const bool is_lock = wait.kind == format::WaitKind::kForOther;
    const Ref waker = charge_waker(*thread.session, wait.object, is_lock, wait.since_ns, ns);
    if (waker != 0) {
      const std::uint16_t as = is_lock ? format::kFunctionHolder : format::kFunctionWaker;
      node = below_other(guard, thread, node, waker, as);
    }
  }
  std::uint64_t* values = node == known->node ? known->values : thread.tree.values(guard, node);
  add_wait(thread, values, call.kind, ns);
  if (rusage usage; read_usage(&usage)) charge_switches(thread, values, usage);
}

// Adds a short call to the uncharged ones; returns their sum, if it is time to charge it.
std::uint64_t gather(WaitThread& own, std::uint64_t ns) {
  own.gathered_ns += ns;
  if (own.gathered_ns < own.limit_ns) return 0;
  if (own.random == 0) own.random = reinterpret_cast<std::uint64_t>(&own) | 1;
  own.limit_ns = (kLeastWaitNs + next_random(&own.random) % (2 * kLeastWaitNs)) << own.patience;
  const std::uint64_t sum = own.gathered_ns;
  own.gathered_ns = 0;
  return sum;
}

void count_bytes(const ThreadState& thread, const KnownWait* known, std::uint64_t bytes_read,
                 std::uint64_t bytes_written) {
  std::uint64_t* words = wait_words(
      thread, known != nullptr ? known->values : thread.tree.values_or_root(thread.tree.root()));
  words[kBytesRead] += bytes_read;
  words[kBytesWritten] += bytes_written;
}

// ---- Open waits

// Makes the thread's record name the last open wait, or none.
void show_last_open(ThreadState& thread, const WaitThread& own) {
  format::Thread* record = thread.record;
  // Cleared first: a reader at this moment does not mix two waits.
  record->wait_since_ns = 0;
  if (own.open_count == 0) return;
  const OpenWait& last = own.open[own.open_count - 1];
  asm volatile("" ::: "memory");
  record->wait_context = last.context;
  record->wait_kind = last.kind;
  __atomic_store_n(&record->wait_since_ns, last.since_ns, __ATOMIC_RELEASE);
}

void want_no_more(const void* object) {
  if (object == nullptr) return;
  std::uint16_t& count = fbleprof_wanted[wanted_place(object)];
  std::uint16_t before = __atomic_load_n(&count, __ATOMIC_RELAXED);
  // 0: a forked child has forgotten the wait, which began in its parent.
  while (before != 0 &&
         !__atomic_compare_exchange_n(&count, &before, static_cast<std::uint16_t>(before - 1), true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

// Whether a thread that is at a stack pointer has left a wait without its end. Reads no stack but
// the thread's own, because others may be unmapped. If a program changes stacks in a handler, the
// answer may be wrong; such a wait is still charged at its end.
bool was_left(const ThreadState& thread, const OpenWait& wait, std::uint64_t sp) {
  const Stack& own = thread.main_stack;
  const bool is_here = own.contains(sp), was_here = own.contains(wait.frame);
  if (is_here != was_here) return is_here;
  if (sp >= wait.frame) return true;
  return was_here && reinterpret_cast<const std::uint64_t*>(wait.frame)[1] != wait.site;
}

// Charges the waits that the thread left for the last time.
void end_left_waits(ThreadState& thread, WaitThread& own, std::uint64_t sp) {
  if (own.open_count == 0 || !was_left(thread, own.open[own.open_count - 1], sp)) return;
  const Clocks& clocks = thread.session->clocks;
  const std::uint64_t cpu = clocks.cpu_ns();
  charge_open_wait(thread, cpu, clocks.wall_ns());
  do {
    want_no_more(own.open[own.open_count - 1].object);
    --own.open_count;
  } while (own.open_count != 0 && was_left(thread, own.open[own.open_count - 1], sp));
  show_last_open(thread, own);
}

// `shown_ns`: from when on the thread's record shows the wait; 0: not yet.
void open(ThreadState& thread, WaitThread& own, fbleprof_wait* wait, Ref context,
          std::uint64_t shown_ns) {
  if (own.open_count != 0) [[unlikely]]
    end_left_waits(thread, own, wait->frame);
  wait->level = own.open_count;
  if (wait->level != 0) own.open[wait->level - 1].since_ns = thread.record->wait_since_ns;
  wait->since_ns = shown_ns != 0 ? shown_ns : kBeganUnrecorded;
  if (wait->level == WaitThread::kOpen) return;
  own.open[wait->level] = {
      shown_ns,     wait->frame, reinterpret_cast<const std::uint64_t*>(wait->frame)[1],
      wait->object, context,     wait->kind};
  asm volatile("" ::: "memory");
  own.open_count = wait->level + 1;
  show_last_open(thread, own);
}

// While recording is off. The wait may go on when it is turned on again, or idle workers would show
// none. Up to its end it is the root's: a walk, to find its context, costs too much for what is
// off. Who ends it is not known.
[[gnu::noinline]] void open_unrecorded(ThreadState& thread, WaitThread& own, fbleprof_wait* wait) {
  if (!thread.canary->alive) return;
  wait->context = nullptr;
  wait->object = nullptr;
  open(thread, own, wait, thread.tree.root(), 0);
}

// From when on the time of a wait that ends is not charged. A sample, or the end of recording, may
// have charged the first part. If recording began in the middle, the thread's clocks did, too.
std::uint64_t uncharged_since(const ThreadState& thread, const WaitThread& own,
                              const fbleprof_wait& wait) {
  const bool is_last = own.open_count == wait.level + 1 && own.open[wait.level].frame == wait.frame;
  const std::uint64_t charged = is_last ? thread.record->wait_since_ns : 0;
  return charged > wait.since_ns ? charged : wait.since_ns;
}

// The wait that a handler's wait interrupted continues. False: this wait was taken for left.
bool close(ThreadState& thread, WaitThread& own, const fbleprof_wait& wait) {
  if (wait.level == WaitThread::kOpen) return true;
  const bool was_open = own.open_count > wait.level && own.open[wait.level].frame == wait.frame;
  if (own.open_count > wait.level) own.open_count = wait.level;
  asm volatile("" ::: "memory");  // in this order, for resume_open_waits
  show_last_open(thread, own);
  return was_open;
}

// The uncharged time of a wait that ends after recording has been turned off. Whoever turned it off
// charges the open waits, one thread after the other; this one may not have had its turn. Whoever
// takes the begin out of the record charges.
[[gnu::noinline]] std::uint64_t take_recorded_part(ThreadState& thread, const WaitThread& own,
                                                   const fbleprof_wait& wait) {
  if (own.open_count != wait.level + 1 || own.open[wait.level].frame != wait.frame) return 0;
  const std::uint64_t since =
      __atomic_exchange_n(&thread.record->wait_since_ns, 0, __ATOMIC_ACQ_REL);
  const std::uint64_t off = thread.session->arena.header()->off_since_ns;
  const std::uint64_t until = off != 0 ? off : thread.session->clocks.wall_ns();
  return since != 0 && until > since ? until - since : 0;
}

inline void charge_at_end(ThreadState& thread, WaitThread& own, const fbleprof_wait& wait,
                          std::uint64_t ns, std::uint64_t bytes_read, std::uint64_t bytes_written) {
  auto* known = static_cast<KnownWait*>(wait.context);
  // In a child that a handler forked meanwhile, the pointer is into the parent's memory.
  const bool is_own = known >= own.known && known < own.known + WaitThread::kKnown &&
                      known->frame == wait.frame && known->callee == wait.callee;
  if ((bytes_read | bytes_written) != 0) {
    count_bytes(thread, is_own ? known : nullptr, bytes_read, bytes_written);
  }
  if (ns < kLeastWaitNs) [[likely]]
    ns = gather(own, ns);
  if (ns != 0) charge(thread, own, wait, ns);
}

}  // namespace

void forget_wanted() {
  // Written only where it must be: the pages are shared with the parent.
  for (std::uint16_t& count : fbleprof_wanted) {
    if (__atomic_load_n(&count, __ATOMIC_RELAXED) != 0)
      __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
  }
}

void end_thread(WaitThread& own) {
  while (own.open_count != 0) want_no_more(own.open[--own.open_count].object);
}

void start_thread(WaitThread& own) {
  own.served += 1;
  own.gathered_ns = own.ending_frame = 0;
  own.patience = 0;
  rusage usage{};
  own.knows_switches = read_usage(&usage);
  own.voluntary = static_cast<std::uint64_t>(usage.ru_nvcsw);
  own.involuntary = static_cast<std::uint64_t>(usage.ru_nivcsw);
  end_thread(own);
}

void charge_open_wait(ThreadState& thread, std::uint64_t cpu, std::uint64_t wall) {
  format::Thread* record = thread.record;
  const std::uint64_t since = record->wait_since_ns;
  const Ref context = record->wait_context;
  if (thread.waits == nullptr || since == 0 || context == 0 || wall <= since) return;
  record->wait_since_ns = wall;
  add_open_wait(thread, context, record->wait_kind, since, cpu, wall);
}

void pause_open_waits(ThreadState& thread, std::uint64_t cpu, std::uint64_t wall) {
  WaitThread* own = thread.waits;
  // A wait that ends is charged by the thread: what it does comes in the order ending_frame,
  // `recording`; what the caller did, in the order `recording`, system calls, ending_frame.
  if (own == nullptr || __atomic_load_n(&own->ending_frame, __ATOMIC_SEQ_CST) != 0) return;
  format::Thread* record = thread.record;
  std::uint64_t since = __atomic_load_n(&record->wait_since_ns, __ATOMIC_ACQUIRE);
  // 0: its context is found at its end, which is not recorded any more.
  const Ref context = record->wait_context != 0 ? record->wait_context : thread.tree.root();
  const format::WaitKind kind = record->wait_kind;
  // See take_recorded_part. No other wait has the same begin, so these are its context and kind.
  if (since == 0 || !__atomic_compare_exchange_n(&record->wait_since_ns, &since, 0, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return;
  }
  for (OpenWait& wait : own->open) wait.since_ns = 0;
  add_open_wait(thread, context, kind, since, cpu, wall);
}

void resume_open_waits(ThreadState& thread, std::uint64_t now) {
  WaitThread* own = thread.waits;
  if (own == nullptr || own->open_count == 0 || thread.record->wait_since_ns > now) return;
  for (OpenWait& wait : own->open) wait.since_ns = now;
  __atomic_store_n(&thread.record->wait_since_ns, now, __ATOMIC_SEQ_CST);
  // If the last one ended meanwhile, its end has come before or comes after this.
  if (__atomic_load_n(&own->open_count, __ATOMIC_SEQ_CST) == 0) thread.record->wait_since_ns = 0;
}

bool is_wait_ending(const ThreadState& thread, std::uint64_t sp) {
  constexpr std::uint32_t kMostInARow = 3;
  WaitThread* own = thread.waits;
  if (own == nullptr || own->ending_frame == 0 || sp >= own->ending_frame) return false;
  return own->left_out++ < kMostInARow;
}

void settle_wait_at_sample(ThreadState& thread, std::uint64_t sp) {
  WaitThread* own = thread.waits;
  if (own == nullptr || thread.record->wait_since_ns == 0) return;
  end_left_waits(thread, *own, sp);
  const Clocks& clocks = thread.session->clocks;
  const std::uint64_t cpu = clocks.cpu_ns();
  charge_open_wait(thread, cpu, clocks.wall_ns());
}

void charge_switches(ThreadState& thread, std::uint64_t* values, const rusage& usage) {
  WaitThread* own = thread.waits;
  if (own == nullptr) return;
  if (const std::uint64_t ns = take_preempted(thread)) {
    wait_words(thread, values)[kPreemptedNs] += ns;
  }
  const auto voluntary = static_cast<std::uint64_t>(usage.ru_nvcsw);
  const auto involuntary = static_cast<std::uint64_t>(usage.ru_nivcsw);
  if (own->knows_switches) {
    std::uint64_t* words = wait_words(thread, values);
    words[kVoluntarySwitches] += voluntary - own->voluntary;
    words[kInvoluntarySwitches] += involuntary - own->involuntary;
  }
  own->knows_switches = true;
  own->voluntary = voluntary;
  own->involuntary = involuntary;
}

void charge_unseen(const ThreadState& thread, std::uint64_t* values, std::uint64_t ns) {
  if (thread.session->options.waits) wait_words(thread, values)[kUnseenNs] += ns;
}

}  // namespace fbleprof::signal_safe

using namespace fbleprof::signal_safe;

FBLEPROF_FOR_WRAPPERS void fbleprof_wait_begins(fbleprof_wait* wait) {
  wait->since_ns = 0;
  if (fbleprof_hot.top == nullptr) return;
  ThreadState* thread = fbleprof_hot.self;
  WaitThread* own = thread->waits;
  if (own == nullptr || !thread->session->options.waits) return;
  if (!thread->session->recording.load(std::memory_order_relaxed)) {
    return open_unrecorded(*thread, *own, wait);
  }
  const Call call{wait->frame, wait->callee, wait->kind};
  KnownWait* known = find(*thread, *own, call);
  // Contexts that are not exact (scripts, blocks, deep stacks) are looked up again if time allows.
  if (known == nullptr || !known->is_exact) [[unlikely]] {
    if (!thread->canary->alive) {
      // A forked child: attached to its own profile by this call, or to none.
      if (!adopt_forked_child(*thread) || fbleprof_hot.self->waits == nullptr) return;
      thread = fbleprof_hot.self;
      own = thread->waits;
    }
    if (KnownWait* found = find_out_at_begin(*thread, *own, call)) known = found;
  }
  wait->context = known;
  if (wait->object != nullptr) {
    __atomic_fetch_add(&fbleprof_wanted[wanted_place(wait->object)], 1, __ATOMIC_SEQ_CST);
  }
  open(*thread, *own, wait, known != nullptr ? known->node : 0, thread->session->clocks.wall_ns());
}

FBLEPROF_FOR_WRAPPERS void fbleprof_wait_ends(fbleprof_wait* wait, std::uint64_t bytes_read,
                                              std::uint64_t bytes_written) {
  if (wait->since_ns == 0) return;
  WaitThread* own = fbleprof_hot.top != nullptr ? fbleprof_hot.self->waits : nullptr;
  if (own == nullptr) {
    want_no_more(wait->object);
    return;
  }
  ThreadState& thread = *fbleprof_hot.self;
  own->left_out = 0;
  own->ending_frame = wait->frame;
  asm volatile("" ::: "memory");
  const bool is_recorded = thread.session->recording.load(std::memory_order_relaxed);
  std::uint64_t ns;
  if (is_recorded) [[likely]] {
    // First this: a sample between the two may charge a part.
    const std::uint64_t since_ns = uncharged_since(thread, *own, *wait);
    ns = thread.session->clocks.wall_ns() - since_ns;
  } else {
    ns = take_recorded_part(thread, *own, *wait);
    bytes_read = bytes_written = 0;
  }
  if (close(thread, *own, *wait)) want_no_more(wait->object);
  if (is_recorded || ns != 0) charge_at_end(thread, *own, *wait, ns, bytes_read, bytes_written);
  asm volatile("" ::: "memory");
  own->ending_frame = 0;
}

FBLEPROF_FOR_WRAPPERS void fbleprof_jumps(std::uint64_t sp) {
  if (fbleprof_hot.top == nullptr) return;
  ThreadState& thread = *fbleprof_hot.self;
  WaitThread* own = thread.waits;
  if (own == nullptr || own->open_count == 0 || !thread.canary->alive || !may_charge(thread))
    return;
  end_left_waits(thread, *own, sp);
}

FBLEPROF_FOR_WRAPPERS void fbleprof_letting_go(std::uint64_t frame, const void* object) {
  if (fbleprof_hot.top == nullptr) return;
  ThreadState& thread = *fbleprof_hot.self;
  WaitThread* own = thread.waits;
  if (own == nullptr || !thread.canary->alive || !may_charge(thread)) return;
  if (!thread.session->recording.load(std::memory_order_relaxed)) return;
  const BusyGuard guard(thread);
  if (!guard) return;
  const std::uint64_t site = reinterpret_cast<const std::uint64_t*>(frame)[1];
  const Call call{frame, jumped_from(thread, site), fbleprof::format::WaitKind::kForOther};
  KnownWait* known = find(thread, *own, call);
  if (known == nullptr || !known->is_exact) known = &find_out(guard, thread, *own, call);
  note_waker(*thread.session, object, known->node);
}
