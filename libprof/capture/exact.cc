#include "capture/exact.h"

#include "arch/call_instruction.h"
#include "arch/trampoline.h"
#include "capture/adapters.h"
#include "capture/kernel_file.h"
#include "capture/module_choice.h"
#include "capture/modules.h"
#include "capture/plans.h"
#include "capture/profile.h"
#include "capture/slots.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using format::Module;
using signal_safe::session;

namespace {

// Whether the processor compares return addresses with its own shadow stack.
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
  const bool no_pushes = has_shadow_stack();  // of return addresses

  std::uint64_t address(std::uint64_t in_file) const { return module.load_bias + in_file; }
  std::uint8_t* bytes(std::uint64_t in_file) const {
    return reinterpret_cast<std::uint8_t*>(address(in_file));
  }
  // Sets the protection of all segments of code.
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

// Whether the loaded code is the code that the plan was made for.
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
    if (!work.has_text(each.function, 1) ||
        (each.jumps_from != 0 && !work.has_text(each.jumps_from, 1)) ||
        each.code_bytes > plan::kMostCode || each.fixup_count > plan::kMostFixups) {
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

bool leaves_out(plan::Address function) { return session.code_map.left_out().contains(function); }

// Why a function that has a trampoline is left alone here; kNone: it is not.
plan::Reason reason_to_leave(const Work& work, const plan::Trampoline& trampoline) {
  if (leaves_out(work.address(trampoline.function))) return plan::Reason::kLeftOut;
  if (trampoline.pushes_return && work.no_pushes) return plan::Reason::kShadowStack;
  return plan::Reason::kNone;
}

// Whether code is made to lead to the trampoline.
bool is_used(const Work& work, const plan::Trampoline& trampoline) {
  const bool is_of_left_out =
      trampoline.jumps_from != 0 && leaves_out(work.address(trampoline.jumps_from));
  return !is_of_left_out && reason_to_leave(work, trampoline) == plan::Reason::kNone;
}

// Writes one trampoline. False: an address is out of reach.
bool write_slot(const Work& work, const Region& region, std::uint32_t index) {
  const plan::Trampoline& from = work.plan.trampolines()[index];
  std::uint8_t* slot = slot_of(region, index);
  arch::RewrittenFunction* function = functions_of(region) + index;
  const bool is_for_tail_calls = from.jumps_from != 0;
  *function = {work.address(from.function), 0,
               is_for_tail_calls ? work.address(from.jumps_from) : 0};
  __builtin_memcpy(slot, &function, sizeof function);
  const char* hook = is_for_tail_calls ? tail_hook_copy_in(region) : hook_copy_in(region);
  arch::write_call(slot + arch::kTrampolineEntry, reinterpret_cast<std::uint64_t>(hook));
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
      case plan::FixupKind::kTrampoline: {
        if (fixup.target >= work.plan.header().trampolines) return false;
        const plan::Trampoline& other = work.plan.trampolines()[fixup.target];
        to = is_used(work, other) ? entry_of(region, fixup.target) : work.address(other.function);
        break;
      }
      case plan::FixupKind::kBehindHook:
        if (fixup.target >= work.plan.header().trampolines) return false;
        to = reinterpret_cast<std::uint64_t>(slot_of(region, fixup.target)) + arch::kTrampolineCode;
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

// Records which functions of a rewritten module are not counted.
void note_refusals(const Work& work) {
  const plan::Trampoline* trampolines = work.plan.trampolines();
  for (std::uint32_t i = 0; i < work.plan.header().trampolines; ++i) {
    const plan::Reason reason = reason_to_leave(work, trampolines[i]);
    if (reason == plan::Reason::kNone) continue;
    session.code_map.note_refusal(work.address(trampolines[i].function), 0,
                                  static_cast<std::uint8_t>(reason));
  }
  const plan::Refusal* refusals = work.plan.refusals();
  for (std::uint32_t i = 0; i < work.plan.header().refusals; ++i) {
    session.code_map.note_refusal(work.address(refusals[i].function), refusals[i].size,
                                  static_cast<std::uint8_t>(refusals[i].reason));
  }
}

// Returns why the module was not rewritten; null if it was.
const char* apply(const Work& work) {
  const plan::Header& header = work.plan.header();
  if (header.trampolines == 0) return header.error[0] ? header.error : "it has no functions";
  if (!matches(work)) return "its code is not what its plan was made for";
  Region* region =
      take_region(work.module, RegionUse::kTrampolines, {hook_copy_slots(), header.trampolines},
                  header.trampolines * sizeof(arch::RewrittenFunction));
  if (!region) return "there is no memory near it";
  write_hook_copy(*region, {fbleprof_exact_hook, fbleprof_exact_hook_missed, fbleprof_tail_hook,
                            fbleprof_tail_hook_missed});
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    if (!write_slot(work, *region, i)) return "it is too large";
  }
  if (!seal_slots(*region) || !work.protect_text(PROT_READ | PROT_WRITE | PROT_EXEC)) {
    work.protect_text(PROT_READ | PROT_EXEC);
    code_is_fixed = true;
    return kCodeIsFixed;
  }
  const plan::Trampoline* trampolines = work.plan.trampolines();
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    const plan::Trampoline& each = trampolines[i];
    if (each.window != 0 && is_used(work, each))
      arch::write_jump(work.bytes(each.window), entry_of(*region, i));
  }
  const plan::Site* sites = work.plan.sites();
  for (std::uint32_t i = 0; i < header.sites; ++i) {
    if (!is_used(work, trampolines[sites[i].trampoline])) continue;
    arch::write_distance(work.bytes(sites[i].at) + 1, entry_of(*region, sites[i].trampoline));
  }
  work.protect_text(PROT_READ | PROT_EXEC);
  return nullptr;
}

struct Orders {
  PlanOrder order;
  Path modules[kMostPlans], plans[kMostPlans];
};

bool is_wanted(const Module& module, const char* path) {
  const Settings& settings = profile.settings;
  return !is_recorder(module) &&
         is_chosen({settings.exact.c_str(), settings.exact_except.c_str()}, module, path);
}

void order_missing_plans() {
  static Orders orders;  // a megabyte, of which only the used part is touched
  orders.order.count = 0;
  const Settings& settings = profile.settings;
  for_each_new_module([&](Module& module) {
    int& count = orders.order.count;
    if (count == kMostPlans) return;
    path_of(module, orders.modules[count]);
    if (!is_wanted(module, orders.modules[count].c_str())) return;
    orders.plans[count] = plan_path(settings.exact_plans.c_str(), module);
    Plan plan;
    if (orders.plans[count].empty() || plan.open(orders.plans[count].c_str())) return;
    orders.order.paths[2 * count] = orders.plans[count].c_str();
    orders.order.paths[2 * count + 1] = orders.modules[count].c_str();
    ++count;
  });
  make_plans(settings.exact_tool.c_str(), orders.order);
}

// Scripts' calls are counted, and the calls that they make. The interpreter's own functions are
// called so often that they are counted only if the user names the interpreter.
void leave_python_out() {
  static bool is_left_out = false;
  if (!is_left_out) profile.settings.exact_except.add(",libpython3");
  is_left_out = true;
}

}  // namespace

