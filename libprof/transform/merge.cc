#include "transform/merge.h"

#include <algorithm>

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
  for (const Tree& tree : profile.trees()) how.groups.push_back(groups.above(tree));

  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = functions;
  parts.groups = groups.take();
  const Profile extended{parts};
  how.class_of = same_functions(extended, options.aliases);
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
  return rebuild(extended, how);
}

}  // namespace fbleprof::transform
