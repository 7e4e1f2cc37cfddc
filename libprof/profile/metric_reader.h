// The metrics that a file describes: their names, and where their values are.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profile/profile.h"
#include "profile/records.h"
#include "profile/texts.h"

namespace fbleprof::profile {

// Readers take no more: no recorder writes so many, and memory must not grow faster than the file.
constexpr std::size_t kMostMetrics = 1024;

class MetricReader {
 public:
  MetricReader(const Texts& texts, RecordWalk& walk, Damage& damage)
      : texts_(texts), walk_(walk), damage_(damage) {}

  // In the order of the file.
  void add(format::Ref ref, const format::Metric& record);
  // After the last: edges have calls, even if their description was lost.
  void finish();

  std::vector<Metric>& metrics() { return metrics_; }
  std::vector<MetricSource>& sources() { return sources_; }

 private:
  std::string text(format::Ref ref, std::uint64_t from);
  bool take_place(const format::Metric& record);
  bool parse_formula(const std::string& formula, MetricSource& source) const;

  const Texts& texts_;
  RecordWalk& walk_;
  Damage& damage_;
  std::vector<Metric> metrics_;
  std::vector<MetricSource> sources_;
  std::set<std::string> names_;
  std::set<std::pair<format::MetricPlace, std::uint32_t>> places_;
};

// Computes the columns of derived metrics from the others.
void derive(std::vector<Counts>& columns, const std::vector<MetricSource>& sources,
            std::size_t node_count);

}  // namespace fbleprof::profile
