// The memory blocks of profiled threads, and two lists of them: all blocks ever made, which only
// grows, and the free ones.
//
// Any thread can use both lists at any moment, in handlers too. Neither has a lock, because a
// handler that ends the process walks the first one, whatever it interrupted.
#pragma once

#include <threads.h>

#include <atomic>
#include <cstdint>

#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// What a thread's creator leaves for it, in the new thread's block. The new thread would have to
// free memory from malloc, and its first call of the allocator would make an arena for it.
struct ThreadStart {
  void* (*pthread_function)(void*);
  thrd_start_t thrd_function;
  void* argument;
  std::uint64_t stack_bytes;
  bool signal_blocked;  // whether the creator's mask blocks the sampling signal
};

struct ThreadBlock {
  enum Use : std::uint32_t {
    kFree,
    kAttached,
    kPinned,  // attached; must not end: another thread writes to its thread-local storage
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

// A block with its own tree and record, which may have served other threads before; null if there
// is no space.
ThreadBlock* take_block();
void give_back(ThreadBlock* block);

// The newest block; next_all leads to the others.
ThreadBlock* newest_block();

// Whether this process was forked and nobody noticed yet: the kernel has wiped what it wipes in a
// forked child. False in a vfork child, which runs in its parent's memory.
bool were_blocks_wiped();

// In a forked child: forgets the parent's blocks. Their memory stays, as a copy.
void forget_blocks();

}  // namespace fbleprof::capture
