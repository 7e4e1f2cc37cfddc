// gprof's gmon.out.
//
// The file holds a graph, not contexts: exact counts of how often each call site entered each
// function, and how many samples fell into each piece of code. So the profile is a tree of two
// levels:
//
//     [root]
//     ├─ f          its own time, of all its callers together
//     │  ├─ g       called by f: the count is exact, the time is not known per caller
//     │  └─ ↻ f     f called itself
//     └─ g          g's own time
//
// Self times and calls are right in every view. The file does not hold inclusive costs: gprof
// estimates them by assuming that all calls of a function cost the same; this importer does not.
// Entries from code that was not compiled with -pg are calls by [root].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::importers {

struct Gmon {
  struct Arc {
    std::uint64_t from, to, count;  // `from` is the return address; 0 = unknown
  };
  // Samples in [begin, end).
  struct Bin {
    std::uint64_t begin, end, ns;
  };
  std::vector<Arc> arcs;
  std::vector<Bin> bins;  // without empty ones
  std::uint64_t samples = 0, rate_hz = 0;
};

// Addresses are those of the program's file.
Result<Gmon> read_gmon(std::string_view bytes, const std::string& name);

// What gmon_profile() needs from the program: the function at each of these addresses.
std::vector<std::uint64_t> gmon_addresses(const Gmon& gmon);

struct GmonFunction {
  std::uint64_t begin = 0, size = 0;  // size 0 = unknown
  std::string name, linkage_name;     // "" = unknown
};

// `functions[i]` is the one at gmon_addresses()[i].
profile::Profile gmon_profile(const Gmon& gmon, const std::vector<GmonFunction>& functions,
                              const std::string& name, const std::string& program);

}  // namespace fbleprof::importers
