// Where the contexts of a profile come from that was made from another: what is known of the source
// need not be found again.
#pragma once

#include <cstdint>
#include <vector>

namespace fbleprof::profile {

struct Origin {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  // By node: a node of the source with the same function; kNone: there is none.
  std::vector<std::uint32_t> node;
  // By edge behind the tree edges, which are one for each node but the root: an edge of the source.
  std::vector<std::uint32_t> other_edge;
};

}  // namespace fbleprof::profile
