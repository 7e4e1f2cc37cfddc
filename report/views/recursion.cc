#include "report/views/recursion.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/quantity.h"

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
  const std::size_t each =
      width == 0 ? 0
                 : std::max<std::size_t>(width / std::min<std::size_t>(count, kNamedMembers), 12);
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

std::string depth_text(const Clique& clique) {
  return (clique.depth_is_bound ? "≥" : "") + count(clique.depth);
}

}  // namespace fbleprof::report
