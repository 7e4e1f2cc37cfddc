// The metrics that a profile can hold: the one list of them in the recorder. What writes a metric's
// values is elsewhere (signal_safe/sample, the hooks); here is what the file says of it.
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
  // Whether a profile recorded with these options has it.
  bool (*is_recorded)(const signal_safe::Options& options);
};

// Calls visit(description) for each that is recorded, in the order in which they are shown.
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

// Whether a profile's reader begins with it.
bool is_default_metric(const MetricDescription& metric, const signal_safe::Options& options);

}  // namespace fbleprof::capture
