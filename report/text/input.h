// What every view is given, and how it is to look.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace fbleprof::report {

// What the first field of every JSON document says: docs/JSON.md tells the fields of this version.
inline constexpr std::string_view kJsonSchema = "fbleprof/1";

enum class Format { kText, kJson, kCsv };

struct Look {
  Format format = Format::kText;
  std::size_t width = 100;  // columns; 0 = no limit
  bool colour = false;
  std::string unit = "auto";  // see quantity.h
  std::string sort;           // "" = the view's own order
  std::size_t top = 0;        // rows of a table; 0 = the view's own number
  bool all = false;           // hide nothing
  bool lines = false;         // file:line beside names
  std::size_t depth = 0;      // levels of the tree; 0 = as many as fit
  double min_percent = 1;     // branches of the tree below this share are hidden
};

// Behind a function's name where other functions have the same one (see namesakes.h).
using NameMarks = std::map<profile::FunctionId, std::string>;

struct Input {
  // One tree, filtered.
  const profile::Profile& profile;
  const profile::Metric& metric;
  std::uint64_t kept = 0;   // of the metric, in `profile`: what percentages are of
  std::uint64_t total = 0;  // before filtering
  bool kept_is_bound = false;
  Look look;
  NameMarks marks = {};
};

// The function's mark, or "".
std::string mark_of(const Input& input, profile::FunctionId function);
// `name`, escaped and tidied; with its mark, and its source line if the look says so. Not
// shortened.
std::string label(const Input& input, profile::FunctionId function);
// The same in at most `width` columns.
std::string short_label(const Input& input, profile::FunctionId function, std::size_t width);

// ANSI sequences, or nothing without colour.
enum class Ink { kPlain, kBold, kDim, kHot, kWarm, kGood, kBad };
std::string paint(const Look& look, Ink ink, std::string_view text);
// The ink of a share of the whole.
Ink heat(double percent);

}  // namespace fbleprof::report