void rewrite_new_modules() {
  if (profile.settings.exact.empty()) return;
  if (equal(profile.settings.exact.c_str(), kProgramAndLibraries) && is_python()) {
    if (is_python_itself()) return;
    leave_python_out();
  }
  order_missing_plans();
  for_each_new_module([&](Module& module) {
    static Path path;
    if (code_is_fixed || !is_wanted(module, path_of(module, path))) return;
    Plan plan;
    const Work work{module, plan};
    const char* reason = "no plan could be made";
    if (plan.open(plan_path(profile.settings.exact_plans.c_str(), module).c_str())) {
      reason = apply(work);
    }
    if (code_is_fixed) {
      remark(Text<200>{"--exact: only sampled: "}.add(kCodeIsFixed).c_str());
      return;
    }
    if (reason) {
      remark(Text<600>{"not counted exactly, only sampled: "}
                 .add(path.c_str())
                 .add(": ")
                 .add(reason)
                 .c_str());
      return;
    }
    __atomic_fetch_or(&module.flags, format::kModuleIsExact, __ATOMIC_RELAXED);
    note_refusals(work);
  });
}

void recognize_rewritten() {
  for_each_code_region([](Region& region) {
    Module* module = loaded_module_at(region.module_begin);
    if (!module || region.use != RegionUse::kTrampolines) return;
    module->flags |= format::kModuleIsExact;
    Plan plan;
    if (plan.open(plan_path(profile.settings.exact_plans.c_str(), *module).c_str())) {
      note_refusals({*module, plan});
    }
  });
}

}  // namespace fbleprof::capture
