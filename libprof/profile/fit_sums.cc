#include "profile/fit_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fbleprof::profile {
namespace {

bool fits(const Counts& values) {
  std::uint64_t sum = 0;
  bool is_over = false;
  values.each([&](std::size_t, std::uint64_t value) {
    is_over |= value > kLargestCount - sum;
    sum += value;
  });
  return !is_over;
}

Counts cut(const Counts& values) {
  Counts result(values.size());
  std::uint64_t left = kLargestCount;
  values.each([&](std::size_t i, std::uint64_t value) {
    const std::uint64_t taken = std::min(left, value);
    result.set(i, taken);
    left -= taken;
  });
  return result;
}

Counts calls_of_nodes(const Edges& edges, std::size_t nodes) {
  Counts calls(nodes);
  for (std::size_t e = 0; e < edges.count(); ++e) calls.add(edges.to[e].index(), edges.calls[e]);
  return calls;
}

// Of all threads together; the figures of the last threads are cut.
template <class Warn>
void fit_threads(Parts& parts, Warn warn) {
  constexpr std::pair<std::uint64_t Thread::*, const char*> kFigures[] = {
      {&Thread::threads_served, "the number of threads"},
      {&Thread::cpu_ns, "the threads' CPU time"},
      {&Thread::wall_ns, "the threads' wall time"},
      {&Thread::samples, "the threads' samples"},
      {&Thread::dropped, "dropped samples"},
      {&Thread::lost_calls, "lost calls"},
      {&Thread::deep_calls, "calls beyond the shadow stack"},
      {&Thread::unmatched, "leaves without an enter"}};
  if (parts.threads == nullptr) return;
  std::shared_ptr<std::vector<Thread>> fitting;
  for (const auto& [figure, name] : kFigures) {
    std::uint64_t left = kLargestCount;
    bool is_cut = false;
    for (std::size_t t = 0; t < parts.threads->size(); ++t) {
      const std::uint64_t value = (*parts.threads)[t].*figure;
      const std::uint64_t taken = std::min(left, value);
      left -= taken;
      if (taken == value) continue;
      if (!fitting) fitting = std::make_shared<std::vector<Thread>>(*parts.threads);
      (*fitting)[t].*figure = taken;
      is_cut = true;
    }
    if (is_cut) warn(name);
  }
  if (fitting) parts.threads = std::move(fitting);
}

// The figures of trees whose nodes are gone; code that adds these up keeps to the limit.
std::set<std::string> overflowing_figures(const Parts& parts) {
  std::map<std::string, std::uint64_t> sums;
  std::set<std::string> over;
  if (parts.trees == nullptr) return over;
  for (const Tree& tree : *parts.trees) {
    if (tree.figures == nullptr) continue;
    for (const MetricTotal& total : tree.figures->totals) {
      std::uint64_t& sum = sums[total.metric];
      if (total.value > kLargestCount - sum) over.insert(total.metric);
      sum = capped_sum(sum, total.value);
    }
  }
  return over;
}

// "cpu adds", "cpu and wall add", "cpu, wall, wait and 7 more add": a damaged file may have dozens.
std::string add(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  if (names.size() == 1) return names[0] + " adds";
  const bool has_more = names.size() > kShown;
  const std::size_t listed = has_more ? kShown : names.size() - 1;
  std::string text = names[0];
  for (std::size_t i = 1; i < listed; ++i) text += ", " + names[i];
  return text + " and " +
         (has_more ? fmt::format("{} more", names.size() - kShown) : names.back()) + " add";
}

}  // namespace

void fit_sums(Parts& parts, const std::string& file, const std::set<std::string>& cut_before) {
  std::vector<std::string> too_large;
  const auto warn = [&](std::string_view what) { too_large.emplace_back(what); };
  fit_threads(parts, warn);
  const std::set<std::string> of_outlines = overflowing_figures(parts);
  const bool calls_fit = parts.edges == nullptr || fits(parts.edges->calls);
  if (!calls_fit) {
    auto edges = std::make_shared<Edges>(*parts.edges);
    edges->calls = cut(edges->calls);
    parts.edges = std::move(edges);
  }
  for (Metric& metric : parts.metrics) {
    if (metric.aggregation == Aggregation::kMax || metric.is_signed) continue;
    if (!metric.values) {
      if (of_outlines.contains(metric.name)) warn(metric.name);
      continue;
    }
    const bool is_of_edges = metric.role == Role::kCalls && !metric.is_baseline;
    const bool is_cut = is_of_edges ? !calls_fit : !fits(*metric.values);
    if (is_cut) {
      metric.values =
          std::make_shared<Counts>(is_of_edges && parts.edges != nullptr
                                       ? calls_of_nodes(*parts.edges, metric.values->size())
                                       : cut(*metric.values));
    }
    if (is_cut || cut_before.contains(metric.name)) warn(metric.name);
  }
  if (too_large.empty()) return;
  parts.warnings.push_back(
      Error{file, std::nullopt,
            fmt::format("{} up to more than 2^64 - 1; what is beyond is left out", add(too_large)),
            "figures are too low"}
          .line());
}

}  // namespace fbleprof::profile
