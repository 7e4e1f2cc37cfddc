// The calling context tree of one thread, built where the report reads it: in the mapped file.
//
// A node is one context; an edge leaves a node under a function and counts the calls that took it.
// Without a rule such a tree grows with the depth of recursion. The pair rule bounds it by the
// code: on any path from the root a pair caller→callee is present at most once. To enter Y from a
// node P of function X:
//   1. P has an edge for Y: follow it.
//   2. Else a node N on the path from the root to P has function Y, and its parent has function X:
//      add a back edge P→N. The pair stands on the path already.
//   3. Else add a node.
// So a path is at most as long as there are distinct pairs, and every call X→Y is counted on an
// edge that leaves a node of X and leads to a node of Y whose parent is of X: summed over the tree,
// the counts of caller→callee pairs are exact however deep the recursion went.
//
// The other rules (suffix, none) fold less and are not bounded by the code.
//
// Two more limits bound the tree. Beyond the depth limit or the memory limit, a call X→Y leads
// below [deeper] or [overflow], to the node Y below X there. Only the path to X is lost; the counts
// of pairs stay exact. Deep contexts are refused first.
//
// The cost of a call does not depend on the size of the tree. A node's line of 64 bytes, which was
// just written to count the call, names the first five ways that leave the node; others are in a
// table. Steps 2 and 3, and folding at a limit, happen once for each way; later calls find the way
// like any other.
//
// One writer: the thread that owns the tree. The caller holds its BusyGuard. A node is complete
// before its `function` is set, an edge before its `to` (release), so readers of the file, and a
// handler that interrupts a hook, see whole records.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/arena.h"
#include "signal_safe/link_table.h"
#include "signal_safe/options.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

// The data that all trees of a profile share.
struct TreeBasis {
  Arena* arena = nullptr;
  Pages* pages = nullptr;
  const Options* options = nullptr;
  // Functions of the special nodes.
  format::Ref root = 0, overflow = 0, deeper = 0;
};

// The words of a node's row of values. capture/metrics describes the metrics that they hold.
enum ValueWord : std::uint32_t {
  kCpuNs = 0,  // thread CPU time charged here: self, without overhead
  kWallNs,     // elapsed time charged here, without overhead
  kSamples,    // charges
  kOwnCostNs,  // CPU time of samples that fell into the profiler's own code
  kTicks,      // virtual time charged here
  kMinorFaults,
  kMajorFaults,
  kEvents,  // the event of Options::event
  kValueWords
};
inline constexpr std::uint32_t kRowBytes = 64;  // without what memory_words.h adds
static_assert(kValueWords * 8 <= kRowBytes && kRowBytes % format::kUnitBytes == 0);
static_assert(Options{}.row_bytes == kRowBytes);

// A way that a call takes.
struct Step {
  std::uint64_t* calls = nullptr;  // where it is counted; null: there is no such way
  format::Ref to = 0;              // Node
  std::uint8_t* flags = nullptr;   // format::kEdge...

  explicit operator bool() const { return calls != nullptr; }
};

// Proof that the caller holds the thread's state against its own handlers; see thread_state.h.
class BusyGuard;

class CallTree {
 public:
  // Starts a tree; false if there is no space for it. `first_links`: zeroed memory for
  // LinkTable::kFirstItems, owned by the thread. `labels`: LabelSet or 0.
  bool start(const TreeBasis& basis, format::Ref thread, format::Ref labels,
             LinkTable::Item* first_links);

  // The way from node `from` into `function`, if it was taken before.
  Step find(format::Ref from, format::Ref function, std::uint64_t site) const {
    const std::uint32_t target = find_link(from, key_of(function, site), function, site);
    return target != 0 ? step_to(target) : Step{};
  }

  // What find() would answer, in few instructions. Neither a node nor new: ask find().
  struct Child {
    format::Ref node;  // 0: the way does not lead to a child of `from`
    bool is_new;       // no call has taken the way
  };
  Child find_child(format::Ref from, format::Ref function) const;

