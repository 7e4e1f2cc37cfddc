#include "transform/merge.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "transform/regroup.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// By function: the first that is the same to people.
std::vector<FunctionId> classes(const Profile& profile) {
  const Functions& functions = profile.functions();
  using Key = std::tuple<FunctionKind, StringId, StringId, StringId, std::uint64_t, std::uint16_t>;
  std::map<Key, FunctionId> index;
  std::vector<FunctionId> class_of(functions.count());
  for (std::size_t f = 0; f < functions.count(); ++f) {
    const ModuleId module = functions.module[f];
    const StringId path = module ? profile.modules()[module.index()].path : StringId();
    const bool named =
        !profile.text(functions.name[f]).empty() && functions.kind[f] != FunctionKind::kInstruction;
    // Blocks of one name may stand at several lines of one file: their line tells them apart.
    const bool block = functions.kind[f] == FunctionKind::kBlock;
    const std::uint64_t place = !named ? functions.address[f] : block ? functions.line[f] : 0;
    const Key key{functions.kind[f],
                  path,
                  named ? functions.name[f] : StringId(),
                  named ? functions.file[f] : StringId(),
                  place,
                  static_cast<std::uint16_t>(functions.flags[f] & kFunctionInlined)};
    class_of[f] = index.try_emplace(key, FunctionId(f)).first->second;
  }
  return class_of;
}

std::string process_name(const Profile& profile, const Process& process) {
  const std::string_view executable = profile.text(process.executable);
  return fmt::format("{} ({})",
                     executable.empty() ? profile.text(process.file) : base_name(executable),
                     process.pid);
}

std::string thread_name(const Profile& profile, const Thread& thread) {
  if (thread.threads_served > 1) {
    return fmt::format("thread \"{}\" (and {} before it)", profile.text(thread.name),
                       thread.threads_served - 1);
  }
  return fmt::format("thread \"{}\" ({})", profile.text(thread.name), thread.tid);
}

}  // namespace

Profile merge(const Profile& profile, const MergeOptions& options) {
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(profile.functions());
  const auto add_function = [&](std::string_view name, FunctionKind kind) {
    return functions->add({.kind = kind, .name = strings.intern(name)});
  };

  Regrouping how;
  how.root = add_function("[root]", FunctionKind::kRoot);
  const bool by_process =
      options.group_by == GroupBy::kProcess || options.group_by == GroupBy::kProcessAndThread;
  const bool by_thread =
      options.group_by == GroupBy::kThread || options.group_by == GroupBy::kProcessAndThread;
  std::map<std::string, FunctionId> group_functions;
  for (const Tree& tree : profile.trees()) {
    std::vector<FunctionId>& groups = how.groups.emplace_back();
    const auto add_group = [&](const std::string& name) {
      const auto [it, added] = group_functions.try_emplace(name, FunctionId());
      if (added) it->second = add_function(name, FunctionKind::kBlock);
      groups.push_back(it->second);
    };
    if (by_process && tree.process) {
      add_group(process_name(profile, profile.processes()[tree.process.index()]));
    }
    if (by_thread && tree.thread) {
      add_group(thread_name(profile, profile.threads()[tree.thread.index()]));
    }
  }

  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = functions;
  const Profile extended{parts};
  how.class_of = classes(extended);
  how.folded.resize(functions->count());
  for (std::size_t f = 0; f < functions->count(); ++f) {
    how.folded[f] = !options.keep_leaves && functions->kind[f] == FunctionKind::kInstruction;
    functions->flags[how.class_of[f].index()] |= functions->flags[f];
  }
  return regroup(extended, how);
}

}  // namespace fbleprof::transform
