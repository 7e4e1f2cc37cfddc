// Merges any number of profiles into one without holding them all.
//
// Profiles are collected until they are many or large. Then their trees become one tree, with one
// node per path, which replaces them. Functions stay apart by module and address, so that a later
// merge by name gives the same result as one from all profiles at once.
#pragma once

#include <cstddef>
#include <vector>

#include "profile/profile.h"
#include "transform/grouping.h"

namespace fbleprof::transform {

struct AccumulateOptions {
  std::vector<Split> splits;  // which groups stay apart
  bool keep_leaves = true;    // false: sampled addresses are their function's self time
  // How much is held before it is merged into one tree.
  std::size_t most_profiles = 16;
  std::size_t most_nodes = 2'000'000;
};

class Accumulator {
 public:
  explicit Accumulator(AccumulateOptions options) : options_(std::move(options)) {}

  void add(profile::Profile profile);
  // All that was added. A few small profiles keep their trees as they were (see join.h).
  profile::Profile take();

 private:
  void collapse();

  AccumulateOptions options_;
  std::vector<profile::Profile> held_;
  std::size_t nodes_ = 0;            // in held_
  std::size_t collapsed_nodes_ = 0;  // of the tree that held_ begins with
};

}  // namespace fbleprof::transform
