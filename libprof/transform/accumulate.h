// Any number of profiles into one, without holding them all.
//
// Profiles are collected until they are many or large, then their trees become one, with one node
// per path. From then on that tree takes the place of theirs. Functions stay apart by module and
// address, so that a later merge by name gives what it would have given from all of them at once.
#pragma once

#include <cstddef>
#include <vector>

#include "profile/profile.h"
#include "transform/grouping.h"

namespace fbleprof::transform {

struct AccumulateOptions {
  std::vector<Split> splits;  // what must not become one
  bool keep_leaves = true;    // false: sampled addresses are their function's self time
  // How much is held side by side before it becomes one tree.
  std::size_t most_profiles = 16;
  std::size_t most_nodes = 2'000'000;
};

class Accumulator {
 public:
  explicit Accumulator(AccumulateOptions options) : options_(std::move(options)) {}

  void add(profile::Profile profile);
  // All that was added. Few small profiles come with their trees as they were (see join.h).
  profile::Profile take();

 private:
  void collapse();

  AccumulateOptions options_;
  std::vector<profile::Profile> held_;
  std::size_t nodes_ = 0;            // in held_
  std::size_t collapsed_nodes_ = 0;  // of the tree that held_ begins with
};

}  // namespace fbleprof::transform
