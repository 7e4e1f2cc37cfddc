#include "transform/subset.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/at_once.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// Tree edges come first, each at its node's index; then the others.
bool is_as_rebuilt(const Profile& profile) {
  const Edges& edges = profile.edges();
  const std::size_t count = profile.nodes().count();
  if (profile.trees().size() != 1 || count == 0 || edges.count() + 1 < count) return false;
  for (std::size_t n = 1; n < count; ++n) {
    if (edges.to[n - 1].index() != n || edges.kind[n - 1] != EdgeKind::kTree) return false;
  }
  return true;
}

class Subset {
 public:
  Subset(const Profile& source, const std::vector<std::uint8_t>& kept_subtree,
         const std::vector<std::uint8_t>& kept_own)
      : source_(source), kept_(kept_subtree), kept_own_(kept_own) {
    const std::size_t count = source.nodes().count();
    place_.resize(count + 1);
    std::uint32_t next = 0;
    for (std::size_t n = 0; n < count; ++n) {
      place_[n] = next;
      next += kept_[n] != 0;
    }
    place_[count] = next;
    find_others();
  }

  // Each column is made on its own.
  Profile run(Origin* origin) const {
    Parts parts = source_.parts();
    auto edges = std::make_shared<Edges>();
    auto nodes = std::make_shared<Nodes>();
    std::vector<std::function<void()>> columns{[&] { move_edges(*edges); },
                                               [&] { edges->calls = move_calls(); },
                                               [&] { *nodes = move_nodes(); }};
    for (Metric& metric : parts.metrics) {
      const bool is_of_edges = metric.role == Role::kCalls && !metric.is_baseline;
      columns.emplace_back([this, is_of_edges, &metric] {
        metric.values = is_of_edges ? calls_of_nodes() : move_values(metric);
      });
    }
    if (origin != nullptr) columns.emplace_back([&] { *origin = origins(); });
    at_once(place_.size(), columns);
    parts.nodes = std::move(nodes);
    parts.edges = std::move(edges);
    parts.trees = std::make_shared<std::vector<Tree>>(
        std::vector{Tree{NodeId(0), NodeId(place_.back()), {}, {}}});
    return Profile(std::move(parts));
  }

 private:
  // Calls `visit(begin, end)` for each run of nodes that stay.
  template <class Visit>
  void each_run(Visit visit) const {
    const std::size_t count = kept_.size();
    for (std::size_t begin = 0; begin < count;) {
      while (begin < count && kept_[begin] == 0) ++begin;
      std::size_t end = begin;
      while (end < count && kept_[end] != 0) ++end;
      if (begin != end) visit(begin, end);
      begin = end;
    }
  }

  Nodes move_nodes() const {
    const Nodes& from = source_.nodes();
    Nodes out;
    for (auto* column : {&out.depth, &out.subtree_end}) column->reserve(place_.back());
    out.parent.reserve(place_.back());
    out.function.reserve(place_.back());
    const bool has_bounds = !from.is_bound.empty();
    if (has_bounds) out.is_bound.reserve(place_.back());
    each_run([&](std::size_t begin, std::size_t end) {
      const auto run = [&](const auto& column, auto& to) {
        to.insert(to.end(), column.begin() + static_cast<std::ptrdiff_t>(begin),
                  column.begin() + static_cast<std::ptrdiff_t>(end));
      };
      run(from.function, out.function);
      if (has_bounds) run(from.is_bound, out.is_bound);
      run(from.depth, out.depth);
      for (std::size_t n = begin; n < end; ++n) {
        const NodeId parent = from.parent[n];
        out.parent.push_back(parent ? NodeId(place_[parent.index()]) : NodeId());
        out.subtree_end.push_back(place_[from.subtree_end[n]]);
      }
    });
    return out;
  }

  std::shared_ptr<const Counts> move_values(const Metric& metric) const {
    if (!metric.values) return nullptr;
    auto column = std::make_shared<Counts>(place_.back());
    metric.values->each([&](std::size_t n, std::uint64_t value) {
      if (kept_own_[n] != 0) column->set(place_[n], value);
    });
    return column;
  }

