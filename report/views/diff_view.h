// Compares a profile with its baseline: what grew, shrank, appeared and disappeared. Both views
// take the profile with the baseline's metrics in it (see transform/baseline.h).
#pragma once

#include "analysis/diff.h"
#include "report/views/view.h"

namespace fbleprof::report {

// The operands: the metric with its baseline, calls, samples and single runs.
analysis::DiffMetrics diff_metrics(const profile::Profile& profile, const profile::Metric& metric,
                                   bool normalize);

// What the reader needs to judge the figures: what chance can do to the total, or that most
// functions changed by the same share. `bound` is Diff::total_bound as people read it. Each note
// begins with "; ".
std::string noise_text(const profile::Metric& metric, const analysis::Diff& diff,
                       std::string_view bound);

// The tree, with the change of each context; most changed branches first. Branches that changed by
// less than --min of the larger total are left out.
Result<Document> diff_tree(const Request& request);

// One row per function, by how much its self or dominated cost changed.
Result<Document> diff_table(const Request& request, bool by_self);

}  // namespace fbleprof::report
