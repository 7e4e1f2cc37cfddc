// The memory of profiled threads, in two lists: all of it, a list that only grows, and the free
// part.
//
// Any thread can use both lists at any moment, in handlers too. Neither list has a lock, because a
// handler that ends the process walks the first list, whatever the handler interrupted.
#pragma once

#include <threads.h>

#include <atomic>
#include <cstdint>

#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Data that a thread's creator leaves for it, in the new thread's memory. Memory from malloc would
// have to be freed by the new thread, whose first call of the allocator would make an arena.
struct ThreadStart {
  void* (*pthread_function)(void*);
  thrd_start_t thrd_function;
  void* argument;
  std::uint64_t stack_bytes;
};

struct ThreadMemory {
  enum Use : std::uint32_t {
    kFree,
    kAttached,
    kPinned,  // attached; must not end: another thread writes to its thread-local storage
    kEnding,  // its thread ends, and alone changes it
  };

  signal_safe::ThreadState state;  // first: memory_of() relies on it
  signal_safe::Hot
      hot;  // of a found thread whose end we are not told, instead of thread-local storage
  ThreadStart start;
  ThreadMemory* next_free = nullptr;
  ThreadMemory* next_all = nullptr;
  std::atomic<std::uint32_t> use{kFree};
  signal_safe::Entry* shadow = nullptr;
  std::uint64_t shadow_bytes = 0;  // to which it may grow
  signal_safe::GrowingMemory* growing_shadow = nullptr;
  signal_safe::Entry* signal_shadow = nullptr;
  std::uint64_t signal_shadow_bytes = 0;
  signal_safe::LinkTable::Item first_links[signal_safe::LinkTable::kFirstItems] = {};
};

inline ThreadMemory* memory_of(signal_safe::ThreadState* state) {
  return reinterpret_cast<ThreadMemory*>(state);
}
ThreadMemory* memory_of(ThreadStart* start);

// Returns memory with its own tree and record, which may have served other threads before; null if
// there is no space.
ThreadMemory* take_thread_memory();
void give_back(ThreadMemory* memory);

// The newest thread's memory; next_all leads to the others.
ThreadMemory* newest_thread_memory();

// Whether this process was forked and nobody has noticed yet: then the kernel has wiped the memory
// that it wipes in a forked child. False in a vfork child, which runs in its parent's memory.
bool was_thread_memory_wiped();

// In a forked child: forgets the parent's memory. Its pages stay, as a copy.
void forget_thread_memory();

}  // namespace fbleprof::capture
