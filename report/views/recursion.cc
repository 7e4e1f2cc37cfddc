#include "report/views/recursion.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"

namespace fbleprof::report {

using namespace profile;
using analysis::Clique;
using analysis::Recursion;

namespace {

constexpr std::size_t kNamedMembers = 3;
constexpr std::size_t kNamedForPrograms = 8;

}  // namespace

std::string kind_name(Recursion recursion) {
  switch (recursion) {
    case Recursion::kNone:
      return "none";
    case Recursion::kSelf:
      return "self";
    case Recursion::kSingle:
      return "single";
    case Recursion::kSeveral:
      return "several";
    case Recursion::kMutual:
      return "mutual";
  }
  return "none";
}

std::string clique_label(const Names& names_of, const Clique& clique, std::size_t width) {
  std::string names;
  const std::size_t count = clique.members.size();
  // A name has an equal share of the width that the shorter ones leave.
  std::size_t each = 0;
  if (width != 0) {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < std::min(count, kNamedMembers); ++i) {
      widths.push_back(width_of(names_of.fit(clique.members[i].function, 0)));
    }
    std::sort(widths.begin(), widths.end());
    const std::size_t around = count > kNamedMembers ? 2 * widths.size() + 8
                               : count > 1           ? 2 * widths.size() + 1
                                                     : clique.recursion != Recursion::kNone;
    std::size_t room = width > around ? width - around : 1;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      each = std::max<std::size_t>(room / (widths.size() - i), 12);
      if (widths[i] > each) break;
      room -= std::min(room, widths[i]);
      each = widths[i];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (i == kNamedMembers) {
      names += fmt::format(", +{}", count - i);
      break;
    }
    const FunctionId function = clique.members[i].function;
    names += (i == 0 ? "" : ", ") + names_of.fit(function, each);
  }
  if (count > 1) return "(" + names + ")*";
  return clique.recursion == Recursion::kNone ? names : names + "*";
}

std::string raw_label(const Names& names_of, const Clique& clique) {
  std::string names;
  for (std::size_t i = 0; i < clique.members.size(); ++i) {
    if (i == kNamedForPrograms) {
      names += fmt::format(", +{}", clique.members.size() - i);
      break;
    }
    names += (i == 0 ? "" : ", ") + names_of.whole(clique.members[i].function);
  }
  if (clique.members.size() > 1) return "(" + names + ")*";
  return clique.recursion == Recursion::kNone ? names : names + "*";
}

bool counts_some_calls(const profile::Profile& profile, const analysis::Clique& clique) {
  return std::any_of(clique.members.begin(), clique.members.end(), [&](const auto& member) {
    return counts_some_calls(profile, member.function);
  });
}

std::string depth_text(const Clique& clique) {
  return (clique.depth_is_bound ? "≥" : "") + count(clique.depth);
}

}  // namespace fbleprof::report
