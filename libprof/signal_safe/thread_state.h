// A thread's own memory: shadow stacks, caches, its tree, its clocks. Only the thread itself writes
// it: from hooks, from the API, and from its signal handler, which may interrupt the others
// anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/format.h"
#include "signal_safe/call_tree.h"
#include "signal_safe/kernel_time.h"
#include "signal_safe/known_stack.h"
#include "signal_safe/proven_ways.h"
#include "signal_safe/shadow_growth.h"
#include "signal_safe/shadow_stack.h"
#include "signal_safe/stack_walk.h"

namespace fbleprof::signal_safe {

// A machine stack and the shadow stack that mirrors it.
struct Stack {
  std::uint64_t low = 0, high = 0;  // bounds of the machine stack; 0, 0 = unknown
  Entry* gate = nullptr;            // its bottom entry
  Entry* limit = nullptr;           // its last entry, minus some slack
  Entry* saved_top = nullptr;       // while another stack is in use
  format::Ref base = 0;             // the context in which its first function is called
  std::uint32_t beyond = 0;         // blocks entered when the stack was full, and not left yet
  format::Ref tree = 0;             // root of the tree whose nodes its entries name
  std::uint64_t file = 0;           // of that tree; see Session::this_file
  GrowingMemory* memory = nullptr;  // of the shadow stack; null: it has its full size
  // Inside the bounds, but not of this stack: a signal stack that is an array of a function.
  std::uint64_t hole_low = 0, hole_bytes = 0;

  bool contains(std::uint64_t address) const {
    return address >= low && address < high && address - hole_low >= hole_bytes;
  }
};

// Placed before the cache, in memory that the kernel wipes in a forked child (MADV_WIPEONFORK).
// After any fork, `alive` is 0 and no cache slot hits, so the child takes the slow path and notices
// the fork before it writes to its parent's file.
struct ForkCanary {
  std::uint64_t alive;
  std::uint64_t reserved[7];
};

// The state to which a thread returns after it recorded into another profile; see profile_switch.h.
struct ProfileFrame {
  void* profile = nullptr;       // the previous one
  Stack* stack = nullptr;        // where the other one began,
  Entry* entry = nullptr;        // and its first entry
  CallTree* its_tree = nullptr;  // where the other one's tree is kept meanwhile
  CallTree tree;                 // the thread's before
  format::Thread* record = nullptr;
};
inline constexpr std::uint32_t kMostProfiles = 16;  // nested

// Where the kernel notes when the thread leaves its processor; see preemption.h.
struct SwitchRing {
  static constexpr std::uint64_t kHeadBytes = 4096, kBytes = 4096;  // of the mapping

  void* page = nullptr;       // null: it is not noted
  std::uint32_t tid = 0;      // of whom
  std::uint64_t seen = 0;     // bytes that were read
  bool is_old = false;        // what was not read belongs to no context
  std::uint64_t left_ns = 0;  // when the thread was made to leave, if it has not come back
};

// Of the memory at ThreadState::sample_stack_end.
inline constexpr std::uint64_t kSampleStackBytes = 32 << 10;

struct AllocationThread;
class CallRates;
struct WaitThread;
struct Session;

struct ThreadState {
  Session* session = nullptr;  // shared with all threads
  Hot* hot = nullptr;
  ForkCanary* canary = nullptr;
  Cache cache = {nullptr, arch::kFirstCacheMask};
  bool cache_may_grow = true;  // there is memory behind its first slots
  Stack main_stack;
  Stack signal_stack;  // low, high: from sigaltstack; its shadow is allocated on first use
  Stack* current = nullptr;
  void* context = nullptr;  // the C API's current context, or null

  CallTree tree;
  void* profile = nullptr;  // the C API's current profile; null = the process's own
  // While a profile begins or ends: the tree, the record and the top of the shadow stack may be of
  // different ones, and a sample leaves its time to the next.
  volatile bool is_changing_profile = false;
  std::uint32_t profiles = 0;  // how many are nested
  // Not 0: recording began while the thread ran, and no hook has been called since (late_start.h).
  // kBehindWithOldEntries: also, its entries may be those of functions that have ended.
  static constexpr std::uint32_t kBehind = 1, kBehindWithOldEntries = 2;
  std::uint32_t is_behind = 0;
  ProfileFrame profile_frames[kMostProfiles];
  AllocationThread* allocations = nullptr;  // null: allocations are not recorded
  WaitThread* waits = nullptr;              // null: waits are not recorded
  CallRates* rates = nullptr;               // with Options::throttle, from the first sample on
  RuleCache rules;
  // Of StackWalk: pages without a table that hold code; where frames without a table ended;
  // searches for an interpreter's frame.
  static constexpr std::uint32_t kReadablePages = 64;
  std::uint64_t readable_pages[kReadablePages] = {};
  static constexpr std::uint32_t kFrameEnds = 64;
  FrameEnd frame_ends[kFrameEnds];
  ProvenWay proven_ways[kProvenWays];
  bool other_place = false;  // takes the next way that has two strange ones to choose from
  WalkReads walked;          // by the walk under way
  std::uint8_t searches_in_vain = 0;
  format::Thread* record = nullptr;
  bool adopting = false;        // in a forked child: its own profile is being made
  std::uint64_t lot = 0;        // random state: chooses calls that push out others of the cache
  std::uint64_t uncounted = 0;  // counts here are not shown: redone blocks

