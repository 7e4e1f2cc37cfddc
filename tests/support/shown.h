// The text that a view prints for a profile, in the metric cpu.
#pragma once

#include <string>
#include <string_view>

#include "analysis/costs.h"
#include "report/views/view.h"
#include "tests/support/profile_builder.h"
#include "transform/outline.h"

namespace fbleprof::test {

inline std::string shown(std::string_view view, const profile::Profile& profile,
                         const report::Look& look, std::string value = {}) {
  const analysis::Costs costs(profile, *profile.find_metric("cpu"));
  const auto runs = transform::outline(profile);
  report::Request request{.costs = costs, .runs = runs};
  request.total = costs.total();
  request.look = look;
  request.value = std::move(value);
  const auto document = report::find_view(view)->show(request);
  return document ? report::render(*document, look) : document.error().line();
}

// Of a profile written as text (profile_builder.h).
inline std::string shown(std::string_view view, std::string_view text,
                         const report::Look& look = {}, std::string value = {}) {
  return shown(view, profile_of(text), look, std::move(value));
}

inline report::Look csv() {
  report::Look look;
  look.format = report::Format::kCsv;
  return look;
}

}  // namespace fbleprof::test
