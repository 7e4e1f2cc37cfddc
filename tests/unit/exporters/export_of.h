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

// What `format` makes of `profile`; by thread if asked for.
inline std::string export_of(std::string_view format, const profile::Profile& profile,
                             transform::GroupBy by = transform::GroupBy::kNothing,
                             std::string_view metric = "cpu") {
  const profile::Profile merged = transform::merge(profile, {.group_by = by, .keep_leaves = true});
  Export input{merged, *merged.find_metric(metric)};
  input.total = analysis::total(merged, input.metric);
  input.group_by = by;
  const auto exporter = find_exporter(format);
  if (!exporter) return exporter.error().line();
  auto text = (*exporter)->write(input);
  return text ? *text : text.error().line();
}

inline std::string export_of(std::string_view format, std::string_view text) {
  return export_of(format, test::profile_of(text));
}

}  // namespace fbleprof::report
