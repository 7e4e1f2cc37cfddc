#include "transform/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "transform/function_flags.h"
#include "transform/identity.h"
#include "transform/rebuild.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// By node: 1 = an overflow context that nothing overflowed into. Every tree reserves one.
std::vector<std::uint8_t> idle_overflows(const Profile& profile) {
  const Nodes& nodes = profile.nodes();
  std::vector<std::uint8_t> idle(nodes.count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    idle[n] = profile.functions().kind[nodes.function[n].index()] == FunctionKind::kOverflow &&
              nodes.subtree_end[n] == n + 1 &&
              std::all_of(profile.metrics().begin(), profile.metrics().end(),
                          [&](const Metric& metric) { return metric.value(NodeId(n)) == 0; });
  }
  return idle;
}

// A line for each module with functions that could not be told from others of their name.
std::vector<std::string> remarks_about(const Profile& profile,
                                       const std::vector<FunctionId>& untold) {
  constexpr std::size_t kMostNames = 3;
  std::map<std::string, std::set<std::string>> names;  // by module
  for (const FunctionId function : untold) {
    const ModuleId module = profile.functions().module[function.index()];
    const std::string_view path =
        module ? profile.text(profile.modules()[module.index()].path) : "";
    names[std::string(base_name(path))].insert(display_name(profile, function));
  }
  std::vector<std::string> remarks;
  for (const auto& [module, called] : names) {
    const std::size_t more = called.size() - std::min(called.size(), kMostNames);
    const auto end = std::next(called.begin(), static_cast<std::ptrdiff_t>(called.size() - more));
    remarks.push_back(fmt::format(
        "{}: no symbol table tells which source files these functions are from, of which there "
        "are several of one name; they stay apart from those of other builds: {}{}",
        module.empty() ? "?" : module, fmt::join(called.begin(), end, ", "),
        more == 0 ? "" : fmt::format(" and {} more", more)));
  }
  return remarks;
}

}  // namespace

Profile with_sites_apart(const Profile& profile) {
  Parts parts = profile.parts();
  parts.sites_apart = true;
  return Profile(std::move(parts));
}

Profile merge(const Profile& profile, const MergeOptions& options) {
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(profile.functions());
  Rebuilding how;
  how.root = functions->add({.kind = FunctionKind::kRoot, .name = strings.intern("[root]")});
  GroupMaker groups(profile, options.splits, strings, *functions);
  for (const Tree& tree : profile.trees()) {
    how.groups.push_back(groups.above(tree, options.counterparts));
  }

  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = functions;
  parts.groups = groups.take();
  const Profile extended{parts};
  std::vector<FunctionId> untold;
  how.class_of = same_functions(extended, options.aliases, &untold);
  for (std::vector<FunctionId>& groups : how.groups) {
    for (FunctionId& group : groups) group = how.class_of[group.index()];
  }
  how.folded.resize(functions->count());
  for (std::size_t f = 0; f < functions->count(); ++f) {
    how.folded[f] = !options.keep_leaves && functions->kind[f] == FunctionKind::kInstruction;
    std::uint16_t& flags = functions->flags[how.class_of[f].index()];
    flags = joined_flags(flags, functions->flags[f]);
  }
  how.folded_node = idle_overflows(extended);
  const Profile merged = rebuild(extended, how);
  if (untold.empty()) return merged;
  Parts told = merged.parts();
  const std::vector<std::string> remarks = remarks_about(extended, untold);
  told.warnings.insert(told.warnings.end(), remarks.begin(), remarks.end());
  return Profile(std::move(told));
}

}  // namespace fbleprof::transform
