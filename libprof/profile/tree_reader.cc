#include "profile/tree_reader.h"

#include <algorithm>
#include <limits>

namespace fbleprof::profile {
namespace {

constexpr std::size_t kFetchAhead = 16;

}  // namespace

TreeReader::TreeReader(const FileImage& image, RecordWalk& walk, AddressMap& addresses)
    : image_(image), walk_(walk), addresses_(addresses) {
  // The count in the header is a hint; the file's size is the bound.
  made_.reserve(
      std::min<std::uint64_t>(image.header().node_count, image.size() / sizeof(format::Node)));
}

std::uint32_t TreeReader::tree(format::Ref ref) {
  const auto [tree, added] = tree_index_.insert(ref, static_cast<std::uint32_t>(trees_.size()));
  if (added) trees_.push_back({ref});
  return tree;
}

std::uint32_t TreeReader::find(format::Ref ref) const {
  if (ref / 2 >= numbers_.size()) return kNone;
  const std::uint32_t known = numbers_[ref / 2];
  return known != kNone && (known & 1) == (ref & 1) ? known >> 1 : kNone;
}

// Keeps the nodes below a lost record, and keeps them apart.
std::uint32_t TreeReader::parent_of_lost(MadeTree& tree) {
  const auto make = [&](std::uint32_t parent, format::Ref function, std::uint16_t depth) {
    made_.push_back({parent, function, SiteId(), 0, 0, depth, 0, false});
    return static_cast<std::uint32_t>(made_.size() - 1);
  };
  if (tree.root == kNone) tree.root = make(kNone, kRootFunction, 0);
  if (tree.unreadable == kNone) tree.unreadable = make(tree.root, kUnreadableFunction, 1);
  return tree.unreadable;
}

void TreeReader::add_node(const format::Node& node, format::Ref ref, std::uint32_t tree) {
  MadeTree& of = trees_[tree];
  std::uint32_t parent = node.parent == 0 ? kNone : find(node.parent);
  std::uint16_t depth = node.depth;
  if (parent == kNone && (node.parent != 0 || of.root != kNone)) {
    walk_.note_unresolved("parent node", node.parent, sizeof node,
                          std::uint64_t{ref} * format::kUnitBytes);
    // Made after its parent's place was read: not part of this reading.
    if (walk_.is_live()) return;
    parent = parent_of_lost(of);
    depth = 2;
  }
  const auto number = static_cast<std::uint32_t>(made_.size());
  if (parent == kNone) of.root = number;
  if (ref / 2 >= numbers_.size()) {
    numbers_.resize(
        std::max<std::uint64_t>(walk_.end() / (2 * format::kUnitBytes) + 1, ref / 2 + 1), kNone);
  }
  numbers_[ref / 2] = number << 1 | (ref & 1);
  format::Ref function = node.function;
  if (function < format::kHeaderBytes / format::kUnitBytes) {
    walk_.note_unresolved("function", function, sizeof(format::Function),
                          std::uint64_t{ref} * format::kUnitBytes);
    function = kUnreadableFunction;
  }
  const bool is_large = node.calls >> 32 != 0;
  if (is_large) more_calls_.insert(number, static_cast<std::uint32_t>(node.calls >> 32));
  made_.push_back({parent, function, node.site == 0 ? SiteId() : addresses_.site(node.site),
                   node.values, static_cast<std::uint32_t>(node.calls), depth, node.flags,
                   is_large});
}

void TreeReader::add_nodes(const Items& items, std::uint32_t tree) {
  const std::uint32_t step = items.item_bytes();
  const auto node_at = [&](const std::byte* bytes, std::uint64_t i) {
    return reinterpret_cast<const format::Node*>(bytes + i * step);
  };
  items.each_run(walk_.window(),
                 [&](std::uint64_t first, std::uint64_t count, const std::byte* bytes) {
                   for (std::uint64_t i = 0; i < count; ++i) {
                     if (i + kFetchAhead < count) {
                       const format::Node* ahead = node_at(bytes, i + kFetchAhead);
                       addresses_.prefetch_site(ahead->site);
                       if (ahead->parent / 2 < numbers_.size())
                         __builtin_prefetch(&numbers_[ahead->parent / 2]);
                     }
                     const format::Node* node = node_at(bytes, i);
                     if (node->function != 0) add_node(*node, items.ref(first + i), tree);
                   }
                 });
}

// Fills place_ and order_.
std::vector<Tree> TreeReader::give_places(const std::vector<std::uint32_t>& wanted) {
  const std::size_t count = made_.size();
  // First the size of each subtree, then the end of its free range.
  std::vector<std::uint32_t> free_end(count, 1);
  for (std::size_t i = count; i-- > 0;) {
    if (i >= kFetchAhead && made_[i - kFetchAhead].parent != kNone) {
      __builtin_prefetch(&free_end[made_[i - kFetchAhead].parent], 1);
    }
    if (made_[i].parent != kNone) free_end[made_[i].parent] += free_end[i];
  }
  std::vector<Tree> trees;
  std::uint32_t begin = 0;
  place_.resize(count);
  for (const std::uint32_t t : wanted) {
    const std::uint32_t root = trees_[t].root;
    Tree& tree = trees.emplace_back();
    tree.begin = tree.end = NodeId(begin);
    if (root == kNone) continue;
    place_[root] = begin;
    free_end[root] = begin += free_end[root];
    tree.end = NodeId(begin);
  }
  order_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kFetchAhead < count && made_[i + kFetchAhead].parent != kNone) {
      __builtin_prefetch(&free_end[made_[i + kFetchAhead].parent], 1);
    }
    if (made_[i].parent != kNone) {
      const std::uint32_t end = free_end[made_[i].parent];
      const std::uint32_t place = end - free_end[i];
      free_end[made_[i].parent] = place_[i] = place;
      free_end[i] = end;
    }
    order_[place_[i]] = static_cast<std::uint32_t>(i);
  }
  return trees;
}

