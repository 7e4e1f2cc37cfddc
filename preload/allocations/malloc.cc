// The C library's allocator, wrapped.
//
// A block is taken out of the recorder's tables before it is freed: afterwards it may already
// belong to another thread. Only the allocator itself changes errno.
#include <errno.h>
#include <string.h>

#include "next.h"
#include "recorder.h"

namespace fbleprof::preload {

__thread std::uint64_t told = 0;

namespace {

void* moved_from_early(const void* old, void* block, std::size_t bytes) {
  if (old == nullptr || block == nullptr) return block;
  const std::size_t before = bytes_of_early(old);
  return memcpy(block, old, before < bytes ? before : bytes);
}

// For a function that may call another wrapped one.
template <typename Allocate>
void* told_once(std::uint64_t caller, std::size_t bytes, Allocate allocate) {
  const std::uint64_t before = told;
  void* block = allocate();
  if (told == before) tell(caller, block, bytes);
  return block;
}

void* reallocate(std::uint64_t caller, void* old, std::size_t bytes) {
  if (!has_next()) return moved_from_early(old, early_memory(bytes), bytes);
  if (is_early(old)) [[unlikely]] {
    void* block = moved_from_early(old, next.malloc(bytes), bytes);
    tell(caller, block, bytes);
    return block;
  }
  if (fbleprof_take_block == nullptr) return next.realloc(old, bytes);
  fbleprof_taken_block taken;
  fbleprof_take_block(old, &taken);
  const std::uint64_t before = told;
  void* block = next.realloc(old, bytes);
  if (block == nullptr && bytes != 0) {
    fbleprof_put_block_back(old, &taken);
    return nullptr;
  }
  fbleprof_taken_was_freed(&taken);
  if (told == before) tell(caller, block, bytes);
  return block;
}

}  // namespace
}  // namespace fbleprof::preload

using namespace fbleprof::preload;

FBLEPROF_INTERPOSE void* malloc(std::size_t bytes) noexcept {
  if (!has_next()) [[unlikely]]
    return early_memory(bytes);
  void* block = next.malloc(bytes);
  tell(FBLEPROF_CALLER, block, bytes);
  return block;
}

FBLEPROF_INTERPOSE void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (!has_next()) [[unlikely]] {
    std::size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? no_memory() : early_memory(all);
  }
  return told_once(FBLEPROF_CALLER, count * bytes, [=] { return next.calloc(count, bytes); });
}

FBLEPROF_INTERPOSE void free(void* block) noexcept {
  if (block == nullptr || is_early(block) || !has_next()) [[unlikely]]
    return;
  tell_of_end(block);
  next.free(block);
}
FBLEPROF_INTERPOSE void cfree(void* block) noexcept { free(block); }

FBLEPROF_INTERPOSE void* realloc(void* old, std::size_t bytes) noexcept {
  return reallocate(FBLEPROF_CALLER, old, bytes);
}

FBLEPROF_INTERPOSE void* reallocarray(void* old, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return no_memory();
  return reallocate(FBLEPROF_CALLER, old, all);
}

FBLEPROF_INTERPOSE int posix_memalign(void** block, std::size_t alignment,
                                      std::size_t bytes) noexcept {
  if (!has_next()) [[unlikely]]
    return ENOMEM;
  const std::uint64_t before = told;
  const int result = next.posix_memalign(block, alignment, bytes);
  if (result == 0 && told == before) tell(FBLEPROF_CALLER, *block, bytes);
  return result;
}

FBLEPROF_INTERPOSE void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_next()) [[unlikely]]
    return no_memory();
  return told_once(FBLEPROF_CALLER, bytes, [=] { return next.aligned_alloc(alignment, bytes); });
}

FBLEPROF_INTERPOSE void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_next()) [[unlikely]]
    return no_memory();
  return told_once(FBLEPROF_CALLER, bytes, [=] { return next.memalign(alignment, bytes); });
}

FBLEPROF_INTERPOSE void* valloc(std::size_t bytes) noexcept {
  if (!has_next()) [[unlikely]]
    return no_memory();
  return told_once(FBLEPROF_CALLER, bytes, [=] { return next.valloc(bytes); });
}

FBLEPROF_INTERPOSE void* pvalloc(std::size_t bytes) noexcept {
  if (!has_next()) [[unlikely]]
    return no_memory();
  return told_once(FBLEPROF_CALLER, bytes, [=] { return next.pvalloc(bytes); });
}
