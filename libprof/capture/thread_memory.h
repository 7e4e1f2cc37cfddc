// The memory of profiled threads, and two lists of it: all that was ever made, which only grows,
// and what is free.
//
// Any thread can use both lists at any moment, in handlers too. Neither has a lock, because a
// handler that ends the process walks the first one, whatever it interrupted.
#pragma once

#include <threads.h>

#include <atomic>
#include <cstdint>

#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// What a thread's creator leaves for it, in the new thread's memory. The new thread would have to
// free memory from malloc, and its first call of the allocator would make an arena for it.
struct ThreadStart {
  void* (*pthread_function)(void*);
  thrd_start_t thrd_function;
  void* argument;
  std::uint64_t stack_bytes;
  bool signal_blocked;  // whether the creator's mask blocks the sampling signal
};

struct ThreadMemory {
  enum Use : std::uint32_t {
    kFree,
    kAttached,
    kPinned,  // attached; must not end: another thread writes to its thread-local storage
  };

  signal_safe::ThreadState state;  // first: memory_of() relies on it
  signal_safe::Hot hot;            // of a found thread, instead of thread-local storage
  ThreadStart start;
  ThreadMemory* next_free = nullptr;
  ThreadMemory* next_all = nullptr;
  std::atomic<std::uint32_t> use{kFree};
  signal_safe::Entry* shadow = nullptr;
  std::uint64_t shadow_bytes = 0;
  signal_safe::Entry* signal_shadow = nullptr;
  std::uint64_t signal_shadow_bytes = 0;
  signal_safe::LinkTable::Item first_links[signal_safe::LinkTable::kFirstItems] = {};
};

inline ThreadMemory* memory_of(signal_safe::ThreadState* state) {
  return reinterpret_cast<ThreadMemory*>(state);
}
ThreadMemory* memory_of(ThreadStart* start);

// One with its own tree and record, which may have served other threads before; null if there
// is no space.
ThreadMemory* take_thread_memory();
void give_back(ThreadMemory* memory);

// The newest one; next_all leads to the others.
ThreadMemory* newest_thread_memory();

// Whether this process was forked and nobody noticed yet: the kernel has wiped what it wipes in a
// forked child. False in a vfork child, which runs in its parent's memory.
bool was_thread_memory_wiped();

// In a forked child: forgets the parent's. Its pages stay, as a copy.
void forget_thread_memory();

}  // namespace fbleprof::capture
