// Exporters write the profile in the formats of other tools.
//
// Each receives the same profile as the views: merged into one tree, symbolized, filtered.
// docs/EXPORTS.md says what each format can hold, and what it cannot. All of them export the tree's
// paths as stacks: compacted recursion stays compacted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::report {

// The input of every exporter.
struct Export {
  const profile::Profile& profile;  // one tree
  const profile::Metric& metric;    // of formats that hold one metric; else the one shown first
  std::uint64_t total = 0;          // of the metric, before filtering
  bool kept_is_bound = false;
  double min_percent = 1;  // graphs leave out what costs less than this share
  bool all = false;        // ... or nothing
  // The runs as recorded, without contexts; null: unknown.
  const profile::Profile* runs = nullptr;
  bool has_sampled_times = false;  // the files hold times of a sampled run, or were given some
};

struct Exporter {
  std::string_view name;         // as users type it
  std::string_view description;  // for people, half a line
  bool is_binary = false;        // not to be shown on a terminal
  bool wants_lines = false;      // holds source lines
  std::string_view limits;       // "min all": the options that choose how much of it; "": none
  Result<std::string> (*write)(const Export&);
};

// All exporters, by name.
const std::vector<Exporter>& exporters();

// Fails, with the names of all exporters, if `name` is none of them.
Result<const Exporter*> find_exporter(std::string_view name);

// Registers an exporter. Must be a constant in the exporter's file, which is all that an exporter
// needs.
class RegisterExporter {
 public:
  explicit RegisterExporter(Exporter exporter);
};

}  // namespace fbleprof::report
