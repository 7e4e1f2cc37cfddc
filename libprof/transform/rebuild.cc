#include "transform/rebuild.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "base/at_once.h"
#include "base/flat_map.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

// A node of the result under construction, and the chain of its source nodes.
struct Bundle {
  NodeId parent;
  FunctionId function;
  SiteId site = {};  // of the call that entered it, if sites are kept apart
  std::uint32_t first = kNone, last = kNone;  // source nodes, linked by next_
  std::uint32_t level = kNone;                // see Level; kNone: an ordinary bundle
};

// The groups above the trees, as Rebuilding::groups asks for them.
struct Level {
  FunctionId function;
  std::vector<std::uint32_t> below;
  std::vector<NodeId> roots;
};

class Rebuilder {
 public:
  Rebuilder(const Profile& source, const Rebuilding& how, Origin* origin)
      : source_(source),
        how_(how),
        origin_(origin),
        nodes_(source.nodes()),
        place_(nodes_.count(), kNone),
        next_(nodes_.count(), kNone) {
    if (source.sites_apart()) find_sites();
    slot_.assign(source.functions().count(), kNone);
    slot_stamp_.assign(source.functions().count(), kNone);
    build_levels();
  }

  Profile run() {
    open_all();
    next_ = std::vector<std::uint32_t>();
    if (!folded_members_.empty()) charge_folded();
    Parts parts = source_.parts();
    auto edges = std::make_shared<Edges>();
    std::vector<std::function<void()>> columns{[&] {
      *edges = move_edges();
      for (Metric& metric : parts.metrics) {
        if (is_of_edges(metric)) metric.values = sum_calls(*edges);
      }
    }};
    for (Metric& metric : parts.metrics) {
      if (is_of_edges(metric)) continue;
      columns.emplace_back([this, &metric] { metric.values = move_values(metric); });
    }
    if (result_.subtree_end.empty()) columns.emplace_back([this] { find_subtrees(); });
    at_once(result_.count(), columns);
    parts.edges = std::move(edges);
    move_bounds();
    const NodeId end(result_.count());
    parts.nodes = std::make_shared<Nodes>(std::move(result_));
    parts.trees = std::make_shared<std::vector<Tree>>(std::vector{Tree{NodeId(0), end, {}, {}}});
    return Profile(std::move(parts));
  }

 private:
  static bool is_of_edges(const Metric& metric) {
    return metric.role == Role::kCalls && !metric.is_baseline;
  }

  void build_levels() {
    levels_.push_back({how_.root, {}, {}});
    for (std::size_t t = 0; t < source_.trees().size(); ++t) {
      std::uint32_t at = 0;
      if (t < how_.groups.size()) {
        for (const FunctionId function : how_.groups[t]) at = level_below(at, function);
      }
      const NodeId root = source_.trees()[t].begin;
      if (kept(root.index())) levels_[at].roots.push_back(root);
    }
  }

  std::uint32_t level_below(std::uint32_t at, FunctionId function) {
    for (const std::uint32_t level : levels_[at].below) {
      if (levels_[level].function == function) return level;
    }
    const auto level = static_cast<std::uint32_t>(levels_.size());
    levels_.push_back({function, {}, {}});
    levels_[at].below.push_back(level);
    return level;
  }

  bool kept(std::size_t node) const {
    return how_.kept_subtree.empty() || how_.kept_subtree[node] != 0;
  }
  bool kept_own(std::size_t node) const {
    return how_.kept_own.empty() || how_.kept_own[node] != 0;
  }
  bool folded(std::size_t node) const {
    return (!how_.folded.empty() && how_.folded[nodes_.function[node].index()] != 0) ||
           (!how_.folded_node.empty() && how_.folded_node[node] != 0);
  }
  FunctionId class_of(std::size_t node) const {
    const FunctionId function = nodes_.function[node];
    return how_.class_of.empty() ? function : how_.class_of[function.index()];
  }

  void append(Bundle& bundle, std::uint32_t node) {
    next_[node] = kNone;
    (bundle.last == kNone ? bundle.first : next_[bundle.last]) = node;
    bundle.last = node;
  }

  NodeId open(const Bundle& bundle) {
    const NodeId id(result_.count());
    result_.parent.push_back(bundle.parent);
    result_.function.push_back(bundle.function);
    result_.depth.push_back(bundle.parent ? result_.depth[bundle.parent.index()] + 1 : 0);
    if (origin_ != nullptr) origin_->node.push_back(bundle.first);
    for (std::uint32_t node = bundle.first; node != kNone; node = next_[node]) {
      place_[node] = id.index();
    }
    return id;
  }

