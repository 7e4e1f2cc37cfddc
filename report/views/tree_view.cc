#include "report/views/tree_view.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "analysis/costs.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/tables.h"

namespace fbleprof::report {

using namespace profile;
using analysis::EdgesByNode;

namespace {

constexpr std::size_t kFigureColumns = 6 + 2 + 6 + 2 + 9 + 2 + 13 + 2;
constexpr std::size_t kNameColumns = 24;    // what a name must have left at the deepest level
constexpr std::size_t kShortestRun = 3;     // of functions that are collapsed to one line
constexpr std::size_t kShortestCutRun = 5;  // of those that don't fit it
constexpr std::size_t kEdgesOfANode = 4;    // back and tail edges shown of each kind
constexpr std::size_t kWidestIndent = 120;  // beyond, levels are told by a number

// The tree as text. Nodes are visited with a stack of their own: recursion may be a million deep.
class TreeText {
 public:
  explicit TreeText(const Input& input)
      : input_(input),
        look_(input.look),
        profile_(input.profile),
        nodes_(input.profile.nodes()),
        cost_(analysis::inclusive(input.profile, input.metric)),
        calls_(input.profile.find_metric("calls")),
        edges_from_(input.profile, EdgesByNode::Side::kFrom) {
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

  std::string run() {
    header();
    const NodeId root(0);
    if (input_.metric.value(root) != 0) {
      line(cost_[0], input_.metric.value(root), 0, "", Ink::kPlain,
           label(input_, nodes_.function[0]));
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

 private:
  struct Pending {
    enum class Kind { kNode, kBack, kTail, kHidden, kTooDeep } kind = Kind::kNode;
    std::uint32_t index = 0;  // node or edge
    std::string prefix;       // of the levels above
    bool is_last = false;
    bool top = false;  // no branch is drawn to it
    std::size_t level = 0;
    std::uint64_t cost = 0, contexts = 0;  // of what is hidden
  };

  std::uint64_t own(std::uint32_t node) const { return input_.metric.value(NodeId(node)); }
  bool tiny(std::uint64_t cost) const {
    return !look_.all && percent_of(cost, input_.kept) < look_.min_percent;
  }

  void header() {
    const std::string titles =
        pad_left("total", 6) + "  " + pad_left("self", 6) + "  " +
        pad_left(input_.metric.unit == "ns" ? "time" : input_.metric.name, 9) + "  " +
        pad_left("calls", 13) + "  context";
    out_ += paint(look_, Ink::kDim, titles) + "\n";
  }

  void line(std::uint64_t cost, std::uint64_t own, std::uint64_t calls, const std::string& prefix,
            Ink ink, const std::string& text, bool has_cost = true) {
    const double share = percent_of(cost, input_.kept);
    const std::string total = has_cost ? percent(cost, input_.kept) : "";
    const std::string self = has_cost && own != 0 ? percent(own, input_.kept) : "";
    const std::string time =
        has_cost ? quantity(cost, input_.metric.unit, look_.unit) : std::string();
    out_ += paint(look_, heat(share), pad_left(total, 6)) + "  " +
            paint(look_, heat(percent_of(own, input_.kept)), pad_left(self, 6)) + "  " +
            pad_left(time, 9) + "  " + pad_left(calls == 0 ? "" : count(calls), 13) + "  " +
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
        result.hidden_cost += cost_[c];
        result.hidden_contexts += nodes_.subtree_end[c] - c;
        ++result.hidden_children;
      }
    }
    std::stable_sort(result.shown.begin(), result.shown.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return comes_first(a, b); });
    const Edges& edges = profile_.edges();
    for (auto e = edges_from_.begin(NodeId(node)); e != edges_from_.end(NodeId(node)); ++e) {
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

  bool comes_first(std::uint32_t a, std::uint32_t b) const {
    if (look_.sort == "name") {
      return display_name(profile_, nodes_.function[a]) <
             display_name(profile_, nodes_.function[b]);
    }
    if (look_.sort == "self" && own(a) != own(b)) return own(a) > own(b);
    const std::uint64_t calls_a = calls_of(a), calls_b = calls_of(b);
    if (look_.sort == "calls" && calls_a != calls_b) return calls_a > calls_b;
    return cost_[a] != cost_[b] ? cost_[a] > cost_[b] : calls_a > calls_b;
  }

  std::uint64_t calls_of(std::uint32_t node) const {
    return calls_ != nullptr ? calls_->value(NodeId(node)) : 0;
  }

  // Does nothing worth a line but call the one child that is worth one.
  bool passes_through(std::uint32_t node, const Below& below) const {
    return !look_.all && below.shown.size() == 1 && below.back.empty() && below.tail.empty() &&
           tiny(own(node) + below.hidden_cost);
  }

  // Puts what is below `node` on the stack, last line first.
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
        hidden_cost_ += under.hidden_cost;
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

  std::string name(FunctionId function, std::size_t width) const {
    return look_.width == 0 ? label(input_, function) : short_label(input_, function, width);
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
        line(0, 0, profile_.edges().calls[e], prefix, Ink::kPlain,
             "⇒ " + name(nodes_.function[to.index()], width > 2 ? width - 2 : width), false);
        break;
      }
      case Pending::Kind::kHidden:
        line(next.cost, 0, 0, prefix, Ink::kDim,
             fmt::format("… {} more below {}%", count(next.contexts), look_.min_percent));
        break;
      case Pending::Kind::kTooDeep:
        too_deep_ += next.contexts;
        line(next.cost, 0, 0, prefix, Ink::kDim,
             fmt::format("… {} contexts further down", count(next.contexts)));
        break;
    }
  }