  // The same as find(); makes the way if it is new. `site` is the return address, part of the key
  // in call-site mode only; `flags` are those of a new edge. A function that a filter leaves out
  // leads to `from` itself, and its calls count nowhere.
  Step enter(const BusyGuard&, format::Ref from, format::Ref function, std::uint64_t site,
             std::uint8_t flags) {
    const Step step = find(from, function, site);
    return step ? step : make(from, function, site, flags);
  }

  // As enter(), for a way that is new.
  Step enter_new(const BusyGuard&, format::Ref from, format::Ref function, std::uint64_t site,
                 std::uint8_t flags) {
    return make(from, function, site, flags);
  }

  // The tail edge from `replaced` into `function`, whose node is where `caller` would enter it. If
  // no call has taken that way yet, it gets `flags`.
  Step replace(const BusyGuard& guard, format::Ref caller, format::Ref replaced,
               format::Ref function, std::uint8_t flags = 0);

  // A node's values; the root's if there is no space for its own.
  std::uint64_t* values(const BusyGuard&, format::Ref node) {
    const format::Ref row = node_at(node)->values;
    return row != 0 ? at<std::uint64_t>(row) : make_values(node);
  }
  // The same, but makes nothing, so it needs no guard.
  std::uint64_t* values_or_root(format::Ref node) const {
    const format::Ref row = node_at(node)->values;
    return at<std::uint64_t>(row != 0 ? row : node_at(root_)->values);
  }

  format::Ref root() const { return root_; }
  std::uint32_t size() const { return size_; }  // contexts
  // The context of the last sample; 0: none yet. What comes after it is charged there.
  format::Ref last_sampled() const { return last_sampled_; }
  void note_sampled(format::Ref context) { last_sampled_ = context; }
  format::Node* node_at(format::Ref ref) const { return at<format::Node>(ref); }
  format::Ref function_of(format::Ref node) const { return node_at(node)->function; }
  // The number of the block that a node stands for; arch::kNoBlock for others.
  std::uint32_t block_of(format::Ref node) const;

 private:
  // Format::Node::recorder_flags.
  static constexpr std::uint8_t kIsBlock = 1;
  static constexpr std::uint8_t kIsFolded = 2;  // below [overflow] or [deeper]

  // A link's target: a node, or an edge that is not a tree edge.
  static constexpr std::uint32_t kToEdge = 1u << 31;

  // The ways that a node's own line names (Node::recorder_links). A tag is only a hint. The proof
  // is the target's function, which is in the line where the call is counted.
  static constexpr int kOwnLinks = 5;
  struct Links {
    std::uint16_t has_more;  // in the table
    std::uint16_t tags[kOwnLinks];
    std::uint32_t targets[kOwnLinks];  // 0: none yet
  };
  static_assert(sizeof(Links) == sizeof(format::Node::recorder_links));
  static_assert(offsetof(format::Node, recorder_links) % alignof(Links) == 0);
  Links* links_of(format::Ref node) const {
    return reinterpret_cast<Links*>(&node_at(node)->recorder_links);
  }
  static std::uint16_t tag_of(std::uint32_t key) {
    return static_cast<std::uint16_t>(key ^ key >> 16);
  }

  std::uint32_t key_of(format::Ref function, std::uint64_t site) const {
    if (!has_call_sites_) return function;
    return static_cast<std::uint32_t>(
               (site ^ std::uint64_t{function} << 32) * 0x9e3779b97f4a7c15u >> 32) |
           1;
  }
  // Whether a target is the way for a call of `function` from `site`.
  bool is_way(std::uint32_t target, format::Ref function, std::uint64_t site) const {
    const bool is_node = !(target & kToEdge);
    if (is_node ? function_of(target) != function : !is_call_edge(target & ~kToEdge, function)) {
      return false;
    }
    return !has_call_sites_ || is_from_site(target, site);
  }
  bool is_call_edge(format::Ref edge, format::Ref function) const;
  bool is_from_site(std::uint32_t target, std::uint64_t site) const;

