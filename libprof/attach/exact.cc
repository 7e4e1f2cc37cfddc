#include "attach/exact.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "attach/attach.h"
#include "attach/borrowed_thread.h"
#include "attach/loaded_file.h"
#include "attach/orders.h"
#include "attach/stopped_process.h"
#include "attach/text_changes.h"
#include "format/recorder_order.h"

namespace fbleprof::attach {

using format::OrderStep;
using format::put_text;
using format::RecorderOrder;

namespace {

// Writes the choice into the order.
std::string fault_of(const ExactChoice& choice, RecorderOrder& order) {
  if (!put_text(order.choice, choice.modules.c_str())) {
    return "--exact: more than 1000 bytes of names";
  }
  if (!put_text(order.plan_folder, choice.plan_folder.c_str())) {
    return "--exact: the folder for plans has a name of more than 1000 bytes";
  }
  return {};
}

Result<bool> choose_modules(pid_t pid, const std::string& library, const ExactChoice& choice,
                            RecorderOrder& order) {
  if (const std::string fault = fault_of(choice, order); !fault.empty()) {
    return error_of(pid, fault);
  }
  // Libraries that are loaded later are only sampled, if this fails.
  if (sees_file(pid, choice.tool) && sees_file(pid, choice.plan_folder)) {
    (void)put_text(order.tool, choice.tool.c_str());
  }
  return obey_in_any_thread(pid, library, order);
}

Result<bool> prepare(pid_t pid, const std::string& library, const ExactChoice& choice,
                     RecorderOrder& order) {
  std::vector<std::string> plans;
  const std::vector<Mapping> mappings = mappings_of(pid);
  for (std::uint32_t i = 0; i < order.count; ++i) {
    const Mapping* mapping = mapping_from(mappings, order.modules[i].begin);
    const std::string file = mapping ? mapped_file_from_outside(pid, *mapping) : std::string();
    plans.push_back(file.empty() ? file : choice.plan_of(order.modules[i].plan_stem, file));
  }
  const auto thread = BorrowedThread::take(pid);
  if (!thread) return thread.error();
  for (std::uint32_t i = 0; i < order.count; ++i) hand_over(**thread, plans[i], order.modules[i]);
  order.step = OrderStep::kPrepareCounting;
  return obey(pid, library, **thread, order);
}

void take_back(pid_t pid, const std::vector<ModuleChanges>& modules) {
  for (const ModuleChanges& each : modules) (void)write_text(pid, each, Text::kOriginal).ok();
}

// Changes the text of the chosen modules, and takes back what was changed for others. `counting`
// (may be null) learns whether calls are counted then.
Result<ExactChange> change_text(pid_t pid, std::vector<ModuleChanges>& modules,
                                HeldChanges* counting) {
  ExactChange done;
  StoppedProcess process(pid);
  const auto start = std::chrono::steady_clock::now();
  const auto kept_out = keep_occupied_out(pid, process, modules);
  if (!kept_out) return kept_out.error();
  done.kept_out = *kept_out;
  const std::vector<Mapping> mappings = mappings_of(pid);
  for (const ModuleChanges& module : modules) {
    if (!mapping_from(mappings, module.head.module_begin)) continue;
    const bool is_chosen = module.head.is_chosen != 0;
    const auto written = write_text(pid, module, is_chosen ? Text::kChanged : Text::kOriginal);
    if (!written) {
      take_back(pid, modules);
      if (counting) counting->set_counting(false);
      return written.error();
    }
    if (is_chosen && module.head.is_watch == 0) done.places += *written;
  }
  if (counting) counting->set_counting(true);
  done.stopped = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  return done;
}

}  // namespace

std::string fault_of(const ExactChoice& choice) {
  return fault_of(choice, *order_for(OrderStep::kChooseModules));
}

Status watch_program(pid_t pid, const std::string& library) {
  const Status bad =
      insist(pid, [&] { return obey_in_any_thread(pid, library, *order_for(OrderStep::kWatch)); });
  if (bad) return bad;
  auto held = HeldChanges::hold(pid, library);
  if (!held) return held.error();
  std::vector<ModuleChanges> modules = read_changes(pid, library);
  std::erase_if(modules, [](const ModuleChanges& each) { return each.head.is_watch == 0; });
  const auto changed = change_text(pid, modules, nullptr);
  if (!changed) return changed.error();
  return std::nullopt;
}

Status unwatch_signals(pid_t pid, const std::string& library) {
  return insist(pid,
                [&] { return obey_in_any_thread(pid, library, *order_for(OrderStep::kUnwatch)); });
}

Status prepare_to_count_calls(pid_t pid, const std::string& library, const ExactChoice& choice) {
  const Status bad = insist_in_rounds(pid, OrderStep::kChooseModules, [&](RecorderOrder& order) {
    auto chosen = choose_modules(pid, library, choice, order);
    return chosen && *chosen ? prepare(pid, library, choice, order) : chosen;
  });
  if (bad) return bad;
  const std::vector<ModuleChanges> modules = read_changes(pid, library);
  if (std::none_of(modules.begin(), modules.end(), [](const ModuleChanges& each) {
        return each.head.is_chosen != 0 && each.head.is_watch == 0 && !each.changes.empty();
      })) {
    return error_of(pid, "--exact: no module can be counted", "the report's summary says why");
  }
  return std::nullopt;
}

Result<ExactChange> count_calls(pid_t pid, const std::string& library) {
  const auto done = [&]() -> Result<ExactChange> {
    auto held = HeldChanges::hold(pid, library);
    if (!held) return held.error();
    std::vector<ModuleChanges> modules = read_changes(pid, library);
    return change_text(pid, modules, &*held);
  }();
  if (done) {
    const Status bad = insist(pid, [&] {
      return obey_in_any_thread(pid, library, *order_for(OrderStep::kFinishCounting));
    });
    // A program that loads libraries all the time: the next one is only sampled.
    if (bad && done->kept_out != 0) return *bad;
  }
  return done;
}

Result<ExactChange> stop_counting_calls(pid_t pid, const std::string& library) {
  auto held = HeldChanges::hold(pid, library);
  if (!held) return held.error();
  std::vector<ModuleChanges> modules;
  for (const ModuleChanges& each : read_changes(pid, library)) {
    modules.push_back(made_changes(pid, each));
    if (modules.back().changes.empty()) modules.pop_back();
  }
  ExactChange done;
  if (modules.empty()) {
    held->set_counting(false);
    return done;
  }
  StoppedProcess process(pid);
  const auto start = std::chrono::steady_clock::now();
  if (const Status bad = process.stop()) return *bad;
  for (const ModuleChanges& module : modules) {
    const auto written = write_text(pid, module, Text::kOriginal);
    if (!written) {
      // Calls are counted as before: no thread has run meanwhile.
      for (const ModuleChanges& each : modules) (void)write_text(pid, each, Text::kChanged).ok();
      return written.error();
    }
    if (module.head.is_watch == 0) done.places += *written;
  }
  held->set_counting(false);
  done.stopped = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  return done;
}

}  // namespace fbleprof::attach
