// The default view: the tree of calling contexts.
//
// Written for people, so it leaves out unimportant parts and says what they were: branches below
// --min, levels below --depth. A chain of functions that only call the next one is one line, "a → b
// → c", with the first one's figures. Indented lines are always called by the line that they hang
// from. Recursion and tail calls are separate lines below the function that makes them:
//
//     fib                       ↻ a call back to a context further up (0 = itself)
//     └─ ↻ fib  (itself)        ⇒ a tail call: the cost of what was called is its caller's
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/run_facts.h"
#include "analysis/sampled.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/diff_view.h"
#include "report/views/heading.h"
#include "report/views/phrases.h"
#include "report/views/shown_contexts.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::EdgesByNode;
using Kind = Column::Kind;

namespace {

constexpr std::uint64_t kFewSamples = 10;  // no share of the time is known from less

constexpr std::size_t kFigureColumns = 6 + 2 + 6 + 2 + 9 + 2 + 13 + 2;
constexpr std::size_t kNameColumns = 24;         // least width of a name at the deepest level
constexpr std::size_t kShortestRun = 3;          // of functions that are collapsed to one line
constexpr std::size_t kShortestCutRun = 5;       // of those that don't fit it
constexpr std::size_t kEdgesOfANode = 4;         // back and tail edges shown of each kind
constexpr double kShares[] = {2, 3, 5, 10, 20};  // --min is raised to this
constexpr std::ptrdiff_t kScreenLines = 45;
constexpr std::size_t kWidestIndent = 120;  // deeper levels are shown as a number

// The order of contexts below one: by --sort, else the most expensive first.
bool comes_first(const analysis::Costs& costs, const std::string& sort, NodeId a, NodeId b) {
  const Profile& profile = costs.profile();
  if (sort == "name") {
    return display_name(profile, profile.nodes().function[a.index()]) <
           display_name(profile, profile.nodes().function[b.index()]);
  }
  if (sort == "self" && costs.own(a) != costs.own(b)) return costs.own(a) > costs.own(b);
  const std::uint64_t calls_a = costs.calls(a), calls_b = costs.calls(b);
  if (sort == "calls" && calls_a != calls_b) return calls_a > calls_b;
  const std::uint64_t cost_a = costs.inclusive()[a.index()];
  const std::uint64_t cost_b = costs.inclusive()[b.index()];
  return cost_a != cost_b ? cost_a > cost_b : calls_a > calls_b;
}

// The tree as text. Nodes are visited with an explicit stack: recursion may be a million deep.
class TreeText {
 public:
  TreeText(const Request& request, const Look& look)
      : request_(request),
        look_(look),
        profile_(request.profile()),
        names_(request.names()),
        kept_(request.costs.total()),
        nodes_(profile_.nodes()),
        cost_(request.costs.inclusive()),
        edges_from_(profile_, EdgesByNode::Side::kFrom),
        least_percent_(look.min_percent) {
    if (analysis::has_counted_calls(profile_)) sampled_ = analysis::sampled_contexts(profile_);
    by_tail_call_.resize(nodes_.count());
    const Edges& edges = profile_.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      if (edges.kind[e] == EdgeKind::kTree && (edges.flags[e] & format::kEdgeByTailCall) != 0) {
        by_tail_call_[edges.to[e].index()] = 1;
      }
    }
    deepest_ = look_.depth;
    if (deepest_ == 0) {
      deepest_ = look_.width > kFigureColumns + kNameColumns
                     ? (look_.width - kFigureColumns - kNameColumns) / 3
                     : 1;
      if (look_.all || look_.width == 0) deepest_ = nodes_.count();
    }
  }

  // A tree longer than a screen is drawn again without its smaller branches.
  std::string run() {
    std::string text = draw();
    if (!look_.fits_screen || look_.all) return text;
    for (const double share : kShares) {
      if (std::count(text.begin(), text.end(), '\n') <= kScreenLines) break;
      if (share <= least_percent_) continue;
      least_percent_ = share;
      text = draw();
    }
    return text;
  }

