// Compares a profile with its baseline: what grew, shrank, appeared and disappeared. Both views
// take the profile with the baseline's metrics in it (see transform/baseline.h).
#pragma once

#include "analysis/diff.h"
#include "report/views/view.h"

namespace fbleprof::report {

// The operands: the metric with its baseline, calls, samples and single runs.
analysis::DiffMetrics diff_metrics(const profile::Profile& profile, const profile::Metric& metric,
                                   bool normalize);

// The tree, with the change of each context; most changed branches first. Branches that changed by
// less than --min of the larger total are left out.
Result<Document> diff_tree(const Request& request);

// One row per function, by how much its self or dominated cost changed.
Result<Document> diff_table(const Request& request, bool by_self);

}  // namespace fbleprof::report
