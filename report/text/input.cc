#include "report/text/input.h"

#include <fmt/format.h>

#include "report/text/escape.h"
#include "symbolize/shorten.h"

namespace fbleprof::report {

using namespace profile;

namespace {

std::string source_line(const Input& input, FunctionId function) {
  const Functions& functions = input.profile.functions();
  const std::string_view file = input.profile.text(functions.file[function.index()]);
  if (!input.look.lines || file.empty()) return {};
  const std::uint32_t line = functions.line[function.index()];
  const std::string name = escape(base_name(file));
  return line == 0 ? fmt::format("  {}", name) : fmt::format("  {}:{}", name, line);
}

}  // namespace

std::string mark_of(const Input& input, FunctionId function) {
  const auto mark = input.marks.find(function);
  return mark != input.marks.end() ? mark->second : std::string();
}

std::string label(const Input& input, FunctionId function) {
  return escape(symbolize::tidy(display_name(input.profile, function))) + mark_of(input, function) +
         source_line(input, function);
}

std::string short_label(const Input& input, FunctionId function, std::size_t width) {
  // What tells a name from others is worth more than its tail, and so is the source line, but that
  // not more than the name.
  std::string behind = mark_of(input, function);
  if (width_of(behind) * 3 > width * 2) behind.clear();
  if (const std::string line = source_line(input, function); width_of(behind + line) * 2 < width) {
    behind += line;
  }
  const std::size_t name_width = width - width_of(behind);
  // Escaping can make a name longer again: then it is cut.
  const std::string name = cut(
      escape(symbolize::shorten(display_name(input.profile, function), name_width)), name_width);
  return name + behind;
}

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
