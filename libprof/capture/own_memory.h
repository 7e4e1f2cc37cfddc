// Our own memory, from the kernel: the program's allocator may itself be profiled, and a thread's
// first call of it would make an arena that the thread would otherwise not have.
//
// Pieces are parts of a few large mappings, because a process may have 65,530 mappings and a
// program with 30,000 threads needs 60,000 itself. Nothing is freed; untouched pages take no
// memory. Async-signal-safe, any thread, no lock.
#pragma once

#include <cstdint>

#include "signal_safe/shadow_growth.h"

namespace fbleprof::capture {

enum class InChild {
  kCopied,  // like all memory
  kWiped,   // zeros in a forked child (MADV_WIPEONFORK)
};

inline constexpr std::uint64_t kPageBytes = 4096;

// `bytes` of zeros at the start of a page, or null. In a confined program only what is left of
// earlier mappings can be taken.
void* take_memory(std::uint64_t bytes, InChild in_child);

// `first` bytes of zeros with free address space behind them for `most`, or null: only the first
// threads get such a mapping of their own.
signal_safe::GrowingMemory* take_growing_memory(std::uint64_t first, std::uint64_t most);
// Makes all of that as large as it may be: later the kernel can no longer be asked.
void grow_all_memory();

// The limit of the process's address space, or of its data, to which our memory counts, too:
// RLIM_INFINITY if there is none. The program planned its use without us.
std::uint64_t limit_of_memory();
// While this lives, the limit is that of its beginning: the kernel is asked once. One at a time,
// and only if `is_alone`: no other thread may change the limit, or fork a child that then changes
// it.
struct SameLimit {
  explicit SameLimit(bool is_alone);
  ~SameLimit();
  SameLimit(const SameLimit&) = delete;
  SameLimit& operator=(const SameLimit&) = delete;
};

// False if the kernel cannot do that (before Linux 4.14, some sandboxes): then kWiped means
// kCopied.
bool can_wipe_in_children();

// The mappings that pieces were taken from.
void for_each_region(void (*function)(void* argument, const void* base, std::uint64_t bytes),
                     void* argument);

}  // namespace fbleprof::capture
