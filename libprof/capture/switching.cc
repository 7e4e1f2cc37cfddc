#include "capture/switching.h"

#include <errno.h>
#include <linux/membarrier.h>

#include <atomic>
#include <utility>

#include "arch/hook_site.h"
#include "capture/description.h"
#include "capture/found_threads.h"
#include "capture/hook_sites.h"
#include "capture/module_choice.h"
#include "capture/modules.h"
#include "capture/profile.h"
#include "capture/slots.h"
#include "plan/plan.h"
#include "signal_safe/session.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::capture {

using arch::kernel_call;
using format::Module;
using signal_safe::session;

namespace {

constexpr int kExecutable = PROT_READ | PROT_EXEC;

std::atomic<bool> code_is_locked{false};

bool is_on() { return session.recording.load(); }

// The sites of one module, in its region behind the slots.
struct Sites {
  HookNames names;  // what a site calls
  std::uint32_t count;
  std::uint32_t taken_back;  // how many follow the others in the list
  std::uint32_t offsets[1];  // from the module's begin; there are more

  static constexpr std::uint64_t bytes(std::uint64_t most) {
    return sizeof(Sites) + most * sizeof(std::uint32_t);
  }
};
Sites& sites_of(const Region& region) { return *reinterpret_cast<Sites*>(end_of_slots(region)); }

bool has_sites(const Region& region) {
  return region.use == RegionUse::kSites || region.use == RegionUse::kCalledHooks;
}

Region* take_sites(const Module& module, RegionUse use, std::uint64_t most) {
  const std::uint32_t slots = use == RegionUse::kSites ? hook_copy_slots() : 0;
  Region* region = take_region(module, use, {slots, 0}, Sites::bytes(most));
  if (region) sites_of(*region) = {};
  return region;
}

bool protect_code(const ModuleImage& image, int protection) {
  bool done = true;
  image.for_each_code(
      [&](std::uint64_t begin, std::uint64_t end) { done &= protect(begin, end, protection); });
  return done;
}

bool open_code(const ModuleImage& image) {
  if (protect_code(image, kExecutable | PROT_WRITE)) return true;
  protect_code(image, kExecutable);
  return false;
}

void remark_of(const Module& module, const char* before, const char* after) {
  static Path path;
  remark(Text<600>{before}.add(path_of(module, path)).add(after).c_str());
}

// Whether a filter leaves out the function at `address`. Then the report says that it does.
bool is_left_out(const ModuleImage& image, std::uint64_t address) {
  if (!session.code_map.left_out().contains(address)) return false;
  const signal_safe::CodeRange range = signal_safe::code_range_in(image.object(), address);
  if (range.exact) {
    session.code_map.note_refusal(range.start, range.size,
                                  static_cast<std::uint8_t>(plan::Reason::kLeftOut));
  }
  return true;
}

// Makes sites of the found places, as far as they still hold NOPs. Returns how many.
std::uint32_t make_sites(const ModuleImage& image, SiteList& list, std::uint64_t entry) {
  std::uint32_t made = 0;
  for (std::uint32_t i = 0; i < list.count(); ++i) {
    std::uint8_t* at = list.at(i);
    const auto* end = reinterpret_cast<const std::uint8_t*>(
        image.segment_end(reinterpret_cast<std::uint64_t>(at), PF_X));
    std::uint64_t room = arch::room_for_site(at, end);
    if (room == 0) room = arch::room_in_sled(at, end);
    if (is_left_out(image, reinterpret_cast<std::uint64_t>(at))) continue;
    if (room != 0 && arch::make_site(at, room, entry, is_on())) list.move(i, made++);
  }
  return made;
}

// Once: what keeps us from reading one file (no descriptors are left) keeps us from others, too.
void note_unknown_room(const Path& path) {
  static bool is_told = false;
  if (!is_told) {
    add_note(Text<600>{"if it has room for hooks, it is only sampled: cannot read "}
                 .add(path.c_str())
                 .c_str());
    profile.tells_a_loss = true;
  }
  is_told = true;
}

void make_sites_of(const Module& module) {
  const ModuleImage image = ModuleImage::of(module);
  static Path path;
  if (image.count == 0 || code_is_fixed || !may_be_changed(module, path_of(module, path))) return;
  const File file(path.c_str(), O_RDONLY);
  if (!file) {
    // A file that is gone, or the kernel's own module, is not worth a note.
    if (file.error() != ENOENT) note_unknown_room(path);
    return;
  }
  const PatchableSections sections = find_patchable_sections(file, image);
  if (sections.is_unknown) note_unknown_room(path);
  const std::uint64_t most = sections.most_sites();
  if (most == 0) return;
  Region* region = take_sites(module, RegionUse::kSites, most);
  if (!region) {
    return remark_of(module, "only sampled: ", Text<80>{": "}.add(why_no_region()).c_str());
  }
  Sites& sites = sites_of(*region);
  SiteList list(module.begin, sites.offsets, most);
  // Libraries of some distributions have less room, for live patching.
  const bool has_small = find_patchable(image, sections, list) != 0;
  if (has_small && (module.flags & format::kModuleIsMain) != 0) {
    remark_of(module, "",
              ": some patchable functions have less than 5 bytes of NOPs, and are not counted "
              "(compile with -fpatchable-function-entry=5)");
  }
  const auto entry = reinterpret_cast<std::uint64_t>(hook_copy_in(*region));
  write_hook_copy(*region, {fbleprof_patched_hook, fbleprof_patched_hook_missed});
  if (!seal_slots(*region) || !open_code(image)) {
    code_is_fixed = true;
    return remark_of(module, "only sampled: ", Text<80>{": "}.add(kCodeIsFixed).c_str());
  }
  sites.names.add(entry);
  sites.count = make_sites(image, list, entry);
  protect_code(image, kExecutable);
}

// Switches the sites of a region. Skips places that are not sites any more.
void set_sites(const Region& region, const ModuleImage& image) {
  const Sites& sites = sites_of(region);
  const bool on = is_on();
  bool is_open = false;
  for (std::uint32_t i = 0; i < sites.count; ++i) {
    const std::uint64_t address = region.module_begin + sites.offsets[i];
    auto* at = reinterpret_cast<std::uint8_t*>(address);
    if (!image.has(address, arch::kSlotSiteBytes, PF_X) ||
        !sites.names.has(arch::named_by_site(at))) {
      continue;
    }
    if (!is_open && !open_code(image)) return;
    is_open = true;
    arch::switch_site(at, on);
  }
  if (is_open) protect_code(image, kExecutable);
}

// Rewritten functions call their hooks from trampolines, which are ours.
void set_trampolines() {
  const bool on = is_on();
  for_each_code_region([on](const Region& region) {
    if (region.use != RegionUse::kTrampolines || !open_slots(region)) return;
    for (std::uint32_t i = 0; i < region.slots.functions; ++i) {
      if (functions_of(region)[i].is_taken_back != 0) continue;
      arch::switch_site(hook_call_of(region, i), on);
    }
    seal_slots(region);
  });
}

void set_sites_of(std::uint64_t module_begin, const ModuleImage& image) {
  for_each_code_region([&](Region& region) {
    if (has_sites(region) && region.module_begin == module_begin) {
      set_sites(region, image);
    }
  });
}

// Modules that call no hook, by their begin, so that they are searched only once.
std::uint64_t without_hooks[signal_safe::Trampolines::kMost];

bool is_searched(std::uint64_t module_begin) {
  for (const std::uint64_t begin : without_hooks) {
    if (begin == module_begin) return true;
  }
  bool found = false;
  for_each_code_region([&](const Region& region) {
    found |= region.use == RegionUse::kCalledHooks && region.module_begin == module_begin;
  });
  return found;
}

void note_searched(std::uint64_t module_begin, std::uint64_t before = 0) {
  for (std::uint64_t& begin : without_hooks) {
    if (begin != before) continue;
    begin = module_begin;
    return;
  }
}

// Lists the calls of hooks that the compiler put into the module.
void list_called_hooks(const Module& module, const ModuleImage& image) {
  if (is_searched(module.begin)) return;
  HookNames names = find_hook_slots(image);
  if (names.count == 0 || is_recorder(module)) return note_searched(module.begin);
  const std::uint64_t most = signal_safe::entry_count(image.object());
  Region* region = take_sites(module, RegionUse::kCalledHooks, most);
  if (!region) return note_searched(module.begin);
  Sites& sites = sites_of(*region);
  SiteList list(module.begin, sites.offsets, most);
  find_called_hooks(image, names, list);
  sites.names = names;
  sites.count = list.count();
}

// Whether the loader has not unmapped the module without a dlclose.
bool is_here(const Module& module) {
  return (module.flags & format::kModuleIsMain) != 0 || is_mapped(module.begin);
}

void follow_recording(const Module& module) {
  const ModuleImage image = ModuleImage::of(module);
  if (!is_on()) list_called_hooks(module, image);
  set_sites_of(module.begin, image);
}

// How many threads are in dlclose, and whether a switch was postponed for them.
std::uint32_t unloading = 0;
bool is_pending = false;

}  // namespace

