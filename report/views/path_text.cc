#include "report/views/path_text.h"

#include <fmt/format.h>

#include "analysis/compact_path.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr char kArrow[] = " → ";
constexpr std::size_t kArrowWidth = 3;
constexpr std::size_t kLongestName = 40;   // of one of many
constexpr std::size_t kMostOfACircle = 4;  // functions named of what repeats

std::string part_text(const Input& input, const analysis::PathPart& part, std::size_t width) {
  const auto name = [&](FunctionId function) {
    return width == 0 ? label(input, function)
                      : short_label(input, function, std::min(width, kLongestName));
  };
  std::string text;
  const std::size_t count = part.functions.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (width != 0 && i == kMostOfACircle && count > kMostOfACircle + 1) {
      text += fmt::format(" → {} more", count - i);
      break;
    }
    text += (i == 0 ? "" : kArrow) + name(part.functions[i]);
  }
  if (!part.repeats) return text;
  return count == 1 ? text + "*" : "(" + text + ")*";
}

}  // namespace

std::string path_text(const Input& input, const std::vector<FunctionId>& path, std::size_t width) {
  const auto parts = analysis::compact_path(path);
  if (parts.empty()) return "[root]";
  std::vector<std::string> names;
  std::size_t used = 0;
  for (const auto& part : parts) {
    names.push_back(part_text(input, part, width));
    used += width_of(names.back()) + (names.size() > 1 ? kArrowWidth : 0);
  }
  if (width == 0 || used <= width) return fmt::format("{}", fmt::join(names, kArrow));

  // The last name, then the first, then from the end for as long as there is room.
  const auto more = [](std::size_t count) { return fmt::format("… {} more … → ", count); };
  std::size_t left = names.size() - 1;  // of the names that are in the middle
  std::string tail = cut(names[left], width);
  std::string head;
  if (left > 0) {
    const std::string with = names[0] + kArrow;
    if (width_of(with) + width_of(more(left)) + width_of(tail) <= width) head = with;
  }
  const std::size_t first = head.empty() ? 0 : 1;
  while (left > first) {
    const std::string with = names[left - 1] + kArrow + tail;
    if (width_of(head) + width_of(more(left - 1 - first)) + width_of(with) > width) break;
    tail = with;
    --left;
  }
  const std::string middle = left > first ? more(left - first) : std::string();
  return cut(head + middle + tail, width);
}

std::string raw_path(const Input& input, const std::vector<FunctionId>& path) {
  std::string text;
  for (const FunctionId function : path) {
    text += (text.empty() ? "" : kArrow) + escape(display_name(input.profile, function));
  }
  return text;
}

}  // namespace fbleprof::report
