#include "signal_safe/arena.h"

#include <sys/mman.h>

#include "signal_safe/arch/x86_64/kernel.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace fbleprof::signal_safe {

namespace {
// Small enough that a short run's file stays small, large enough that populating is rare.
constexpr std::uint64_t kPopulateStep = 128 * 1024;
}  // namespace

void Arena::adopt(char* base, std::uint64_t cap_bytes, std::uint64_t populated_bytes) {
  base_ = base;
  cap_bytes_ = cap_bytes;
  populated_.store(populated_bytes, std::memory_order_relaxed);
  frozen_.store(false, std::memory_order_relaxed);
}

bool Arena::populate_to(std::uint64_t end) {
  std::uint64_t from = populated_.load(std::memory_order_relaxed);
  if (end <= from) return true;
  if (frozen_.load(std::memory_order_relaxed)) return false;
  std::uint64_t to = (end + kPopulateStep - 1) / kPopulateStep * kPopulateStep;
  if (to > cap_bytes_) to = cap_bytes_;
  if (to < end) return false;
  // Two threads may populate the same range: it is idempotent.
  if (kernel_failed(kernel_call(SYS_madvise, reinterpret_cast<long>(base_ + from),
                                static_cast<long>(to - from), MADV_POPULATE_WRITE))) {
    freeze();
    return false;
  }
  while (from < to && !populated_.compare_exchange_weak(from, to, std::memory_order_relaxed)) {
  }
  return true;
}

void Arena::reserve(std::uint64_t bytes) {
  const std::uint64_t end = __atomic_load_n(&header()->used_bytes, __ATOMIC_RELAXED) + bytes;
  populate_to(end < cap_bytes_ ? end : cap_bytes_);
}

format::Ref Arena::allocate(std::uint64_t bytes, std::uint64_t reserve_bytes) {
  std::uint64_t* used = &header()->used_bytes;
  std::uint64_t at = __atomic_load_n(used, __ATOMIC_RELAXED);
  do {
    // Less than the header is in use: the file was truncated, and zeros stand where it was.
    if (at < format::kHeaderBytes || at + bytes + reserve_bytes > cap_bytes_) return 0;
    if (!populate_to(at + bytes)) return 0;
  } while (!__atomic_compare_exchange_n(used, &at, at + bytes, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  return static_cast<format::Ref>(at / format::kUnitBytes);
}

format::Ref Arena::add_string(const char* bytes, std::uint32_t length) {
  const std::uint64_t head = offsetof(format::String, bytes);
  const std::uint64_t size =
      (head + length + format::kUnitBytes - 1) / format::kUnitBytes * format::kUnitBytes;
  const format::Ref ref = allocate(size, 0);
  if (ref == 0) return 0;
  auto* string = at<format::String>(ref);
  // The bytes run on past the struct into the units that follow it.
  char* to = reinterpret_cast<char*>(string) + head;
  for (std::uint32_t i = 0; i < length; ++i) to[i] = bytes[i];
  string->length = length;
  return ref;
}

}  // namespace fbleprof::signal_safe
