#include "capture/exact.h"

#include <link.h>

#include "arch/call_instruction.h"
#include "arch/trampoline.h"
#include "capture/adapters.h"
#include "capture/kernel_file.h"
#include "capture/module_choice.h"
#include "capture/modules.h"
#include "capture/plans.h"
#include "capture/profile.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using arch::kTrampolineBytes;
using format::Module;
using signal_safe::session;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHeadBytes = kTrampolineBytes;  // of a region: the hook's address

// The trampolines of one module.
struct Region {
  char* base;
  std::uint64_t bytes;
  std::uint32_t slots;
  std::uint64_t module_begin;

  std::uint8_t* slot(std::uint64_t index) const {
    return reinterpret_cast<std::uint8_t*>(base) + kHeadBytes + index * kTrampolineBytes;
  }
  std::uint64_t entry(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t>(slot(index)) + arch::kTrampolineEntry;
  }
};
Region regions[signal_safe::Trampolines::kMost];
std::uint32_t region_count = 0;

char* map_at(std::uint64_t address, std::uint64_t bytes) {
  const long at =
      kernel_call(SYS_mmap, static_cast<long>(address), static_cast<long>(bytes),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (kernel_failed(at)) return nullptr;
  if (static_cast<std::uint64_t>(at) == address) return reinterpret_cast<char*>(at);
  kernel_call(SYS_munmap, at, static_cast<long>(bytes));
  return nullptr;
}

// Memory from which all of the module can be reached by a distance of 32 bits. Below the module, if
// possible: the program's heap grows above it.
char* map_near(const Module& module, std::uint64_t bytes) {
  constexpr std::uint64_t kStep = 1 << 16;
  constexpr std::uint64_t kReach = 0x70000000;  // with room for the module's own size
  constexpr std::uint64_t kHeap = 0x40000000;
  for (std::uint64_t away = kStep; away < kReach; away += kStep) {
    if (module.begin < bytes + away + kStep) break;
    if (char* at = map_at((module.begin - bytes - away) / kStep * kStep, bytes)) return at;
  }
  for (std::uint64_t away = kHeap; away < kReach; away += kStep) {
    if (char* at = map_at((module.end + away) / kStep * kStep, bytes)) return at;
  }
  return nullptr;
}

bool protect(std::uint64_t begin, std::uint64_t end, int protection) {
  begin = begin / kPage * kPage;
  return !kernel_failed(kernel_call(SYS_mprotect, static_cast<long>(begin),
                                    static_cast<long>(end - begin), protection));
}

// The processor compares return addresses with a stack of its own.
bool has_shadow_stack() {
  constexpr long kStatus = 0x5005;  // ARCH_SHSTK_STATUS
  std::uint64_t features = 0;
  return kernel_call(SYS_arch_prctl, kStatus, reinterpret_cast<long>(&features)) == 0 &&
         (features & 1) != 0;
}

// One module and the plan for it.
struct Work {
  const Module& module;
  const Plan& plan;

  std::uint64_t address(std::uint64_t in_file) const { return module.load_bias + in_file; }
  std::uint8_t* bytes(std::uint64_t in_file) const {
    return reinterpret_cast<std::uint8_t*>(address(in_file));
  }
  // Sets the protection of all code.
  bool protect_text(int protection) const {
    const plan::Header& header = plan.header();
    bool done = true;
    for (std::uint32_t i = 0; i < header.segment_count; ++i) {
      done &=
          protect(address(header.segments[i].begin), address(header.segments[i].end), protection);
    }
    return done;
  }
  bool has_text(std::uint64_t in_file, std::uint64_t count) const {
    const plan::Header& header = plan.header();
    for (std::uint32_t i = 0; i < header.segment_count; ++i) {
      const plan::Range& part = header.segments[i];
      if (in_file >= part.begin && in_file + count <= part.end) return true;
    }
    return false;
  }
};

// Whether what is loaded is what the plan was made for.
bool matches(const Work& work) {
  const plan::Header& header = work.plan.header();
  for (std::uint32_t i = 0; i < header.segment_count; ++i) {
    if (work.address(header.segments[i].begin) < work.module.begin ||
        work.address(header.segments[i].end) > work.module.end) {
      return false;
    }
  }
  const plan::Trampoline* trampolines = work.plan.trampolines();
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    const plan::Trampoline& each = trampolines[i];
    if (!work.has_text(each.function, 1) || each.code_bytes > plan::kMostCode ||
        each.fixup_count > plan::kMostFixups) {
      return false;
    }
    if (each.window == 0) continue;
    if (!work.has_text(each.window, sizeof each.expected) ||
        __builtin_memcmp(work.bytes(each.window), each.expected, sizeof each.expected) != 0) {
      return false;
    }
  }
  const plan::Site* sites = work.plan.sites();
  for (std::uint32_t i = 0; i < header.sites; ++i) {
    if (!work.has_text(sites[i].at, plan::kJumpBytes) ||
        sites[i].trampoline >= header.trampolines ||
        arch::target_of_direct(work.bytes(sites[i].at)) !=
            work.address(trampolines[sites[i].trampoline].function)) {
      return false;
    }
  }
  return true;
}

