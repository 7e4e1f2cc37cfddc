#include "report/web/comparison.h"

#include <fmt/format.h>

#include "report/views/diff_view.h"
#include "report/web/html.h"

namespace fbleprof::web {

std::optional<analysis::Diff> comparison(const Page& page) {
  if (page.data.base_metric() == nullptr) return std::nullopt;
  const profile::Profile& profile = page.data.profile();
  return analysis::diff(profile,
                        report::diff_metrics(profile, page.data.metric(), page.query.normalize));
}

std::string chance_note(const Page& page, const analysis::Diff& diff) {
  const std::string text = report::noise_text(
      page.data.metric(), diff, page.amount(static_cast<std::uint64_t>(diff.total_bound)));
  if (text.empty()) return {};
  // Exact figures have no "~"; their notes stand alone.
  return fmt::format("<p class=note>{}</p>",
                     diff.noise.is_sampled ? "~ no more than chance explains" + html_text(text)
                                           : html_text(text.substr(2)));
}

}  // namespace fbleprof::web