  std::uint32_t find_link(format::Ref from, std::uint32_t key, format::Ref function,
                          std::uint64_t site) const {
    const Links* links = links_of(from);
    const std::uint16_t tag = tag_of(key);
    for (int i = 0; i < kOwnLinks; ++i) {
      if (links->tags[i] == tag && links->targets[i] != 0 &&
          is_way(links->targets[i], function, site)) {
        return links->targets[i];
      }
    }
    if (links->has_more == 0) return 0;
    return table_.find(from, key,
                       [&](std::uint32_t target) { return is_way(target, function, site); });
  }
  Step step_to(std::uint32_t target) const;

  Step make(format::Ref from, format::Ref function, std::uint64_t site, std::uint8_t flags);
  std::uint32_t make_target(format::Ref from, format::Ref function, std::uint64_t site,
                            std::uint8_t flags);
  format::Ref make_folded(format::Ref base, format::Ref caller, format::Ref function,
                          std::uint64_t site);
  format::Ref child(format::Ref parent, format::Ref function, std::uint64_t site,
                    std::uint8_t flags, std::uint8_t recorder_flags);
  bool can_link(format::Ref from);
  void link(format::Ref from, std::uint32_t key, std::uint32_t target);

  format::Ref fold(format::Ref from, format::Ref function, std::uint64_t site) const;
  format::Ref fold_pair(format::Ref from, format::Ref function, std::uint64_t site) const;
  format::Ref fold_suffix(format::Ref from, format::Ref function, std::uint64_t site) const;
  bool same_key(const format::Node* node, format::Ref function, std::uint64_t site) const {
    return node->function == function && (!has_call_sites_ || node->site == site);
  }
  std::uint64_t reserve_at(std::uint32_t depth) const;

  // Of a target, or 0.
  Child child_of(std::uint32_t target, format::Ref function) const {
    const bool is_child = target != 0 && !(target & kToEdge) && function_of(target) == function;
    return {is_child ? target : 0, false};
  }
  Child search_child(format::Ref from, format::Ref function) const;

  // Space for items of one kind, taken from the arena in chunks.
  struct Chunk {
    format::Ref next = 0, end = 0;
    std::uint32_t items = 0;  // of the newest chunk
  };
  format::Ref take_item(Chunk& chunk, format::Kind kind, std::uint32_t item_bytes,
                        std::uint64_t reserve);
  format::Ref new_node(format::Ref parent, format::Ref function, std::uint64_t site,
                       std::uint8_t flags, std::uint8_t recorder_flags, std::uint64_t reserve);
  std::uint32_t new_edge(format::Ref from, format::Ref to, std::uint64_t site,
                         format::EdgeKind kind, std::uint8_t flags, std::uint64_t reserve);
  std::uint64_t* make_values(format::Ref node);

  template <typename Record>
  Record* at(format::Ref ref) const {
    return Arena::record_in<Record>(records_, ref);
  }

  const TreeBasis* basis_ = nullptr;
  // Of the basis: the arena's memory, and Options::call_sites. Each call asks.
  char* records_ = nullptr;
  bool has_call_sites_ = false;
  format::Ref tree_ = 0, root_ = 0, overflow_ = 0;
  std::uint32_t size_ = 0;
  format::Ref last_sampled_ = 0;
  Chunk nodes_, edges_, rows_;
  std::uint64_t uncounted_ = 0;  // calls of functions that are left out
  std::uint8_t unused_flags_ = 0;
  LinkTable table_;
};

// Compares four tags at once: a branch for each would often be mispredicted.
inline CallTree::Child CallTree::find_child(format::Ref from, format::Ref function) const {
  if (has_call_sites_) return {0, false};
  constexpr std::uint64_t kEach = 0x0001000100010001, kTops = kEach << 15;
  const Links* links = links_of(from);
  const std::uint16_t tag = tag_of(function);
  std::uint64_t differences;
  __builtin_memcpy(&differences, links->tags, sizeof differences);
  differences ^= tag * kEach;
  // The lowest bit that is set tells the first tag that is equal.
  const std::uint64_t equal = (differences - kEach) & ~differences & kTops;
  const int i = equal != 0 ? __builtin_ctzll(equal) / 16 : kOwnLinks - 1;
  if (links->tags[i] == tag) return child_of(links->targets[i], function);
  return links->has_more == 0 ? Child{0, true} : search_child(from, function);
}

}  // namespace fbleprof::signal_safe
