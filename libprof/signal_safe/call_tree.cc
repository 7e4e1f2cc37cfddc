#include "signal_safe/call_tree.h"

#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

using format::Edge;
using format::EdgeKind;
using format::Node;
using format::Ref;

constexpr std::uint32_t kNodeUnits = sizeof(Node) / format::kUnitBytes;
constexpr std::uint32_t kEdgesPerChunk = 32;

// The last eighth of the memory is for [overflow]: one node and one edge a function.
std::uint64_t context_reserve() { return session.arena.cap_bytes() / 8; }

Node* node(Ref ref) { return session.arena.at<Node>(ref); }
Edge* edge(Ref ref) { return session.arena.at<Edge>(ref); }

std::uint32_t hint_index(Ref from, Ref function) {
  return (from * 0x9e3779b1u ^ function * 0x85ebca6bu) >> 12 & (CallTree::kHints - 1);
}

}  // namespace

bool CallTree::start(Ref* chunk_refs, Ref* hints) {
  *this = CallTree{};
  chunk_refs_ = chunk_refs;
  hints_ = hints;
  root_ = new_node(0, session.root, 0);
  if (root_ == 0) return false;
  overflow_ = new_node(root_, session.overflow, 0);
  overflow_edge_ = overflow_ ? new_edge(root_, overflow_, 0, EdgeKind::kTree, 0, 0) : nullptr;
  return overflow_edge_ != nullptr;
}

Word CallTree::word_of(Ref ref) const {
  const Node* n = node(ref);
  const auto* function = session.arena.at<format::Function>(n->function);
  return make_word(n->number, function->kind == format::FunctionKind::kBlock
                                  ? static_cast<std::uint32_t>(function->address)
                                  : 0);
}

Edge* CallTree::enter(Ref from, Ref function, std::uint64_t site, std::uint8_t flags) {
  Ref& hint = hints_[hint_index(from, function)];
  if (hint != 0) {
    Edge* e = edge(hint);
    if (e->from == from && e->kind != EdgeKind::kTail && same_key(e->to, function, site) &&
        (!session.options.call_sites || e->site == site)) {
      return e;
    }
  }
  Edge* e = find(from, function, site);
  if (!e) {
    if (Ref ancestor = fold(from, function, site)) {
      e = new_edge(from, ancestor, site, EdgeKind::kBack, flags, context_reserve());
    } else if (Ref child = new_node(from, function, context_reserve())) {
      e = new_edge(from, child, site, EdgeKind::kTree, flags, 0);
    }
    if (!e) return overflow_into(function);
  }
  hint = session.arena.ref_of(e);
  return e;
}

Edge* CallTree::replace(Ref caller, Ref replaced, Ref function) {
  Edge* into = enter(caller, function, 0, 0);
  if (!into) return nullptr;
  for (Ref ref = node(replaced)->first_edge; ref != 0; ref = edge(ref)->next) {
    if (edge(ref)->kind == EdgeKind::kTail && edge(ref)->to == into->to) return edge(ref);
  }
  Edge* tail = new_edge(replaced, into->to, 0, EdgeKind::kTail, 0, context_reserve());
  return tail ? tail : into;
}

Edge* CallTree::find(Ref from, Ref function, std::uint64_t site) const {
  for (Ref ref = node(from)->first_edge; ref != 0; ref = edge(ref)->next) {
    Edge* e = edge(ref);
    if (e->kind != EdgeKind::kTail && node(e->to)->function == function &&
        (!session.options.call_sites || e->site == site)) {
      return e;
    }
  }
  return nullptr;
}

// The call site by which a node was first entered: part of its key in call-site mode.
std::uint64_t CallTree::site_of(Ref ref) const {
  const Ref parent = node(ref)->parent;
  if (parent == 0) return 0;
  for (Ref e = node(parent)->first_edge; e != 0; e = edge(e)->next) {
    if (edge(e)->to == ref && edge(e)->kind == EdgeKind::kTree) return edge(e)->site;
  }
  return 0;
}