CodeLock::CodeLock(Wanted wanted) {
  while (!(held_ = !code_is_locked.exchange(true, std::memory_order_acquire)) &&
         wanted == Wanted::kAlways) {
    kernel_call(SYS_sched_yield);
  }
}
CodeLock::~CodeLock() {
  if (held_) code_is_locked.store(false, std::memory_order_release);
}

// If the kernel cannot do that, the change of protection must suffice.
void synchronize_cores() {
  if (!profile.perf_allowed) return;  // a confined program may die of a new kind of system call
  constexpr long kBarrier = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
  constexpr long kRegister = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
  if (kernel_call(SYS_membarrier, kBarrier, 0, 0) == 0) return;
  if (kernel_call(SYS_membarrier, kRegister, 0, 0) == 0) {
    kernel_call(SYS_membarrier, kBarrier, 0, 0);
  }
}

void make_sites_of_new_modules() {
  for_each_new_module([](Module& module) {
    note_searched(0, module.begin);
    if (is_recorder(module)) return;
    if ((module.flags & format::kModuleIsExact) == 0) make_sites_of(module);
    if (!is_on() && !code_is_fixed) follow_recording(module);
  });
}

void switch_sites() {
  if (profile.confined || code_is_fixed) return;
  {
    const CodeLock lock;
    set_trampolines();
    is_pending = unloading != 0;
    // Code of a program that we were attached to is not changed.
    if (!is_pending && !are_threads_found()) {
      for_each_loaded_module([](const Module& module) {
        if (is_here(module)) follow_recording(module);
      });
    }
  }
  synchronize_cores();
}

