// Waits, by the context that waits.
//
// The wrappers of blocking calls (preload/waits) tell when such a call begins and ends. What a
// thread spent off the processor meanwhile is charged to its context, with the call itself for a
// leaf:
//
//     min(duration of the call, elapsed time - CPU time since the thread's last charge)
//
// So a call that computes in the kernel is no wait, and nothing is charged twice. What is left of
// elapsed time - CPU time at a sample is *unseen*: the thread waited for a processor, for a page,
// or in a call that nobody wrapped. For each node, and each thread,
//
//     CPU time + waits + unseen = elapsed time.
//
// Calls shorter than kLeastWaitNs are not charged one by one. They gather, and the call that makes
// their sum cross a limit is charged with it. The limit is drawn by lot, so that calls that take
// turns each get their share.
//
// A wait that still goes on when the file is read, or the program ends, belongs to its context,
// too: idle workers are the longest waits there are. So the context must be known when a call
// begins. Walking the stack then would cost each call that does not block a microsecond. Instead
// the thread keeps what it found out before, with the return addresses on the stack that it
// depended on, and compares them.
//
// The price off: nothing, because the wrappers are in a library of their own.
#pragma once

#include <cstdint>

#include "signal_safe/shadow_stack.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

inline constexpr std::uint64_t kLeastWaitNs = 20'000;

// The context of a blocking call, and what it depended on.
struct KnownWait {
  static constexpr std::uint32_t kFrames = 24;

  std::uint64_t frame, site;  // of the call; 0: none is known
  const void* callee;
  Word word;  // of the newest entry of the shadow stack, and its frame
  Frame entry_frame;
  std::uint64_t epoch;     // WaitThread::epoch
  format::Ref root, node;  // of the tree; of the call
  std::uint64_t* values;   // the node's
  std::uint32_t count;     // of return addresses
  bool is_exact;           // these are all
  struct {
    std::uint64_t slot, content;
  } returns[kFrames];
};

// A thread's own. It is wiped in a forked child: no context is known there, and the slow path
// notices the fork.
struct WaitThread {
  static constexpr std::uint32_t kKnown = 64;

  std::uint64_t random, gathered_ns, limit_ns;
  std::uint32_t patience;             // the limit is 2^patience times as high: short calls compute
  std::uint64_t open_frame;           // of the wait that the thread's record names,
  std::uint64_t open_site;            // and where it returns to
  std::uint64_t tokens, refilled_ns;  // for walks at the begin of calls: 2 % of the time
  std::uint32_t served;               // threads that used this memory
  KnownWait known[kKnown];
};

// A thread takes over the memory.
void start_thread(WaitThread& own);

// Charges the wait that the thread is in, up to `wall`, if it is in one. `cpu`, `wall`: what its
// clocks read. Any thread that ends the process, and the thread itself; needs no guard.
void charge_open_wait(ThreadState& thread, std::uint64_t cpu, std::uint64_t wall);

// A sample met the thread at a stack pointer: charges the wait it is in. One that was left by
// longjmp is charged for the last time.
void settle_wait_at_sample(ThreadState& thread, std::uint64_t sp);

// Charges what was off the processor between two charges, and in no known call.
void charge_unseen(const ThreadState& thread, std::uint64_t* values, std::uint64_t ns);

}  // namespace fbleprof::signal_safe