bool CallTree::same_key(Ref ref, Ref function, std::uint64_t site) const {
  return node(ref)->function == function && (!session.options.call_sites || site_of(ref) == site);
}

bool CallTree::same_key(Ref a, Ref b) const {
  return node(a)->function == node(b)->function &&
         (!session.options.call_sites || site_of(a) == site_of(b));
}

Ref CallTree::fold(Ref from, Ref function, std::uint64_t site) const {
  switch (session.options.compaction) {
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
  for (Ref n = from; node(n)->parent != 0; n = node(n)->parent) {
    if (same_key(n, function, site) && same_key(node(n)->parent, from)) return n;
  }
  return 0;
}

// The shortest k for which the k newest frames, `function` among them, equal the k before: then the
// path ends where the earlier k end.
Ref CallTree::fold_suffix(Ref from, Ref function, std::uint64_t site) const {
  Ref end = from;  // of the earlier k
  for (std::uint32_t k = 1; end != 0 && 2 * k <= node(from)->depth + 1; ++k) {
    if (same_key(end, function, site)) {
      Ref newer = from, older = node(end)->parent;
      std::uint32_t equal = 1;
      while (equal < k && older != 0 && same_key(newer, older)) {
        newer = node(newer)->parent;
        older = node(older)->parent;
        ++equal;
      }
      if (equal == k) return end;
    }
    end = node(end)->parent;
  }
  return 0;
}

Ref CallTree::new_node(Ref parent, Ref function, std::uint64_t reserve) {
  if (next_number_ == number_limit_) {
    if (next_number_ >= kMaxNodes) return 0;
    const Ref chunk = session.arena.allocate(kNodesPerChunk * sizeof(Node), reserve);
    if (chunk == 0) return 0;
    chunk_refs_[next_number_ / kNodesPerChunk] = chunk;
    number_limit_ += kNodesPerChunk;
    if (next_number_ == 0) next_number_ = 1;  // 0 names no node
  }
  const std::uint32_t number = next_number_++;
  const Ref ref = node_at(number);
  Node* n = node(ref);
  n->parent = parent;
  n->function = function;
  n->depth = parent ? node(parent)->depth + 1 : 0;
  n->number = number;
  __atomic_fetch_add(&session.arena.header()->node_count, 1, __ATOMIC_RELAXED);
  return ref;
}

Edge* CallTree::new_edge(Ref from, Ref to, std::uint64_t site, EdgeKind kind, std::uint8_t flags,
                         std::uint64_t reserve) {
  if (next_edge_ == edge_limit_) {
    const Ref chunk = session.arena.allocate(kEdgesPerChunk * sizeof(Edge), reserve);
    if (chunk == 0) return nullptr;
    next_edge_ = chunk;
    edge_limit_ = chunk + kEdgesPerChunk;
  }
  const Ref ref = next_edge_++;
  Edge* e = edge(ref);
  e->site = site;
  e->from = from;
  e->to = to;
  e->kind = kind;
  e->flags = flags;
  e->next = node(from)->first_edge;
  __atomic_store_n(&node(from)->first_edge, ref, __ATOMIC_RELEASE);
  __atomic_fetch_add(&session.arena.header()->edge_count, 1, __ATOMIC_RELAXED);
  return e;
}

Edge* CallTree::overflow_into(Ref function) {
  __atomic_fetch_add(&session.arena.header()->overflow_contexts, 1, __ATOMIC_RELAXED);
  for (Ref ref = node(overflow_)->first_edge; ref != 0; ref = edge(ref)->next) {
    if (node(edge(ref)->to)->function == function) return edge(ref);
  }
  const Ref child = new_node(overflow_, function, 0);
  Edge* e = child ? new_edge(overflow_, child, 0, EdgeKind::kTree, 0, 0) : nullptr;
  return e ? e : overflow_edge_;
}

}  // namespace fbleprof::signal_safe
