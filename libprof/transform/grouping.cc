#include "transform/grouping.h"

#include <fmt/format.h>

namespace fbleprof::transform {

using namespace profile;

namespace {

const Label* find_label(const Profile& profile, const std::vector<Label>& labels,
                        const std::string& key) {
  for (const Label& label : labels) {
    if (profile.text(label.key) == key) return &label;
  }
  return nullptr;
}

}  // namespace

Result<Split> parse_split(const std::string& text) {
  if (text == "process") return Split{Axis::kProcess, {}};
  if (text == "thread") return Split{Axis::kThread, {}};
  if (text == "host") return Split{Axis::kHost, {}};
  if (text == "file") return Split{Axis::kFile, {}};
  if (text.starts_with("label:") && text.size() > 6) {
    return Split{Axis::kLabel, text.substr(6)};
  }
  return Error{"",
               {},
               fmt::format("cannot split by \"{}\"", text),
               "process, host, thread, label:KEY or file"};
}

GroupMaker::GroupMaker(const Profile& profile, const std::vector<Split>& splits,
                       StringInterner& strings, Functions& functions)
    : profile_(profile),
      splits_(splits),
      strings_(strings),
      functions_(functions),
      groups_(profile.groups()) {
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (!functions.group[f]) continue;
    by_name_.try_emplace(std::string(profile.text(functions.name[f])), FunctionId(f));
  }
}

Group GroupMaker::group(const Tree& tree, const Split& split) {
  const Process& process = profile_.processes()[tree.process.index()];
  const Thread* thread = tree.thread ? &profile_.threads()[tree.thread.index()] : nullptr;
  Group group{.axis = split.axis};
  switch (split.axis) {
    case Axis::kProcess: {
      const std::string_view executable = profile_.text(process.executable);
      group.name =
          strings_.intern(executable.empty() ? profile_.text(process.file) : base_name(executable));
      group.number = process.pid;
      group.process = process.identity;
      break;
    }
    case Axis::kThread:
      group.name = thread->name;
      // A chain of threads has the name of its last thread, and no number.
      group.number = thread->threads_served > 1 ? 0 : thread->tid;
      group.process = process.identity;
      break;
    case Axis::kHost:
      group.name = process.host;
      break;
    case Axis::kFile:
      group.name = process.file;
      break;
    case Axis::kLabel: {
      // The closest label counts: the tree's, then its thread's, then its process's.
      const Label* label =
          tree.labels
              ? find_label(profile_, profile_.label_sets()[tree.labels.index()], split.label)
              : nullptr;
      if (label == nullptr && thread != nullptr) {
        label = find_label(profile_, thread->labels, split.label);
      }
      if (label == nullptr) label = find_label(profile_, process.labels, split.label);
      group.key = strings_.intern(split.label);
      if (label != nullptr) group.name = label->value;
      break;
    }
  }
  return group;
}

std::string GroupMaker::name_of(const Group& group, const Tree& tree) const {
  const std::string_view name = strings_.get(group.name);
  switch (group.axis) {
    case Axis::kProcess:
      return fmt::format("{} ({})", name, group.number);
    case Axis::kThread: {
      const Thread& thread = profile_.threads()[tree.thread.index()];
      if (thread.threads_served > 1) {
        return fmt::format("thread \"{}\" (and {} before it)", name, thread.threads_served - 1);
      }
      return fmt::format("thread \"{}\" ({})", name, group.number);
    }
    case Axis::kHost:
      return name.empty() ? "[host not known]" : std::string(name);
    case Axis::kFile:
      return std::string(name);
    case Axis::kLabel:
      return group.name ? fmt::format("{}={}", strings_.get(group.key), name)
                        : fmt::format("[no {}]", strings_.get(group.key));
  }
  return {};
}

bool GroupMaker::is_group(FunctionId function, const Group& group) const {
  const Group& known = groups_[functions_.group[function.index()].index()];
  return known.axis == group.axis && known.process == group.process;
}

FunctionId GroupMaker::function_of(const Group& group, const Tree& tree) {
  const std::string name = name_of(group, tree);
  const std::string_view file = profile_.text(profile_.processes()[tree.process.index()].file);
  FunctionId known;
  for (const std::string& unique : {name, fmt::format("{} of {}", name, file)}) {
    const auto [at, added] = by_name_.try_emplace(unique, FunctionId());
    if (added) {
      at->second = functions_.add({.kind = FunctionKind::kBlock,
                                   .name = strings_.intern(unique),
                                   .group = GroupId(groups_.size())});
      groups_.push_back(group);
    }
    known = at->second;
    if (is_group(known, group)) break;
  }
  return known;
}

std::vector<FunctionId> GroupMaker::above(const Tree& tree, const Counterparts& counterparts) {
  std::vector<FunctionId> above;
  if (!tree.process) return above;
  Tree counterpart = tree;
  if (!counterparts.process.empty()) {
    counterpart.process = counterparts.process[tree.process.index()];
    if (tree.thread) counterpart.thread = counterparts.thread[tree.thread.index()];
  }
  for (const Split& split : splits_) {
    if (split.axis == Axis::kThread && !tree.thread) continue;
    const bool is_of_run = split.axis == Axis::kProcess || split.axis == Axis::kThread;
    const Tree& shown = is_of_run ? counterpart : tree;
    above.push_back(function_of(group(shown, split), shown));
  }
  return above;
}

std::shared_ptr<const std::vector<Group>> GroupMaker::take() {
  return std::make_shared<std::vector<Group>>(std::move(groups_));
}

}  // namespace fbleprof::transform
