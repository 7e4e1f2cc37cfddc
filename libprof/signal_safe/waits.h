// Records waits by the context that waits.
//
// The wrappers of blocking calls (preload/waits) report when such a call begins and ends. The time
// that a thread spent off the processor meanwhile is charged to its context, with the call itself
// as a leaf:
//
//     min(duration of the call, elapsed time - CPU time since the thread's last charge)
//
// So a call that computes in the kernel is no wait, and nothing is charged twice. The rest of
// elapsed time - CPU time at a sample is *unseen*: the thread waited for a processor, for a page,
// or in a call that is not wrapped. For each node, and each thread,
//
//     CPU time + waits + unseen = elapsed time.
//
// Calls shorter than kLeastWaitNs are not charged one by one. They are added up, and the call that
// brings their sum above a limit is charged with the sum. The limit is random, so that calls that
// take turns each get their share.
//
// A wait that continues when the file is read, or when the program ends, belongs to its context,
// too: idle workers have the longest waits. So the context must be known when a call begins. A walk
// of the stack at that moment would cost each call that does not block a microsecond. Instead the
// thread remembers earlier contexts, with the return addresses on the stack that they depended on,
// and compares these addresses.
//
// Costs nothing when off, because the wrappers are in a separate library.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "signal_safe/shadow_stack.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

inline constexpr std::uint64_t kLeastWaitNs = 20'000;

// The context of a blocking call, and the facts that it depended on.
struct KnownWait {
  static constexpr std::uint32_t kFrames = 24;

  std::uint64_t frame, site;  // of the call; 0: no known context
  const void* callee;
  Word word;  // of the newest entry of the shadow stack, and its frame
  Frame entry_frame;
  std::uint64_t epoch;     // WaitThread::epoch
  format::Ref root, node;  // of the tree; of the call
  std::uint64_t* values;   // the node's
  std::uint32_t count;     // of return addresses
  bool is_exact;           // whether these are all
  struct {
    std::uint64_t slot, content;
  } returns[kFrames];
};

// A wait that continues. A signal's handler may wait in the middle of another wait.
struct OpenWait {
  std::uint64_t since_ns;  // charged up to here; 0: recording is off
  std::uint64_t frame;     // of the wrapper,
  std::uint64_t site;      // and where it returns to
  const void* object;      // waited for; null: another thing
  format::Ref context;
  format::WaitKind kind;
};

// A thread's own part. The kernel wipes it in a forked child: no context is known there, and the
// slow path notices the fork.
struct WaitThread {
  static constexpr std::uint32_t kKnown = 64, kOpen = 4;

  std::uint64_t random, gathered_ns, limit_ns;
  std::uint32_t patience;      // the limit is multiplied by 2^patience: short calls compute
  OpenWait open[kOpen];        // outermost first; the thread's record names the last one
  std::uint32_t open_count;    // deeper ones are charged at their end only
  std::uint64_t ending_frame;  // of the wait that is being charged at its end; 0: none
  std::uint32_t left_out;      // samples meanwhile
  std::uint64_t voluntary, involuntary;  // context switches, at the last charge
  bool knows_switches;                   // whether they could be read
  std::uint64_t tokens, refilled_ns;     // for walks at the begin of calls: 2 % of the time
  std::uint32_t served;                  // threads that used this memory
  KnownWait known[kKnown];
};

// A new thread takes over the memory. And its thread ends: no thread waits for the objects of the
// calls any more that it left when it was cancelled.
void start_thread(WaitThread& own);
void end_thread(WaitThread& own);

// In a forked child: the threads that waited for objects are its parent's.
void forget_wanted();

// Charges the wait that the thread is in, if any, up to `wall`. `cpu` and `wall` are the readings
// of its clocks. For the thread itself, and any thread that ends the process; needs no guard.
void charge_open_wait(ThreadState& thread, std::uint64_t cpu, std::uint64_t wall);

// For another thread, when it has turned recording off: charges the wait that the thread is in up
// to `wall`. And when it has turned recording on, at `now`: the thread's waits count from there.
// While recording is off, the thread's record shows no wait.
void pause_open_waits(ThreadState& thread, std::uint64_t cpu, std::uint64_t wall);
void resume_open_waits(ThreadState& thread, std::uint64_t now);

// Whether a sample met the thread, at a stack pointer, while the end of a wait is charged. It must
// then leave the time to the wait, or else the wait would be charged as unseen. True a few times in
// a row at most: a handler of the program may have left that code by longjmp.
bool is_wait_ending(const ThreadState& thread, std::uint64_t sp);

// A sample met the thread at a stack pointer: charges its current wait. A wait that the thread left
// (by an exception or cancellation; longjmp ends its waits itself) is charged for the last time.
void settle_wait_at_sample(ThreadState& thread, std::uint64_t sp);

// Charges the context switches since the last charge, which a system call tells, and how long the
// thread was ready to run meanwhile. Needs a guard.
void charge_switches(ThreadState& thread, std::uint64_t* values, const rusage& usage);

// Charges the time between two charges that was off the processor, but in no known call.
void charge_unseen(const ThreadState& thread, std::uint64_t* values, std::uint64_t ns);

}  // namespace fbleprof::signal_safe
