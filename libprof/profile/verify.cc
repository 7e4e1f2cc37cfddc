#include "profile/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/flat_map.h"
#include "profile/snapshot_columns.h"

namespace fbleprof::profile {
namespace {

// A process that did not end by itself may have been stopped between two stores of one charge; one
// that is alive goes on while its file is read.
constexpr std::uint64_t kCutShortSlackNs = 100'000'000;
constexpr std::uint64_t kLiveSlackSamples = 1000;

bool ended_by_itself(const Process& process) {
  return process.state == ProcessState::kEnded || process.state == ProcessState::kExeced;
}

// Summed over all trees of a thread.
std::uint64_t sum(const Profile& profile, Role role, ThreadId thread) {
  std::uint64_t total = 0;
  const Metric* metric = profile.find_metric(role);
  if (metric == nullptr || !metric->values) return 0;
  for (const Tree& tree : profile.trees()) {
    if (tree.thread != thread) continue;
    for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      total = capped_sum(total, (*metric->values)[n]);
    }
  }
  return total;
}

std::string thread_name(const Profile& profile, const Thread& thread) {
  return fmt::format("thread {} \"{}\"", thread.tid, profile.text(thread.name));
}

bool is_ancestor_or_self(const Nodes& nodes, NodeId above, NodeId below) {
  return above.index() <= below.index() && below.index() < nodes.subtree_end[above.index()];
}

Check check_records(const ReadResult& read) {
  const Damage& damage = read.damage;
  Check check{"every reference leads to one whole record of its kind", !damage.any(), {}};
  if (damage.other != 0) {
    check.detail = fmt::format("{} faults, the first at offset {}: {}", damage.other,
                               damage.first_offset.value_or(0), damage.first_what);
  } else if (damage.beyond_end != 0) {
    check.detail = fmt::format("{} references lead beyond the end", damage.beyond_end);
  }
  return check;
}

Check check_counts(const FileImage& image, const Profile& profile) {
  const std::uint64_t nodes = image.header().node_count, edges = image.header().edge_count;
  const std::uint64_t found_nodes = profile.nodes().count();
  const auto is_tree = [](EdgeKind kind) { return kind == EdgeKind::kTree; };
  const auto found_edges = static_cast<std::uint64_t>(std::count_if(
      profile.edges().kind.begin(), profile.edges().kind.end(), std::not_fn(is_tree)));
  // A record is made first and counted afterwards, so the count of a process cut short may be one
  // off, and one more for each time a signal handler left an insertion by longjmp or by cancelling
  // the thread. A process that is alive has more by the time its trees are read. A thread that was
  // just starting has two records that are not read.
  const bool live = profile.processes().front().state == ProcessState::kLive;
  const std::uint64_t slack = 2 * (profile.trees().size() + 1) + found_nodes / 1000;
  const auto agree = [&](std::uint64_t counted, std::uint64_t found) {
    return counted <= found + slack && (live || found <= counted + slack);
  };
  return {"the header counts the nodes and edges that are there",
          agree(nodes, found_nodes) && agree(edges, found_edges),
          fmt::format("{} of {} nodes, {} of {} edges", found_nodes, nodes, found_edges, edges)};
}

// The part that one charge cut short may lack.
std::uint64_t slack_of_charge(const Profile& profile, const Thread& thread) {
  const std::uint64_t rate_hz = std::max(profile.processes().front().rate_hz, 1u);
  return kCutShortSlackNs + 1'000'000'000 / rate_hz + thread.cpu_ns / 100;
}

Check check_clock(const Profile& profile, ThreadId id, bool ended) {
  const Thread& thread = profile.threads()[id.index()];
  const std::uint64_t charged =
      capped_sum(sum(profile, Role::kCpuTime, id), sum(profile, Role::kOwnCost, id));
  const std::uint64_t difference =
      charged > thread.cpu_ns ? charged - thread.cpu_ns : thread.cpu_ns - charged;
  const std::uint64_t slack = ended ? 0 : slack_of_charge(profile, thread);
  return {
      fmt::format("{}: self times and overhead add up to its clock", thread_name(profile, thread)),
      difference <= slack,
      fmt::format("{} ns charged, {} ns on the clock", charged, thread.cpu_ns)};
}

// For each node, and in sum. The recorder's own cost is not elapsed time of a node, but of the
// thread.
Check check_elapsed(const Profile& profile, ThreadId id, bool ended) {
  constexpr std::uint64_t kSlackNs = 1'000;
  const Thread& thread = profile.threads()[id.index()];
  const Metric *cpu = profile.find_metric(Role::kCpuTime),
               *wall = profile.find_metric(Role::kWallTime),
               *wait = profile.find_metric(Role::kWaitTime),
               *unseen = profile.find_metric(Role::kUnseenTime);
  std::size_t wrong = 0;
  const auto distance = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
  for (const Tree& tree : profile.trees()) {
    if (tree.thread != id || cpu == nullptr || wall == nullptr) continue;
    for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      const NodeId node(n);
      const std::uint64_t parts =
          capped_sum(capped_sum(cpu->value(node), wait->value(node)), unseen->value(node));
      wrong += distance(parts, wall->value(node)) > kSlackNs;
    }
  }
  const std::uint64_t charged =
      capped_sum(sum(profile, Role::kWallTime, id), sum(profile, Role::kOwnCost, id));
  const std::uint64_t slack = ended ? kSlackNs : kCutShortSlackNs + thread.wall_ns / 100;
  // A charge may be under way, or cut short.
  const std::size_t most_wrong = ended ? 0 : 1;
  return {
      fmt::format("{}: CPU time, waits and unseen time are the elapsed time",
                  thread_name(profile, thread)),
      wrong <= most_wrong && distance(charged, thread.wall_ns) <= slack,
      fmt::format("{} ns charged, {} ns passed, {} nodes wrong", charged, thread.wall_ns, wrong)};
}

