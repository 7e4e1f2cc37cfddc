// The calls from the library with the allocator's wrappers (preload/allocations) into the recorder,
// and the one call in the other direction.
//
// Any thread, at any time: before our constructor and after our destructor, and in a forked child.
// Not in signal handlers, where the allocator may not be called either; a call there damages only a
// count.
#pragma once

#include <cstdint>

extern "C" {

// A block was allocated. `frame`: where the wrapper saved its caller's frame pointer; the return
// address follows.
void fbleprof_allocated(std::uint64_t frame, const void* block, std::uint64_t bytes);

// A block is about to be freed.
void fbleprof_freeing(const void* block);

// A block is about to be freed, unless realloc fails: takes the block out; then either counts it as
// freed, or puts it back.
struct fbleprof_taken_block {
  std::uint64_t words[6];
};
void fbleprof_take_block(const void* block, fbleprof_taken_block* taken);
void fbleprof_taken_was_freed(const fbleprof_taken_block* taken);
void fbleprof_put_block_back(const void* block, const fbleprof_taken_block* taken);

// Describes whose allocator the wrappers wrap. In the constructor only.
struct fbleprof_allocator {
  bool is_libcs;       // malloc leads to libc's allocator, behind the wrappers
  const char* unseen;  // the file whose malloc the program calls past the wrappers, or null
};
void fbleprof_describe_allocator(fbleprof_allocator* allocator);

// Memory was mapped, or is about to be unmapped: the first `bytes` of it.
void fbleprof_mapped(std::uint64_t frame, const void* memory, std::uint64_t bytes);
void fbleprof_unmapping(const void* memory, std::uint64_t bytes);

// The same for a mapping that mremap is about to move: takes it out; then either counts the first
// `bytes` of it as unmapped, or puts it back (fbleprof_put_block_back). False: it is no memory that
// counts, but a file's.
bool fbleprof_take_mapping(const void* memory, fbleprof_taken_block* taken);
void fbleprof_taken_was_unmapped(const void* memory, std::uint64_t bytes,
                                 const fbleprof_taken_block* taken);
}
