// The memory of profiled threads: what each one has, and the two lists of them.
//
// Both lists can be used by any thread at any moment, in handlers too: all blocks ever made, which
// only grows, and those that are free. Neither has a lock: a handler that ends the process walks
// the first one, whatever it interrupted.
#pragma once

#include <threads.h>

#include <atomic>
#include <cstdint>

#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// What a thread's creator leaves for it. It stands in the new thread's block: memory from malloc
// would be the new thread's to free, and its first call of the allocator makes it an arena.
struct ThreadStart {
  void* (*pthread_function)(void*);
  thrd_start_t thrd_function;
  void* argument;
  std::uint64_t stack_bytes;
  bool signal_blocked;  // the sampling signal, as the creator sees its mask
};

struct ThreadBlock {
  enum Use : std::uint32_t {
    kFree,
    kAttached,
    kPinned,  // attached, and somebody else writes to its thread-local storage: it must not end
  };

  signal_safe::ThreadState state;  // first: block_of() relies on it
  ThreadStart start;
  ThreadBlock* next_free = nullptr;
  ThreadBlock* next_all = nullptr;
  std::atomic<std::uint32_t> use{kFree};
  signal_safe::Entry* shadow = nullptr;
  std::uint64_t shadow_bytes = 0;
  signal_safe::Entry* signal_shadow = nullptr;
  std::uint64_t signal_shadow_bytes = 0;
  signal_safe::LinkTable::Item first_links[signal_safe::LinkTable::kFirstItems] = {};
};

inline ThreadBlock* block_of(signal_safe::ThreadState* state) {
  return reinterpret_cast<ThreadBlock*>(state);
}
ThreadBlock* block_of(ThreadStart* start);

// A block with a tree and a record of its own, which may have served threads before; null if there
// is no space.
ThreadBlock* take_block();
void give_back(ThreadBlock* block);

// The newest of all; the others by next_all.
ThreadBlock* newest_block();

// Whether the kernel wiped what it wipes in a forked child: this process was forked and nothing
// noticed yet. False in a vfork child, which runs in its parent's memory.
bool were_blocks_wiped();

// In a forked child: its parent's blocks are not its own. Their memory is copied and stays.
void forget_blocks();

}  // namespace fbleprof::capture