  // The new bundle among `children` for `function`, below the bundle being opened.
  Bundle& child_bundle(NodeId parent, FunctionId function) {
    return child_bundle(parent, function, SiteId(), function.index());
  }
  Bundle& child_bundle(NodeId parent, FunctionId function, SiteId site, std::uint32_t slot) {
    if (slot_stamp_[slot] != parent.index()) {
      slot_stamp_[slot] = parent.index();
      slot_[slot] = static_cast<std::uint32_t>(children_.size());
      children_.push_back({parent, function, site});
    }
    return children_[slot_[slot]];
  }
  Bundle& child_bundle_of(NodeId parent, std::uint32_t node) {
    const FunctionId function = class_of(node);
    if (sites_.empty() || !sites_[node]) return child_bundle(parent, function);
    return child_bundle(parent, function, sites_[node], site_slot(function, sites_[node]));
  }

  void find_sites() {
    sites_.resize(nodes_.count());
    const Edges& edges = source_.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      if (edges.kind[e] == EdgeKind::kTree) sites_[edges.to[e].index()] = edges.site[e];
    }
  }

  // The slot of functions that are entered from a site: made on first use, since most nodes are
  // copied and need none.
  std::uint32_t site_slot(FunctionId function, SiteId site) {
    const std::uint64_t key = std::uint64_t{function.index()} << 32 | site.index();
    const auto [slot, added] = site_slots_.insert(key, static_cast<std::uint32_t>(slot_.size()));
    if (added) {
      slot_.push_back(kNone);
      slot_stamp_.push_back(kNone);
    }
    return slot;
  }

  void deal_out(Bundle& bundle, NodeId id) {
    const bool at_root = result_.parent[id.index()] == NodeId() || bundle.level != kNone;
    for (std::uint32_t node = bundle.first; node != kNone; node = next_[node]) {
      const std::uint32_t end = nodes_.subtree_end[node];
      for (std::uint32_t c = node + 1; c < end; c = nodes_.subtree_end[c]) {
        if (!kept(c)) continue;
        if (!folded(c)) {
          append(child_bundle_of(id, c), c);
        } else {
          // A member whose children a later iteration of this loop distributes.
          append(bundle, c);
          place_[c] = id.index();
          if (at_root && how_.folded_away) charge_elsewhere_.push_back(c);
        }
      }
    }
    // Paths that were folded away entirely are charged to a node of their own.
    if (at_root && how_.folded_away && !charge_elsewhere_.empty()) {
      for (const std::uint32_t node : charge_elsewhere_) folded_members_.push_back({node, id});
      child_bundle(id, how_.folded_away);
      charge_elsewhere_.clear();
    }
  }

  // Whether different nodes stay different wherever nothing is folded.
  bool keeps_paths() const {
    return how_.paths_differ && source_.trees().size() == 1 && how_.class_of.empty() &&
           how_.groups.empty();
  }

  // By node: 1 = it or a node below it is folded. Empty: nothing can be copied unchanged.
  std::vector<std::uint8_t> find_folded_below() const {
    if (!keeps_paths()) return {};
    std::vector<std::uint8_t> below(nodes_.count());
    for (std::size_t n = nodes_.count(); n-- > 0;) {
      if (folded(n)) below[n] = 1;
      if (nodes_.parent[n]) below[nodes_.parent[n].index()] |= below[n];
    }
    return below;
  }

  // A subtree in which nothing is folded: nodes may go, but none moves and none is merged.
  void copy(const Bundle& bundle) {
    open(bundle);
    const std::uint32_t end = nodes_.subtree_end[bundle.first];
    for (std::uint32_t n = bundle.first + 1; n < end;) {
      if (!kept(n)) {
        n = nodes_.subtree_end[n];
        continue;
      }
      place_[n] = static_cast<std::uint32_t>(result_.count());
      const NodeId parent(place_[nodes_.parent[n].index()]);
      result_.parent.push_back(parent);
      result_.function.push_back(nodes_.function[n]);
      result_.depth.push_back(result_.depth[parent.index()] + 1);
      if (origin_ != nullptr) origin_->node.push_back(n);
      ++n;
    }
  }

  void open_all() {
    if (source_.trees().size() == 1) {  // few of its contexts become one
      result_.parent.reserve(nodes_.count());
      result_.function.reserve(nodes_.count());
      result_.depth.reserve(nodes_.count());
      if (origin_ != nullptr) origin_->node.reserve(nodes_.count());
    }
    const std::vector<std::uint8_t> folded_below = find_folded_below();
    std::vector<Bundle> pending;
    pending.push_back({NodeId(), how_.root, SiteId(), kNone, kNone, 0});
    while (!pending.empty()) {
      Bundle bundle = pending.back();
      pending.pop_back();
      if (bundle.level != kNone) {
        for (const NodeId root : levels_[bundle.level].roots) append(bundle, root.index());
      }
      const bool is_one = bundle.first != kNone && bundle.first == bundle.last;
      if (is_one && !folded_below.empty() && folded_below[bundle.first] == 0) {
        copy(bundle);
        continue;
      }
      const NodeId id = open(bundle);
      children_.clear();
      if (bundle.level != kNone) {
        for (const std::uint32_t below : levels_[bundle.level].below) {
          child_bundle(id, levels_[below].function).level = below;
        }
      }
      deal_out(bundle, id);
      pending.insert(pending.end(), children_.rbegin(), children_.rend());
    }
  }

  void find_subtrees() {
    const std::size_t count = result_.count();
    result_.subtree_end.resize(count);
    for (std::size_t n = 0; n < count; ++n) {
      result_.subtree_end[n] = static_cast<std::uint32_t>(n + 1);
    }
    for (std::size_t n = count; n-- > 1;) {
      std::uint32_t& end = result_.subtree_end[result_.parent[n].index()];
      end = std::max(end, result_.subtree_end[n]);
    }
  }

  // Members that were folded away entirely are charged to the [folded] child of their bundle.
  void charge_folded() {
    find_subtrees();
    for (const auto& [node, above] : folded_members_) {
      const std::uint32_t begin = above.index() + 1, end = result_.subtree_end[above.index()];
      for (std::uint32_t c = begin; c < end; c = result_.subtree_end[c]) {
        if (result_.function[c] == how_.folded_away) charged_.push_back({node, c});
      }
    }
    std::sort(charged_.begin(), charged_.end());
  }

  std::shared_ptr<const Counts> move_values(const Metric& metric) const {
    if (!metric.values) return nullptr;
    auto column = std::make_shared<Counts>(result_.count());
    const Counts& values = *metric.values;
    const auto charge = [&](std::uint32_t at, std::uint64_t value) {
      if (metric.aggregation == Aggregation::kMax) {
        column->set(at, std::max((*column)[at], value));
      } else if (metric.is_signed) {
        column->add_signed(at, value);
      } else {
        column->add(at, value);
      }
    };
    std::size_t special = 0;
    values.each([&](std::size_t n, std::uint64_t value) {
      if (place_[n] == kNone || !kept_own(n)) return;
      while (special < charged_.size() && charged_[special].first < n) ++special;
      const bool elsewhere = special < charged_.size() && charged_[special].first == n;
      charge(elsewhere ? charged_[special].second : place_[n], value);
    });
    return column;
  }

  std::shared_ptr<const Counts> sum_calls(const Edges& edges) const {
    auto column = std::make_shared<Counts>(result_.count());
    const std::size_t tree_edges = result_.count() - 1;  // each at the place before its node's
    edges.calls.each([&](std::size_t e, std::uint64_t calls) {
      if (e < tree_edges) {
        column->set(e + 1, calls);
      } else {
        column->add(edges.to[e].index(), calls);
      }
    });
    return column;
  }

  // The node below `above` on the path to `node`.
  std::uint32_t below_on_path(std::uint32_t above, std::uint32_t node) const {
    while (result_.parent[node].index() != above) node = result_.parent[node].index();
    return node;
  }

  // Between the ends of a back edge to a folded node.
  void move_bounds() {
    const auto mark = [&](std::uint32_t node) {
      if (result_.is_bound.empty()) result_.is_bound.resize(result_.count());
      result_.is_bound[node] = 1;
    };
    for (std::size_t n = 0; n < nodes_.is_bound.size(); ++n) {
      if (nodes_.is_bound[n] != 0 && place_[n] != kNone) mark(place_[n]);
    }
    const Edges& edges = source_.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      const std::size_t from = edges.from[e].index(), to = edges.to[e].index();
      if (edges.kind[e] != EdgeKind::kBack || !folded(to)) continue;
      if (place_[from] == kNone || place_[to] == kNone || !kept_own(from)) continue;
      for (NodeId n(place_[from]); n.index() != place_[to]; n = result_.parent[n.index()]) {
        mark(static_cast<std::uint32_t>(n.index()));
      }
    }
  }

  struct Moved {
    std::uint32_t from, to;
    EdgeKind kind;
    std::uint8_t flags;
    std::uint64_t calls;
    SiteId site;
    std::uint32_t source;
  };

  Edges move_edges() const {
    const Edges& edges = source_.edges();
    const std::size_t count = result_.count();
    // A node has one tree edge, which needs no search; the other edges are few and sorted.
    Edges out;
    // Reserves room for unchanged nodes: growing column by column would copy all of them.
    const std::size_t room =
        count - 1 + edges.count() -
        static_cast<std::size_t>(std::count(edges.kind.begin(), edges.kind.end(), EdgeKind::kTree));
    out.from.reserve(room);
    out.to.reserve(room);
    out.kind.reserve(room);
    out.flags.reserve(room);
    out.site.reserve(room);
    out.from.resize(count - 1);
    out.to.resize(count - 1);
    out.kind.assign(count - 1, EdgeKind::kTree);
    out.flags.assign(count - 1, 0);
    out.calls = Counts(count - 1);
    out.calls.reserve(room);
    out.site.assign(count - 1, SiteId());
    for (std::size_t n = 1; n < count; ++n) {
      out.from[n - 1] = result_.parent[n];
      out.to[n - 1] = NodeId(n);
    }
    std::vector<Moved> others;
    for (std::size_t e = 0; e < edges.count(); ++e) {
      const std::size_t source_from = edges.from[e].index(), source_to = edges.to[e].index();
      const std::uint32_t from = place_[source_from], to = place_[source_to];
      if (from == kNone || to == kNone) continue;
      const bool leaves = edges.kind[e] == EdgeKind::kBack;
      if (!kept_own(leaves ? source_from : source_to)) continue;
      if (folded(source_to)) {
        if (!leaves || from == to) continue;
        const auto flags = static_cast<std::uint8_t>(edges.flags[e] | format::kEdgeSampled);
        others.push_back({from, below_on_path(to, from), EdgeKind::kBack, flags, 0, SiteId(),
                          static_cast<std::uint32_t>(e)});
        continue;
      }
      const bool tree = to != 0 && result_.parent[to].index() == from &&
                        (edges.kind[e] == EdgeKind::kTree || folded(source_from));
      if (tree) {
        out.calls.add(to - 1, edges.calls[e]);
        out.flags[to - 1] |= edges.flags[e];
        if (!out.site[to - 1]) out.site[to - 1] = edges.site[e];
      } else {
        others.push_back({from, to, edges.kind[e], edges.flags[e], edges.calls[e], edges.site[e],
                          static_cast<std::uint32_t>(e)});
      }
    }
    std::stable_sort(others.begin(), others.end(), [&](const Moved& a, const Moved& b) {
      if (source_.sites_apart()) {
        return std::tie(a.from, a.to, a.kind, a.site) < std::tie(b.from, b.to, b.kind, b.site);
      }
      return std::tie(a.from, a.to, a.kind) < std::tie(b.from, b.to, b.kind);
    });
    for (std::size_t i = 0; i < others.size(); ++i) {
      const Moved& edge = others[i];
      if (i > 0 && others[i - 1].from == edge.from && others[i - 1].to == edge.to &&
          others[i - 1].kind == edge.kind &&
          (!source_.sites_apart() || others[i - 1].site == edge.site)) {
        out.calls.add(out.calls.size() - 1, edge.calls);
        out.flags.back() |= edge.flags;
        continue;
      }
      out.from.push_back(NodeId(edge.from));
      out.to.push_back(NodeId(edge.to));
      out.kind.push_back(edge.kind);
      out.flags.push_back(edge.flags);
      out.calls.push_back(edge.calls);
      out.site.push_back(edge.site);
      if (origin_ != nullptr) origin_->other_edge.push_back(edge.source);
    }
    return out;
  }

  const Profile& source_;
  const Rebuilding& how_;
  Origin* const origin_;
  const Nodes& nodes_;
  std::vector<Level> levels_;
  std::vector<std::uint32_t> place_;  // by source node: its node in the result
  std::vector<std::uint32_t> next_;   // by source node: the next member of its bundle
  std::vector<std::uint32_t> slot_,
      slot_stamp_;  // by function, then by function and site: index in children_, with its parent
  std::vector<Bundle> children_;  // of the bundle being opened
  std::vector<SiteId> sites_;     // by source node, where sites are kept apart: of its call
  FlatMap site_slots_;            // by function << 32 | site
  Nodes result_;
  std::vector<std::uint32_t> charge_elsewhere_;
  std::vector<std::pair<std::uint32_t, NodeId>> folded_members_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> charged_;
};

}  // namespace

Profile rebuild(const Profile& source, const Rebuilding& how, Origin* origin) {
  return Rebuilder(source, how, origin).run();
}

}  // namespace fbleprof::transform