bool take_back_site(std::uint64_t hook_return) {
  const std::uint64_t address = hook_return - arch::kSiteBytes;
  if (unloading != 0) return false;
  bool done = false;
  for_each_code_region([&](const Region& region) {
    const Module* module = loaded_module_at(region.module_begin);
    if (region.use != RegionUse::kSites || !module || !is_here(*module)) return;
    if (address < module->begin || address >= module->end) return;
    const ModuleImage image = ModuleImage::of(*module);
    Sites& sites = sites_of(region);
    for (std::uint32_t i = 0; i < sites.count && !done; ++i) {
      if (module->begin + sites.offsets[i] != address || !open_code(image)) continue;
      arch::switch_site(reinterpret_cast<std::uint8_t*>(address), false);
      protect_code(image, kExecutable);
      std::swap(sites.offsets[i], sites.offsets[--sites.count]);
      ++sites.taken_back;
      done = true;
    }
  });
  return done;
}

void for_each_site_taken_back(void (*function)(std::uint64_t hook_return)) {
  for_each_code_region([&](const Region& region) {
    if (region.use != RegionUse::kSites || !loaded_module_at(region.module_begin)) return;
    const Sites& sites = sites_of(region);
    for (std::uint32_t i = 0; i < sites.taken_back; ++i) {
      function(region.module_begin + sites.offsets[sites.count + i] + arch::kSiteBytes);
    }
  });
}

void before_unloading() {
  if (profile.confined) return;
  const CodeLock lock;
  ++unloading;
}

void after_unloading() {
  if (!session.arena.base()) return;  // in a child that was forked meanwhile
  if (profile.confined) {             // no lock: one that is held would need a system call
    if (is_profiling()) note_unloading(Unloaded::kAll);
    return;
  }
  bool must_switch;
  {
    const CodeLock lock;
    // The loader has told of its own namespace's modules, before another thread could load more.
    if (is_profiling()) note_unloading(is_loader_watched() ? Unloaded::kOthers : Unloaded::kAll);
    if (unloading != 0) --unloading;  // 0: in a child that was forked meanwhile
    must_switch = is_pending && unloading == 0;
  }
  if (must_switch) switch_sites();
}

void forget_switches_under_way() {
  if (code_is_locked.exchange(false)) is_pending = true;
}

void recover_sites() {
  unloading = 0;
  if (is_pending) switch_sites();
}

}  // namespace fbleprof::capture
