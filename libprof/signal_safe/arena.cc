#include "signal_safe/arena.h"

#include "signal_safe/populate.h"

namespace fbleprof::signal_safe {

namespace {
// Small first steps keep the file of a short run small. Large later steps let a large tree call the
// kernel rarely.
constexpr std::uint64_t kLeastStep = 128 * 1024, kMostStep = 1024 * 1024;
}  // namespace

void Arena::adopt(char* base, std::uint64_t cap_bytes, std::uint64_t populated_bytes) {
  cap_bytes_ = cap_bytes;
  populated_.store(populated_bytes, std::memory_order_relaxed);
  // Where there is a base, there is a profile: a signal that ends the process cuts its file behind
  // the populated part.
  __atomic_store_n(&base_, base, __ATOMIC_RELEASE);
}

bool Arena::populate_to(std::uint64_t end, Steps steps) {
  std::uint64_t from = populated_.load(std::memory_order_relaxed);
  if (end <= (from & ~kFrozen)) return true;
  if ((from & kFrozen) != 0) return false;
  std::uint64_t step = end / 8 / kLeastStep * kLeastStep;
  step = step < kLeastStep ? kLeastStep : step > kMostStep ? kMostStep : step;
  std::uint64_t to = steps == Steps::kMore ? (end + step - 1) / step * step : end;
  if (to > cap_bytes_) to = cap_bytes_;
  if (to < end) return false;
  // Two threads may populate the same range: it is idempotent.
  for (int attempt = 1; !populate(base_ + from, to - from); ++attempt) {
    // While another thread calls exec, the file is cut for a moment.
    if (populated_.load(std::memory_order_relaxed) != from) return end <= populated_bytes();
    if (attempt == 2) {
      freeze();
      return false;
    }
  }
  while (from < to && (from & kFrozen) == 0 &&
         !populated_.compare_exchange_weak(from, to, std::memory_order_relaxed)) {
  }
  return end <= populated_bytes();
}

std::uint64_t Arena::freeze_short() {
  constexpr std::uint64_t kPage = 4096;
  // The destructors of libraries whose calls are counted still run.
  constexpr std::uint64_t kRoom = 4 * kPage;
  const auto end_of_room = [&] { return (used_bytes() + kPage - 1) / kPage * kPage + kRoom; };
  populate_to(end_of_room(), Steps::kNone);
  freeze();
  const std::uint64_t end = end_of_room();
  if (end < populated_bytes()) populated_.store(end | kFrozen, std::memory_order_relaxed);
  return populated_bytes();
}

void Arena::reserve(std::uint64_t bytes) {
  const std::uint64_t end = __atomic_load_n(&header()->used_bytes, __ATOMIC_RELAXED) + bytes;
  populate_to(end < cap_bytes_ ? end : cap_bytes_);
}

format::Ref Arena::take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t reserve_bytes) {
  bytes = (bytes + format::kUnitBytes - 1) / format::kUnitBytes * format::kUnitBytes;
  std::uint64_t* used = &header()->used_bytes;
  std::uint64_t before = __atomic_load_n(used, __ATOMIC_RELAXED);
  std::uint64_t begin;
  do {
    // Less than the header is in use: the file was truncated, and reads give zeros.
    if (before < format::kHeaderBytes) return 0;
    begin = (before + alignment - 1) / alignment * alignment;
    if (begin + bytes + reserve_bytes > cap_bytes_ || !populate_to(begin + bytes)) return 0;
  } while (!__atomic_compare_exchange_n(used, &before, begin + bytes, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  const auto ref = static_cast<format::Ref>(begin / format::kUnitBytes);
  const format::Head head{static_cast<std::uint32_t>(bytes / format::kUnitBytes),
                          format::Kind::kUnfinished, format::kHeadMark};
  std::uint64_t word;
  static_assert(sizeof word == sizeof head);
  __builtin_memcpy(&word, &head, sizeof word);
  // The head comes first: a reader that finds zeros in its place finds only zeros in the record.
  __atomic_store_n(at<std::uint64_t>(ref), word, __ATOMIC_RELEASE);
  // A release store does not hold back stores that follow it. (No instruction on x86.)
  __atomic_thread_fence(__ATOMIC_RELEASE);
  return ref;
}

format::Ref Arena::allocate(std::uint64_t bytes, std::uint64_t reserve_bytes) {
  return take(bytes, format::kUnitBytes, reserve_bytes);
}

format::Ref Arena::allocate_items(std::uint64_t bytes, std::uint64_t reserve_bytes) {
  return take(bytes, format::kItemsOffset, reserve_bytes);
}

format::Ref Arena::add_string(const char* bytes, std::uint32_t length) {
  const format::Ref ref = allocate(offsetof(format::String, bytes) + length);
  if (ref == 0) return 0;
  auto* string = at<format::String>(ref);
  // The bytes continue behind the struct in the units that follow it.
  char* to = reinterpret_cast<char*>(string) + offsetof(format::String, bytes);
  for (std::uint32_t i = 0; i < length; ++i) to[i] = bytes[i];
  string->length = length;
  publish(ref, format::Kind::kString);
  return ref;
}

}  // namespace fbleprof::signal_safe
