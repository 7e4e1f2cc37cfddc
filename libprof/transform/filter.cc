#include "transform/filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "transform/idle.h"
#include "transform/matcher.h"
#include "transform/query.h"
#include "transform/rebuild.h"
#include "transform/subset.h"
#include "transform/suggest.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// A name that matches nothing is probably a typing error.
Result<std::vector<std::uint8_t>> match_some(const Profile& profile, const std::string& pattern) {
  auto matches = match(profile, pattern);
  if (!matches) return matches;
  // Functions that are in the table but not in the tree do not count.
  for (const FunctionId function : profile.nodes().function) {
    if ((*matches)[function.index()] != 0) return matches;
  }
  return Error{"", std::nullopt, fmt::format("\"{}\" names no function of this profile", pattern),
               likely_meant(profile, pattern)};
}

// By node: whether its path satisfies the selection. Each selected pattern is checked separately.
Status find_kept(const Profile& profile, const Filter& filter, std::vector<std::uint8_t>& kept) {
  const Nodes& nodes = profile.nodes();
  kept.assign(nodes.count(), 1);
  const auto narrow = [&](const std::vector<std::uint8_t>& matches, bool wanted) {
    std::vector<std::uint8_t> on_path(nodes.count());
    for (std::size_t n = 0; n < nodes.count(); ++n) {
      const NodeId parent = nodes.parent[n];
      on_path[n] = matches[nodes.function[n].index()] | (parent ? on_path[parent.index()] : 0);
      kept[n] &= (on_path[n] != 0) == wanted;
    }
  };
  for (const std::string& pattern : filter.select) {
    auto matches = match_some(profile, pattern);
    if (!matches) return matches.error();
    narrow(*matches, true);
  }
  for (const std::string& pattern : filter.exclude) {
    // Excluding libc is no mistake in a profile without libc, nor are idle waits in one without.
    const bool may_be_mistake = is_exact(pattern) && pattern != kIdle;
    auto matches = may_be_mistake ? match_some(profile, pattern) : match(profile, pattern);
    if (!matches) return matches.error();
    narrow(*matches, false);
  }
  for (const std::string& text : filter.keep) {
    auto query = parse_query(text);
    if (!query) return query.error();
    auto wanted = evaluate(profile, *query, profile.find_metric(filter.metric));
    if (!wanted) return wanted.error();
    for (std::size_t n = 0; n < nodes.count(); ++n) kept[n] &= (*wanted)[n];
  }
  return {};
}

}  // namespace

Result<Filtered> filter(const Profile& profile, const Filter& filter) {
  if (filter.empty()) return Filtered{profile, false, {}};
  const Nodes& nodes = profile.nodes();
  Rebuilding how;
  Filtered result;

  if (!filter.select.empty() || !filter.exclude.empty() || !filter.keep.empty()) {
    if (Status bad = find_kept(profile, filter, how.kept_own)) return *bad;
    how.kept_subtree = how.kept_own;
    for (std::size_t n = nodes.count(); n-- > 1;) {
      if (nodes.parent[n]) how.kept_subtree[nodes.parent[n].index()] |= how.kept_subtree[n];
    }
    // The root stays, so that the result is a tree.
    if (nodes.count() != 0) how.kept_subtree[0] = 1;
    const Edges& edges = profile.edges();
    for (std::size_t e = 0; e < edges.count() && !result.is_bound; ++e) {
      result.is_bound = edges.kind[e] == EdgeKind::kBack &&
                        how.kept_own[edges.from[e].index()] != how.kept_own[edges.to[e].index()];
    }
  }

  if (filter.fold.empty()) {
    if (auto part = subset(profile, how.kept_subtree, how.kept_own, &result.origin)) {
      result.profile = std::move(*part);
      return result;
    }
  }
  Parts parts = profile.parts();
  if (!filter.fold.empty()) {
    how.folded.assign(profile.functions().count(), 0);
    for (const std::string& pattern : filter.fold) {
      auto matches = match_some(profile, pattern);
      if (!matches) return matches.error();
      for (std::size_t f = 0; f < matches->size(); ++f) how.folded[f] |= (*matches)[f];
    }
    StringInterner strings(profile.strings());
    auto functions = std::make_shared<Functions>(profile.functions());
    how.folded_away =
        functions->add({.kind = FunctionKind::kBlock, .name = strings.intern("[folded]")});
    how.folded.push_back(0);
    parts.strings = std::make_shared<Strings>(strings.take());
    parts.functions = std::move(functions);
  }
  how.paths_differ = true;
  how.root = nodes.count() != 0 ? nodes.function[0] : FunctionId();
  result.profile = rebuild(Profile(std::move(parts)), how, &result.origin);
  return result;
}

}  // namespace fbleprof::transform