Check check_samples(const Profile& profile, ThreadId id) {
  const Thread& thread = profile.threads()[id.index()];
  const bool live = profile.processes().front().state == ProcessState::kLive;
  const std::uint64_t charged = sum(profile, Role::kSamples, id);
  const std::uint64_t difference =
      charged > thread.samples ? charged - thread.samples : thread.samples - charged;
  // A thread that was cancelled or killed in the middle of a sample counted the sample but charged
  // it to no node.
  const std::uint64_t cut_short = std::max<std::uint64_t>(thread.threads_served, 1);
  return {fmt::format("{}: every sample is charged to one node", thread_name(profile, thread)),
          difference <= (live ? kLiveSlackSamples : cut_short),
          fmt::format("{} on nodes, {} taken", charged, thread.samples)};
}

Check check_roots(const Profile& profile) {
  std::size_t wrong = 0;
  for (const Tree& tree : profile.trees()) {
    const FunctionId function = profile.nodes().function[tree.begin.index()];
    wrong += profile.functions().kind[function.index()] != FunctionKind::kRoot;
  }
  return {"every tree starts at [root]", wrong == 0,
          fmt::format("{} trees, {} wrong", profile.trees().size(), wrong)};
}

Check check_pairs(const Profile& profile) {
  // Preorder: a pair is on the path of node n if its last occurrence is at a node whose subtree
  // holds n.
  const Nodes& nodes = profile.nodes();
  FlatMap pairs;
  std::vector<std::uint32_t> until;
  std::size_t repeated = 0;
  std::size_t end_of_deeper = 0;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    // Below [deeper] are pairs of caller and callee, which may also be on the path above it.
    if (profile.functions().kind[nodes.function[n].index()] == FunctionKind::kDeeper) {
      end_of_deeper = nodes.subtree_end[n];
    }
    if (n < end_of_deeper || !nodes.parent[n]) continue;
    const FunctionId caller = nodes.function[nodes.parent[n].index()];
    const std::uint64_t key = std::uint64_t{caller.index()} << 32 | nodes.function[n].index();
    const auto [pair, added] = pairs.insert(key, static_cast<std::uint32_t>(until.size()));
    if (added) until.push_back(0);
    if (n < until[pair]) {
      ++repeated;
    } else {
      until[pair] = nodes.subtree_end[n];
    }
  }
  return {"no pair of caller and callee stands twice on a path", repeated == 0,
          fmt::format("{} pairs, {} repeated", until.size(), repeated)};
}

