// The contexts that a tree's tables for programs hold.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "profile/profile.h"
#include "report/text/look.h"

namespace fbleprof::report {

struct ShownContexts {
  static constexpr std::uint32_t kHidden = 0xffffffffu;
  std::vector<std::uint32_t> nodes;  // parents first, in preorder
  std::vector<std::uint32_t> place;  // by node: its index in `nodes`
};

// All contexts, or those that --depth and `is_small` leave; never without the root. `comes_first`:
// the order of contexts below one; empty: as they are.
ShownContexts shown_contexts(
    const profile::Nodes& nodes, const Look& look,
    const std::function<bool(std::uint32_t)>& is_small,
    const std::function<bool(profile::NodeId, profile::NodeId)>& comes_first = {});

}  // namespace fbleprof::report
