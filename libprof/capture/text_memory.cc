#include "capture/text_memory.h"

#include <atomic>

#include "capture/kernel_file.h"
#include "capture/modules.h"
#include "capture/own_memory.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using arch::kTrampolineBytes;
using format::Module;
using signal_safe::kHugePage;
using signal_safe::session;

bool code_is_fixed = false;

namespace {

constexpr std::uint64_t kPage = 4096;

// A module has one region of each use.
constexpr std::uint32_t kMostRegions = 3 * signal_safe::Trampolines::kMost;
Region regions[kMostRegions];
std::atomic<std::uint32_t> count{0};

char* map_at(std::uint64_t address, std::uint64_t bytes) {
  const long at =
      kernel_call(SYS_mmap, static_cast<long>(address), static_cast<long>(bytes),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (kernel_failed(at)) return nullptr;
  if (static_cast<std::uint64_t>(at) == address) return reinterpret_cast<char*>(at);
  kernel_call(SYS_munmap, at, static_cast<long>(bytes));
  return nullptr;
}

// The start of what is known to be mapped between these addresses; `begin` if nothing is known.
// Each try that fails is a system call, and the profile's own mapping may be gigabytes long.
std::uint64_t known_obstacle(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t lowest = begin;
  auto consider = [&](std::uint64_t from, std::uint64_t to) {
    if (from < end && begin < to && from < lowest) lowest = from;
  };
  for_each_loaded_module([&](const Module& module) { consider(module.begin, module.end); });
  for_each_code_region([&](const Region& region) {
    const auto base = reinterpret_cast<std::uint64_t>(region.base);
    consider(base, base + region.bytes);
  });
  const auto profile = reinterpret_cast<std::uint64_t>(session.arena.base());
  consider(profile, profile + session.arena.cap_bytes());
  for_each_region(
      [](void* argument, const void* base, std::uint64_t bytes) {
        const auto from = reinterpret_cast<std::uint64_t>(base);
        (*static_cast<decltype(consider)*>(argument))(from, from + bytes);
      },
      &consider);
  return lowest;
}

// Below the module, if possible: the program's heap grows above it.
char* map_near(const Module& module, std::uint64_t bytes) {
  const std::uint64_t step = bytes >= kHugePage ? kHugePage : 1 << 16;
  constexpr std::uint64_t kReach = 0x70000000;  // with room for the module's own size
  constexpr std::uint64_t kHeap = 0x40000000;
  const std::uint64_t lowest = module.begin > kReach ? module.begin - kReach : 0;
  std::uint64_t end = module.begin;  // of what may be free
  while (end > lowest + bytes + step) {
    const std::uint64_t begin = (end - bytes - step) / step * step;
    if (char* at = map_at(begin, bytes)) return at;
    const std::uint64_t obstacle = known_obstacle(begin, begin + bytes);
    end = obstacle < begin ? obstacle : begin + bytes;
  }
  for (std::uint64_t away = kHeap; away < kReach; away += step) {
    if (char* at = map_at((module.end + away) / step * step, bytes)) return at;
  }
  return nullptr;
}

// Whole pages; huge ones, if that wastes less than half of them.
std::uint64_t in_pages(std::uint64_t bytes) {
  const std::uint64_t page = bytes < kHugePage / 2 ? kPage : kHugePage;
  return (bytes + page - 1) / page * page;
}

std::uint64_t slot_bytes(const Region& region) {
  return in_pages(kRegionHeadBytes + region.slots.all() * kTrampolineBytes);
}

bool reaches(const Region& region, const Module& module) {
  const auto base = reinterpret_cast<std::uint64_t>(region.base);
  return arch::is_near(module.begin, base) && arch::is_near(module.end, base) &&
         arch::is_near(module.begin, base + region.bytes) &&
         arch::is_near(module.end, base + region.bytes);
}

// The slots of a region count as ours as long as it is mapped, so a region keeps their number.
Region* find_unused(const Module& module, const Region& wanted) {
  for (std::uint32_t i = 0; i < region_count(); ++i) {
    Region& old = regions[i];
    const Module* user = loaded_module_at(old.module_begin);
    if ((user && user != &module) || old.use != wanted.use || old.bytes != wanted.bytes ||
        old.slots.own != wanted.slots.own || old.slots.functions != wanted.slots.functions ||
        !reaches(old, module)) {
      continue;
    }
    const auto base = reinterpret_cast<std::uint64_t>(old.base);
    return protect(base, base + old.bytes, PROT_READ | PROT_WRITE) ? &old : nullptr;
  }
  return nullptr;
}

bool is_full() {
  std::uint32_t with_slots = 0;
  for_each_code_region([&](const Region& region) { with_slots += region.slots.all() != 0; });
  return region_count() == kMostRegions || with_slots == signal_safe::Trampolines::kMost;
}

Region* map_region(const Module& module, const Region& wanted) {
  if (is_full()) return nullptr;
  const std::uint32_t place = count.load(std::memory_order_relaxed);
  char* base = map_near(module, wanted.bytes);
  if (!base) return nullptr;
  const auto first = reinterpret_cast<std::uint64_t>(base) + kRegionHeadBytes;
  if (wanted.slots.all() != 0 &&
      !session.trampolines.add({first, first + wanted.slots.own * kTrampolineBytes,
                                first + wanted.slots.all() * kTrampolineBytes})) {
    return nullptr;
  }
  if (wanted.bytes >= kHugePage) signal_safe::advise_huge_pages(base, wanted.bytes);
  regions[place] = wanted;
  regions[place].base = base;
  count.store(place + 1, std::memory_order_release);
  return &regions[place];
}

}  // namespace

bool protect(std::uint64_t begin, std::uint64_t end, int protection) {
  begin = begin / kPage * kPage;
  return !kernel_failed(kernel_call(SYS_mprotect, static_cast<long>(begin),
                                    static_cast<long>(end - begin), protection));
}

Region* take_region(const Module& module, RegionUse use, SlotCounts slots,
                    std::uint64_t other_bytes) {
  Region wanted{nullptr, 0, module.begin, slots, use};
  wanted.bytes = slot_bytes(wanted) + in_pages(other_bytes);
  Region* taken = find_unused(module, wanted);
  if (!taken) taken = map_region(module, wanted);
  if (taken) taken->module_begin = module.begin;
  return taken;
}

void release_regions(std::uint64_t module_begin) {
  for_each_code_region([&](Region& region) {
    const bool stays = region.use == RegionUse::kWatch || region.use == RegionUse::kCalls;
    if (region.module_begin == module_begin && !stays) region.module_begin = 0;
  });
}

void release_regions_of_former_modules() {
  for_each_new_module([](const Module& module) { release_regions(module.begin); });
}

const char* why_no_region() {
  return is_full() ? "there is no room for more modules" : "there is no memory near it";
}

char* end_of_slots(const Region& region) { return region.base + slot_bytes(region); }

namespace {

bool protect_slots(const Region& region, int protection) {
  const auto base = reinterpret_cast<std::uint64_t>(region.base);
  return protect(base, base + slot_bytes(region), protection);
}

}  // namespace

bool seal_slots(const Region& region) { return protect_slots(region, PROT_READ | PROT_EXEC); }
bool open_slots(const Region& region) {
  return protect_slots(region, PROT_READ | PROT_WRITE | PROT_EXEC);
}

std::uint32_t region_count() { return count.load(std::memory_order_acquire); }
Region& region_at(std::uint32_t index) { return regions[index]; }

}  // namespace fbleprof::capture
