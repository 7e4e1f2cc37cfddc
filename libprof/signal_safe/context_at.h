// Finds the context of a point of code: one path, from the root through the functions and blocks
// that were counted to the running function, which only a walk of the stack can see.
//
// Counted and sampled contexts share one tree. The newest live entry of the shadow stack gives the
// counted part. The frames between that entry and the point are walked and become its sampled
// children, under the same rule of folding. Without an entry, the whole stack is sampled.
//
//  - Counted paths stay as hooks see them. Say main calls qsort, which has no hook, and qsort calls
//    the hooked compare. Then compare is below main, with its exact count, and the sampled qsort is
//    beside it, with the time of its own code.
//  - A block has no frame of its own: the caller of fbleprof_enter may return at once. The frames
//    below a block are those up to the newest one of a function that enters blocks
//    (mark_entering_functions), which is an interpreter's loop or the function that called it.
//  - A handler on a signal stack is below the code that it interrupted.
//  - If the walk fails before it meets the entry, the frames that it saw are below [truncated],
//    below the entry.
//
// All functions: the thread itself, in a hook or in the handler; no lock, no allocation;
// known_stack.h gives the bound.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// How the thread reached an instruction: a signal interrupted the thread there, or a call returns
// to it.
enum class Reached : bool { kBySignal, kByReturn };

// Whom the walk is for. kEntries: catch_up, which makes entries of the frames that thread.known
// then remembers, though no later walk may recognize their ground. Blocks that were entered while
// recording was off stand in the frame of an older entry, not in their caller's: such a walk goes
// on to the entry below them.
enum class For : bool { kContext, kEntries };

// The context of the instruction `at` in the calling thread; makes the context if it is new. The
// guard proves that the tree may change. Takes 0.02 us in the code of a hooked function; else about
// 0.04 us for each walked frame. Other recorders (allocations, waits) may call it outside a
// handler.
format::Ref context_at(const BusyGuard& guard, ThreadState& thread, const MachineState& at,
                       Reached reached, For purpose = For::kContext);

// The newest counted context at a stack pointer, by address alone: no walk, no proof.
format::Ref counted_context_at(const ThreadState& thread, std::uint64_t sp);

// A block was entered for the first time in its context, by a call that returns to `at`. Marks the
// functions without hooks around the call, so that walks know where the block's frames begin.
void mark_entering_functions(ThreadState& thread, const MachineState& at);

}  // namespace fbleprof::signal_safe
