// The recorder's only list of the metrics that a profile can hold, and their descriptions in the
// file. Other code writes their values (signal_safe/sample, the hooks).
#pragma once

#include "format/format.h"
#include "format/role.h"
#include "signal_safe/options.h"

namespace fbleprof::capture {

struct MetricDescription {
  const char* name;
  const char* unit;
  format::Role role;
  format::MetricPlace place;
  std::uint16_t word;  // of a node's values: signal_safe::ValueWord
  const char* formula;
  // Whether a profile recorded with these options has this metric.
  bool (*is_recorded)(const signal_safe::Options& options);
  bool is_wait_word = false;  // `word` is a signal_safe::WaitWord
  format::Aggregation aggregation = format::Aggregation::kSum;
};

// Calls visit(description) for each recorded metric, in display order.
template <typename Visit>
void for_each_metric(const signal_safe::Options& options, Visit visit);

extern const MetricDescription kMetrics[];
extern const int kMetricCount;

template <typename Visit>
void for_each_metric(const signal_safe::Options& options, Visit visit) {
  for (int i = 0; i < kMetricCount; ++i) {
    if (kMetrics[i].is_recorded(options)) visit(kMetrics[i]);
  }
}

// Whether readers show this metric by default.
bool is_default_metric(const MetricDescription& metric, const signal_safe::Options& options);

}  // namespace fbleprof::capture
