// The inclusive cost of each context, and how reliable it is.
//
// Recursion that the pair rule compacted leaves a back edge P -> N: the program went on below P,
// but the cost of that is charged below N. Every node between N (not included) and P is on those
// paths too, unseen: its figure is too low by an unknown part of N's. Such figures are bounds, and
// are marked so. The figures of N itself, and of all nodes above it, are complete and exact. Code
// without hooks that calls back into counted code has bounds, too (callbacks.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

class PairIndex;
class Tables;
using FindPairs = std::function<std::shared_ptr<const PairIndex>()>;

// By node: the values of the node and of all below it, aggregated as the metric says.
std::vector<std::uint64_t> inclusive(const profile::Profile& profile,
                                     const profile::Metric& metric);

// By node: 1 = a back edge leads from the node's subtree to above it: its inclusive value is a
// lower bound.
std::vector<std::uint8_t> lower_bounds(const profile::Profile& profile);

// All of a metric in the profile.
std::uint64_t total(const profile::Profile& profile, const profile::Metric& metric);
std::uint64_t total(const profile::Profile& profile, const profile::Metric& metric,
                    const profile::Tree& tree);

// A profile measured by one of its metrics: what each context costs, and how reliable that is. Made
// once, shared and immutable. Refers to the profile.
class Costs {
 public:
  // `find_pairs`: a faster way to the profile's pairs than from its contexts; may be empty.
  Costs(const profile::Profile& profile, const profile::Metric& metric, FindPairs find_pairs = {});
  ~Costs();

  const profile::Profile& profile() const { return profile_; }
  const profile::Metric& metric() const { return metric_; }

  std::uint64_t total() const { return total_; }
  bool is_sum() const { return metric_.aggregation != profile::Aggregation::kMax; }
  // Adds costs of different paths, as the metric does.
  void add(std::uint64_t& sum, std::uint64_t cost) const { metric_.add(sum, cost); }
  std::uint64_t own(profile::NodeId node) const { return metric_.value(node); }
  // How often the context was entered; 0 where calls were not counted.
  std::uint64_t calls(profile::NodeId node) const { return calls_ ? calls_->value(node) : 0; }
  // By node; is_bound() also marks code that called back (callbacks.h).
  const std::vector<std::uint64_t>& inclusive() const { return inclusive_; }
  const std::vector<std::uint8_t>& is_bound() const;
  // Tables that views share (tables.h).
  const Tables& tables() const { return *tables_; }

 private:
  const profile::Profile& profile_;
  const profile::Metric& metric_;
  const profile::Metric* calls_;
  std::vector<std::uint64_t> inclusive_;
  std::uint64_t total_;
  // Computed on first use: not every view marks them.
  mutable std::once_flag bounds_are_found_;
  mutable std::vector<std::uint8_t> is_bound_;
  const std::unique_ptr<const Tables> tables_;
};

// The edges that leave each node, without a search.
class EdgesByNode {
 public:
  enum class Side { kFrom, kTo };
  EdgesByNode(const profile::Profile& profile, Side side);

  const profile::EdgeId* begin(profile::NodeId node) const {
    return edges_.data() + first_[node.index()];
  }
  const profile::EdgeId* end(profile::NodeId node) const {
    return edges_.data() + first_[node.index() + 1];
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<profile::EdgeId> edges_;
};

}  // namespace fbleprof::analysis