// Writes one trampoline. False: something is out of reach.
bool write_slot(const Work& work, const Region& region, std::uint32_t index) {
  const plan::Trampoline& from = work.plan.trampolines()[index];
  std::uint8_t* slot = region.slot(index);
  const std::uint64_t function = work.address(from.function);
  __builtin_memcpy(slot, &function, sizeof function);
  arch::write_indirect_call(slot + arch::kTrampolineEntry, region.base);
  std::uint8_t* code = slot + arch::kTrampolineCode;
  __builtin_memcpy(code, from.code, from.code_bytes);
  for (int i = 0; i < from.fixup_count; ++i) {
    const plan::Fixup& fixup = from.fixups[i];
    std::uint8_t* at = code + fixup.at;
    std::uint64_t to = 0;
    switch (fixup.kind) {
      case plan::FixupKind::kAddress:
        to = work.address(fixup.target);
        break;
      case plan::FixupKind::kTrampoline:
        if (fixup.target >= region.slots) return false;
        to = region.entry(fixup.target);
        break;
      case plan::FixupKind::kReturnAddress: {
        const std::uint64_t back = work.address(fixup.target);
        __builtin_memcpy(slot + arch::kTrampolineWord, &back, sizeof back);
        to = reinterpret_cast<std::uint64_t>(slot + arch::kTrampolineWord);
        break;
      }
    }
    if (!arch::is_near(to, reinterpret_cast<std::uint64_t>(at) + 4 + fixup.trailing)) return false;
    arch::write_distance(at, to, fixup.trailing);
  }
  return true;
}