  // Visits the calls of each tree edge that stays, by the node that it leads to.
  template <class Visit>
  void each_call_of_tree(Visit visit) const {
    const std::size_t tree_edges = source_.nodes().count() - 1;
    source_.edges().calls.each([&](std::size_t e, std::uint64_t calls) {
      if (e < tree_edges && kept_own_[e + 1] != 0) visit(place_[e + 1], calls);
    });
  }

  std::shared_ptr<const Counts> calls_of_nodes() const {
    auto column = std::make_shared<Counts>(place_.back());
    column->reserve(place_.back());
    each_call_of_tree([&](std::size_t n, std::uint64_t calls) { column->set(n, calls); });
    for (const std::uint32_t e : others_) {
      column->add(place_[source_.edges().to[e].index()], source_.edges().calls[e]);
    }
    return column;
  }

  Counts move_calls() const {
    const std::size_t of_tree = place_.back() - 1;
    Counts out(of_tree + others_.size());
    out.reserve(of_tree + others_.size());
    each_call_of_tree([&](std::size_t n, std::uint64_t calls) { out.set(n - 1, calls); });
    for (std::size_t o = 0; o < others_.size(); ++o) {
      out.set(of_tree + o, source_.edges().calls[others_[o]]);
    }
    return out;
  }

  // All but the calls.
  void move_edges(Edges& out) const {
    const Edges& from = source_.edges();
    const std::size_t of_tree = place_.back() - 1, room = of_tree + others_.size();
    out.from.reserve(room);
    out.to.reserve(room);
    out.flags.reserve(room);
    out.site.reserve(room);
    out.kind.assign(of_tree, EdgeKind::kTree);
    out.kind.reserve(room);
    each_run([&](std::size_t begin, std::size_t end) {
      for (std::size_t n = std::max<std::size_t>(begin, 1); n < end; ++n) {
        const bool is_own = kept_own_[n] != 0;
        out.from.emplace_back(place_[from.from[n - 1].index()]);
        out.to.emplace_back(place_[n]);
        out.flags.push_back(is_own ? from.flags[n - 1] : 0);
        out.site.push_back(is_own ? from.site[n - 1] : SiteId());
      }
    });
    for (const std::uint32_t e : others_) {
      out.from.emplace_back(place_[from.from[e].index()]);
      out.to.emplace_back(place_[from.to[e].index()]);
      out.kind.push_back(from.kind[e]);
      out.flags.push_back(from.flags[e]);
      out.site.push_back(from.site[e]);
    }
  }

  Origin origins() const {
    Origin origin;
    origin.node.reserve(place_.back());
    each_run([&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n) {
        origin.node.push_back(static_cast<std::uint32_t>(n));
      }
    });
    origin.other_edge = others_;
    return origin;
  }

  void find_others() {
    const Edges& edges = source_.edges();
    for (std::size_t e = source_.nodes().count() - 1; e < edges.count(); ++e) {
      const std::size_t from = edges.from[e].index(), to = edges.to[e].index();
      const std::size_t whose = edges.kind[e] == EdgeKind::kBack ? from : to;
      if (kept_[from] == 0 || kept_[to] == 0 || kept_own_[whose] == 0) continue;
      others_.push_back(static_cast<std::uint32_t>(e));
    }
  }

  const Profile& source_;
  const std::vector<std::uint8_t>&kept_, &kept_own_;
  std::vector<std::uint32_t> place_;  // by node: how many before it stay
  // Of the edges that are not tree edges, those whose ends both stay and whose calls belong to a
  // node that stays itself: for a back edge, the node that it leaves.
  std::vector<std::uint32_t> others_;
};

}  // namespace

std::optional<Profile> subset(const Profile& source, const std::vector<std::uint8_t>& kept_subtree,
                              const std::vector<std::uint8_t>& kept_own, Origin* origin) {
  if (!is_as_rebuilt(source)) return std::nullopt;
  return Subset(source, kept_subtree, kept_own).run(origin);
}

}  // namespace fbleprof::transform
