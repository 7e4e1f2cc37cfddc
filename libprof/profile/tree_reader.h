// Reads the call trees of a file: turns nodes in the order of their creation into columns in
// preorder.
//
// A parent stands before its children in the file. So one pass finds each node's parent, one pass
// backwards adds up the sizes of subtrees, and one forwards gives each node its place: the last
// that is free in its parent's range, which puts the newest child first. No recursion, and no
// memory but a few numbers a node.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/flat_map.h"
#include "profile/address_map.h"
#include "profile/profile.h"
#include "profile/records.h"

namespace fbleprof::profile {

class TreeReader {
 public:
  // The function used in place of one that cannot be read: its Ref leads into the header.
  static constexpr format::Ref kRootFunction = 1, kUnreadableFunction = 2;

  TreeReader(const FileImage& image, RecordWalk& walk, AddressMap& addresses);

  // The number of the tree whose record is at `ref`, from 0 in the order of first use.
  std::uint32_t tree(format::Ref ref);
  std::size_t tree_count() const { return trees_.size(); }
  format::Ref tree_ref(std::uint32_t tree) const { return trees_[tree].ref; }

  // Whether the node at `ref` is the root of the tree.
  bool is_root(std::uint32_t tree, format::Ref ref) const {
    return trees_[tree].root != kNone && find(ref) == trees_[tree].root;
  }
  // Reads the nodes of one record.
  void add_nodes(const Items& items, std::uint32_t tree);

  // Call after the last node. Trees come out in the order of `wanted`, without process and thread;
  // one without nodes is empty. Calls `claim_values(node, ref)` for each node that has a row of
  // values.
  using FunctionOf = std::function<FunctionId(format::Ref)>;
  using ClaimValues = std::function<void(NodeId, format::Ref)>;
  std::vector<Tree> lay_out(const std::vector<std::uint32_t>& wanted, const FunctionOf& function_of,
                            const ClaimValues& claim_values);

  // After lay_out().
  NodeId node(format::Ref ref) const;
  // Prefetches what a lookup of `ref` needs.
  void prefetch(format::Ref ref) const {
    if (ref / 2 < numbers_.size()) __builtin_prefetch(&numbers_[ref / 2]);
  }
  Nodes& nodes() { return nodes_; }
  Edges& edges() { return edges_; }  // tree edges, by the nodes that they lead to
  // Nodes whose depth is not one more than their parent's.
  std::uint64_t wrong_depths() const { return wrong_depths_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  struct Made {
    std::uint32_t parent;  // number of the node, in order of creation; kNone: a root
    format::Ref function;
    SiteId site;
    format::Ref values;
    std::uint32_t calls;  // the lower half
    std::uint16_t depth;
    std::uint8_t flags;
    bool has_more_calls;  // the upper half is in more_calls_
  };
  static_assert(sizeof(Made) == 24);

  struct MadeTree {
    format::Ref ref;
    std::uint32_t root = kNone;
    std::uint32_t unreadable = kNone;  // parent of the nodes whose parents are lost
  };

  class Batch;

  std::uint32_t find(format::Ref ref) const;
  std::uint32_t parent_of_lost(MadeTree& tree);
  void add_node(const format::Node& node, format::Ref ref, std::uint32_t tree);
  std::vector<Tree> give_places(const std::vector<std::uint32_t>& wanted);
  void fill_columns(const FunctionOf& function_of, const ClaimValues& claim_values);
  void fetch_ahead(std::size_t place, const FlatMap& functions) const;
  void find_subtree_ends();

  const FileImage& image_;
  RecordWalk& walk_;
  AddressMap& addresses_;
  FlatMap tree_index_;  // by Ref
  std::vector<MadeTree> trees_;
  std::vector<Made> made_;
  FlatMap more_calls_;
  // By Ref / 2, as no two nodes begin in one pair of units: the number of the node, and (lowest
  // bit) in which unit of the pair it begins.
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> place_;  // by number: in preorder
  std::vector<std::uint32_t> order_;  // by place: the number
  Nodes nodes_;
  Edges edges_;
  std::uint64_t wrong_depths_ = 0;
};

}  // namespace fbleprof::profile
