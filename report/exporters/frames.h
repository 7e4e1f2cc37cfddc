// The frames of a tree for pprof and OTLP: functions, locations and mappings, each written once and
// referred to by number. Numbers begin at 1; 0 means none.
//
// Functions inlined into one another are lines of one location, the innermost first. So are a
// sampled address and the function that it lies in. The location of a function itself comes before
// those of its sampled addresses. Beside these it has no address, if it has a name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::report {

struct Frames {
  struct Function {
    std::string name, linkage_name, file;  // escaped; "" = unknown, or the same as the name
    std::uint32_t line = 0;                // where it begins; 0 = unknown
  };
  struct Line {
    std::uint64_t function = 0;
    std::uint32_t number = 0;  // 0 = unknown
    auto operator<=>(const Line&) const = default;
  };
  struct Location {
    std::uint64_t mapping = 0, address = 0;  // of the file
    std::vector<Line> lines;                 // innermost first
    auto operator<=>(const Location&) const = default;
  };
  struct Mapping {
    std::string path, build_id;  // escaped; "" = it has none
    bool has_functions = false, has_lines = false, has_inlines = false;
  };

  std::vector<Function> functions;
  std::vector<Location> locations;
  std::vector<Mapping> mappings;                // the main program is the first
  std::vector<std::uint64_t> location_of_node;  // of each node's innermost frame
};

Frames frames(const profile::Profile& profile);

// The node of the next location on the stack of `node`: its caller, past the functions that its own
// location holds. None above the root.
profile::NodeId caller_on_stack(const profile::Profile& profile, profile::NodeId node);

// Both formats have signed values; no sum comes near their end.
std::int64_t signed_value(std::uint64_t value);

// The name of a unit in both formats.
std::string unit_name(const std::string& unit);

}  // namespace fbleprof::report
