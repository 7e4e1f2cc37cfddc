// Memory near modules: found where the module can reach it, used again by the next module there.
#include "capture/text_memory.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>

#include "signal_safe/session.h"
#include "tests/support/refused_calls.h"
#include "tests/unit/capture/started_session.h"

namespace fbleprof::capture {
namespace {

class TextMemory : public test::StartedSession {
 protected:
  static constexpr std::uint64_t kGigabyte = 1 << 30;

  // A module between large free ranges.
  static format::Module module_at(std::uint64_t begin, std::uint64_t bytes = 4096) {
    format::Module module{};
    module.begin = begin;
    module.end = begin + bytes;
    return module;
  }
  static std::uint64_t new_place() {
    static std::uint64_t place = 0x1000'0000'0000;
    return place += 16 * kGigabyte;
  }
  static std::uint64_t base_of(const Region& region) {
    return reinterpret_cast<std::uint64_t>(region.base);
  }
  static constexpr SlotCounts kNone{0, 0};
};

TEST_F(TextMemory, IsNearItsModule) {
  const format::Module module = module_at(new_place());
  const Region* region = take_region(module, RegionUse::kSites, {1, 2}, 100);
  ASSERT_NE(region, nullptr);
  EXPECT_LT(base_of(*region), module.begin) << "the heap grows above";
  EXPECT_LT(module.begin - base_of(*region), 2 * kGigabyte);
  EXPECT_EQ(region->module_begin, module.begin);
}

TEST_F(TextMemory, IsUsedAgainByAModuleThatReachesItIfNothingDiffers) {
  const std::uint64_t place = new_place();
  const format::Module first = module_at(place);
  Region* const region = take_region(first, RegionUse::kSites, {1, 2}, 100);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(take_region(first, RegionUse::kSites, {1, 2}, 100), region);
  const std::uint64_t base = base_of(*region);
  EXPECT_NE(take_region(first, RegionUse::kCalledHooks, {1, 2}, 100), region);
  EXPECT_NE(take_region(first, RegionUse::kSites, {2, 2}, 100), region);
  EXPECT_NE(take_region(first, RegionUse::kSites, {1, 3}, 100), region);
  EXPECT_NE(take_region(first, RegionUse::kSites, {1, 2}, 5000), region);
  // Where the module's begin, its end, or the region's end is too far away.
  constexpr std::uint64_t kReach = std::uint64_t{1} << 31;
  for (const format::Module& far :
       {module_at(place + 4 * kGigabyte), module_at(base + kReach - 8192, 16384),
        module_at(base - kReach + 4096), module_at(base - kReach - 4096, 16384)}) {
    EXPECT_NE(take_region(far, RegionUse::kSites, {1, 2}, 100), region) << far.begin - base;
  }
  const format::Module next = module_at(place + 65536);
  EXPECT_EQ(take_region(next, RegionUse::kSites, {1, 2}, 100), region);
  EXPECT_EQ(region->module_begin, next.begin);
  // A module that is loaded keeps its region.
  const auto& loaded = add_module(next.begin, 4096, "/nowhere/loaded.so");
  EXPECT_NE(take_region(module_at(place + 131072), RegionUse::kSites, {1, 2}, 100), region);
  EXPECT_EQ(take_region(loaded, RegionUse::kSites, {1, 2}, 100), region);
}

TEST_F(TextMemory, MayBeMissing) {
  const format::Module module = module_at(new_place());
  const bool has_run = test::without_calls({{SYS_mmap, ENOMEM, 3, MAP_FIXED_NOREPLACE}}, [&] {
    EXPECT_EQ(take_region(module, RegionUse::kSites, kNone, 8192), nullptr);
  });
  if (!has_run) GTEST_SKIP() << "no filters of system calls";
  Region* const region = take_region(module, RegionUse::kSites, kNone, 8192);
  ASSERT_NE(region, nullptr);
  EXPECT_TRUE(test::without_calls({{SYS_mprotect, EACCES}}, [&] {
    Region* const another = take_region(module, RegionUse::kSites, kNone, 8192);
    EXPECT_NE(another, nullptr);
    EXPECT_NE(another, region) << "it stays as it is";
  }));
}

TEST_F(TextMemory, IsAboveAModuleThatHasNoneBelow) {
  // All that it can reach below is taken.
  const std::uint64_t place = new_place();
  void* below = mmap(reinterpret_cast<void*>(place - 2 * kGigabyte), 2 * kGigabyte, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_NE(below, MAP_FAILED);
  add_module(place - 2 * kGigabyte, 2 * kGigabyte, "/nowhere/large.so");
  const std::uint64_t heap = place + 0x4000'0000;
  void* above = mmap(reinterpret_cast<void*>(heap), 1 << 20, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_NE(above, MAP_FAILED);
  const Region* region = take_region(module_at(place), RegionUse::kWatch, kNone, 8192);
  ASSERT_NE(region, nullptr);
  EXPECT_GE(base_of(*region), heap + (1 << 20));
  EXPECT_LT(base_of(*region), place + 2 * kGigabyte);
  munmap(below, 2 * kGigabyte);
  munmap(above, 1 << 20);
}

TEST_F(TextMemory, IsLimitedInNumber) {
  const auto take = [](SlotCounts slots, std::uint64_t most) {
    std::uint64_t taken = 0;
    while (taken < most && take_region(module_at(new_place()), RegionUse::kCalls, slots, 0)) {
      ++taken;
    }
    return taken;
  };
  constexpr std::uint64_t kSlots = signal_safe::Trampolines::kMost;
  const std::uint64_t with_slots = take({1, 1}, 2 * kSlots);
  EXPECT_LE(with_slots, kSlots);
  EXPECT_GT(with_slots, kSlots / 2);
  EXPECT_LE(take(kNone, 5 * kSlots), 3 * kSlots);
}

}  // namespace
}  // namespace fbleprof::capture
