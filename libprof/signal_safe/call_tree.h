// The calling context tree of one thread, built where the report reads it: in the mapped file.
//
// A node is one context; an edge leaves a node under a function and counts the calls that took it.
// Left alone such a tree grows with the depth of recursion. The pair rule bounds it by the code: on
// any path from the root a pair caller→callee stands at most once. To enter Y from a node P of
// function X:
//   1. P has an edge for Y: follow it.
//   2. Else a node N on the path from the root to P has function Y, and its parent has function X:
//      add a back edge P→N. The pair stands on the path already.
//   3. Else add a node.
// So a path is at most as long as there are distinct pairs, and every call X→Y is counted on an
// edge that leaves a node of X and leads to a node of Y whose parent is of X: summed over the tree,
// the counts of caller→callee pairs are exact however deep the recursion went.
//
// The other rules (suffix, none) fold less and are not bounded by the code. In all of them a limit
// holds: past it a call leads to a child of [overflow], one a function, where nothing is lost but
// the context.
//
// One writer: the thread that owns the tree. Whoever calls holds its BusyGuard. A node is complete
// before the edge that leads to it is linked (release), so that readers of the file, and the
// handler that interrupts a hook, see whole records.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/shadow_stack.h"

namespace fbleprof::signal_safe {

class CallTree {
 public:
  // Starts a tree in the session's arena; false when there is no space for even that.
  // `chunk_refs` and `hints` are zeroed memory of the sizes below, the thread's own.
  bool start(format::Ref* chunk_refs, format::Ref* hints);

  // The edge to take from node `from` into `function`; null when there is not even space to count
  // it under [overflow]. `site` is the return address, part of the key in call-site mode only.
  format::Edge* enter(format::Ref from, format::Ref function, std::uint64_t site,
                      std::uint8_t flags);

  // The tail edge from `replaced` into `function`, whose node is where `caller` would enter it.
  format::Edge* replace(format::Ref caller, format::Ref replaced, format::Ref function);

  format::Ref root() const { return root_; }
  format::Ref node_at(std::uint32_t number) const {
    return chunk_refs_[number / kNodesPerChunk] +
           number % kNodesPerChunk * (sizeof(format::Node) / format::kUnitBytes);
  }
  Word word_of(format::Ref node) const;

  static constexpr std::uint32_t kNodesPerChunk = 16;
  static constexpr std::uint32_t kMaxNodes = 1u << 24;
  static constexpr std::uint64_t kChunkRefBytes = kMaxNodes / kNodesPerChunk * 4ull;
  static constexpr std::uint32_t kHints = 1u << 14;
  static constexpr std::uint64_t kHintBytes = kHints * 4ull;

 private:
  format::Edge* find(format::Ref from, format::Ref function, std::uint64_t site) const;
  format::Ref fold(format::Ref from, format::Ref function, std::uint64_t site) const;
  format::Ref fold_pair(format::Ref from, format::Ref function, std::uint64_t site) const;
  format::Ref fold_suffix(format::Ref from, format::Ref function, std::uint64_t site) const;
  bool same_key(format::Ref node, format::Ref function, std::uint64_t site) const;
  bool same_key(format::Ref a, format::Ref b) const;
  std::uint64_t site_of(format::Ref node) const;
  format::Ref new_node(format::Ref parent, format::Ref function, std::uint64_t reserve);
  format::Edge* new_edge(format::Ref from, format::Ref to, std::uint64_t site,
                         format::EdgeKind kind, std::uint8_t flags, std::uint64_t reserve);
  format::Edge* overflow_into(format::Ref function);

  format::Ref root_ = 0, overflow_ = 0;
  format::Edge* overflow_edge_ = nullptr;  // [root]→[overflow]: counts what has no place at all
  format::Ref* chunk_refs_ = nullptr;
  format::Ref* hints_ = nullptr;
  std::uint32_t next_number_ = 0, number_limit_ = 0;
  format::Ref next_edge_ = 0, edge_limit_ = 0;
};

}  // namespace fbleprof::signal_safe
