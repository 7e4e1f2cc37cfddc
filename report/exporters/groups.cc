#include "report/exporters/groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace fbleprof::report {

using namespace profile;
using transform::GroupBy;

namespace {

// Groups can be folded away like everything else: then there are functions in their place.
bool names_process(const Profile& profile, std::string_view name) {
  return std::any_of(
      profile.processes().begin(), profile.processes().end(),
      [&](const Process& process) { return name.ends_with(fmt::format(" ({})", process.pid)); });
}

}  // namespace

std::vector<Group> groups(const Profile& profile, GroupBy by) {
  const Nodes& nodes = profile.nodes();
  const Functions& functions = profile.functions();
  std::vector<Group> result(nodes.count(), Group::kNone);
  if (by == GroupBy::kNothing) return result;
  const bool by_process = by != GroupBy::kThread, by_thread = by != GroupBy::kProcess;
  for (std::size_t n = 1; n < nodes.count();) {
    const std::size_t f = nodes.function[n].index();
    const std::string_view name = profile.text(functions.name[f]);
    const bool made_up = functions.kind[f] == FunctionKind::kBlock && functions.address[f] == 0 &&
                         !functions.file[f];
    const std::uint32_t depth = nodes.depth[n];
    if (made_up && by_process && depth == 1 && names_process(profile, name)) {
      result[n] = Group::kProcess;
      n += by_thread ? 1 : nodes.subtree_end[n] - n;
    } else {
      if (made_up && by_thread && name.starts_with("thread \"") &&
          (depth == 1 || result[nodes.parent[n].index()] == Group::kProcess)) {
        result[n] = Group::kThread;
      }
      n = nodes.subtree_end[n];
    }
  }
  return result;
}

}  // namespace fbleprof::report
