// Memory that the program maps itself; the recorder counts it on request.
//
// As a freed block, memory is taken out of the recorder's tables before it is unmapped.
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/kernel.h"
#include "next.h"
#include "recorder.h"

using namespace fbleprof::preload;
using fbleprof::arch::kernel_call;
using fbleprof::arch::kernel_failed;

namespace {

// The loader may need memory before it can look up a function.
template <typename... Arguments>
long call_early(long number, long at, std::size_t bytes, Arguments... others) {
  const long result = kernel_call(number, at, static_cast<long>(bytes), others...);
  if (!kernel_failed(result)) return result;
  errno = static_cast<int>(-result);
  return -1;
}

void* map(std::uint64_t caller, void* at, std::size_t bytes, int protection, int flags, int fd,
          off_t offset) {
  if (!has_next()) {
    return reinterpret_cast<void*>(
        call_early(SYS_mmap, reinterpret_cast<long>(at), bytes, protection, flags, fd, offset));
  }
  void* memory = next.mmap(at, bytes, protection, flags, fd, offset);
  const bool is_memory = (flags & MAP_ANONYMOUS) != 0 && (protection & PROT_WRITE) != 0;
  if (memory != MAP_FAILED && fbleprof_mapped != nullptr) {
    if (is_memory) {
      fbleprof_mapped(caller, memory, bytes);
    } else if ((flags & MAP_FIXED) != 0) {
      fbleprof_unmapping(memory, bytes);  // what it replaced: programs give memory back so
    }
  }
  return memory;
}

// What Linux refuses at once, for which nothing ends: a part of a page at the beginning, no bytes,
// or more than the addresses that a program may have on any machine.
bool can_end(const void* memory, std::size_t bytes) {
  constexpr std::uint64_t kLeastPage = 4096, kAddresses = std::uint64_t{1} << 56;
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  return begin % kLeastPage == 0 && bytes != 0 && begin < kAddresses && bytes <= kAddresses - begin;
}

}  // namespace

FBLEPROF_INTERPOSE void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd,
                              off_t offset) noexcept {
  return map(FBLEPROF_CALLER, at, bytes, protection, flags, fd, offset);
}
FBLEPROF_INTERPOSE void* mmap64(void* at, std::size_t bytes, int protection, int flags, int fd,
                                off_t offset) noexcept {
  return map(FBLEPROF_CALLER, at, bytes, protection, flags, fd, offset);
}

FBLEPROF_INTERPOSE int munmap(void* memory, std::size_t bytes) noexcept {
  if (fbleprof_unmapping != nullptr && can_end(memory, bytes)) fbleprof_unmapping(memory, bytes);
  if (has_next()) return next.munmap(memory, bytes);
  return static_cast<int>(call_early(SYS_munmap, reinterpret_cast<long>(memory), bytes));
}

FBLEPROF_INTERPOSE void* mremap(void* memory, std::size_t bytes, std::size_t wanted, int flags,
                                ...) noexcept {
  va_list rest;
  va_start(rest, flags);
  void* at = va_arg(rest, void*);
  va_end(rest);
  const bool is_recorded = fbleprof_take_mapping != nullptr;
  fbleprof_taken_block taken;
  const bool is_memory = is_recorded && fbleprof_take_mapping(memory, &taken);
  void* moved = has_next() ? next.mremap(memory, bytes, wanted, flags, at)
                           : reinterpret_cast<void*>(call_early(
                                 SYS_mremap, reinterpret_cast<long>(memory), bytes,
                                 static_cast<long>(wanted), flags, reinterpret_cast<long>(at)));
  if (!is_recorded) return moved;
  if (moved == MAP_FAILED) {
    fbleprof_put_block_back(memory, &taken);
  } else {
    fbleprof_taken_was_unmapped(memory, bytes, &taken);
    if (is_memory) {
      fbleprof_mapped(FBLEPROF_CALLER, moved, wanted);
    } else if (moved != memory) {
      fbleprof_unmapping(moved, wanted);  // the mapping that it replaced
    }
  }
  return moved;
}