  // Not 0 while the slow path, the API or the handler changes the tree or the shadow stack; code
  // that interrupts them must not. It is a stack address of the holder, so a holder whose frame is
  // gone (cancelled, or left by longjmp) holds nothing.
  volatile std::uint64_t busy = 0;

  std::uint64_t last_cpu_ns = 0, last_wall_ns = 0;
  // The clocks when recording was turned off; 0: it is on, or was never. What has passed from the
  // last charge to then is charged when recording goes on, or at the end.
  std::uint64_t stopped_cpu_ns = 0, stopped_wall_ns = 0;
  // Samples are left out until the CPU clock reads this, as the last one took too long; 0: none
  // are.
  std::uint64_t resting_until_ns = 0;
  // The end of memory for samples, and for the end of the process, where the machine stack may be
  // too short; or null.
  char* sample_stack_end = nullptr;
  bool is_left_out = false;  // by the user's filter: hooks and samples find no shadow stack
  std::uint32_t tid = 0;
  void* sampling_page = nullptr;   // of the perf event
  bool reads_page = false;         // the handler does: another thread must not unmap it
  std::uint64_t events_seen = 0;   // bytes of its samples that were charged, if it is no clock
  std::uint32_t next_rate_hz = 0;  // of the perf event that the next sample makes; 0: it makes none
  SwitchRing switches;
  int timer = 0;  // the kernel's number of the CPU-clock timer
  bool has_timer = false;
  std::uint64_t minor_faults = 0, major_faults = 0;  // of the thread, at the last charge
  bool knows_faults = true;                          // whether they could be read
  std::uint64_t event_period_ns = 0;                 // of the perf event; 0 = there is none
  KernelTime kernel_time;                            // not charged yet
  std::uint64_t last_tick_cpu_ns = 0;                // the CPU clock at the last kernel tick

  KnownStack known;  // the stack being walked, and the last one
  // While a sample is taken: those of the interrupted code, for the readers of runtimes; else null.
  const std::uint64_t* interrupted_registers = nullptr;

  FilledPages filled;  // of the cache; other threads change it, too
};

// Whether a call must see to nested profiles or to a late start first. One load: each miss of the
// cache asks.
inline bool needs_settling(const ThreadState& thread) {
  std::uint64_t both;
  static_assert(offsetof(ThreadState, is_behind) == offsetof(ThreadState, profiles) + 4);
  const auto* at = reinterpret_cast<const char*>(&thread) + offsetof(ThreadState, profiles);
  __builtin_memcpy(&both, at, sizeof both);
  return both != 0;
}

// Whether other code is changing the thread's state, as seen from the stack address `here`.
inline bool is_busy(ThreadState& thread, std::uint64_t here) {
  const std::uint64_t holder = thread.busy;
  if (holder == 0) return false;
  if (holder < here && thread.current->contains(holder) && thread.current->contains(here)) {
    thread.busy = 0;
    return false;
  }
  return true;
}

// Proof that the caller, and not a signal handler of the thread, holds the thread's state.
class BusyGuard {
 public:
  // Two frames cannot be at one address, so longjmp left a holder at our address.
  explicit BusyGuard(ThreadState& thread)
      : thread_(thread), held_(!is_busy(thread, own_frame() + 1)) {
    if (held_) thread_.busy = own_frame();
    asm volatile("" ::: "memory");
  }
  // Of a thread that nobody holds: the caller has seen busy = 0.
  enum Idle { kIdle };
  BusyGuard(ThreadState& thread, Idle) : thread_(thread), held_(true) {
    thread_.busy = own_frame();
    asm volatile("" ::: "memory");
  }
  ~BusyGuard() {
    asm volatile("" ::: "memory");
    if (held_) thread_.busy = 0;
  }
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;
  explicit operator bool() const { return held_; }

 private:
  static std::uint64_t own_frame() {
    return reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  }

  ThreadState& thread_;
  bool held_;
};

// The node that an entry stands for; for a gate, its stack's base.
inline format::Ref node_of(const ThreadState& thread, const Entry* entry) {
  return is_gate_word(entry->word) ? thread.current->base : node_of_word(entry->word);
}

}  // namespace fbleprof::signal_safe
