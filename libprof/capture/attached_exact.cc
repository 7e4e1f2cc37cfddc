#include "capture/attached_exact.h"

#include <errno.h>
#include <link.h>

#include <atomic>

#include "arch/kernel.h"
#include "arch/trampoline.h"
#include "capture/exact.h"
#include "capture/fork_child.h"
#include "capture/found_threads.h"
#include "capture/modules.h"
#include "capture/own_memory.h"
#include "capture/profile.h"
#include "capture/rewriting.h"
#include "capture/signals.h"
#include "capture/text_memory.h"
#include "capture/throttling.h"
#include "capture/unknown_names.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using format::ExactAnswer;
using format::ExactModule;
using format::ExactOrder;
using format::ExactStep;
using format::Module;
using format::TextChange;
using format::TextChanges;
using signal_safe::session;

constinit const TextChanges* text_changes = nullptr;

namespace {

static_assert(format::kTextChangeBytes == plan::kJumpBytes &&
              format::kTextChangeBytes == arch::kDirectBytes);

// Why exact counts cannot be prepared now; null: they can.
const char* obstacle_to(const ExactOrder& order) {
  if (order.version != format::kExactVersion) {
    return "its recorder is that of another fble-prof: restart the program";
  }
  if (!is_profiling() || !is_own_process()) return "its recorder has ended";
  if (!are_threads_found()) return "it was started with the recorder: use --exact there";
  if (profile.confined) return "it has confined itself (seccomp)";
  if (code_is_fixed) return kCodeIsFixed;
  if (!do_found_threads_tell_end()) {
    return "it uses so many thread-specific values that the ends of threads are not noticed";
  }
  return nullptr;
}

// The fble-prof whose order is obeyed. An order can end in the middle: another thread unloads the
// module that it reads, and fble-prof lets the traced thread go on where it was. Nothing is
// half-done then that matters: a list is added when it is complete, and a region that no list names
// is written again.
std::atomic<std::uint32_t> tracer{0};

bool is_running(std::uint32_t pid) {
  return arch::kernel_call(SYS_kill, static_cast<long>(pid), 0) != -ESRCH;
}

bool take_turn(std::uint32_t pid) {
  std::uint32_t holder = tracer.load();
  return (holder == 0 || holder == pid || !is_running(holder)) &&
         tracer.compare_exchange_strong(holder, pid);
}

TextChanges* next_of(const TextChanges* list) { return reinterpret_cast<TextChanges*>(list->next); }
TextChange* changes_of(TextChanges* list) { return reinterpret_cast<TextChange*>(list + 1); }

template <typename Function>
void for_each_list(Function function) {
  for (auto* list = const_cast<TextChanges*>(text_changes); list; list = next_of(list)) {
    function(*list);
  }
}

bool is_rewritten(const Module* module) {
  return module && (module->flags & format::kModuleIsExact) != 0;
}

// Another module may be at the place of one that was unloaded.
void drop_lists_of_unloaded() {
  for_each_list([](TextChanges& list) {
    if (!is_rewritten(loaded_module_at(list.module_begin))) list.count = 0;
  });
}

template <std::size_t kBytes>
bool put(char (&field)[kBytes], const char* text) {
  const std::size_t length = __builtin_strlen(text);
  if (length >= kBytes) return false;
  __builtin_memcpy(field, text, length + 1);
  return true;
}

// Says it once: each attach tries again.
void remark_once(Module& module, const char* path, const char* reason) {
  if ((module.flags & format::kModuleIsSettled) != 0) return;
  __atomic_fetch_or(&module.flags, format::kModuleIsSettled, __ATOMIC_RELAXED);
  remark_not_counted(path, reason);
}

void choose_modules(ExactOrder& order) {
  note_unloading();
  add_mapped_modules();
  drop_lists_of_unloaded();
  order.choice[sizeof order.choice - 1] = order.plan_folder[sizeof order.plan_folder - 1] = 0;
  profile.settings.exact = Text<1024>{order.choice};
  order.count = 0;
  for_each_loaded_module([&](Module& module) {
    static Path path;
    if (is_rewritten(&module) || order.count == format::kMostExactModules ||
        !is_wanted(module, path_of(module, path))) {
      return;
    }
    ExactModule& chosen = order.modules[order.count];
    chosen.begin = module.begin;
    const Path plan = plan_path(order.plan_folder, module);
    if (plan.empty() || !put(chosen.path, path.c_str()) || !put(chosen.plan_path, plan.c_str())) {
      return remark_once(module, path.c_str(), "its path is too long, or not known");
    }
    ++order.count;
  });
  remark_unknown_names();
}

void fill(TextChange& change, const TextPlace& place) {
  change = {};
  change.address = reinterpret_cast<std::uint64_t>(place.at);
  change.function = place.function;
  change.is_entry = place.is_entry;
  __builtin_memcpy(change.original, place.at, sizeof change.original);
  __builtin_memcpy(change.changed, place.at, sizeof change.changed);
  if (place.is_entry) {
    arch::replace_by_jump(change.changed, change.address, place.trampoline);
  } else {
    arch::redirect(change.changed, change.address, place.trampoline);
  }
}

// Adds a list of the changes that lead to the region's trampolines. False: there is no memory.
bool list_changes(const Work& work, const Region& region) {
  std::uint32_t count = 0;
  for_each_text_place(work, region, [&](const TextPlace&) { ++count; });
  auto* list = static_cast<TextChanges*>(
      take_memory(sizeof(TextChanges) + count * sizeof(TextChange), InChild::kCopied));
  if (!list) return false;
  *list = {reinterpret_cast<std::uint64_t>(text_changes), work.module.begin, 0, 0};
  for_each_text_place(
      work, region, [&](const TextPlace& place) { fill(changes_of(list)[list->count++], place); });
  text_changes = list;
  return true;
}

// Returns why the module cannot be counted; null if it is prepared.
const char* prepare_module(Module& module, const ExactModule& with) {
  Plan plan;
  const KeptPlan kept{module.begin, reinterpret_cast<const char*>(with.plan), with.plan_bytes};
  if (with.plan == 0 || !plan.adopt(kept.bytes, kept.size)) return "no plan could be made";
  const Work work{module, plan};
  Region* region = nullptr;
  if (const char* reason = write_trampolines(work, &region)) return reason;
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

void prepare(ExactOrder& order) {
  session.attach_thread = attach_at_hook;
  fbleprof_attach_lazily = 1;
  begin_throttling();
  for (std::uint32_t i = 0; i < order.count; ++i) {
    const ExactModule& with = order.modules[i];
    Module* module = loaded_module_at(with.begin);
    if (!module || is_rewritten(module)) continue;
    if (const char* reason = prepare_module(*module, with)) remark_once(*module, with.path, reason);
  }
  for_each_list([](TextChanges& list) {
    static Path path;
    const Module* module = loaded_module_at(list.module_begin);
    list.is_chosen = module && is_wanted(*module, path_of(*module, path));
  });
}

void note_kept_out() {
  for_each_list([](TextChanges& list) {
    for (std::uint32_t i = 0; i < list.count; ++i) {
      const TextChange& change = changes_of(&list)[i];
      if (!list.is_chosen || !change.is_kept_out) continue;
      session.code_map.note_unhooked(change.function,
                                     static_cast<std::uint8_t>(plan::Reason::kOccupied), 0);
    }
  });
}

}  // namespace

void prepare_exact(ExactOrder& order) {
  if (__builtin_memcmp(order.magic, format::kExactMagic, sizeof order.magic) != 0) return;
  if (const char* obstacle = obstacle_to(order)) {
    order.answer = ExactAnswer::kRefused;
    put(order.reason, obstacle);
    return;
  }
  order.answer = ExactAnswer::kNotNow;
  if (_r_debug.r_state != r_debug::RT_CONSISTENT || !take_turn(order.tracer)) return;
  switch (order.step) {
    case ExactStep::kChooseModules:
      choose_modules(order);
      break;
    case ExactStep::kPrepare:
      prepare(order);
      break;
    case ExactStep::kNoteKeptOut:
      note_kept_out();
      break;
  }
  order.answer = ExactAnswer::kDone;
  tracer.store(0);
}

}  // namespace fbleprof::capture
