#include "capture/own_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "capture/kernel_file.h"
#include "signal_safe/pages.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;

namespace {

struct Region {
  Region* older;
  char* base;
  std::uint64_t bytes;
  std::atomic<std::uint64_t> used;
};

// The newest region of a kind. Older regions are full, or nearly so.
struct Regions {
  std::atomic<Region*> newest{nullptr};
  std::atomic<std::uint64_t> next_bytes;
};
// The first piece gets a region of its size: most programs have one thread.
constinit Regions copied{.next_bytes{1 << 20}}, wiped{.next_bytes{4 << 20}};
constexpr std::uint64_t kMostRegionBytes = 1 << 30;

// What can grow lies far from other mappings: the kernel puts new ones next to those that exist.
constexpr std::uint64_t kDistanceBytes = 64ull << 30;
constexpr unsigned kMostGrowing = 32;
constinit signal_safe::GrowingMemory growing[kMostGrowing];
constinit std::atomic<unsigned> growing_count{0};
constinit std::atomic<std::uint64_t> taken_from_top{0};  // bytes of address space

bool can_wipe = true;

constexpr std::uint64_t kNotKnown = 0;
constinit std::atomic<std::uint64_t> known_limit{kNotKnown};  // of memory: see SameLimit

Region* make_region(std::uint64_t bytes, InChild in_child) {
  const std::uint64_t all = bytes + kPageBytes;
  char* const base = signal_safe::map_memory(all);
  if (!base) return nullptr;
  const auto at = reinterpret_cast<long>(base);
  // A huge page on first touch would take 2 MB for a few used pages.
  kernel_call(SYS_madvise, at, static_cast<long>(all), MADV_NOHUGEPAGE);
  // Its description is in its own first page, which is not wiped.
  auto* region = reinterpret_cast<Region*>(base);
  region->base = base + kPageBytes;
  region->bytes = bytes;
  if (in_child == InChild::kWiped &&
      kernel_failed(kernel_call(SYS_madvise, at + static_cast<long>(kPageBytes),
                                static_cast<long>(bytes), MADV_WIPEONFORK))) {
    can_wipe = false;
  }
  return region;
}

char* take_from(Region* region, std::uint64_t bytes) {
  if (!region) return nullptr;
  std::uint64_t used = region->used.load(std::memory_order_relaxed);
  do {
    if (bytes > region->bytes - used) return nullptr;
  } while (!region->used.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return region->base + used;
}

}  // namespace

void* take_memory(std::uint64_t bytes, InChild in_child) {
  Regions& regions = in_child == InChild::kWiped ? wiped : copied;
  bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  for (;;) {
    Region* newest = regions.newest.load(std::memory_order_acquire);
    if (char* taken = take_from(newest, bytes)) return taken;
    if (signal_safe::session.pages.is_on_stock()) return nullptr;
    const std::uint64_t next = regions.next_bytes.load(std::memory_order_relaxed);
    const bool is_large =
        newest && limit_of_memory() == RLIM_INFINITY && !signal_safe::are_mappings_locked();
    // Use a multiple of the piece: the next pieces probably have the same size.
    const std::uint64_t size = is_large ? std::max(bytes, next / bytes * bytes) : bytes;
    Region* made = make_region(size, in_child);
    if (!made) return nullptr;
    made->older = newest;
    if (!regions.newest.compare_exchange_strong(newest, made, std::memory_order_acq_rel)) {
      // Another thread, or a handler, was faster: use its region.
      kernel_call(SYS_munmap, reinterpret_cast<long>(made), static_cast<long>(size + kPageBytes));
    } else if (is_large) {
      regions.next_bytes.store(std::min(2 * next, kMostRegionBytes), std::memory_order_relaxed);
    }
  }
}

signal_safe::GrowingMemory* take_growing_memory(std::uint64_t first, std::uint64_t most) {
  if (signal_safe::session.pages.is_on_stock() || growing_count.load() >= kMostGrowing)
    return nullptr;
  const std::uint64_t space = most + kPageBytes;
  const std::uint64_t top = reinterpret_cast<std::uint64_t>(&growing) / kPageBytes * kPageBytes;
  const std::uint64_t wanted = top - kDistanceBytes - (taken_from_top.fetch_add(space) + space);
  char* const base = signal_safe::map_memory(first, wanted);
  if (!base) return nullptr;
  const auto at = reinterpret_cast<std::uint64_t>(base);
  const unsigned number = at == wanted ? growing_count.fetch_add(1) : kMostGrowing;
  if (number >= kMostGrowing) {
    kernel_call(SYS_munmap, static_cast<long>(at), static_cast<long>(first));
    return nullptr;
  }
  // A huge page on first touch would take 2 MB for a few used pages.
  kernel_call(SYS_madvise, static_cast<long>(at), static_cast<long>(first), MADV_NOHUGEPAGE);
  growing[number].most = most;
  growing[number].bytes.store(first, std::memory_order_relaxed);
  __atomic_store_n(&growing[number].base, base, __ATOMIC_RELEASE);
  return &growing[number];
}

namespace {
template <typename Function>
void for_each_growing(Function function) {
  for (signal_safe::GrowingMemory& memory : growing) {
    if (__atomic_load_n(&memory.base, __ATOMIC_ACQUIRE)) function(memory);
  }
}
}  // namespace

void grow_all_memory() {
  for_each_growing([](signal_safe::GrowingMemory& memory) { signal_safe::grow(memory, true); });
}

void for_each_region(void (*function)(void* argument, const void* base, std::uint64_t bytes),
                     void* argument) {
  for (Regions* regions : {&copied, &wiped}) {
    for (Region* region = regions->newest.load(std::memory_order_acquire); region;
         region = region->older) {
      function(argument, region, region->bytes + kPageBytes);
    }
  }
  for_each_growing([&](const signal_safe::GrowingMemory& memory) {
    function(argument, memory.base, memory.bytes.load(std::memory_order_relaxed));
  });
}

std::uint64_t limit_of_memory() {
  const std::uint64_t known = known_limit.load(std::memory_order_relaxed);
  return known != kNotKnown ? known : std::min(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
}

SameLimit::SameLimit(bool is_alone) {
  if (is_alone) known_limit.store(limit_of_memory(), std::memory_order_relaxed);
}
SameLimit::~SameLimit() { known_limit.store(kNotKnown, std::memory_order_relaxed); }

bool can_wipe_in_children() { return can_wipe; }

}  // namespace fbleprof::capture
