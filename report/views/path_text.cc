#include "report/views/path_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/compact_path.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr char kArrow[] = " → ";
constexpr std::size_t kArrowWidth = 3;
constexpr std::size_t kLongestName = 40;   // of one of many
constexpr std::size_t kMostOfACircle = 4;  // functions named of what repeats
constexpr std::size_t kNoPart = static_cast<std::size_t>(-1);

std::string part_text(const Names& names, const analysis::PathPart& part, std::size_t width) {
  std::string text;
  const std::size_t count = part.functions.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (width != 0 && i == kMostOfACircle && count > kMostOfACircle + 1) {
      text += fmt::format(" → {} more", count - i);
      break;
    }
    text += (i == 0 ? "" : kArrow) +
            names.fit(part.functions[i], width == 0 ? 0 : std::min(width, kLongestName));
  }
  if (!part.repeats) return text;
  return count == 1 ? text + "*" : "(" + text + ")*";
}

// The last name, then the one that must stay, then the first, then from the end for as long as
// there is room.
std::string fit(const Names& names, const Path& path, std::size_t width, std::size_t must_stay) {
  const auto parts = analysis::compact_path(path);
  if (parts.empty()) return "[root]";
  std::vector<std::string> texts;
  std::size_t used = 0;
  for (const auto& part : parts) {
    texts.push_back(part_text(names, part, width));
    used += width_of(texts.back()) + (texts.size() > 1 ? kArrowWidth : 0);
  }
  if (width == 0 || used <= width) return fmt::format("{}", fmt::join(texts, kArrow));

  std::vector<bool> stays(texts.size());
  const auto written = [&] {
    std::string out;
    for (std::size_t i = 0; i < texts.size();) {
      std::size_t gap = 0;
      while (i + gap < texts.size() && !stays[i + gap]) ++gap;
      if (gap != 0) {
        out += fmt::format("… {} more … → ", gap);
      } else {
        out += texts[i] + (i + 1 == texts.size() ? "" : kArrow);
      }
      i += std::max<std::size_t>(gap, 1);
    }
    return out;
  };
  const auto add = [&](std::size_t i) {
    if (stays[i]) return true;
    stays[i] = true;
    if (width_of(written()) <= width) return true;
    stays[i] = false;
    return false;
  };
  stays.back() = true;
  if (must_stay < texts.size()) stays[must_stay] = true;
  add(0);
  for (std::size_t i = texts.size() - 1; i-- > 0 && add(i);) {
  }
  return cut(written(), width);
}

}  // namespace

std::string path_text(const Names& names, const Path& path, std::size_t width) {
  return fit(names, path, width, kNoPart);
}

std::vector<std::string> path_texts(const Names& names, const std::vector<Path>& paths,
                                    std::size_t width) {
  std::vector<std::string> texts;
  std::map<std::string, std::vector<std::size_t>> same;
  for (const Path& path : paths) {
    texts.push_back(path_text(names, path, width));
    same[texts.back()].push_back(texts.size() - 1);
  }
  for (const auto& [text, alike] : same) {
    for (std::size_t k = 0; alike.size() > 1 && k < alike.size(); ++k) {
      // The first part that its neighbour has not.
      const auto own = analysis::compact_path(paths[alike[k]]);
      const auto other = analysis::compact_path(paths[alike[k == 0 ? 1 : k - 1]]);
      std::size_t i = 0;
      while (i < own.size() && i < other.size() && own[i].functions == other[i].functions) ++i;
      texts[alike[k]] = fit(names, paths[alike[k]], width, std::min(i, own.size() - 1));
    }
  }
  return texts;
}

std::string raw_path(const Names& names, const Path& path) {
  std::string text;
  for (const FunctionId function : path) {
    text += (text.empty() ? "" : kArrow) + names.whole(function);
  }
  return text;
}

}  // namespace fbleprof::report
