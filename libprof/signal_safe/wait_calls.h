// The calls from the library with the wrappers of blocking calls (preload/waits) into the recorder,
// and the one call in the other direction.
//
// Any thread, at any time: before our constructor and after our destructor, in signal handlers, and
// in a forked child. They do not change errno. Begin and end take 100 ns together if the wrapped
// call did not block.
#pragma once

#include <cstdint>

#include "format/waits.h"

extern "C" {

// A call that may block. Filled at its begin, and passed again at its end.
struct fbleprof_wait {
  std::uint64_t since_ns;  // 0: not recorded
  std::uint64_t frame;     // where the wrapper saved its caller's frame pointer; the return address
                           // follows
  const void* callee;      // the function that blocks, as people name it
  const void* object;      // lock, condition or semaphore waited for; null: another thing
  fbleprof::format::WaitKind kind;
  // For the recorder's use.
  void* context;
  std::uint32_t level;
};
void fbleprof_wait_begins(fbleprof_wait* wait);
// `bytes_read`, `bytes_written`: bytes that the call transferred; 0 if it failed or transferred
// none.
void fbleprof_wait_ends(fbleprof_wait* wait, std::uint64_t bytes_read, std::uint64_t bytes_written);

// The calling thread is about to jump (longjmp) to a frame whose stack pointer is `sp`. Ends the
// waits that it leaves.
void fbleprof_jumps(std::uint64_t sp);

// The calling thread is about to release a lock, or to wake threads that wait for a condition or a
// semaphore. This call is not needed if no thread wants the object:
// fbleprof_wanted[wanted_place(object)] is the number of threads that wait for it, or for another
// object of that place.
void fbleprof_letting_go(std::uint64_t frame, const void* object);
#define FBLEPROF_WANTED_PLACES 2048
extern std::uint16_t fbleprof_wanted[FBLEPROF_WANTED_PLACES] __attribute__((visibility("default")));

// What stands behind a wrapper.
struct fbleprof_definition {
  void* next;            // the next definition of the name; null: there is none
  const void* known_as;  // the same or, if that is a wrapper of the recorder's, the one behind it
  void* of_libc;         // the next one that is libc's, or made to stand for it by a preloaded
                         // library; null: there is none
  bool is_libcs;         // whether that is libc's own
};
// Finds the definitions of `name` in the libraries after the one whose _DYNAMIC is `after`. Calls
// no allocator and takes no lock: allocators call wrapped functions. Not in signal handlers.
void fbleprof_find_definition(const char* name, const void* after, fbleprof_definition* found);

// False in a child of vfork, which runs in its parent's memory, unless the program has confined
// itself.
bool fbleprof_is_own_process();

// Finds the functions that the wrappers wrap. In the constructor only.
void fbleprof_find_waited();
}