  void show_node(const Pending& next, const std::string& prefix, std::size_t width) {
    std::uint32_t node = next.index;
    const std::string how = by_tail_call_[node] != 0 ? kThroughTailCall : "";
    const std::size_t rest =
        width > width_of(how) + kNameColumns / 2 ? width - width_of(how) : width;
    line(cost_[node], own(node), calls_of(node), prefix, Ink::kPlain,
         name(nodes_.function[node], rest) + how);
    const std::string inner = prefix_below(next);

    // A run of functions that only pass on what they were called for becomes one line, without the
    // branches too small to count that leave it.
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
    hidden_cost_ += under.hidden_cost;
    for (std::size_t i = 0; i + 1 < run.size();
         ++i) {  // what the last one hides, open_below counts
      hidden_contexts_ += run[i].hidden_contexts;
      hidden_cost_ += run[i].hidden_cost;
    }
    in_runs_ += run.size();
    // The run is a level of its own, so that what it leads to stands below it, not beside it.
    const std::uint32_t front = run.front().node;
    line(cost_[front], 0, calls_of(front), to_run, Ink::kDim, names);
    open_below(NodeId(run.back().node), prefix_below(drawn), next.level + 2);
  }

  // "a → b → c": each calls the next. Of a long run that does not fit the ones in the middle are
  // counted; of a short one nothing is left, it is worth its lines.
  std::string run_text(std::uint32_t first, std::uint32_t last, std::size_t size,
                       std::size_t width) const {
    std::vector<std::string> names;
    std::size_t used = 0;
    for (std::uint32_t at = last; names.size() < size && (look_.width == 0 || used <= width);
         at = nodes_.parent[at].index()) {
      names.push_back(label(input_, nodes_.function[at]));
      used += width_of(names.back()) + (names.size() > 1 ? 3 : 0);
    }
    if (look_.width == 0 || used <= width) {
      std::reverse(names.begin(), names.end());
      return fmt::format("{}", fmt::join(names, " → "));
    }
    if (size < kShortestCutRun) return {};
    const std::string middle = fmt::format(" → {} more → ", size - 2);
    const std::size_t half = width > width_of(middle) ? (width - width_of(middle)) / 2 : 1;
    const std::string head = name(nodes_.function[first], half);
    const std::size_t taken = width_of(head) + width_of(middle);
    return head + middle + name(nodes_.function[last], width > taken ? width - taken : 1);
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
    line(0, 0, profile_.edges().calls[e], prefix, Ink::kPlain,
         "↻ " + name(nodes_.function[to.index()], rest) + where, false);
  }

  void footer() {
    std::vector<std::string> parts;
    if (hidden_contexts_ != 0 && input_.kept == 0) {
      parts.push_back(fmt::format("{} contexts without any {} (--all)", count(hidden_contexts_),
                                  input_.metric.name));
    } else if (hidden_contexts_ != 0) {
      parts.push_back(fmt::format("{} contexts below {}% ({} in all; --min, --all)",
                                  count(hidden_contexts_), look_.min_percent,
                                  percent(hidden_cost_, input_.kept)));
    }
    if (in_runs_ != 0) {
      parts.push_back(
          fmt::format("{} that only call the next one, drawn as a → b (--all)", count(in_runs_)));
    }
    if (too_deep_ != 0) {
      parts.push_back(fmt::format("{} further down (--depth)", count(too_deep_)));
    }
    if (hidden_edges_ != 0) {
      parts.push_back(fmt::format("{} recursive and tail calls (--all)", count(hidden_edges_)));
    }
    std::string text = kept_line(input_);
    if (!parts.empty()) text += fmt::format(".  Hidden: {}", fmt::join(parts, ", "));
    // Wrapped at blanks, so that it fits as well.
    while (look_.width > 20 && width_of(text) > look_.width) {
      std::size_t at = text.rfind(' ', look_.width);
      if (at == std::string::npos || at == 0) break;
      out_ += paint(look_, Ink::kDim, text.substr(0, at)) + "\n";
      text = text.substr(at + 1);
    }
    out_ += paint(look_, Ink::kDim, text) + "\n";
  }