// The module that begins there and is loaded, or null.
Module* loaded_module_at(std::uint64_t begin) {
  for (format::Ref ref = __atomic_load_n(&session.arena.header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    auto* module = session.arena.at<Module>(ref);
    if (module->unloaded_ns == 0 && module->begin == begin) return module;
    ref = module->older;
  }
  return nullptr;
}

// A region that served the same module, which was unloaded since, or a new one.
Region* take_region(const Module& module, std::uint64_t bytes) {
  for (std::uint32_t i = 0; i < region_count; ++i) {
    Region& old = regions[i];
    const Module* user = loaded_module_at(old.module_begin);
    const bool is_gone = user == nullptr || user == &module;
    const auto base = reinterpret_cast<std::uint64_t>(old.base);
    if (!is_gone || old.bytes != bytes || !arch::is_near(module.begin, base) ||
        !arch::is_near(module.end, base) || !arch::is_near(module.begin, base + bytes) ||
        !arch::is_near(module.end, base + bytes)) {
      continue;
    }
    return protect(base, base + bytes, PROT_READ | PROT_WRITE) ? &old : nullptr;
  }
  if (region_count == signal_safe::Trampolines::kMost) return nullptr;
  char* base = map_near(module, bytes);
  if (!base) return nullptr;
  Region& made = regions[region_count];
  made = {base, bytes, 0, 0};
  const auto first = reinterpret_cast<std::uint64_t>(base) + kHeadBytes;
  const auto end = reinterpret_cast<std::uint64_t>(base) + bytes;
  if (!session.trampolines.add(first, first + (end - first) / kTrampolineBytes * kTrampolineBytes))
    return nullptr;
  ++region_count;
  return &made;
}

void note_refusals(const Work& work) {
  const plan::Refusal* refusals = work.plan.refusals();
  for (std::uint32_t i = 0; i < work.plan.header().refusals; ++i) {
    session.code_map.note_refusal(work.address(refusals[i].function), refusals[i].size,
                                  static_cast<std::uint8_t>(refusals[i].reason));
  }
}

// Where the system enforces W^X (seccomp, SELinux), one line says so, and nothing more is tried.
constexpr char kForbidden[] = "the system forbids changing code (W^X)";
bool is_forbidden = false;

// Why the module was not rewritten; null: it was.
const char* apply(const Work& work) {
  const plan::Header& header = work.plan.header();
  if (header.trampolines == 0) return header.error[0] ? header.error : "it has no functions";
  if (!matches(work)) return "its code is not what its plan was made for";
  const std::uint64_t bytes =
      (kHeadBytes + header.trampolines * kTrampolineBytes + kPage - 1) / kPage * kPage;
  Region* region = take_region(work.module, bytes);
  if (!region) return "there is no memory near it";
  region->slots = header.trampolines;
  region->module_begin = work.module.begin;
  const auto* hook = fbleprof_exact_hook;
  __builtin_memcpy(region->base, &hook, sizeof hook);
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    if (!write_slot(work, *region, i)) return "it is too large";
  }
  const auto base = reinterpret_cast<std::uint64_t>(region->base);
  if (!protect(base, base + bytes, PROT_READ | PROT_EXEC)) {
    is_forbidden = true;
    return kForbidden;
  }
  if (!work.protect_text(PROT_READ | PROT_WRITE | PROT_EXEC)) {
    work.protect_text(PROT_READ | PROT_EXEC);
    is_forbidden = true;
    return kForbidden;
  }
  const bool no_pushes = has_shadow_stack();
  const plan::Trampoline* trampolines = work.plan.trampolines();
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    const plan::Trampoline& each = trampolines[i];
    if (no_pushes && each.pushes_return) {
      session.code_map.note_refusal(work.address(each.function), 0,
                                    static_cast<std::uint8_t>(plan::Reason::kShadowStack));
      continue;
    }
    if (each.window != 0) arch::write_jump(work.bytes(each.window), region->entry(i));
  }
  const plan::Site* sites = work.plan.sites();
  for (std::uint32_t i = 0; i < header.sites; ++i) {
    arch::write_distance(work.bytes(sites[i].at) + 1, region->entry(sites[i].trampoline));
  }
  work.protect_text(PROT_READ | PROT_EXEC);
  return nullptr;
}

const char* path_of(const Module& module, Path& path) {
  const auto* text = session.arena.at<format::String>(module.path);
  path.clear();
  for (std::uint32_t i = 0; i < text->length; ++i) path.add(text->bytes[i]);
  return path.c_str();
}

// Modules for which a plan was asked once.
bool is_settled(const Module& module) { return (module.flags & format::kModuleIsSettled) != 0; }

