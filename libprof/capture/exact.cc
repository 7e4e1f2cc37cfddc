#include "capture/exact.h"

#include "arch/trampoline.h"
#include "capture/adapters.h"
#include "capture/kernel_file.h"
#include "capture/module_choice.h"
#include "capture/modules.h"
#include "capture/plans.h"
#include "capture/profile.h"
#include "capture/rewriting.h"
#include "plan/plan.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using format::Module;
using signal_safe::session;

namespace {

// Sets the protection of all segments of code.
bool protect_text(const Work& work, int protection) {
  const plan::Header& header = work.plan.header();
  bool done = true;
  for (std::uint32_t i = 0; i < header.segment_count; ++i) {
    const plan::Range& segment = header.segments[i];
    done &= protect(work.address(segment.begin), work.address(segment.end), protection);
  }
  return done;
}

void change(const TextPlace& place) {
  if (place.is_entry) {
    arch::write_jump(place.at, place.trampoline);
  } else {
    arch::write_distance(place.at + 1, place.trampoline);
  }
}

const char* apply(const Work& work) { return rewrite_module(work, nullptr); }

void order_missing_plans() {
  const Settings& settings = profile.settings;
  PlanOrder order(settings.exact_tool.c_str(), "--plan", nullptr);
  for_each_new_module([&](const Module& module) {
    static Path path, kept;
    if (!is_wanted(module, path_of(module, path))) return;
    kept = plan_path(settings.exact_plans.c_str(), module);
    Plan plan;
    if (!kept.empty() && !plan.open(kept.c_str())) order.add(kept, path);
  });
}

void rewrite_new_module(Module& module, const char* (*rewrite)(const Work&)) {
  static Path path, kept;
  if (code_is_fixed || !is_wanted(module, path_of(module, path))) return;
  Plan plan;
  const Work work{module, plan};
  kept = plan_path(profile.settings.exact_plans.c_str(), module);
  const char* reason = kept.empty() ? "its file is gone"
                       : profile.settings.exact_tool.empty()
                           ? "--exact needs fble-prof, which makes plans"
                           : "no plan could be made";
  if (plan.open(kept.c_str())) reason = rewrite(work);
  if (reason) release_regions(module.begin);
  if (reason == kCodeIsFixed) {
    code_is_fixed = true;
    remark(Text<200>{"--exact: only sampled: "}.add(kCodeIsFixed).c_str());
    return;
  }
  if (reason) {
    remark_not_counted(path.c_str(), reason);
    return;
  }
  __atomic_fetch_or(&module.flags, format::kModuleIsExact, __ATOMIC_RELAXED);
  note_refusals(work);
}

// Scripts' calls are counted, and the calls that they make. The interpreter's own functions are
// called so often that they are counted only if the user names the interpreter.
void leave_python_out() {
  static bool is_left_out = false;
  if (!is_left_out) profile.settings.exact_except.add(",libpython3");
  is_left_out = true;
}

}  // namespace

bool is_wanted(const Module& module, const char* path) {
  const Settings& settings = profile.settings;
  return !is_recorder(module) &&
         is_chosen({settings.exact.c_str(), settings.exact_except.c_str()}, module, path) &&
         is_listed(module);
}

void remark_not_counted(const char* path, const char* reason) {
  remark(Text<600>{plan::kNotCountedRemark}.add(path).add(": ").add(reason).c_str());
}

const char* rewrite_module(const Work& work, bool (*note)(const Work&, const Region&)) {
  if (const char* reason = obstacle_to_trampolines(work)) return reason;
  Region* region = nullptr;
  if (const char* reason = write_trampolines(work, &region)) return reason;
  if (note && !note(work, *region)) return "there is no memory";
  const bool is_open = protect_text(work, PROT_READ | PROT_WRITE | PROT_EXEC);
  if (is_open) for_each_text_place(work, *region, change);
  protect_text(work, PROT_READ | PROT_EXEC);
  return is_open ? nullptr : kCodeIsFixed;
}

void rewrite_new_modules() {
  if (profile.settings.exact.empty()) return;
  if (equal(profile.settings.exact.c_str(), kProgramAndLibraries) && is_python()) {
    if (is_python_itself()) return;
    leave_python_out();
  }
  rewrite_new_modules(apply);
}

void rewrite_new_modules(const char* (*rewrite)(const Work&)) {
  order_missing_plans();
  // The program first: the number of modules that can be rewritten has a limit.
  for (const bool is_program : {true, false}) {
    for_each_new_module([&](Module& module) {
      if (((module.flags & format::kModuleIsMain) != 0) == is_program) {
        rewrite_new_module(module, rewrite);
      }
    });
  }
}

void recognize_rewritten() {
  for_each_code_region([](Region& region) {
    Module* module = loaded_module_at(region.module_begin);
    if (!module || region.use != RegionUse::kTrampolines) return;
    module->flags |= format::kModuleIsExact;
    Plan plan;
    if (plan.open_of(*module, profile.settings.exact_plans.c_str())) {
      note_refusals({*module, plan});
    }
  });
}

}  // namespace fbleprof::capture
