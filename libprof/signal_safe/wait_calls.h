// What the library with the wrappers of blocking calls (preload/waits) calls in the recorder, and
// the one call that the recorder makes.
//
// On any thread, at any time: before our constructor and after our destructor, in signal handlers,
// and in a forked child. Neither changes errno. 100 ns together if the call did not block.
#pragma once

#include <cstdint>

#include "format/waits.h"

extern "C" {

// A call that may block. Filled at its begin, and given back at its end.
struct fbleprof_wait {
  std::uint64_t since_ns;  // 0: it is not recorded
  std::uint64_t frame;     // where the wrapper saved its caller's frame pointer; the return address
                           // follows
  const void* callee;      // the function that blocks, as people know it
  const void* object;  // the lock, condition or semaphore that is waited for; null: something else
  fbleprof::format::WaitKind kind;
  fbleprof::format::WaitKind outer_kind;  // of the wait that a signal's handler interrupted to make
                                          // this call, and so on
  void* context;                          // the recorder's
  std::uint64_t outer_since_ns, outer_frame;
  std::uint32_t outer_context;
};
void fbleprof_wait_begins(fbleprof_wait* wait);
// `bytes_read`, `bytes_written`: what the call moved; 0 if it failed or moved nothing.
void fbleprof_wait_ends(fbleprof_wait* wait, std::uint64_t bytes_read, std::uint64_t bytes_written);

// The calling thread is about to let go of a lock, or to wake those that wait for a condition or a
// semaphore. Need not be called if nobody wants the object: fbleprof_wanted[wanted_place(object)]
// is how many threads wait for it, or for another object of that place.
void fbleprof_letting_go(std::uint64_t frame, const void* object);
#define FBLEPROF_WANTED_PLACES 2048
extern std::uint16_t fbleprof_wanted[FBLEPROF_WANTED_PLACES] __attribute__((visibility("default")));

// Finds the function `name` in the libraries after the one whose _DYNAMIC is `after`, by its
// default version. `known_as`: the same, or what is behind it if it is a wrapper of the recorder's.
// Calls no allocator and takes no lock: allocators call wrapped functions. Not in signal handlers.
void* fbleprof_next_function(const char* name, const void* after, const void** known_as);

// Finds what the wrappers wrap. In the constructor only.
void fbleprof_find_waited();
}