template <typename Function>
void for_each_new(Function function) {
  for (format::Ref ref = __atomic_load_n(&session.arena.header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    auto* module = session.arena.at<Module>(ref);
    if (module->unloaded_ns == 0 && !is_settled(*module)) function(*module);
    ref = module->older;
  }
}

struct Orders {
  PlanOrder order;
  Path modules[kMostPlans], plans[kMostPlans];
};

// The recorder itself, whatever the name of its file: hooks in it would call themselves.
bool is_recorder(const Module& module) {
  const auto own = reinterpret_cast<std::uint64_t>(&rewrite_program);
  return own >= module.begin && own < module.end;
}

void order_missing_plans() {
  static Orders orders;  // a megabyte, touched only as far as used
  orders.order.count = 0;
  const Settings& settings = profile.settings;
  for_each_new([&](Module& module) {
    int& count = orders.order.count;
    if (count == kMostPlans) return;
    path_of(module, orders.modules[count]);
    if (is_recorder(module) || !is_chosen({settings.exact.c_str(), settings.exact_except.c_str()},
                                          module, orders.modules[count].c_str())) {
      __atomic_fetch_or(&module.flags, format::kModuleIsSettled, __ATOMIC_RELAXED);
      return;
    }
    orders.plans[count] = plan_path(settings.exact_plans.c_str(), module);
    Plan plan;
    if (orders.plans[count].empty() || plan.open(orders.plans[count].c_str())) return;
    orders.order.paths[2 * count] = orders.plans[count].c_str();
    orders.order.paths[2 * count + 1] = orders.modules[count].c_str();
    ++count;
  });
  make_plans(settings.exact_tool.c_str(), orders.order);
}

void rewrite_new_modules() {
  order_missing_plans();
  for_each_new([&](Module& module) {
    __atomic_fetch_or(&module.flags, format::kModuleIsSettled, __ATOMIC_RELAXED);
    if (is_forbidden) return;
    Plan plan;
    const Work work{module, plan};
    const char* reason = "no plan could be made";
    static Path path;
    if (plan.open(plan_path(profile.settings.exact_plans.c_str(), module).c_str())) {
      reason = apply(work);
    }
    if (is_forbidden) {
      remark(Text<200>{"--exact: only sampled: "}.add(kForbidden).c_str());
      return;
    }
    if (reason) {
      remark(Text<600>{"not counted exactly, only sampled: "}
                 .add(path_of(module, path))
                 .add(": ")
                 .add(reason)
                 .c_str());
      return;
    }
    __atomic_fetch_or(&module.flags, format::kModuleIsExact, __ATOMIC_RELAXED);
    note_refusals(work);
  });
}

// The loader calls its r_brk, which does nothing, when modules were mapped, before it relocates
// them and runs their constructors.
extern "C" __attribute__((used)) void fbleprof_modules_changed() {
  if (_r_debug.r_state != r_debug::RT_CONSISTENT || !is_profiling() || !is_own_process()) return;
  add_mapped_modules();
  rewrite_new_modules();
}

void watch_loader() {
  auto* function = reinterpret_cast<std::uint8_t*>(_r_debug.r_brk);
  std::uint8_t* place = function ? arch::only_returns(function) : nullptr;
  const char* reason = "the loader is not as expected";
  if (place) {
    const auto at = reinterpret_cast<std::uint64_t>(place);
    Module loader{};
    loader.begin = at / kPage * kPage;
    loader.end = loader.begin + kPage;
    reason = kForbidden;
    char* jump = map_near(loader, kPage);
    auto* to = &fbleprof_modules_changed;
    if (jump) {
      __builtin_memcpy(jump, &to, sizeof to);
      arch::write_indirect_jump(reinterpret_cast<std::uint8_t*>(jump) + 16, jump);
      const auto page = reinterpret_cast<std::uint64_t>(jump);
      if (protect(page, page + kPage, PROT_READ | PROT_EXEC) &&
          protect(at, at + 5, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        arch::write_jump(place, page + 16);
        protect(at, at + 5, PROT_READ | PROT_EXEC);
        return;
      }
    }
  }
  remark(Text<200>{"libraries loaded later are only sampled: "}.add(reason).c_str());
}

}  // namespace

void rewrite_program() {
  if (profile.settings.exact.empty()) return;
  // The calls of scripts are counted, and of what they call. Those of the interpreter's own
  // functions are so many that only who asks for them by name gets them.
  if (equal(profile.settings.exact.c_str(), kProgramAndLibraries) && is_python()) return;
  rewrite_new_modules();
  if (!is_forbidden) watch_loader();
}

void recognize_rewritten() {
  if (profile.settings.exact.empty()) return;
  for_each_new([](Module& module) { module.flags |= format::kModuleIsSettled; });
  for (std::uint32_t i = 0; i < region_count; ++i) {
    Module* module = loaded_module_at(regions[i].module_begin);
    if (module) module->flags |= format::kModuleIsExact;
  }
}

}  // namespace fbleprof::capture