  const Input& input_;
  const Look& look_;
  const Profile& profile_;
  const Nodes& nodes_;
  const std::vector<std::uint64_t> cost_;
  const Metric* calls_;
  const EdgesByNode edges_from_;
  std::vector<std::uint8_t> by_tail_call_;  // by node
  std::size_t deepest_ = 0;
  std::vector<Pending> pending_;
  std::string out_;
  std::uint64_t hidden_contexts_ = 0, hidden_cost_ = 0, hidden_edges_ = 0, in_runs_ = 0,
                too_deep_ = 0;
};

std::string tree_csv(const Input& input) {
  const Profile& profile = input.profile;
  const Nodes& nodes = profile.nodes();
  const std::vector<std::uint64_t> cost = analysis::inclusive(profile, input.metric);
  const Metric* calls = profile.find_metric("calls");
  const EdgesByNode edges_from(profile, EdgesByNode::Side::kFrom);
  std::string out = "depth,name,total,self,calls,kind\n";
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const auto name = [&](NodeId node) {
      return csv_field(escape(display_name(profile, nodes.function[node.index()])));
    };
    out +=
        fmt::format("{},{},{},{},{},node\n", nodes.depth[n], name(NodeId(n)), cost[n],
                    input.metric.value(NodeId(n)), calls != nullptr ? calls->value(NodeId(n)) : 0);
    for (auto e = edges_from.begin(NodeId(n)); e != edges_from.end(NodeId(n)); ++e) {
      const EdgeKind kind = profile.edges().kind[e->index()];
      if (kind == EdgeKind::kTree) continue;
      out +=
          fmt::format("{},{},,,{},{}\n", nodes.depth[n] + 1, name(profile.edges().to[e->index()]),
                      profile.edges().calls[e->index()], kind == EdgeKind::kBack ? "back" : "tail");
    }
  }
  return out;
}

std::string tree_json(const Input& input) {
  const Profile& profile = input.profile;
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t> cost = analysis::inclusive(profile, input.metric);
  const std::vector<std::uint8_t> is_bound = analysis::lower_bounds(profile);
  const Metric* calls = profile.find_metric("calls");
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto number = [&](const char* key, std::uint64_t value) {
    json.Key(key);
    json.Uint64(value);
  };
  json.StartArray();
  // Nodes in preorder, so `parent` (an index into this array) is smaller than the node's own.
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    json.StartObject();
    const std::string name = escape(display_name(profile, nodes.function[n]));
    json.Key("name");
    json.String(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    json.Key("parent");
    if (nodes.parent[n]) {
      json.Uint(nodes.parent[n].index());
    } else {
      json.Null();
    }
    number("total", cost[n]);
    json.Key("total_is_bound");
    json.Bool(is_bound[n] != 0);
    number("self", input.metric.value(NodeId(n)));
    number("calls", calls != nullptr ? calls->value(NodeId(n)) : 0);
    json.EndObject();
  }
  json.EndArray();
  std::string rows = buffer.GetString();

  rapidjson::StringBuffer edge_buffer;
  rapidjson::Writer<rapidjson::StringBuffer> edge_json(edge_buffer);
  edge_json.StartArray();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] == EdgeKind::kTree) continue;
    edge_json.StartObject();
    edge_json.Key("from");
    edge_json.Uint(edges.from[e].index());
    edge_json.Key("to");
    edge_json.Uint(edges.to[e].index());
    edge_json.Key("kind");
    edge_json.String(edges.kind[e] == EdgeKind::kBack ? "back" : "tail");
    edge_json.Key("calls");
    edge_json.Uint64(edges.calls[e]);
    edge_json.EndObject();
  }
  edge_json.EndArray();
  std::string document = json_document(input, "tree", "nodes", rows);
  document.pop_back();  // the object's closing brace
  return document + ",\"edges\":" + edge_buffer.GetString() + "}\n";
}

}  // namespace

std::string tree_view(const Input& input) {
  switch (input.look.format) {
    case Format::kCsv:
      return tree_csv(input);
    case Format::kJson:
      return tree_json(input);
    case Format::kText:
      break;
  }
  return TreeText(input).run();
}

}  // namespace fbleprof::report
