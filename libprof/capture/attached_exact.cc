#include "capture/attached_exact.h"

#include "capture/attached_loading.h"
#include "capture/exact.h"
#include "capture/fork_child.h"
#include "capture/found_threads.h"
#include "capture/modules.h"
#include "capture/namespaces.h"
#include "capture/profile.h"
#include "capture/rewriting.h"
#include "capture/signals.h"
#include "capture/switching.h"
#include "capture/text_changes.h"
#include "capture/text_memory.h"
#include "capture/threads.h"
#include "capture/throttling.h"
#include "capture/unknown_names.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using format::Module;
using format::OrderModule;
using format::put_text;
using format::RecorderOrder;
using format::TextChange;
using format::TextChanges;
using signal_safe::session;

namespace {

bool is_rewritten(const Module* module) {
  return module && (module->flags & format::kModuleIsExact) != 0;
}

// Says it once: each attach tries again.
void remark_once(const Module& module, const char* path, const char* reason) {
  constexpr std::uint32_t kMost = 64;
  static std::uint64_t told[kMost];
  static std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (told[i] == module.begin) return;
  }
  if (count < kMost) told[count++] = module.begin;
  remark_not_counted(path, reason);
}

// Another thread may switch trampolines with recording meanwhile. Nothing that is done with the
// lock reads code of the program: if that is unloaded, fble-prof lets this thread go on where it
// was before the order, and a lock would be held for good.
const char* write_trampolines_in_turn(const Work& work, Region** region) {
  const CodeLock lock;
  return write_trampolines(work, region);
}

// Adds the module to the order if its calls are to be counted.
void choose(const Module& module, RecorderOrder& order) {
  static Path path;
  if (is_rewritten(&module) || !is_wanted(module, path_of(module, path))) return;
  OrderModule& chosen = order.modules[order.count];
  chosen.begin = module.begin;
  const Path stem = plan_stem(order.plan_folder, module);
  if (stem.empty() || !put_text(chosen.path, path.c_str()) ||
      !put_text(chosen.plan_stem, stem.c_str())) {
    return remark_once(module, path.c_str(), "its path is too long, or not known");
  }
  ++order.count;
}

// Returns why the module cannot be counted; null if it is prepared.
const char* prepare_module(Module& module, const OrderModule& with) {
  Plan plan;
  const KeptPlan kept{module.begin, reinterpret_cast<const char*>(with.given), with.given_bytes};
  if (with.given == 0 || !plan.adopt(kept.bytes, kept.size)) return "no plan could be made";
  const Work work{module, plan};
  if (const char* reason = obstacle_to_trampolines(work)) return reason;
  Region* region = nullptr;
  if (const char* reason = write_trampolines_in_turn(work, &region)) return reason;
  if (!keep_plan(kept) || !list_changes(work, *region)) return "there is no memory";
  __atomic_fetch_or(&module.flags, format::kModuleIsExact, __ATOMIC_RELAXED);
  note_refusals(work);
  return nullptr;
}

// At the first hook of a thread that no sample has found yet.
void attach_at_hook() {
  if (!owns_profile()) return;
  SamplingBlocked guard;
  attach_found_thread(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
}

// A forked child is noticed by the memory of a thread: it is wiped there. The child may be forked
// before any thread is attached.
void provide_thread_memory() {
  if (ThreadStart* start = prepare_thread()) cancel_thread(start);
}

}  // namespace

// Why exact counts cannot be prepared now; null: they can.
const char* obstacle_to_counting() {
  if (profile.confined) return "it has confined itself";
  if (code_is_fixed) return kCodeIsFixed;
  if (!do_found_threads_tell_end()) {
    return "it uses so many thread-specific values that the ends of threads are not noticed";
  }
  return nullptr;
}

void choose_modules(RecorderOrder& order) {
  note_unloading(Unloaded::kAll);
  add_mapped_modules();
  drop_lists_of_unloaded();
  order.choice[sizeof order.choice - 1] = order.plan_folder[sizeof order.plan_folder - 1] = 0;
  order.tool[sizeof order.tool - 1] = 0;
  profile.settings.exact = Text<1024>{order.choice};
  profile.settings.exact_plans = Path{order.plan_folder};
  profile.settings.exact_tool = Path{order.tool};
  order.count = 0;
  for (Module* module = next_loaded_module(order.after);
       module && order.count < format::kMostOrderModules;
       module = next_loaded_module(module->begin)) {
    choose(*module, order);
  }
  remark_other_namespaces();
  remark_unknown_names();
}

void prepare_counting(RecorderOrder& order) {
  provide_thread_memory();
  session.attach_thread = attach_at_hook;
  fbleprof_attach_lazily = 1;
  begin_throttling();
  for (std::uint32_t i = 0; i < order.count; ++i) {
    const OrderModule& with = order.modules[i];
    Module* module = loaded_module_at(with.begin);
    if (!module || is_rewritten(module)) continue;
    const char* reason = prepare_module(*module, with);
    if (!reason) continue;
    release_regions(module->begin);
    remark_once(*module, with.path, reason);
  }
  if (!watch_loading(order.tool[0] != 0)) {
    static bool is_told = false;
    if (!is_told) remark("libraries loaded later are only sampled");
    is_told = true;
  }
  for_each_list([](TextChanges& list) {
    static Path path;
    const Module* module = loaded_module_at(list.module_begin);
    list.is_chosen = module && is_wanted(*module, path_of(*module, path));
  });
}

void finish_counting() {
  for_each_list([](TextChanges& list) {
    for (std::uint32_t i = 0; i < list.count; ++i) {
      const TextChange& change = changes_of(list)[i];
      if (!list.is_chosen || !change.is_kept_out) continue;
      session.code_map.note_unhooked(change.function,
                                     static_cast<std::uint8_t>(plan::Reason::kOccupied), 0);
    }
  });
  pass_over_loaded_modules();
}

}  // namespace fbleprof::capture
