// The allocator behind the wrappers: libc's, or another library's.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace fbleprof::preload {

struct NextAllocator {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, void*);
};

// Null until it was looked up.
extern constinit NextAllocator next;

// Looks it up. If the lookup itself calls an allocator, next.malloc is still null: then only early
// memory is available.
void find_next_allocator();
inline bool has_next() {
  if (next.malloc == nullptr) [[unlikely]]
    find_next_allocator();
  return next.malloc != nullptr;
}

// Look up what operator new and delete stand for, and whether they are malloc and free; withdraw
// those that stand for nothing. Not at the first call: then another thread may hold the loader's
// lock, and wait for the caller.
void find_next_operators();
void settle_operators();
// Whether a library has operators of its own, whose blocks may be nearer to each other than
// malloc's.
bool has_foreign_operators();

// Where the library or program that holds an address begins in memory; null: none does.
const void* base_of(const void* address);

// What a function of the allocator returns if it has none.
void* no_memory();

// A little memory from this library, which is never freed. `bytes_of_early`: the size of such a
// block.
void* early_memory(std::size_t bytes);
bool is_early(const void* block);
std::size_t bytes_of_early(const void* block);

}  // namespace fbleprof::preload
