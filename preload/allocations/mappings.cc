// Memory that the program maps itself; the recorder counts it on request.
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/kernel.h"
#include "next.h"
#include "recorder.h"

using namespace fbleprof::preload;

namespace {

void* map(std::uint64_t caller, void* at, std::size_t bytes, int protection, int flags, int fd,
          off_t offset) {
  if (!has_next()) {
    // The loader may need memory before it can look up a function.
    return reinterpret_cast<void*>(fbleprof::arch::kernel_call(SYS_mmap, reinterpret_cast<long>(at),
                                                               static_cast<long>(bytes), protection,
                                                               flags, fd, offset));
  }
  void* memory = next.mmap(at, bytes, protection, flags, fd, offset);
  const bool is_memory = (flags & MAP_ANONYMOUS) != 0 && (protection & PROT_WRITE) != 0;
  if (memory != MAP_FAILED && is_memory && fbleprof_mapped != nullptr) {
    fbleprof_mapped(caller, memory, bytes);
  }
  return memory;
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
  if (fbleprof_unmapping != nullptr) fbleprof_unmapping(memory, bytes);
  if (has_next()) return next.munmap(memory, bytes);
  return static_cast<int>(fbleprof::arch::kernel_call(SYS_munmap, reinterpret_cast<long>(memory),
                                                      static_cast<long>(bytes)));
}

FBLEPROF_INTERPOSE void* mremap(void* memory, std::size_t bytes, std::size_t wanted, int flags,
                                ...) noexcept {
  va_list rest;
  va_start(rest, flags);
  void* at = va_arg(rest, void*);
  va_end(rest);
  if (!has_next()) return MAP_FAILED;
  void* moved = next.mremap(memory, bytes, wanted, flags, at);
  if (moved != MAP_FAILED && fbleprof_mapped != nullptr) {
    fbleprof_unmapping(memory, bytes);
    fbleprof_mapped(FBLEPROF_CALLER, moved, wanted);
  }
  return moved;
}
