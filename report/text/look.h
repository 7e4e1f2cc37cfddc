// The appearance of the output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fbleprof::report {

enum class Format { kText, kJson, kCsv };

struct Look {
  Format format = Format::kText;
  std::size_t width = 100;  // columns; 0 = no limit
  bool colour = false;
  std::string unit = "auto";    // see quantity.h
  std::string sort;             // "" = the view's own order
  std::size_t top = 0;          // rows of a table; 0 = the view's own number
  bool all = false;             // hide nothing
  bool lines = false;           // file:line beside names
  std::size_t depth = 0;        // levels of the tree; 0 = as many as fit
  double min_percent = 1;       // branches of the tree below this share are hidden
  double min_for_programs = 0;  // in JSON and CSV: what the user gave
  bool fits_screen = true;  // a longer tree hides more, until it fits; not if the user said --min
};

// ANSI sequences, or nothing without colour.
enum class Ink { kPlain, kBold, kDim, kHot, kWarm, kGood, kBad };
std::string paint(const Look& look, Ink ink, std::string_view text);
// The colour of a share of the whole.
Ink heat(double percent);

}  // namespace fbleprof::report
