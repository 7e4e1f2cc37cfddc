#include "report/views/path_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/compact_path.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr char kArrow[] = " → ";
constexpr std::size_t kArrowWidth = 3;
constexpr std::size_t kLongestName = 40;   // of one of many
constexpr std::size_t kMostOfACircle = 4;  // functions named of a repetition
constexpr std::size_t kNoPart = static_cast<std::size_t>(-1);

// A long cycle shows the functions from its beginning, or those from `from` on if the ones before
// are known already.
std::string part_text(const Names& names, const analysis::PathPart& part, std::size_t width,
                      std::size_t from = 0) {
  std::string text;
  const std::size_t count = part.functions.size();
  if (from + 1 < kMostOfACircle || width == 0) from = 0;
  if (from != 0) text = fmt::format("… {} more … → ", from);
  for (std::size_t i = from; i < count; ++i) {
    if (width != 0 && i == from + kMostOfACircle && count > i + 1) {
      text += fmt::format(" → {} more", count - i);
      break;
    }
    text += (i == from ? "" : kArrow) +
            names.fit(part.functions[i], width == 0 ? 0 : std::min(width, kLongestName));
  }
  if (!part.repeats) return text;
  return count == 1 ? text + "*" : "(" + text + ")*";
}

// Fills the width with the last name, then the required part from function `from` on, then the
// first, then further names from the end.
std::string fit(const Names& names, const Path& path, std::size_t width, std::size_t must_stay,
                std::size_t from = 0) {
  const auto parts = analysis::compact_path(path);
  if (parts.empty()) return "[root]";
  std::vector<std::string> texts;
  std::size_t used = 0;
  for (const auto& part : parts) {
    const bool is_news = texts.size() == must_stay;
    texts.push_back(part_text(names, part, width, is_news ? from : 0));
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
  if (must_stay < texts.size() && !stays[must_stay]) {
    stays[must_stay] = true;
    // The last name is worth more than the end of the required part.
    const std::size_t whole = width_of(written());
    const std::size_t own = width_of(texts[must_stay]);
    if (whole > width) {
      const std::size_t left = own > whole - width ? own - (whole - width) : 1;
      texts[must_stay] = cut(texts[must_stay], left);
    }
  }
  add(0);
  for (std::size_t i = texts.size() - 1; i-- > 0 && add(i);) {
  }
  return cut(written(), width);
}

// Paths that still look alike get a suffix: the difference of their names at the first function
// that differs.
void tell_apart(const Names& names, const std::vector<Path>& paths, std::size_t width,
                std::vector<std::string>& texts) {
  std::map<std::string, std::vector<std::size_t>> same;
  for (std::size_t i = 0; i < texts.size(); ++i) same[texts[i]].push_back(i);
  for (const auto& [text, alike] : same) {
    if (alike.size() < 2) continue;
    std::map<FunctionId, std::string> apart;
    std::size_t at = 0, shortest = paths[alike[0]].size();
    for (const std::size_t i : alike) shortest = std::min(shortest, paths[i].size());
    for (; at < shortest && apart.empty(); ++at) {
      Path functions;
      for (const std::size_t i : alike) functions.push_back(paths[i][at]);
      apart = names.differences(std::move(functions));
    }
    for (const std::size_t i : alike) {
      const auto mark = apart.empty() ? apart.end() : apart.find(paths[i][at - 1]);
      if (mark == apart.end()) continue;
      const std::size_t mark_width = width_of(mark->second);
      const std::size_t room = width > mark_width ? width - mark_width : 1;
      texts[i] = fit(names, paths[i], width == 0 ? 0 : room, kNoPart) + mark->second;
    }
  }
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
      // The first part that its neighbour does not have.
      const auto own = analysis::compact_path(paths[alike[k]]);
      const auto other = analysis::compact_path(paths[alike[k == 0 ? 1 : k - 1]]);
      std::size_t i = 0;
      while (i < own.size() && i < other.size() && own[i].functions == other[i].functions) ++i;
      std::size_t from = 0;
      if (i < own.size() && i < other.size()) {
        const auto& mine = own[i].functions;
        const auto& its = other[i].functions;
        while (from < mine.size() && from < its.size() && mine[from] == its[from]) ++from;
        if (from == mine.size()) from = 0;
      }
      texts[alike[k]] = fit(names, paths[alike[k]], width, std::min(i, own.size() - 1), from);
    }
  }
  tell_apart(names, paths, width, texts);
  // Identical paths are numbered.
  std::set<std::string> taken;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    for (std::size_t number = 2; !taken.insert(texts[i]).second; ++number) {
      const std::string mark = fmt::format(" #{}", number);
      const std::size_t room = width > mark.size() ? width - mark.size() : 1;
      texts[i] = (width == 0 ? text : cut(text, room)) + mark;
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
