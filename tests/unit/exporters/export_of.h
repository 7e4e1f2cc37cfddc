// What the tests of exporters share: an export of a profile made from text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "analysis/costs.h"
#include "report/exporters/exporter.h"
#include "tests/support/profile_builder.h"
#include "transform/merge.h"

namespace fbleprof::report {

// What `format` makes of `profile`, split by thread if asked for.
inline std::string export_of(std::string_view format, const profile::Profile& profile,
                             const std::vector<transform::Split>& splits = {},
                             std::string_view metric = "cpu") {
  const profile::Profile merged =
      transform::merge(profile, {.splits = splits, .keep_leaves = true, .aliases = {}});
  Export input{merged, *merged.find_metric(metric)};
  input.total = analysis::total(merged, input.metric);
  const auto exporter = find_exporter(format);
  if (!exporter) return exporter.error().line();
  auto text = (*exporter)->write(input);
  return text ? *text : text.error().line();
}

inline std::string export_of(std::string_view format, std::string_view text) {
  return export_of(format, test::profile_of(text));
}

}  // namespace fbleprof::report