 private:
  std::string draw() {
    out_.clear();
    find_names();
    hidden_contexts_ = hidden_cost_ = hidden_edges_ = in_runs_ = too_deep_ = 0;
    header();
    const NodeId root(0);
    if (own(0) != 0) {
      line(cost_[0], own(0), "", "", Ink::kPlain, names_.fit(nodes_.function[0], 0));
    }
    open_below(root, "", 0);
    while (!pending_.empty()) {
      Pending next = std::move(pending_.back());
      pending_.pop_back();
      show(next);
    }
    footer();
    return std::move(out_);
  }

  struct Pending {
    enum class Kind { kNode, kBack, kTail, kHidden, kTooDeep } kind = Kind::kNode;
    std::uint32_t index = 0;  // node or edge
    std::string prefix;       // of the levels above
    bool is_last = false;
    bool top = false;  // no branch is drawn to it
    std::size_t level = 0;
    std::uint64_t cost = 0, contexts = 0;  // of what is hidden
  };

  std::uint64_t own(std::uint32_t node) const { return request_.costs.own(NodeId(node)); }
  bool tiny(std::uint64_t cost) const {
    return !look_.all && percent_of(cost, kept_) < least_percent_;
  }

  void header() {
    const std::string titles = pad_left("total", 6) + "  " + pad_left("self", 6) + "  " +
                               pad_left(escape(cost_title(request_.metric())), 9) + "  " +
                               pad_left("calls", 13) + "  context";
    out_ += paint(look_, Ink::kDim, titles) + "\n";
  }

  // In a tree with counted calls, those of sampled contexts are "·": not counted.
  std::string calls_text(std::uint32_t node) {
    if (calls_of(node) != 0) return count_if_any(calls_of(node), nodes_.function[node]);
    if (sampled_.empty() || sampled_[node] == 0) return {};
    any_sampled_shown_ = true;
    return "·";
  }

  void line(std::uint64_t cost, std::uint64_t own, const std::string& calls,
            const std::string& prefix, Ink ink, const std::string& text, bool has_cost = true) {
    const double share = percent_of(cost, kept_);
    const std::string total = has_cost ? percent(cost, kept_) : "";
    const std::string self = has_cost && own != 0 ? percent(own, kept_) : "";
    const std::string time = has_cost ? request_.amount(cost) : std::string();
    out_ += paint(look_, heat(share), pad_left(total, 6)) + "  " +
            paint(look_, heat(percent_of(own, kept_)), pad_left(self, 6)) + "  " +
            pad_left(time, 9) + "  " + pad_left(calls, 13) + "  " +
            paint(look_, Ink::kDim, prefix) +
            paint(look_, ink, look_.width == 0 ? text : cut(text, name_width(prefix))) + "\n";
  }

  // --- what is below a node

  struct Below {
    std::vector<std::uint32_t> shown;  // children, in order
    std::uint64_t hidden_cost = 0, hidden_contexts = 0, hidden_children = 0;
    std::vector<EdgeId> back, tail;
  };

  Below below(std::uint32_t node) const {
    Below result;
    for (std::uint32_t c = node + 1; c < nodes_.subtree_end[node]; c = nodes_.subtree_end[c]) {
      if (!tiny(cost_[c])) {
        result.shown.push_back(c);
      } else {
        request_.costs.add(result.hidden_cost, cost_[c]);
        result.hidden_contexts += nodes_.subtree_end[c] - c;
        ++result.hidden_children;
      }
    }
    std::stable_sort(result.shown.begin(), result.shown.end(),
                     [&](std::uint32_t a, std::uint32_t b) {
                       return comes_first(request_.costs, look_.sort, NodeId(a), NodeId(b));
                     });
    const Edges& edges = profile_.edges();
    for (auto e = edges_from_.begin(NodeId(node)); e != edges_from_.end(NodeId(node)); ++e) {
      if (!look_.all && !was_taken(*e)) continue;
      if (edges.kind[e->index()] == EdgeKind::kBack) result.back.push_back(*e);
      if (edges.kind[e->index()] == EdgeKind::kTail) result.tail.push_back(*e);
    }
    const auto more_calls = [&](EdgeId a, EdgeId b) {
      return edges.calls[a.index()] > edges.calls[b.index()];
    };
    std::stable_sort(result.back.begin(), result.back.end(), more_calls);
    std::stable_sort(result.tail.begin(), result.tail.end(), more_calls);
    return result;
  }