Check check_back_edges(const Profile& profile, bool pair_rule) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  std::size_t count = 0, wrong = 0;
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] != EdgeKind::kBack) continue;
    ++count;
    const NodeId from = edges.from[e], to = edges.to[e];
    bool ok = is_ancestor_or_self(nodes, to, from);
    if (ok && pair_rule) {
      const NodeId parent = nodes.parent[to.index()];
      ok = parent && nodes.function[parent.index()] == nodes.function[from.index()];
    }
    wrong += !ok;
  }
  return {pair_rule ? "every back edge leads to an ancestor that the same caller entered"
                    : "every back edge leads to an ancestor",
          wrong == 0, fmt::format("{} back edges, {} wrong", count, wrong)};
}

Check check_tail_edges(const Profile& profile, bool pair_rule) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const auto kind_of = [&](NodeId node) {
    return profile.functions().kind[nodes.function[node.index()].index()];
  };
  // Whether the parent of `node` is a copy of a caller, in the pairs of [overflow] or [deeper].
  const auto is_in_pair = [&](NodeId node) {
    const NodeId caller = nodes.parent[node.index()];
    const NodeId base = caller ? nodes.parent[caller.index()] : NodeId{};
    return base &&
           (kind_of(base) == FunctionKind::kOverflow || kind_of(base) == FunctionKind::kDeeper);
  };
  std::size_t count = 0, wrong = 0;
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] != EdgeKind::kTail) continue;
    ++count;
    // The replaced function and its replacement have the same caller. Recursion may have been
    // folded for one of them, or for both: then they are on one path, and with the pair rule the
    // callers are two nodes of one function. So they are if only one of the two found room; what
    // finds no room for a pair either is counted on [overflow] itself.
    const NodeId from = edges.from[e], to = edges.to[e];
    const NodeId caller = nodes.parent[from.index()], parent = nodes.parent[to.index()];
    const bool on_one_path =
        is_ancestor_or_self(nodes, to, from) || is_ancestor_or_self(nodes, from, to);
    const auto is_folded = [&] {
      return on_one_path &&
             (!pair_rule || nodes.function[caller.index()] == nodes.function[parent.index()]);
    };
    const auto is_without_room = [&] {
      return kind_of(to) == FunctionKind::kOverflow ||
             ((is_in_pair(from) || is_in_pair(to)) &&
              nodes.function[caller.index()] == nodes.function[parent.index()]);
    };
    wrong += !caller || !parent || (caller != parent && !is_folded() && !is_without_room());
  }
  return {"every tail edge leads to what the same caller called", wrong == 0,
          fmt::format("{} tail edges, {} wrong", count, wrong)};
}

// Adds the metrics that a formula names, word by word: "allocated - freed".
void add_terms(const Profile& profile, std::string_view formula, std::vector<std::uint64_t>& sums) {
  for (bool is_minus = false;;) {
    const std::size_t end = std::min(formula.find(" + "), formula.find(" - "));
    if (const Metric* term = profile.find_metric(formula.substr(0, end))) {
      for (std::size_t n = 0; n < sums.size(); ++n) {
        const std::uint64_t value = term->value(NodeId(n));
        sums[n] += is_minus ? 0 - value : value;
      }
    }
    if (end == std::string_view::npos) return;
    is_minus = formula[end + 1] == '-';
    formula.remove_prefix(end + 3);
  }
}

