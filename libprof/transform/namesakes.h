// What tells recorded functions of one name apart that are in one module, or in builds of it.
//
// The modules' symbol tables say which functions are namesakes, and how to tell them (see
// profile/namesakes.h), whatever functions a profile holds. A name that each build has once is one
// function. If a build has several functions of the name, each is that of its source file in all
// builds; one of which the file is not known has no counterpart in other builds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::transform {

// A function of machine code.
struct NamedCode {
  profile::FunctionId function;
  std::string_view module;  // equal for builds of one module
  std::string_view build;   // equal where addresses mean the same
  std::string_view name;    // the linkage name without the suffix of a part or a clone
};

// Functions of one module and name are the same if this is equal.
struct Distinction {
  bool is_of_build = false;   // and the builds are equal
  std::string_view unit;      // of the profile's strings
  std::uint64_t address = 0;  // where nothing else is known
};

struct Distinctions {
  std::vector<Distinction> of_code;         // as the argument
  std::vector<profile::FunctionId> untold;  // which another build has, or whose parts were found,
                                            // and nothing tells which ones these are
};

// Pure.
Distinctions distinguish(const profile::Profile& profile, const std::vector<NamedCode>& code);

}  // namespace fbleprof::transform
