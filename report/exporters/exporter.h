// Exporters: the profile in the formats of other tools.
//
// Each takes the same profile as the views: merged into one tree, symbolized, filtered. What a
// format can carry of it, and what it cannot, is told in docs/EXPORTS.md. All of them export the
// tree's paths as stacks: recursion that was compacted stays compacted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"
#include "transform/merge.h"

namespace fbleprof::report {

// What every exporter is given.
struct Export {
  const profile::Profile& profile;  // one tree
  const profile::Metric& metric;    // of formats that hold one metric; else the one shown first
  std::uint64_t total = 0;          // of the metric, before filtering
  bool kept_is_bound = false;
  transform::GroupBy group_by = transform::GroupBy::kNothing;  // of the levels below the root
  double min_percent = 0.5;  // graphs leave out what costs less than this share
  bool all = false;          // ... or nothing
};

struct Exporter {
  std::string_view name;         // as users type it
  std::string_view description;  // for people, half a line
  bool is_binary;                // not to be shown on a terminal
  bool wants_lines;              // holds source lines
  Result<std::string> (*write)(const Export&);
};

// All of them, in the order of the help text.
std::span<const Exporter> exporters();

// Fails with the names of all where `name` is none of them.
Result<const Exporter*> find_exporter(std::string_view name);

Result<std::string> write_pprof(const Export& input);
Result<std::string> write_otlp(const Export& input);
Result<std::string> write_folded(const Export& input);
Result<std::string> write_callgrind(const Export& input);
Result<std::string> write_speedscope(const Export& input);
Result<std::string> write_firefox(const Export& input);
Result<std::string> write_dot(const Export& input);
Result<std::string> write_svg(const Export& input);
Result<std::string> write_json(const Export& input);
Result<std::string> write_csv(const Export& input);
Result<std::string> write_html(const Export& input);

}  // namespace fbleprof::report