// The rows of some nodes and their tree edges, to be added to the columns at once.
class TreeReader::Batch {
 public:
  Batch(Nodes& nodes, Edges& edges) : nodes_(nodes), edges_(edges) {}
  ~Batch() { flush(); }

  void add_node(NodeId parent, FunctionId function, std::uint32_t depth) {
    if (node_count_ == kRows) flush();
    parent_[node_count_] = parent;
    function_[node_count_] = function;
    depth_[node_count_++] = depth;
  }
  // Placed after the node that it leads to.
  void add_edge(NodeId from, NodeId to, std::uint8_t flags, std::uint64_t calls, SiteId site) {
    from_[edge_count_] = from;
    to_[edge_count_] = to;
    flags_[edge_count_] = flags;
    site_[edge_count_] = site;
    calls_[edge_count_++] = calls;
  }

 private:
  static constexpr std::size_t kRows = 512;

  template <class T>
  static void append(std::vector<T>& column, const T* rows, std::size_t count) {
    column.insert(column.end(), rows, rows + count);
  }
  void flush() {
    append(nodes_.parent, parent_, node_count_);
    append(nodes_.function, function_, node_count_);
    append(nodes_.depth, depth_, node_count_);
    append(edges_.from, from_, edge_count_);
    append(edges_.to, to_, edge_count_);
    append(edges_.flags, flags_, edge_count_);
    append(edges_.site, site_, edge_count_);
    edges_.kind.resize(edges_.from.size(), EdgeKind::kTree);
    for (std::size_t e = 0; e < edge_count_; ++e) edges_.calls.push_back(calls_[e]);
    node_count_ = edge_count_ = 0;
  }

  Nodes& nodes_;
  Edges& edges_;
  std::size_t node_count_ = 0, edge_count_ = 0;
  NodeId parent_[kRows], from_[kRows], to_[kRows];
  FunctionId function_[kRows];
  std::uint32_t depth_[kRows];
  std::uint8_t flags_[kRows];
  SiteId site_[kRows];
  std::uint64_t calls_[kRows];
};