  // A window has all edges of its profile, also those that no call took between its ends.
  bool was_taken(EdgeId edge) const {
    const Edges& edges = profile_.edges();
    return edges.calls[edge.index()] != 0 ||
           (edges.flags[edge.index()] & format::kEdgeSampled) != 0;
  }

  std::string count_if_any(std::uint64_t calls, FunctionId of) {
    if (calls == 0) return {};
    const bool counts_some = counts_some_calls(profile_, of);
    any_some_shown_ |= counts_some;
    return (counts_some ? "≥" : "") + count(calls);
  }
  std::uint64_t calls_of(std::uint32_t node) const { return request_.costs.calls(NodeId(node)); }

  // The node only calls its one visible child and has no visible cost of its own.
  bool passes_through(std::uint32_t node, const Below& below) const {
    return !look_.all && below.shown.size() == 1 && below.back.empty() && below.tail.empty() &&
           tiny(own(node) + below.hidden_cost);
  }

  // Pushes the lines below `node` on the stack, last line first.
  void open_below(NodeId node, const std::string& prefix, std::size_t level) {
    const bool top = level == 0;
    Below under = below(node.index());
    std::vector<Pending> lines;
    if (level >= deepest_ && nodes_.subtree_end[node.index()] > node.index() + 1) {
      const std::uint64_t cost = cost_[node.index()] - own(node.index());
      if (!under.shown.empty()) {
        lines.push_back({Pending::Kind::kTooDeep, node.index(), prefix, false, top, level, cost,
                         nodes_.subtree_end[node.index()] - node.index() - 1u});
      }
    } else {
      for (const std::uint32_t c : under.shown) {
        lines.push_back({Pending::Kind::kNode, c, prefix, false, top, level});
      }
      if (under.hidden_children != 0) {
        hidden_contexts_ += under.hidden_contexts;
        request_.costs.add(hidden_cost_, under.hidden_cost);
        // Together they may still be worth a line; if not, the footer counts them.
        if (!tiny(under.hidden_cost)) {
          lines.push_back({Pending::Kind::kHidden, node.index(), prefix, false, top, level,
                           under.hidden_cost, under.hidden_children});
        }
      }
    }
    const auto add_edges = [&](Pending::Kind kind, const std::vector<EdgeId>& edges) {
      const std::size_t shown = look_.all ? edges.size() : std::min(edges.size(), kEdgesOfANode);
      hidden_edges_ += edges.size() - shown;
      for (std::size_t i = 0; i < shown; ++i) {
        lines.push_back({kind, edges[i].index(), prefix, false, top, level});
      }
    };
    add_edges(Pending::Kind::kTail, under.tail);
    add_edges(Pending::Kind::kBack, under.back);
    if (!lines.empty()) lines.back().is_last = true;
    pending_.insert(pending_.end(), std::make_move_iterator(lines.rbegin()),
                    std::make_move_iterator(lines.rend()));
  }

  std::string branch(const Pending& next) const {
    if (next.top) return {};
    const std::string text = next.prefix + (next.is_last ? "└─ " : "├─ ");
    if (width_of(text) <= kWidestIndent) return text;
    return fmt::format("({}) ", next.level);
  }

  std::string prefix_below(const Pending& next) const {
    if (next.top) return {};
    if (next.level * 3 > kWidestIndent) return next.prefix;
    return next.prefix + (next.is_last ? "   " : "│  ");
  }

  std::size_t name_width(const std::string& prefix) const {
    if (look_.width == 0) return 0;
    const std::size_t used = kFigureColumns + width_of(prefix);
    return look_.width > used + kNameColumns / 2 ? look_.width - used : kNameColumns / 2;
  }

  // The functions that may be shown, unless they are too many to compare with each other.
  void find_names() {
    constexpr std::size_t kMost = 300;
    std::set<FunctionId> functions;
    for (std::size_t n = 1; n < nodes_.count() && functions.size() <= kMost; ++n) {
      if (!tiny(cost_[n])) functions.insert(nodes_.function[n]);
    }
    if (functions.size() > kMost) functions.clear();
    functions_.assign(functions.begin(), functions.end());
    names_ = request_.names().marked(functions_);
    texts_.clear();
  }

