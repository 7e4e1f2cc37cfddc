#include "report/text/look.h"

#include <fmt/format.h>

namespace fbleprof::report {

std::string paint(const Look& look, Ink ink, std::string_view text) {
  if (!look.colour || ink == Ink::kPlain) return std::string(text);
  const char* code = "";
  switch (ink) {
    case Ink::kPlain:
      break;
    case Ink::kBold:
      code = "1";
      break;
    case Ink::kDim:
      code = "2";
      break;
    case Ink::kHot:
      code = "1;31";
      break;
    case Ink::kWarm:
      code = "33";
      break;
    case Ink::kGood:
      code = "32";
      break;
    case Ink::kBad:
      code = "1;31";
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Ink heat(double percent) {
  if (percent >= 20) return Ink::kHot;
  if (percent >= 5) return Ink::kWarm;
  return percent >= 0.5 ? Ink::kPlain : Ink::kDim;
}

}  // namespace fbleprof::report
