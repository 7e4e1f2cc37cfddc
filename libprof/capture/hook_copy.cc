#include "capture/hook_copy.h"

#include "signal_safe/session.h"

namespace fbleprof::capture {

static_assert(kRegionHeadBytes + arch::kTrampolineEntry == NEAR_HOOK_ADDRESS);

std::uint32_t hook_copy_slots() {
  const std::uint64_t bytes = arch::kTrampolineEntry + arch::near_hook_bytes();
  return static_cast<std::uint32_t>((bytes + arch::kTrampolineBytes - 1) / arch::kTrampolineBytes);
}

void write_hook_copy(const Region& region, arch::HookEntries hook) {
  // As a whole address: in a program, the linker cannot resolve a load of only half of the offset.
  const void* volatile hot = &fbleprof_hot;
  arch::copy_near_hook(hook_copy_in(region), hook, hot);
}

std::uint64_t shift_of_hook(std::uint64_t pc) {
  std::uint64_t shift = 0;
  for_each_code_region([&](const Region& region) {
    if (region.use == RegionUse::kSites || region.use == RegionUse::kTrampolines) {
      shift |= arch::shift_of_near_hook(pc, hook_copy_in(region));
    }
  });
  return shift;
}

bool saves_at(std::uint64_t pc) {
  constexpr std::uint64_t kSaves = 15;  // three instructions of five bytes
  const std::uint64_t shift = shift_of_hook(pc);
  if (shift == 0) return false;
  const std::uint64_t offset = pc - shift - reinterpret_cast<std::uint64_t>(fbleprof_near_hook);
  for (const std::uint64_t begin :
       {std::uint64_t{0}, arch::near_tail_hook_offset(), arch::near_leaf_hook_offset()}) {
    if (offset - begin < kSaves) return true;
  }
  return false;
}

}  // namespace fbleprof::capture