  std::string name(FunctionId function, std::size_t width) const {
    const std::uint16_t flags = profile_.functions().flags[function.index()];
    if ((flags & format::kFunctionLeftByFramePointer) == 0) return fitted_name(function, width);
    any_by_frame_pointer_shown_ = true;
    return fitted_name(function, width > 2 ? width - 2 : width) + " ~";
  }

  // Names that shortening makes equal show where they differ.
  std::string fitted_name(FunctionId function, std::size_t width) const {
    if (look_.width == 0) width = 0;
    std::string text = names_.fit(function, width);
    if (width == 0 || text == names_.fit(function, 0)) return text;
    auto [texts, is_new] = texts_.try_emplace(width);
    if (is_new) {
      std::vector<Pieces> lines;
      for (const FunctionId each : functions_) lines.push_back({{{}, each}});
      const std::vector<std::string> fitted = names_.fit(lines, width);
      for (std::size_t i = 0; i < fitted.size(); ++i) texts->second[functions_[i]] = fitted[i];
    }
    const auto found = texts->second.find(function);
    return found != texts->second.end() ? found->second : text;
  }

  void show(Pending& next) {
    const std::string prefix = branch(next);
    const std::size_t width = name_width(prefix);
    switch (next.kind) {
      case Pending::Kind::kNode:
        show_node(next, prefix, width);
        break;
      case Pending::Kind::kBack:
        show_back(EdgeId(next.index), prefix, width);
        break;
      case Pending::Kind::kTail: {
        const std::size_t e = next.index;
        const NodeId to = profile_.edges().to[e];
        line(0, 0, count_if_any(profile_.edges().calls[e], nodes_.function[to.index()]), prefix,
             Ink::kPlain, "⇒ " + name(nodes_.function[to.index()], width > 2 ? width - 2 : width),
             false);
        break;
      }
      case Pending::Kind::kHidden:
        line(next.cost, 0, "", prefix, Ink::kDim,
             fmt::format("… {} more below {}%", count(next.contexts), least_percent_));
        break;
      case Pending::Kind::kTooDeep:
        too_deep_ += next.contexts;
        line(next.cost, 0, "", prefix, Ink::kDim,
             fmt::format("… {} further down", counted(next.contexts, "context")));
        break;
    }
  }

  void show_node(const Pending& next, const std::string& prefix, std::size_t width) {
    std::uint32_t node = next.index;
    const std::string how = by_tail_call_[node] != 0 ? kThroughTailCall : "";
    const std::size_t rest =
        width > width_of(how) + kNameColumns / 2 ? width - width_of(how) : width;
    line(cost_[node], own(node), calls_text(node), prefix, Ink::kPlain,
         name(nodes_.function[node], rest) + how);
    const std::string inner = prefix_below(next);

    // A chain of functions that only pass on a call becomes one line, without the branches that
    // leave it and are too small to show.
    struct Passing {
      std::uint32_t node;
      std::uint64_t hidden_contexts, hidden_cost;
    };
    std::vector<Passing> run;
    const Below under = below(node);
    if (under.shown.size() == 1 && under.back.empty() && under.tail.empty() &&
        tiny(under.hidden_cost)) {
      std::uint32_t at = under.shown[0];
      for (Below b = below(at); passes_through(at, b); b = below(at)) {
        run.push_back({at, b.hidden_contexts, b.hidden_cost});
        at = b.shown[0];
      }
    }
    const Pending drawn{
        .prefix = inner, .is_last = true, .level = next.level + 1, .cost = 0, .contexts = 0};
    const std::string to_run = branch(drawn);
    std::string names;
    if (run.size() >= kShortestRun && next.level + 2 < deepest_) {
      names = run_text(run.front().node, run.back().node, run.size(), name_width(to_run));
    }
    if (names.empty()) {
      open_below(NodeId(node), inner, next.level + 1);
      return;
    }
    hidden_contexts_ += under.hidden_contexts;
    request_.costs.add(hidden_cost_, under.hidden_cost);
    for (std::size_t i = 0; i + 1 < run.size();
         ++i) {  // what the last one hides, open_below counts
      hidden_contexts_ += run[i].hidden_contexts;
      request_.costs.add(hidden_cost_, run[i].hidden_cost);
    }
    in_runs_ += run.size();
    // The chain is a level of its own, so that its callees are shown below it, not beside it.
    const std::uint32_t front = run.front().node;
    line(cost_[front], 0, calls_text(front), to_run, Ink::kDim, names);
    open_below(NodeId(run.back().node), prefix_below(drawn), next.level + 2);
  }

