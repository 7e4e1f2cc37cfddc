#include "profile/metric_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace fbleprof::profile {
namespace {

constexpr std::size_t kMostTerms = 64;
constexpr std::size_t kLongestName = 64;

}  // namespace

std::string MetricReader::text(format::Ref ref, std::uint64_t from) {
  if (ref == 0) return {};
  const auto found = texts_.find(ref);
  if (!found) {
    walk_.note_unresolved("string", ref, format::kUnitBytes, from);
    return {};
  }
  return std::string(*found);
}

// A place can be taken only once, which bounds the columns.
bool MetricReader::take_place(const format::Metric& record) {
  using Place = format::MetricPlace;
  switch (record.place) {
    case Place::kValues:
      return places_.emplace(record.place, record.word).second;
    case Place::kCalls:
      return places_.emplace(record.place, 0).second;
    case Place::kDerived:
      return true;
  }
  return false;
}

bool MetricReader::parse_formula(const std::string& formula, MetricSource& source) const {
  constexpr std::size_t kSignLength = 3;  // " + "
  bool is_minus = false;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(formula.find(" + ", begin), formula.find(" - ", begin));
    const std::string name = formula.substr(begin, end == std::string::npos ? end : end - begin);
    const auto named = std::find_if(metrics_.begin(), metrics_.end(),
                                    [&](const Metric& metric) { return metric.name == name; });
    if (named == metrics_.end() || source.terms.size() >= kMostTerms) return false;
    source.terms.push_back({static_cast<std::uint32_t>(named - metrics_.begin()), is_minus});
    if (end == std::string::npos) return true;
    is_minus = formula[end + 1] == '-';
    begin = end + kSignLength;
  }
}

void MetricReader::add(format::Ref ref, const format::Metric& record) {
  const std::uint64_t at = std::uint64_t{ref} * format::kUnitBytes;
  const auto refuse = [&](const char* why) {
    damage_.note(at, fmt::format("metric {:#x} {}", ref, why));
  };
  if (metrics_.size() >= kMostMetrics) return refuse("is one too many");
  if (record.aggregation > Aggregation::kLast) return refuse("has an unknown aggregation");
  Metric metric;
  metric.name = text(record.name, at).substr(0, kLongestName);
  metric.unit = text(record.unit, at).substr(0, kLongestName);
  const bool is_of_edges = record.place == format::MetricPlace::kCalls;
  // "calls" are those of the edges, whatever else is counted.
  if (metric.name.empty() || names_.contains(metric.name) ||
      (metric.name == "calls" && !is_of_edges)) {
    return refuse("has no name of its own");
  }
  MetricSource source{record.place, record.word};
  if (record.place == format::MetricPlace::kDerived) {
    metric.formula = text(record.formula, at);
    if (!parse_formula(metric.formula, source)) return refuse("has no readable formula");
  }
  if (!take_place(record)) return refuse("has no place of its own");
  const bool subtracts = std::any_of(
      source.terms.begin(), source.terms.end(),
      [&](const auto& term) { return term.is_minus || metrics_[term.metric].is_signed; });
  metric.aggregation = record.aggregation;
  metric.role = record.role > Role::kReadyTime ? Role::kAmount : record.role;
  if (is_of_edges) metric.role = Role::kCalls;
  if (!is_of_edges && metric.role == Role::kCalls) metric.role = Role::kEvent;
  metric.is_signed = (record.flags & format::kMetricSigned) != 0 || subtracts;
  metric.is_default = (record.flags & format::kMetricDefault) != 0;
  metric.is_estimated = (record.flags & format::kMetricEstimated) != 0;
  names_.insert(metric.name);
  metrics_.push_back(std::move(metric));
  sources_.push_back(std::move(source));
}

void MetricReader::finish() {
  if (places_.contains({format::MetricPlace::kCalls, 0}) || names_.contains("calls")) return;
  metrics_.push_back({.name = "calls", .unit = "count", .role = Role::kCalls});
  sources_.push_back({format::MetricPlace::kCalls, 0});
}

void derive(std::vector<Counts>& columns, const std::vector<MetricSource>& sources,
            std::size_t node_count) {
  for (std::size_t m = 0; m < sources.size(); ++m) {
    if (sources[m].place != format::MetricPlace::kDerived) continue;
    for (const MetricSource::Term& term : sources[m].terms) {
      const Counts& from = columns[term.metric];
      if (from.empty()) continue;
      if (columns[m].empty()) columns[m].resize(node_count);
      from.each([&](std::size_t node, std::uint64_t value) {
        columns[m].add_signed(node, term.is_minus ? 0 - value : value);
      });
    }
  }
}

}  // namespace fbleprof::profile
