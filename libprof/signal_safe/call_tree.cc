#include "signal_safe/call_tree.h"

#include "arch/word.h"
#include "format/format.h"

namespace fbleprof::signal_safe {

namespace {

using format::Edge;
using format::EdgeKind;
using format::Kind;
using format::Node;
using format::Ref;

constexpr std::uint32_t kUnitsOfNode = sizeof(Node) / format::kUnitBytes;
// A thread that does little needs little space: the first chunk is small, later chunks grow.
constexpr std::uint32_t kFirstItems = 15, kMostItems = 255;

}  // namespace

bool CallTree::start(const TreeBasis& basis, Ref thread, Ref labels, LinkTable::Item* first_links) {
  *this = CallTree{};
  basis_ = &basis;
  table_.adopt(basis.pages, first_links);
  Arena& arena = *basis.arena;
  records_ = arena.base();
  has_call_sites_ = basis.options->call_sites;
  tree_ = arena.allocate(sizeof(format::Tree));
  if (tree_ == 0) return false;
  root_ = new_node(0, basis.root, 0, 0, 0, 0);
  if (root_ == 0) return false;
  overflow_ = child(root_, basis.overflow, 0, format::kEdgeSampled, 0);
  // Time that fits nowhere else is charged to the root.
  if (overflow_ == 0 || make_values(root_) == nullptr) return false;
  auto* record = arena.at<format::Tree>(tree_);
  record->thread = thread;
  record->root = root_;
  record->labels = labels;
  arena.publish(tree_, Kind::kTree);
  return true;
}

std::uint32_t CallTree::block_of(Ref ref) const {
  const Node* node = node_at(ref);
  if (!(node->recorder_flags & kIsBlock)) return arch::kNoBlock;
  return static_cast<std::uint32_t>(at<format::Function>(node->function)->address);
}

bool CallTree::is_call_edge(Ref ref, Ref function) const {
  const auto* edge = at<Edge>(ref);
  return edge->function == function && edge->kind != EdgeKind::kTail;
}

bool CallTree::is_from_site(std::uint32_t target, std::uint64_t site) const {
  return site == (target & kToEdge ? at<Edge>(target & ~kToEdge)->site : node_at(target)->site);
}

CallTree::Child CallTree::search_child(Ref from, Ref function) const {
  // Without call sites, a key is the function itself.
  const std::uint32_t target = table_.find(from, function, [](std::uint32_t) { return true; });
  return target != 0 ? child_of(target, function) : Child{0, true};
}

Step CallTree::step_to(std::uint32_t target) const {
  if (target & kToEdge) {
    auto* edge = at<Edge>(target & ~kToEdge);
    return {&edge->calls, edge->to, &edge->flags};
  }
  Node* node = node_at(target);
  return {&node->calls, target, &node->flags};
}

Step CallTree::make(Ref from, Ref function, std::uint64_t site, std::uint8_t flags) {
  if (at<format::Function>(function)->flags & format::kFunctionLeftOut) {
    return {&uncounted_, from, &unused_flags_};
  }
  std::uint32_t target = can_link(from) ? make_target(from, function, site, flags) : 0;
  // There is no space for a pair below [overflow] either: count the call on [overflow] itself.
  if (target == 0) return step_to(overflow_);
  // [deeper] may have taken the last link of `from`. Without one, the next call comes here again,
  // and finds the same folded node.
  if (can_link(from)) link(from, key_of(function, site), target);
  return step_to(target);
}

std::uint32_t CallTree::make_target(Ref from, Ref function, std::uint64_t site,
                                    std::uint8_t flags) {
  const Node* node = node_at(from);
  if (node->recorder_flags & kIsFolded) {
    // The path is base / caller / callee, and the callee makes this call.
    const Ref base = node_at(node->parent)->parent;
    return make_folded(base, node->function, function, site);
  }
  const std::uint64_t reserve = reserve_at(node->depth);
  if (Ref ancestor = fold(from, function, site)) {
    if (const std::uint32_t edge =
            new_edge(from, ancestor, site, EdgeKind::kBack, flags, reserve)) {
      return edge;
    }
  } else if (basis_->options->depth_limit != 0 && node->depth >= basis_->options->depth_limit) {
    const Ref base = child(from, basis_->deeper, 0, format::kEdgeSampled, 0);
    if (base != 0) return make_folded(base, node->function, function, site);
  } else if (Ref made = new_node(from, function, site, flags, 0, reserve)) {
    return made;
  }
  __atomic_fetch_add(&basis_->arena->header()->overflow_contexts, 1, __ATOMIC_RELAXED);
  return make_folded(overflow_, node->function, function, site);
}

// The node of `function` below that of `caller` below `base`, which is [overflow] or [deeper].
Ref CallTree::make_folded(Ref base, Ref caller, Ref function, std::uint64_t site) {
  const Ref above = child(base, caller, 0, format::kEdgeSampled, 0);
  return above != 0 ? child(above, function, site, 0, kIsFolded) : 0;
}

// Finds or makes a child without a call: [overflow], [deeper], and the nodes folded below them. The
// flags are those of a new child.
Ref CallTree::child(Ref parent, Ref function, std::uint64_t site, std::uint8_t flags,
                    std::uint8_t recorder_flags) {
  if (const std::uint32_t known = find_link(parent, key_of(function, site), function, site)) {
    return known;
  }
  if (!can_link(parent)) return 0;
  const Ref made = new_node(parent, function, site, flags, recorder_flags, 0);
  if (made != 0) link(parent, key_of(function, site), made);
  return made;
}

bool CallTree::can_link(Ref from) {
  return links_of(from)->targets[kOwnLinks - 1] == 0 || table_.make_room();
}

void CallTree::link(Ref from, std::uint32_t key, std::uint32_t target) {
  Links* links = links_of(from);
  for (int i = 0; i < kOwnLinks; ++i) {
    if (links->targets[i] != 0) continue;
    links->tags[i] = tag_of(key);
    asm volatile("" ::: "memory");
    links->targets[i] = target;
    return;
  }
  table_.add(from, key, target);
  links->has_more = 1;
}

Step CallTree::replace(const BusyGuard& guard, Ref caller, Ref replaced, Ref function,
                       std::uint8_t flags) {
  const Step into = enter(guard, caller, function, 0, flags);
  if (into.to == caller && into.calls == &uncounted_) return into;
  const bool is_its_own = into.to != overflow_;
  if (is_its_own && *into.calls == 0) *into.flags = flags;  // samples may have seen it
  // The key of a tail edge is the node that it leads to.
  const std::uint32_t key = into.to;
  const auto is_tail_edge = [&](std::uint32_t target) {
    if (!(target & kToEdge)) return false;
    const auto* edge = at<Edge>(target & ~kToEdge);
    return edge->kind == EdgeKind::kTail && edge->to == into.to;
  };
  std::uint32_t edge = 0;
  for (const std::uint32_t target : links_of(replaced)->targets) {
    if (is_tail_edge(target)) edge = target;
  }
  if (edge == 0) edge = table_.find(replaced, key, is_tail_edge);
  if (edge == 0 && can_link(replaced)) {
    edge = new_edge(replaced, into.to, 0, EdgeKind::kTail, 0, reserve_at(node_at(replaced)->depth));
    if (edge != 0) link(replaced, key, edge);
  }
  return edge != 0 ? step_to(edge) : into;
}

Ref CallTree::fold(Ref from, Ref function, std::uint64_t site) const {
  switch (basis_->options->compaction) {
    case format::Compaction::kPair:
      return fold_pair(from, function, site);
    case format::Compaction::kSuffix:
      return fold_suffix(from, function, site);
    case format::Compaction::kNone:
      return 0;
  }
  return 0;
}

Ref CallTree::fold_pair(Ref from, Ref function, std::uint64_t site) const {
  const Node* caller = node_at(from);
  Ref ref = from;
  for (const Node* node = caller; node->parent != 0;) {
    const Node* parent = node_at(node->parent);
    if (same_key(node, function, site) && same_key(parent, caller->function, caller->site)) {
      return ref;
    }
    ref = node->parent;
    node = parent;
  }
  return 0;
}

// The shortest k for which the k newest frames, `function` among them, equal the k frames before:
// then the path ends where those earlier k frames end.
Ref CallTree::fold_suffix(Ref from, Ref function, std::uint64_t site) const {
  Ref end = from;  // of the earlier k frames
  for (std::uint32_t k = 1; end != 0 && 2 * k <= node_at(from)->depth + 1u; ++k) {
    if (same_key(node_at(end), function, site)) {
      const Node* newer = node_at(from);
      Ref older = node_at(end)->parent;
      std::uint32_t equal = 1;
      while (equal < k && older != 0 &&
             same_key(newer, node_at(older)->function, node_at(older)->site)) {
        newer = node_at(newer->parent);
        older = node_at(older)->parent;
        ++equal;
      }
      if (equal == k) return end;
    }
    end = node_at(end)->parent;
  }
  return 0;
}

// How much memory must stay free when a context at `depth` is made. The last eighth is reserved for
// pairs below [overflow]. Deeper contexts are refused sooner.
std::uint64_t CallTree::reserve_at(std::uint32_t depth) const {
  constexpr std::uint32_t kDeepest = 128;
  const std::uint64_t cap = basis_->arena->cap_bytes();
  return cap / 8 + cap / 4 * (depth < kDeepest ? depth : kDeepest) / kDeepest;
}

Ref CallTree::take_item(Chunk& chunk, Kind kind, std::uint32_t item_bytes, std::uint64_t reserve) {
  const std::uint32_t units = item_bytes / format::kUnitBytes;
  Arena& arena = *basis_->arena;
  // The current chunk may have been allocated with a smaller reserve.
  if (arena.used_bytes() + reserve > arena.cap_bytes()) return 0;
  if (chunk.next == chunk.end) {
    std::uint32_t items = chunk.items == 0 ? kFirstItems : (chunk.items + 1) * 4 - 1;
    if (items > kMostItems) items = kMostItems;
    const auto allocate = [&] {
      return arena.allocate_items(format::kItemsOffset + std::uint64_t{items} * item_bytes,
                                  reserve);
    };
    Ref ref = allocate();
    if (ref == 0 && items > kFirstItems) {
      items = kFirstItems;  // there may be room for a few
      ref = allocate();
    }
    if (ref == 0) return 0;
    auto* record = arena.at<format::Nodes>(ref);
    static_assert(offsetof(format::Nodes, item_bytes) == offsetof(format::Edges, item_bytes));
    static_assert(offsetof(format::Nodes, item_bytes) == offsetof(format::Values, item_bytes));
    record->tree = tree_;
    record->item_bytes = item_bytes;
    arena.publish(ref, kind);
    chunk.items = items;
    chunk.next = ref + format::kItemsOffset / format::kUnitBytes;
    chunk.end = chunk.next + items * units;
  }
  const Ref ref = chunk.next;
  chunk.next += units;
  return ref;
}

Ref CallTree::new_node(Ref parent, Ref function, std::uint64_t site, std::uint8_t flags,
                       std::uint8_t recorder_flags, std::uint64_t reserve) {
  const Ref ref = take_item(nodes_, Kind::kNodes, sizeof(Node), reserve);
  if (ref == 0) return 0;
  Node* node = node_at(ref);
  node->parent = parent;
  node->site = site;
  const std::uint32_t depth = parent != 0 ? node_at(parent)->depth + 1u : 0;
  node->depth = static_cast<std::uint16_t>(depth < 0xffff ? depth : 0xffff);
  node->flags = flags;
  const auto kind = at<format::Function>(function)->kind;
  node->recorder_flags = static_cast<std::uint8_t>(
      recorder_flags | (kind == format::FunctionKind::kBlock ? kIsBlock : 0));
  __atomic_store_n(&node->function, function, __ATOMIC_RELEASE);
  ++size_;
  __atomic_fetch_add(&basis_->arena->header()->node_count, 1, __ATOMIC_RELAXED);
  return ref;
}

std::uint32_t CallTree::new_edge(Ref from, Ref to, std::uint64_t site, EdgeKind kind,
                                 std::uint8_t flags, std::uint64_t reserve) {
  const Ref ref = take_item(edges_, Kind::kEdges, sizeof(Edge), reserve);
  if (ref == 0) return 0;
  auto* edge = at<Edge>(ref);
  edge->site = site;
  edge->from = from;
  edge->function = function_of(to);
  edge->kind = kind;
  edge->flags = flags;
  __atomic_store_n(&edge->to, to, __ATOMIC_RELEASE);
  __atomic_fetch_add(&basis_->arena->header()->edge_count, 1, __ATOMIC_RELAXED);
  return ref | kToEdge;
}

std::uint64_t* CallTree::make_values(Ref ref) {
  const Ref row = take_item(rows_, Kind::kValues, basis_->options->row_bytes, 0);
  if (row == 0) {
    const Ref of_root = node_at(root_)->values;
    return of_root != 0 ? at<std::uint64_t>(of_root) : nullptr;
  }
  __atomic_store_n(&node_at(ref)->values, row, __ATOMIC_RELEASE);
  return at<std::uint64_t>(row);
}

}  // namespace fbleprof::signal_safe
