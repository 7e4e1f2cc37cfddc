#include "capture/loading.h"

#include <link.h>

#include "arch/trampoline.h"
#include "capture/exact.h"
#include "capture/filters.h"
#include "capture/kernel_file.h"
#include "capture/modules.h"
#include "capture/namespaces.h"
#include "capture/profile.h"
#include "capture/switching.h"
#include "capture/text_memory.h"
#include "capture/throttling.h"

namespace fbleprof::capture {

using format::Module;

namespace {

void settle(Module& module) {
  __atomic_fetch_or(&module.flags, format::kModuleIsSettled, __ATOMIC_RELAXED);
}

// The loader also calls r_brk when it has unmapped modules, before dlclose returns. A sample may
// have registered one of them meanwhile.
void pass_over_unmapped() {
  for_each_new_module([](Module& module) {
    const bool stays = (module.flags & (format::kModuleIsMain | format::kModuleIsVdso)) != 0;
    if (!stays && !is_mapped(module.begin)) settle(module);
  });
}

void prepare_new_modules() {
  const CodeLock lock;
  pass_over_unmapped();
  release_regions_of_former_modules();
  filter_new_modules();
  rewrite_new_modules();
  remark_other_namespaces();
  make_sites_of_new_modules();
  settle_new_modules();
}

// The loader calls its r_brk, which does nothing, after it maps modules and before it relocates
// them and runs their constructors; and before and after it unmaps modules. It holds its lock.
extern "C" __attribute__((used)) void fbleprof_modules_changed() {
  static bool is_deleting = false;
  const auto state = _r_debug.r_state;
  const bool has_deleted = is_deleting && state == r_debug::RT_CONSISTENT;
  is_deleting = state == r_debug::RT_DELETE;
  if (state != r_debug::RT_CONSISTENT || !is_profiling() || !is_own_process() || profile.confined) {
    return;
  }
  // Not every module is unloaded by the dlclose that we see: libc has its own (iconv, NSS), and a
  // dlopen that fails unmaps what it has mapped. The same file may come back at the same place.
  {
    const CodeLock lock;
    if (has_deleted) note_unloading(Unloaded::kAll);
    add_mapped_modules();
  }
  prepare_new_modules();
}

// Makes r_brk jump to us.
const char* watch_loader() {
  constexpr std::uint64_t kJumpBytes = 5;
  const LoaderWatch watch = prepare_loader_watch(fbleprof_modules_changed);
  if (watch.obstacle) return watch.obstacle;
  const auto at = reinterpret_cast<std::uint64_t>(watch.place);
  if (!protect(at, at + kJumpBytes, PROT_READ | PROT_WRITE | PROT_EXEC)) return kCodeIsFixed;
  arch::write_jump(watch.place, watch.trampoline);
  protect(at, at + kJumpBytes, PROT_READ | PROT_EXEC);
  return nullptr;
}

}  // namespace

void settle_new_modules() { for_each_new_module(settle); }

// The jump at the place leads to another one near it, which reaches everywhere.
LoaderWatch prepare_loader_watch(void (*changed)()) {
  constexpr std::uint64_t kPage = 4096;
  LoaderWatch watch;
  auto* function = reinterpret_cast<std::uint8_t*>(_r_debug.r_brk);
  watch.place = function ? arch::only_returns(function) : nullptr;
  watch.obstacle = "the loader is not as expected";
  if (!watch.place) return watch;
  Module loader{};
  loader.begin = reinterpret_cast<std::uint64_t>(watch.place) / kPage * kPage;
  loader.end = loader.begin + kPage;
  const Region* region = take_region(loader, RegionUse::kWatch, {1, 0}, 0);
  watch.obstacle = "there is no memory near the loader";
  if (!region) return watch;
  auto* jump =
      reinterpret_cast<std::uint8_t*>(region->base + kRegionHeadBytes + arch::kTrampolineEntry);
  __builtin_memcpy(region->base, &changed, sizeof changed);
  arch::write_indirect_jump(jump, region->base);
  watch.trampoline = reinterpret_cast<std::uint64_t>(jump);
  watch.obstacle = seal_slots(*region) ? nullptr : kCodeIsFixed;
  return watch;
}

void prepare_modules() {
  begin_throttling();
  prepare_new_modules();
  if (code_is_fixed) return;
  const char* reason = watch_loader();
  note_loader_watch(reason == nullptr);
  if (reason && !profile.settings.exact.empty()) {
    remark(Text<200>{"libraries loaded later are only sampled: "}.add(reason).c_str());
  }
}

void recognize_prepared() {
  recognize_rewritten();
  recognize_throttled();
  settle_new_modules();
}

}  // namespace fbleprof::capture
