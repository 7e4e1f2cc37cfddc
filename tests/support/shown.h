// What a view prints of a profile written as text (profile_builder.h), in the metric cpu.
#pragma once

#include <string>
#include <string_view>

#include "analysis/costs.h"
#include "report/text/input.h"
#include "tests/support/profile_builder.h"

namespace fbleprof::test {

template <class View>
std::string shown(View view, const report::Look& look, std::string_view text) {
  const auto profile = profile_of(text);
  const auto& metric = *profile.find_metric("cpu");
  report::Input input{profile, metric};
  input.kept = input.total = analysis::total(profile, metric);
  input.look = look;
  return view(input);
}

inline report::Look csv() {
  report::Look look;
  look.format = report::Format::kCsv;
  return look;
}

}  // namespace fbleprof::test
