#include "report/web/comparison.h"

#include <fmt/format.h>

#include "report/views/diff_view.h"
#include "report/web/html.h"

namespace fbleprof::web {

std::optional<analysis::Diff> comparison(const Page& page) {
  if (page.data.base_metric() == nullptr) return std::nullopt;
  const profile::Profile& profile = page.data.profile();
  const profile::Metric& metric = page.data.metric();
  analysis::DiffMetrics metrics = report::diff_metrics(profile, metric, page.query.normalize);
  metrics.whole_now = page.data.total();
  metrics.whole_base = page.data.base_total();
  auto diff = analysis::diff(profile, metrics);
  // Beside a comparison of means, the page shows sums of the runs: each mean counts as often.
  const std::size_t runs = diff.noise.now_runs;
  if (metric.aggregation == profile::Aggregation::kMax || runs == 1) return diff;
  const auto sum = [runs](analysis::Change& change) {
    change.base *= runs;
    change.now *= runs;
  };
  sum(diff.total);
  for (auto* changes : {&diff.self, &diff.inclusive}) {
    for (analysis::Change& change : *changes) sum(change);
  }
  diff.total_bound *= static_cast<double>(runs);
  return diff;
}

std::string chance_note(const Page& page, const analysis::Diff& diff) {
  std::string text = report::noise_text(page.data.metric(), diff,
                                        page.amount(static_cast<std::uint64_t>(diff.total_bound)));
  if (diff.noise.now_runs != 1) {
    text += fmt::format("; this page shows sums of {0} runs, and {0} times the baseline's mean",
                        diff.noise.now_runs);
  }
  if (text.empty()) return {};
  // Exact figures have no "~"; their notes stand alone.
  return fmt::format("<p class=note>{}</p>",
                     diff.noise.is_sampled ? "~ no more than chance explains" + html_text(text)
                                           : html_text(text.substr(2)));
}

}  // namespace fbleprof::web