  // "a → b → c": each calls the next. If a long chain does not fit, the names in the middle are
  // replaced by their number; a short chain is wrapped instead.
  std::string run_text(std::uint32_t first, std::uint32_t last, std::size_t size,
                       std::size_t width) const {
    std::vector<std::string> names;
    std::size_t used = 0;
    for (std::uint32_t at = last; names.size() < size && (look_.width == 0 || used <= width);
         at = nodes_.parent[at].index()) {
      names.push_back(names_.fit(nodes_.function[at], 0));
      used += width_of(names.back()) + (names.size() > 1 ? 3 : 0);
    }
    if (look_.width == 0 || used <= width) {
      std::reverse(names.begin(), names.end());
      return fmt::format("{}", fmt::join(names, " → "));
    }
    if (size < kShortestCutRun) return {};
    const auto middle = [&](std::size_t left) { return fmt::format(" → {} more → ", left); };
    const std::size_t between = width_of(middle(size - 2));
    const std::size_t half = width > between ? (width - between) / 2 : 1;
    const std::string head = name(nodes_.function[first], half);
    const std::size_t taken = width_of(head) + between;
    std::string tail = name(nodes_.function[last], width > taken ? width - taken : 1);
    // The end of a chain is more important than its beginning.
    std::size_t left = size - 2;
    for (NodeId at = nodes_.parent[last]; left > 1; at = nodes_.parent[at.index()]) {
      const std::string with = names_.fit(nodes_.function[at.index()], 0) + " → " + tail;
      if (width_of(head) + width_of(middle(left - 1)) + width_of(with) > width) break;
      tail = with;
      --left;
    }
    return head + middle(left) + tail;
  }

  void show_back(EdgeId edge, const std::string& prefix, std::size_t width) {
    const std::size_t e = edge.index();
    const NodeId from = profile_.edges().from[e], to = profile_.edges().to[e];
    // In a damaged file it may lead anywhere.
    const bool is_above = to <= from && from.index() < nodes_.subtree_end[to.index()];
    const std::uint32_t up = is_above ? nodes_.depth[from.index()] - nodes_.depth[to.index()] : 0;
    const std::string where = to == from ? "  (itself)"
                              : is_above ? fmt::format("  ({} up)", up)
                                         : "  (elsewhere)";
    const std::size_t rest = width > width_of(where) + 2 ? width - width_of(where) - 2 : width;
    line(0, 0, count_if_any(profile_.edges().calls[e], nodes_.function[to.index()]), prefix,
         Ink::kPlain, "↻ " + name(nodes_.function[to.index()], rest) + where, false);
  }

  // Of a short run that counted calls: the time is all in one place or two, by chance.
  bool rests_on_few_samples() const {
    const profile::Role role = request_.metric().role;
    if (role != Role::kCpuTime && role != Role::kWallTime) return false;
    const analysis::RunFacts run = analysis::run_facts(request_.runs, ProcessId());
    return !look_.all && !request_.has_sampled_times && !request_.runs.processes().empty() &&
           !run.is_imported && run.cpu_ns != 0 && run.calls != 0 && run.samples < kFewSamples;
  }

