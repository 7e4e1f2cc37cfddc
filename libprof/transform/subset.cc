#include "transform/subset.h"

#include <algorithm>
#include <memory>
#include <utility>

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
  }

  Profile run() const {
    Parts parts = source_.parts();
    auto edges = std::make_shared<const Edges>(move_edges());
    for (Metric& metric : parts.metrics) {
      const bool is_of_edges = metric.role == Role::kCalls && !metric.is_baseline;
      metric.values = is_of_edges ? calls_of_nodes(*edges) : move_values(metric);
    }
    parts.nodes = std::make_shared<const Nodes>(move_nodes());
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
    each_run([&](std::size_t begin, std::size_t end) {
      const auto run = [&](const auto& column, auto& to) {
        to.insert(to.end(), column.begin() + static_cast<std::ptrdiff_t>(begin),
                  column.begin() + static_cast<std::ptrdiff_t>(end));
      };
      run(from.function, out.function);
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

  std::shared_ptr<const Counts> calls_of_nodes(const Edges& edges) const {
    const std::size_t of_tree = place_.back() - 1;
    auto column = std::make_shared<Counts>(place_.back());
    edges.calls.each([&](std::size_t e, std::uint64_t calls) {
      if (e < of_tree) {
        column->set(e + 1, calls);
      } else {
        column->add(edges.to[e].index(), calls);
      }
    });
    return column;
  }

  Edges move_edges() const {
    const Edges& from = source_.edges();
    const std::size_t tree_edges = source_.nodes().count() - 1, of_tree = place_.back() - 1;
    Edges out;
    const std::vector<std::size_t> others = kept_others(tree_edges);
    const std::size_t room = of_tree + others.size();
    out.from.reserve(room);
    out.to.reserve(room);
    out.flags.reserve(room);
    out.site.reserve(room);
    out.kind.assign(of_tree, EdgeKind::kTree);
    out.kind.reserve(room);
    out.calls = Counts(room);
    each_run([&](std::size_t begin, std::size_t end) {
      for (std::size_t n = std::max<std::size_t>(begin, 1); n < end; ++n) {
        const bool is_own = kept_own_[n] != 0;
        out.from.emplace_back(place_[from.from[n - 1].index()]);
        out.to.emplace_back(place_[n]);
        out.flags.push_back(is_own ? from.flags[n - 1] : 0);
        out.site.push_back(is_own ? from.site[n - 1] : SiteId());
      }
    });
    from.calls.each([&](std::size_t e, std::uint64_t calls) {
      if (e < tree_edges && kept_own_[e + 1] != 0) out.calls.set(place_[e + 1] - 1, calls);
    });
    for (const std::size_t e : others) {
      out.calls.set(out.from.size(), from.calls[e]);
      out.from.emplace_back(place_[from.from[e].index()]);
      out.to.emplace_back(place_[from.to[e].index()]);
      out.kind.push_back(from.kind[e]);
      out.flags.push_back(from.flags[e]);
      out.site.push_back(from.site[e]);
    }
    return out;
  }

  // Of the edges that are not tree edges, those whose ends both stay and whose calls belong to a
  // node that stays itself: for a back edge, the node that it leaves.
  std::vector<std::size_t> kept_others(std::size_t first) const {
    const Edges& edges = source_.edges();
    std::vector<std::size_t> others;
    for (std::size_t e = first; e < edges.count(); ++e) {
      const std::size_t from = edges.from[e].index(), to = edges.to[e].index();
      const std::size_t whose = edges.kind[e] == EdgeKind::kBack ? from : to;
      if (kept_[from] != 0 && kept_[to] != 0 && kept_own_[whose] != 0) others.push_back(e);
    }
    return others;
  }

  const Profile& source_;
  const std::vector<std::uint8_t>&kept_, &kept_own_;
  std::vector<std::uint32_t> place_;  // by node: how many before it stay
};

}  // namespace

std::optional<Profile> subset(const Profile& source, const std::vector<std::uint8_t>& kept_subtree,
                              const std::vector<std::uint8_t>& kept_own) {
  if (!is_as_rebuilt(source)) return std::nullopt;
  return Subset(source, kept_subtree, kept_own).run();
}

}  // namespace fbleprof::transform
