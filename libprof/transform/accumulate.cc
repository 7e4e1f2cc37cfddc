#include "transform/accumulate.h"

#include <algorithm>
#include <map>

#include "transform/join.h"
#include "transform/rebuild.h"
#include "transform/same_module.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// Each process's part of each metric, noted with the process while its trees are still separate.
std::shared_ptr<const std::vector<Process>> with_totals(const Profile& profile) {
  auto processes = std::make_shared<std::vector<Process>>(profile.processes());
  for (const Tree& tree : profile.trees()) {
    if (!tree.process) continue;
    std::vector<MetricTotal>& totals = (*processes)[tree.process.index()].totals;
    for (const Metric& metric : profile.metrics()) {
      auto it = std::find_if(totals.begin(), totals.end(),
                             [&](const MetricTotal& t) { return t.metric == metric.name; });
      if (it == totals.end()) it = totals.insert(it, {metric.name, 0});
      for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
        metric.add(it->value, metric.value(NodeId(n)));
      }
    }
  }
  return processes;
}

}  // namespace

void Accumulator::add(Profile profile) {
  nodes_ += profile.nodes().count();
  held_.push_back(mark_twins(profile));
  profile = Profile();
  // Joining copies everything held, so it waits until as much again has been added.
  const std::size_t allowed = std::max(options_.most_nodes, 2 * collapsed_nodes_);
  if (held_.size() > options_.most_profiles || (held_.size() > 1 && nodes_ > allowed)) collapse();
}

void Accumulator::collapse() {
  Profile all = join(held_);
  held_.clear();

  Rebuilding how;
  StringInterner strings(all.strings());
  auto functions = std::make_shared<Functions>(all.functions());
  how.root = functions->add({.kind = FunctionKind::kRoot, .name = strings.intern("[root]")});
  GroupMaker groups(all, options_.splits, strings, *functions);
  for (const Tree& tree : all.trees()) how.groups.push_back(groups.above(tree));
  how.folded.resize(functions->count());
  for (std::size_t f = 0; f < functions->count() && !options_.keep_leaves; ++f) {
    how.folded[f] = functions->kind[f] == FunctionKind::kInstruction;
  }

  Parts parts = all.parts();
  parts.processes = with_totals(all);
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = std::move(functions);
  parts.groups = groups.take();
  all = Profile();
  held_.push_back(rebuild(Profile(std::move(parts)), how));
  nodes_ = collapsed_nodes_ = held_.front().nodes().count();
}

Profile Accumulator::take() {
  if (held_.empty()) return Profile();
  Profile all = join(held_);
  held_.clear();
  nodes_ = collapsed_nodes_ = 0;
  return all;
}

}  // namespace fbleprof::transform