  void footer() {
    std::vector<std::string> parts;
    if (hidden_contexts_ != 0 && kept_ == 0) {
      parts.push_back(fmt::format("{} without any {} (--all)", counted(hidden_contexts_, "context"),
                                  escape(request_.metric().name)));
    } else if (hidden_contexts_ != 0) {
      parts.push_back(fmt::format("{} below {}% ({} in all; --min, --all)",
                                  counted(hidden_contexts_, "context"), least_percent_,
                                  percent(hidden_cost_, kept_)));
    }
    if (in_runs_ != 0) {
      parts.push_back(fmt::format("{} that only {} the next one, drawn as a → b (--all)",
                                  count(in_runs_), in_runs_ == 1 ? "calls" : "call"));
    }
    if (too_deep_ != 0) {
      parts.push_back(fmt::format("{} further down (--depth)", count(too_deep_)));
    }
    if (hidden_edges_ != 0) {
      parts.push_back(fmt::format("{} (recursive or tail; --all)", counted(hidden_edges_, "call")));
    }
    std::string text = kept_line(request_);
    if (any_sampled_shown_) text += ".  ·: no hook: sampled, calls not counted";
    if (any_some_shown_) text += fmt::format(".  {}", kSomeCallsNote);
    if (any_by_frame_pointer_shown_) text += ".  ~: its callers were found by its frame pointer";
    if (!parts.empty()) text += fmt::format(".  Hidden: {}", fmt::join(parts, ", "));
    if (rests_on_few_samples()) text += ".  Few samples: --metric calls or --all";
    // Wrapped at blanks to fit the width.
    while (look_.width > 20 && width_of(text) > look_.width) {
      std::size_t at = text.rfind(' ', look_.width);
      if (at == std::string::npos || at == 0) break;
      out_ += paint(look_, Ink::kDim, text.substr(0, at)) + "\n";
      text = text.substr(at + 1);
    }
    out_ += paint(look_, Ink::kDim, text) + "\n";
  }

  const Request& request_;
  const Look& look_;
  const Profile& profile_;
  Names names_;
  std::vector<FunctionId> functions_;                                       // to be told apart
  mutable std::map<std::size_t, std::map<FunctionId, std::string>> texts_;  // by width
  const std::uint64_t kept_;
  const Nodes& nodes_;
  const std::vector<std::uint64_t>& cost_;
  const EdgesByNode edges_from_;
  std::vector<std::uint8_t> by_tail_call_;  // by node
  std::vector<std::uint8_t> sampled_;       // by node; empty if no calls were counted at all
  bool any_sampled_shown_ = false, any_some_shown_ = false;
  mutable bool any_by_frame_pointer_shown_ = false;
  std::size_t deepest_ = 0;
  double least_percent_;  // branches below this share are hidden
  std::vector<Pending> pending_;
  std::string out_;
  std::uint64_t hidden_contexts_ = 0, hidden_cost_ = 0, hidden_edges_ = 0, in_runs_ = 0,
                too_deep_ = 0;
};

// The contexts of the tables for programs: all, unless the user said otherwise by --depth, --min or
// --sort.
ShownContexts contexts_for_programs(const analysis::Costs& costs, const Look& look) {
  const auto is_small = [&](std::uint32_t n) {
    return percent_of(costs.inclusive()[n], costs.total()) < look.min_for_programs;
  };
  std::function<bool(NodeId, NodeId)> order;
  if (!look.sort.empty()) {
    order = [&](NodeId a, NodeId b) { return comes_first(costs, look.sort, a, b); };
  }
  return shown_contexts(costs.profile().nodes(), look, is_small, order);
}

bool is_sampled(const Edges& edges, std::size_t edge) {
  return edges.calls[edge] == 0 && (edges.flags[edge] & format::kEdgeSampled) != 0;
}

const char* kind_of(EdgeKind kind) { return kind == EdgeKind::kBack ? "back" : "tail"; }

// Parents first, so `parent` (an index into this table) is smaller than the node's own.
Table node_table(const analysis::Costs& costs, const ShownContexts& shown) {
  const Nodes& nodes = costs.profile().nodes();
  Table table;
  table.key = "nodes";
  table.columns = {{"name", "", Kind::kName},   {"parent", "", Kind::kNumber},
                   {"total", "", Kind::kCost},  {"total_is_bound", "", Kind::kFlag},
                   {"self", "", Kind::kCost},   {"calls", ""},
                   {"sampled", "", Kind::kFlag}};
  const auto sampled = analysis::sampled_contexts(costs.profile());
  table.generate(shown.nodes.size(), [&costs, &nodes, shown, sampled](std::size_t i) {
    const std::uint32_t n = shown.nodes[i];
    const NodeId parent = nodes.parent[n];
    return std::vector<Cell>{name_cell(nodes.function[n]),
                             parent ? number_cell(shown.place[parent.index()]) : Cell(),
                             number_cell(costs.inclusive()[n]),
                             flag_cell(costs.is_bound()[n] != 0),
                             number_cell(costs.own(NodeId(n))),
                             number_cell(costs.calls(NodeId(n))),
                             flag_cell(sampled[n] != 0)};
  });
  return table;
}