void TreeReader::fill_columns(const FunctionOf& function_of, const ClaimValues& claim_values) {
  const std::size_t count = made_.size();
  const std::uint64_t others =
      std::min<std::uint64_t>(image_.header().edge_count, image_.size() / sizeof(format::Edge));
  nodes_.parent.reserve(count);
  nodes_.function.reserve(count);
  nodes_.depth.reserve(count);
  edges_.from.reserve(count + others);
  edges_.to.reserve(count + others);
  edges_.kind.reserve(count + others);
  edges_.flags.reserve(count + others);
  edges_.calls.reserve(count + others);
  edges_.site.reserve(count + others);
  FlatMap functions;                  // a node's function, by Ref: asked for once each
  std::vector<std::uint32_t> depths;  // of the node that stands last at each depth
  Batch batch(nodes_, edges_);
  for (std::size_t p = 0; p < count; ++p) {
    fetch_ahead(p, functions);
    const Made& made = made_[order_[p]];
    const NodeId parent = made.parent == kNone ? NodeId() : NodeId(place_[made.parent]);
    // The last node that precedes a node in preorder and is less deep is its parent.
    while (!depths.empty() && (!parent || depths.back() != parent.index())) depths.pop_back();
    const auto depth = static_cast<std::uint32_t>(depths.size());
    depths.push_back(static_cast<std::uint32_t>(p));
    constexpr std::uint32_t kDeepest = std::numeric_limits<std::uint16_t>::max();
    wrong_depths_ += made.depth != std::min(depth, kDeepest);
    std::uint32_t function = functions.find(made.function);
    if (function == FlatMap::kAbsent) {
      function = functions.insert(made.function, function_of(made.function).index()).first;
    }
    batch.add_node(parent, FunctionId(function), depth);
    if (made.values != 0) claim_values(NodeId(p), made.values);
    if (!parent) continue;
    std::uint64_t calls = made.calls;
    if (made.has_more_calls) calls |= std::uint64_t{more_calls_.find(order_[p])} << 32;
    batch.add_edge(parent, NodeId(p), made.flags, calls, made.site);
  }
}

void TreeReader::fetch_ahead(std::size_t p, const FlatMap& functions) const {
  if (p + 2 * kFetchAhead >= order_.size()) return;
  const Made* far = &made_[order_[p + 2 * kFetchAhead]];
  __builtin_prefetch(far);
  __builtin_prefetch(reinterpret_cast<const char*>(far + 1) - 1);
  const Made& near = made_[order_[p + kFetchAhead]];
  functions.prefetch(near.function);
  if (near.parent != kNone) __builtin_prefetch(&place_[near.parent]);
}

void TreeReader::find_subtree_ends() {
  const std::size_t count = nodes_.count();
  nodes_.subtree_end.resize(count);
  for (std::size_t p = count; p-- > 0;) {
    std::uint32_t& end = nodes_.subtree_end[p];
    end = std::max(end, static_cast<std::uint32_t>(p + 1));
    if (!nodes_.parent[p]) continue;
    std::uint32_t& above = nodes_.subtree_end[nodes_.parent[p].index()];
    above = std::max(above, end);
  }
}

std::vector<Tree> TreeReader::lay_out(const std::vector<std::uint32_t>& wanted,
                                      const FunctionOf& function_of,
                                      const ClaimValues& claim_values) {
  std::vector<Tree> trees = give_places(wanted);
  fill_columns(function_of, claim_values);
  // Releases the memory; assigning {} would keep it.
  made_ = std::vector<Made>();
  order_ = std::vector<std::uint32_t>();
  find_subtree_ends();
  return trees;
}

NodeId TreeReader::node(format::Ref ref) const {
  const std::uint32_t number = find(ref);
  return number == kNone ? NodeId() : NodeId(place_[number]);
}

}  // namespace fbleprof::profile