// Calls are counted on edges, and every metric with a formula equals its formula.
Check check_derived(const Profile& profile) {
  const Edges& edges = profile.edges();
  std::size_t wrong = 0, count = 0;
  for (const Metric& metric : profile.metrics()) {
    if (metric.role != Role::kCalls && metric.formula.empty()) continue;
    ++count;
    std::vector<std::uint64_t> expected(profile.nodes().count());
    if (metric.role == Role::kCalls) {
      for (std::size_t e = 0; e < edges.count(); ++e) {
        std::uint64_t& calls = expected[edges.to[e].index()];
        calls = capped_sum(calls, edges.calls[e]);
      }
    } else {
      add_terms(profile, metric.formula, expected);
    }
    for (std::size_t n = 0; n < expected.size(); ++n)
      wrong += metric.value(NodeId(n)) != expected[n];
  }
  return {"calls and derived metrics are what they come from", wrong == 0,
          fmt::format("{} metrics, {} values wrong", count, wrong)};
}

// A value that only grows was never larger than at the end.
Check check_snapshots(const Profile& profile) {
  const Snapshots& snapshots = *profile.parts().snapshots;
  std::size_t wrong = 0;
  for (const Snapshot& snapshot : snapshots.all) {
    const std::vector<Counts> then = columns_at(snapshots, snapshot, profile.metrics().size());
    for (std::size_t m = 0; m < profile.metrics().size(); ++m) {
      const Metric& metric = profile.metrics()[m];
      const bool grows = metric.aggregation == Aggregation::kSum && !metric.is_signed &&
                         metric.role != Role::kLevel;
      if (!grows) continue;
      then[m].each(
          [&](std::size_t n, std::uint64_t value) { wrong += value > metric.value(NodeId(n)); });
    }
  }
  return {"no snapshot holds more than there is now", wrong == 0,
          fmt::format("{} snapshots, {} values wrong", snapshots.all.size(), wrong)};
}

}  // namespace

std::vector<Check> verify(const FileImage& image, const ReadResult& read) {
  const Profile& profile = read.profile;
  const Process& process = profile.processes().front();
  const bool ended = ended_by_itself(process);
  const bool call_sites = (process.flags & format::kHeaderCallSites) != 0;
  const bool pair_rule = process.compaction == Compaction::kPair && !call_sites;

  std::vector<Check> checks;
  checks.push_back({"the file is whole", !image.truncated(),
                    fmt::format("{} of {} bytes", image.size(), image.header().used_bytes)});
  checks.push_back({"the memory limit was kept", image.header().used_bytes <= process.cap_bytes,
                    fmt::format("{} of {} bytes", process.used_bytes, process.cap_bytes)});
  checks.push_back(check_records(read));
  checks.push_back({"every node is one deeper than its parent", read.wrong_depths == 0,
                    fmt::format("{} nodes, {} wrong", profile.nodes().count(), read.wrong_depths)});
  checks.push_back(check_counts(image, profile));
  checks.push_back(check_roots(profile));
  if (pair_rule) checks.push_back(check_pairs(profile));
  checks.push_back(check_back_edges(profile, pair_rule));
  checks.push_back(check_tail_edges(profile, pair_rule));
  checks.push_back(check_derived(profile));
  if (!profile.snapshots().empty()) checks.push_back(check_snapshots(profile));
  std::vector<bool> has_tree(profile.threads().size());
  for (const Tree& tree : profile.trees()) has_tree[tree.thread.index()] = true;
  for (std::size_t t = 0; t < has_tree.size(); ++t) {
    if (!has_tree[t]) continue;
    checks.push_back(check_clock(profile, ThreadId(t), ended));
    checks.push_back(check_samples(profile, ThreadId(t)));
    const bool has_waits = profile.find_metric(Role::kWaitTime) != nullptr &&
                           profile.find_metric(Role::kUnseenTime) != nullptr;
    if (has_waits) checks.push_back(check_elapsed(profile, ThreadId(t), ended));
  }
  return checks;
}

}  // namespace fbleprof::profile
