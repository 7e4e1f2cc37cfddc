// Shadow stacks that begin small and grow where they are. Few programs recurse deeply, and address
// space that is only reserved counts against a program's limits, too.
//
// Hooks hold addresses of entries, so a shadow stack never moves: the address space above it is
// left free when it is made. If another mapping has come there, calls beyond are told as deep.
#pragma once

#include <atomic>
#include <cstdint>

namespace fbleprof::signal_safe {

struct ThreadState;

struct GrowingMemory {
  char* base = nullptr;
  std::uint64_t most = 0;  // bytes to which it may grow
  std::atomic<std::uint64_t> bytes{0};
};

// Doubles the memory, or makes it as large as it may be. False: it cannot grow. Any thread, hooks
// and handlers included.
bool grow(GrowingMemory& memory, bool to_its_most = false);

// Raises the limit of the calling thread's current shadow stack. False: it stays where it is. Hooks
// and the API.
bool make_room(ThreadState& thread);

}  // namespace fbleprof::signal_safe