Table edge_table(const Profile& profile, const ShownContexts& shown) {
  const Edges& edges = profile.edges();
  Table table;
  table.key = "edges";
  table.columns = {{"from", "", Kind::kNumber},
                   {"to", "", Kind::kNumber},
                   {"kind", "", Kind::kText},
                   {"calls", ""},
                   {"sampled", "", Kind::kFlag}};
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] == EdgeKind::kTree) continue;
    const std::uint32_t from = shown.place[edges.from[e].index()];
    const std::uint32_t to = shown.place[edges.to[e].index()];
    if (from == ShownContexts::kHidden || to == ShownContexts::kHidden) continue;
    table.add({number_cell(from), number_cell(to), text_cell(kind_of(edges.kind[e])),
               number_cell(edges.calls[e]), flag_cell(is_sampled(edges, e))});
  }
  return table;
}

// Nodes and, below each, the edges that lead to none of its children.
Table flat_table(const analysis::Costs& costs, const ShownContexts& shown) {
  const Profile& profile = costs.profile();
  const EdgesByNode edges_from(profile, EdgesByNode::Side::kFrom);
  struct Line {
    NodeId node;
    EdgeId edge;  // none: the node itself
  };
  std::vector<Line> lines;
  for (const std::uint32_t n : shown.nodes) {
    lines.push_back({NodeId(n), {}});
    for (auto e = edges_from.begin(NodeId(n)); e != edges_from.end(NodeId(n)); ++e) {
      if (profile.edges().kind[e->index()] == EdgeKind::kTree) continue;
      const NodeId to = profile.edges().to[e->index()];
      if (shown.place[to.index()] != ShownContexts::kHidden) lines.push_back({NodeId(n), *e});
    }
  }
  Table table;
  table.columns = {{"depth", "", Kind::kNumber},
                   {"name", "", Kind::kName},
                   {"total", "", Kind::kCost},
                   {"self", "", Kind::kCost},
                   {"calls", ""},
                   {"kind", "", Kind::kText},
                   {"sampled", "", Kind::kFlag}};
  const auto sampled = analysis::sampled_contexts(profile);
  table.generate(lines.size(), [&costs, lines, sampled](std::size_t i) {
    const auto [node, edge] = lines[i];
    const Nodes& nodes = costs.profile().nodes();
    if (!edge) {
      return std::vector<Cell>{number_cell(nodes.depth[node.index()]),
                               name_cell(nodes.function[node.index()]),
                               number_cell(costs.inclusive()[node.index()]),
                               number_cell(costs.own(node)),
                               number_cell(costs.calls(node)),
                               text_cell("node"),
                               flag_cell(sampled[node.index()] != 0)};
    }
    const Edges& edges = costs.profile().edges();
    return std::vector<Cell>{number_cell(nodes.depth[node.index()] + 1u),
                             name_cell(nodes.function[edges.to[edge.index()].index()]),
                             Cell(),
                             Cell(),
                             number_cell(edges.calls[edge.index()]),
                             text_cell(kind_of(edges.kind[edge.index()])),
                             flag_cell(is_sampled(edges, edge.index()))};
  });
  return table;
}

Result<Document> tree(const Request& request) {
  Document document = request.document("tree");
  const ShownContexts shown = contexts_for_programs(request.costs, request.look);
  if (request.look.format == Format::kCsv) {
    document.flat = flat_table(request.costs, shown);
  } else {
    document.tables = {node_table(request.costs, shown), edge_table(request.profile(), shown)};
  }
  document.text = [request](const Look& look) {
    return heading_with_loss(request.runs, request.has_sampled_times, look) + "\n" +
           process_split(request.runs, request.metric(), look) + TreeText(request, look).run();
  };
  return document;
}

const Register kTree({
    .name = "tree",
    .help = "the tree of calling contexts (default)",
    .manual = "The tree of calling contexts. It is the default view.",
    .topic = View::Topic::kOverview,
    .sort_keys = "self dominated calls name",
    .limits = "depth min",
    .show = tree,
    .compare = diff_tree,
});

}  // namespace
}  // namespace fbleprof::report
