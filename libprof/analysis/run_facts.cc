#include "analysis/run_facts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/costs.h"
#include "base/capped.h"

namespace fbleprof::analysis {

using namespace profile;

std::uint64_t tree_total(const Profile& profile, const Metric* metric, const Tree& tree) {
  if (metric == nullptr) return 0;
  if (tree.figures == nullptr) return total(profile, *metric, tree);
  for (const MetricTotal& total : tree.figures->totals) {
    if (total.metric == metric->name) return total.value;
  }
  return 0;
}

std::uint64_t process_total(const Profile& profile, const Metric& metric, ProcessId process) {
  std::uint64_t own = 0;
  for (const MetricTotal& merged : profile.processes()[process.index()].totals) {
    if (merged.metric == metric.name) metric.add(own, merged.value);
  }
  for (const Tree& tree : profile.trees()) {
    if (tree.process == process) metric.add(own, tree_total(profile, &metric, tree));
  }
  return own;
}

std::uint64_t node_count_of(const Tree& tree) {
  if (tree.figures != nullptr) return tree.figures->node_count;
  return tree.end.index() - tree.begin.index();
}

namespace {

// How many threads there were. The profiles of one process (fbleprof_profile_write) each have a
// record of the same thread.
std::uint64_t count_threads(const Profile& profile, ProcessId process) {
  using Key = std::pair<StringId, std::uint32_t>;  // the process's identity, the thread's id
  std::map<Key, std::map<ProcessId, std::uint64_t>> known;
  std::uint64_t count = 0;
  for (const Thread& thread : profile.threads()) {
    if (process && thread.process != process) continue;
    const StringId identity =
        thread.process ? profile.processes()[thread.process.index()].identity : StringId();
    if (identity) {
      std::uint64_t& served = known[{identity, thread.tid}][thread.process];
      served = capped_sum(served, thread.threads_served);
    } else {
      count = capped_sum(count, thread.threads_served);
    }
  }
  for (const auto& [key, by_file] : known) {
    std::uint64_t most = 0;
    for (const auto& [file, threads] : by_file) most = std::max(most, threads);
    count = capped_sum(count, most);
  }
  return count;
}

}  // namespace

RunFacts run_facts(const Profile& profile, ProcessId process) {
  RunFacts facts;
  facts.threads = count_threads(profile, process);
  const auto add = [](std::uint64_t& sum, std::uint64_t value) { sum = capped_sum(sum, value); };
  for (const Thread& thread : profile.threads()) {
    if (process && thread.process != process) continue;
    add(facts.cpu_ns, thread.cpu_ns);
    add(facts.wall_ns, thread.wall_ns);
    add(facts.samples, thread.samples);
    if (thread.threads_served > 1) add(facts.charged_ends, thread.threads_served - 1);
    add(facts.dropped, thread.dropped);
    add(facts.threads_left_out, thread.flags >> format::kThreadsLeftOutShift);
    add(facts.lost_calls, thread.lost_calls);
    add(facts.deep_calls, thread.deep_calls);
    add(facts.unmatched, thread.unmatched);
    facts.hooked_threads += (thread.flags & format::kThreadHooked) != 0;
  }
  for (std::size_t p = 0; p < profile.processes().size(); ++p) {
    if (process && process != ProcessId(p)) continue;
    add(facts.unrecorded_ns, profile.processes()[p].unrecorded_cpu_ns);
    facts.is_imported |= profile.processes()[p].is_imported;
  }
  std::vector<bool> counted(profile.nodes().count());
  for (const Tree& tree : profile.trees()) {
    if (process && tree.process != process) continue;
    ++facts.trees;
    facts.node_count += node_count_of(tree);
    add(facts.overhead_ns, tree_total(profile, profile.find_metric(Role::kOwnCost), tree));
    add(facts.calls, tree_total(profile, profile.find_metric(Role::kCalls), tree));
    add(facts.ticks, tree_total(profile, profile.find_metric(Role::kVirtualTime), tree));
    if (tree.figures != nullptr) {
      facts.edge_count += tree.figures->edge_count;
      facts.deepest = std::max<std::uint64_t>(facts.deepest, tree.figures->deepest);
    }
    for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      counted[n] = true;
      facts.deepest = std::max<std::uint64_t>(facts.deepest, profile.nodes().depth[n]);
    }
  }
  for (const NodeId from : profile.edges().from) facts.edge_count += counted[from.index()];
  return facts;
}

std::uint64_t reached_hz(const RunFacts& facts) {
  if (facts.cpu_ns == 0 || facts.is_imported) return 0;
  const std::uint64_t by_signals = facts.samples - std::min(facts.samples, facts.charged_ends);
  return static_cast<std::uint64_t>(
      static_cast<double>(by_signals) * 1e9 / static_cast<double>(facts.cpu_ns) + 0.5);
}

}  // namespace fbleprof::analysis
