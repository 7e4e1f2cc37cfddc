#include "transform/join.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "profile/fit_sums.h"
#include "transform/function_flags.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

class Joiner {
 public:
  Profile run(const std::vector<Profile>& profiles) {
    for (const Profile& profile : profiles) {
      for (const Metric& metric : profile.metrics()) find_or_add(metric);
    }
    for (const Profile& profile : profiles) add(profile);
    Parts parts;
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      if (!columns_[m].empty()) {
        columns_[m].resize(nodes_.count());
        metrics_[m].values = std::make_shared<Counts>(std::move(columns_[m]));
      }
    }
    parts.strings = std::make_shared<Strings>(strings_.take());
    parts.processes = std::make_shared<std::vector<Process>>(std::move(processes_));
    parts.threads = std::make_shared<std::vector<Thread>>(std::move(threads_));
    parts.modules = std::make_shared<std::vector<Module>>(std::move(modules_));
    parts.functions = std::make_shared<Functions>(std::move(functions_));
    parts.sites = std::make_shared<Sites>(std::move(sites_));
    parts.label_sets = std::make_shared<std::vector<LabelSet>>(std::move(label_sets_));
    parts.trees = std::make_shared<std::vector<Tree>>(std::move(trees_));
    parts.nodes = std::make_shared<Nodes>(std::move(nodes_));
    parts.edges = std::make_shared<Edges>(std::move(edges_));
    parts.groups = std::make_shared<std::vector<Group>>(std::move(groups_));
    parts.metrics = std::move(metrics_);
    parts.sites_apart = sites_apart_;
    parts.warnings = std::move(warnings_);
    fit_sums(parts, "");
    return Profile(std::move(parts));
  }

 private:
  std::size_t find_or_add(const Metric& metric) {
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      if (metrics_[m].name == metric.name && metrics_[m].unit == metric.unit) return m;
    }
    metrics_.push_back(metric);
    metrics_.back().values = nullptr;
    columns_.emplace_back();
    return metrics_.size() - 1;
  }

  void add(const Profile& profile) {
    // Ids of this profile, by their old index.
    std::vector<StringId> strings(profile.strings().size());
    for (std::size_t i = 0; i < strings.size(); ++i) {
      strings[i] = strings_.intern(profile.strings().get(StringId(i)));
    }
    const auto text = [&](StringId id) { return id ? strings[id.index()] : StringId(); };

    const std::size_t first_process = processes_.size(), first_thread = threads_.size();
    for (Process process : profile.processes()) {
      for (StringId* id :
           {&process.file, &process.executable, &process.command_line, &process.working_directory,
            &process.host, &process.goes_on_in, &process.identity}) {
        *id = text(*id);
      }
      for (StringId& note : process.notes) note = text(note);
      for (Label& label : process.labels) label = {text(label.key), text(label.value)};
      processes_.push_back(std::move(process));
    }
    for (Thread thread : profile.threads()) {
      thread.name = text(thread.name);
      for (Label& label : thread.labels) label = {text(label.key), text(label.value)};
      if (thread.process) thread.process = ProcessId(thread.process.index() + first_process);
      threads_.push_back(std::move(thread));
    }

    std::vector<ModuleId> modules;
    for (const Module& module : profile.modules()) {
      const Module moved{text(module.path), text(module.build_id), module.flags};
      const auto [it, added] =
          module_index_.try_emplace({moved.path, moved.build_id}, ModuleId(modules_.size()));
      if (added) modules_.push_back(moved);
      modules_[it->second.index()].flags |= moved.flags;
      modules.push_back(it->second);
    }
    const auto module_of = [&](ModuleId id) { return id ? modules[id.index()] : ModuleId(); };

    std::vector<GroupId> groups;
    for (const Group& group : profile.groups()) {
      groups.emplace_back(groups_.size());
      groups_.push_back(
          {group.axis, text(group.key), text(group.name), group.number, text(group.process)});
    }
    sites_apart_ |= profile.sites_apart();
    const auto group_of = [&](GroupId id) { return id ? groups[id.index()] : GroupId(); };
    const std::vector<FunctionId> functions =
        add_functions(profile.functions(), text, module_of, group_of);
    std::vector<SiteId> sites;
    for (std::size_t i = 0; i < profile.sites().count(); ++i) {
      const Sites& from = profile.sites();
      // Without a module, an address is of no known code: only the line tells places apart.
      const bool has_module = from.module[i].valid();
      const auto [it, added] = site_index_.try_emplace(
          {module_of(from.module[i]), from.address[i], has_module ? StringId() : text(from.file[i]),
           has_module ? 0 : from.line[i]},
          SiteId(sites_.count()));
      if (added) {
        sites_.module.push_back(module_of(from.module[i]));
        sites_.address.push_back(from.address[i]);
        sites_.file.push_back(text(from.file[i]));
        sites_.line.push_back(from.line[i]);
      }
      sites.push_back(it->second);
    }
    const std::size_t first_label_set = label_sets_.size();
    for (LabelSet set : profile.label_sets()) {
      for (Label& label : set) label = {text(label.key), text(label.value)};
      label_sets_.push_back(std::move(set));
    }
    add_trees(profile, functions, sites, first_process, first_thread, first_label_set);
    warnings_.insert(warnings_.end(), profile.warnings().begin(), profile.warnings().end());
  }

  template <class Text, class ModuleOf, class GroupOf>
  std::vector<FunctionId> add_functions(const Functions& from, Text text, ModuleOf module_of,
                                        GroupOf group_of) {
    std::vector<FunctionId> ids;
    ids.reserve(from.count());
    for (std::size_t i = 0; i < from.count(); ++i) {
      const ModuleId module = module_of(from.module[i]);
      const StringId name = text(from.name[i]), file = text(from.file[i]);
      // A block's number has a meaning only in its process: name, file and line identify the block.
      const std::uint64_t address = from.kind[i] == FunctionKind::kBlock ? 0 : from.address[i];
      const auto key = std::make_tuple(
          from.kind[i], module, address, name, file, from.line[i],
          static_cast<std::uint16_t>(from.flags[i] & (kFunctionInlined | format::kFunctionStandIn)),
          from.group[i].valid());
      const auto [it, added] = function_index_.try_emplace(key, FunctionId(functions_.count()));
      if (added) {
        functions_.add({.kind = from.kind[i],
                        .module = module,
                        .address = from.address[i],
                        .name = name,
                        .file = file,
                        .line = from.line[i],
                        .flags = from.flags[i],
                        .size = from.size[i],
                        .linkage_name = text(from.linkage_name[i]),
                        .column = from.column[i],
                        .language = text(from.language[i]),
                        .group = group_of(from.group[i]),
                        .unit = text(from.unit[i]),
                        .namesakes = from.namesakes[i]});
      } else {
        std::uint16_t& flags = functions_.flags[it->second.index()];
        flags = joined_flags(flags, from.flags[i]);
      }
      ids.push_back(it->second);
    }
    return ids;
  }

  void add_trees(const Profile& profile, const std::vector<FunctionId>& functions,
                 const std::vector<SiteId>& sites, std::size_t first_process,
                 std::size_t first_thread, std::size_t first_label_set) {
    const std::size_t first_node = nodes_.count();
    const auto moved = [&](NodeId id) { return id ? NodeId(id.index() + first_node) : id; };
    for (Tree tree : profile.trees()) {
      tree.begin = moved(tree.begin);
      tree.end = moved(tree.end);
      if (tree.process) tree.process = ProcessId(tree.process.index() + first_process);
      if (tree.thread) tree.thread = ThreadId(tree.thread.index() + first_thread);
      if (tree.labels) tree.labels = LabelSetId(tree.labels.index() + first_label_set);
      trees_.push_back(tree);
    }
    const Nodes& nodes = profile.nodes();
    for (std::size_t n = 0; n < nodes.count(); ++n) {
      nodes_.parent.push_back(moved(nodes.parent[n]));
      nodes_.function.push_back(functions[nodes.function[n].index()]);
      nodes_.depth.push_back(nodes.depth[n]);
      nodes_.subtree_end.push_back(static_cast<std::uint32_t>(nodes.subtree_end[n] + first_node));
    }
    const Edges& edges = profile.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      edges_.from.push_back(moved(edges.from[e]));
      edges_.to.push_back(moved(edges.to[e]));
      edges_.kind.push_back(edges.kind[e]);
      edges_.flags.push_back(edges.flags[e]);
      edges_.calls.push_back(edges.calls[e]);
      edges_.site.push_back(edges.site[e] ? sites[edges.site[e].index()] : SiteId());
    }
    for (const Metric& metric : profile.metrics()) {
      if (!metric.values) continue;
      Counts& column = columns_[find_or_add(metric)];
      column.resize(first_node);
      for (std::size_t n = 0; n < metric.values->size(); ++n) column.push_back((*metric.values)[n]);
    }
  }

  using FunctionIndexKey = std::tuple<FunctionKind, ModuleId, std::uint64_t, StringId, StringId,
                                      std::uint32_t, std::uint16_t, bool>;

  StringInterner strings_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  std::vector<Module> modules_;
  std::vector<Group> groups_;
  bool sites_apart_ = false;
  Functions functions_;
  Sites sites_;
  std::vector<LabelSet> label_sets_;
  std::vector<Tree> trees_;
  Nodes nodes_;
  Edges edges_;
  std::vector<Metric> metrics_;
  std::vector<Counts> columns_;
  std::vector<std::string> warnings_;
  std::map<std::pair<StringId, StringId>, ModuleId> module_index_;
  std::map<FunctionIndexKey, FunctionId> function_index_;
  std::map<std::tuple<ModuleId, std::uint64_t, StringId, std::uint32_t>, SiteId> site_index_;
};

}  // namespace

Profile join(const std::vector<Profile>& profiles) {
  if (profiles.size() == 1) return profiles.front();
  return Joiner().run(profiles);
}

}  // namespace fbleprof::transform
