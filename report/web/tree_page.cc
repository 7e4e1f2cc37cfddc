// The tree of contexts: the most expensive ones, opened as far as space allows; links lead to the
// rest.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/visible_tree.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/web/bodies.h"
#include "report/web/comparison.h"
#include "report/web/document_html.h"
#include "report/web/function_names.h"
#include "report/web/html.h"

namespace fbleprof::web {

using namespace profile;
using analysis::VisibleNode;

namespace {

constexpr std::size_t kRows = 80;
constexpr double kLeastPercent = 0.5;

class TreeHtml {
 public:
  TreeHtml(const Page& page, std::vector<VisibleNode> nodes)
      : page_(page), nodes_(std::move(nodes)), children_(nodes_.size()) {
    std::vector<FunctionId> shown;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      shown.push_back(nodes_[i].function);
      if (i != 0) children_[nodes_[i].parent].push_back(i);
    }
    names_.emplace(page, std::move(shown), 90);
    compares_ = page.data.base_metric() != nullptr;
  }

  std::string write() {
    std::string out =
        "<div class=scroll><table class=\"data tree\"><thead><tr><th scope=col class=num>total"
        "<th scope=col class=num>self<th scope=col class=num>";
    out += html_text(report::cost_title(page_.data.metric()));
    if (compares_) out += "<th scope=col class=num>change";
    out += "<th scope=col class=num>calls<th scope=col class=text>context</tr></thead><tbody>";
    if (nodes_.empty()) return out + "</tbody></table></div>";
    if (page_.query.at.empty()) {
      for (const std::size_t child : ordered(0)) put(child, 0, out);
      more(0, 0, out);
    } else {
      put(0, 0, out);
    }
    return out + "</tbody></table></div>";
  }

 private:
  std::vector<std::size_t> ordered(std::size_t i) const {
    std::vector<std::size_t> order = children_[i];
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (page_.query.sort == "self" && nodes_[a].own != nodes_[b].own) {
        return nodes_[a].own > nodes_[b].own;
      }
      if (page_.query.sort == "calls" && nodes_[a].calls != nodes_[b].calls) {
        return nodes_[a].calls > nodes_[b].calls;
      }
      return nodes_[a].cost > nodes_[b].cost;
    });
    return order;
  }

  // Uses an explicit stack, since recursion may be deep.
  void put(std::size_t top, std::size_t top_level, std::string& out) {
    struct Pending {
      std::size_t node, level;
      bool is_more;
    };
    std::vector<Pending> pending{{top, top_level, false}};
    while (!pending.empty()) {
      const Pending next = pending.back();
      pending.pop_back();
      if (next.is_more) {
        more(next.node, next.level, out);
        continue;
      }
      line(next.node, next.level, out);
      const auto order = ordered(next.node);
      if (nodes_[next.node].hidden != 0) pending.push_back({next.node, next.level + 1, true});
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        pending.push_back({*it, next.level + 1, false});
      }
    }
  }

  std::string indent(std::size_t level) const {
    // A column of SVG, as the policy forbids inline styles.
    constexpr std::size_t kStep = 14, kMost = 40;
    return fmt::format("<svg class=indent width={} height=1 aria-hidden=true></svg>",
                       kStep * std::min(level, kMost));
  }

  void line(std::size_t i, std::size_t level, std::string& out) {
    const VisibleNode& node = nodes_[i];
    const std::string bound = node.is_bound ? "≥" : "";
    const bool has_below = !children_[i].empty() || node.hidden != 0;
    out += fmt::format(
        "<tr{} data-context={} data-level={} aria-level={}><td class=\"num share\">{}{}{}",
        names_->row(node.function), name_of(node), level, level + 1, bar(page_.percent(node.cost)),
        bound, page_.share(node.cost));
    out += fmt::format("<td class=num>{}<td class=num>{}",
                       node.own == 0 ? "" : page_.share(node.own), page_.amount(node.cost));
    if (compares_) out += change(node.change);
    out += fmt::format("<td class=num>{}<td class=name>{}<span class=twig>{}</span>{}",
                       page_.calls(node), indent(level), has_below ? "▾" : "·",
                       names_->link(node.function));
    if (node.recurses)
      out += " <span class=mark title=\"calls back to a context further up\">↻</span>";
    if (node.by_tail_call) out += " <span class=mark title=\"reached by a tail call\">⇒</span>";
    out += names_->buttons(node.function) + "</tr>";
  }

  std::string change(const analysis::Change& change) const {
    if (change.size() == 0) return "<td class=num>";
    if (!change.did_change()) return "<td class=\"num dim\">~";
    return fmt::format("<td class=\"num {}\">{}{}", change.grew() ? "bad" : "good",
                       change.grew() ? "+" : "−", page_.amount(change.size()));
  }

  std::string name_of(const VisibleNode& node) const {
    return node_name(page_.data.node_ids()[node.context.index()]);
  }

  void more(std::size_t i, std::size_t level, std::string& out) const {
    const VisibleNode& node = nodes_[i];
    if (node.hidden == 0 || page_.percent(node.hidden_cost) < kLeastPercent) return;
    Query below = page_.query;
    below.at = i == 0 && page_.query.at.empty() ? "" : name_of(node);
    below.min_percent = 0;
    if (below.at.empty() || below.at == page_.query.at)
      below.rows = std::min(page_.query.rows * 4 + 4 * kRows, kMostRows);
    const std::string text = fmt::format("… {} more", report::count(node.hidden));
    out +=
        fmt::format("<tr class=more data-level={}><td class=\"num share\">{}{}<td><td class=num>{}",
                    level, bar(page_.percent(node.hidden_cost)), page_.share(node.hidden_cost),
                    page_.amount(node.hidden_cost));
    if (compares_) out += "<td>";
    out += fmt::format("<td><td class=name>{}<span class=twig></span>", indent(level));
    const bool is_this_page =
        below.at == page_.query.at && page_.query.rows >= kMostRows && page_.query.min_percent == 0;
    out += page_.site.is_file || is_this_page
               ? text
               : fmt::format("<a class=open href=\"{}\">{}</a>", page_.href(below), text);
    out += "</tr>";
  }

  const Page& page_;
  const std::vector<VisibleNode> nodes_;
  std::vector<std::vector<std::size_t>> children_;
  std::optional<FunctionNames> names_;
  bool compares_ = false;
};

// The path from the root to the start of the tree.
std::string trail(const Page& page, NodeId at) {
  const Nodes& nodes = page.data.profile().nodes();
  std::vector<NodeId> above;
  std::vector<FunctionId> shown;
  for (NodeId n = nodes.parent[at.index()]; n; n = nodes.parent[n.index()]) {
    above.push_back(n);
    shown.push_back(nodes.function[n.index()]);
  }
  const FunctionNames names(page, shown, 40);
  std::string out = "<nav class=trail aria-label=\"contexts above\">";
  for (auto it = above.rbegin(); it != above.rend(); ++it) {
    Query up = page.query;
    up.rows = 0;
    up.at = nodes.parent[it->index()] ? node_name(page.data.node_ids()[it->index()]) : "";
    out += fmt::format("<a href=\"{}\">{}</a> → ", page.href(up),
                       html_text(names.label(nodes.function[it->index()])));
  }
  return out + "</nav>";
}

}  // namespace

std::string tree_body(const Page& page) {
  const Data& data = page.data;
  const NodeId at = page.query.at.empty() ? NodeId(0) : data.node(page.query.at);
  if (data.profile().nodes().count() == 0) return "<p class=empty>Nothing was recorded.</p>";
  if (!at) {
    return fmt::format(
        "<p class=empty>That context is gone: the profile or the lists have changed. "
        "<a href=\"{}\">The whole tree</a></p>",
        page.href("tree"));
  }
  analysis::VisibleLimit limit;
  limit.nodes = page.query.rows != 0 ? page.query.rows : kRows;
  const double least = page.query.min_percent >= 0 ? page.query.min_percent : kLeastPercent;
  limit.least_cost = static_cast<std::uint64_t>(
      least / 100 * static_cast<double>(data.costs().inclusive()[at.index()]));
  const auto diff = comparison(page);
  std::string out;
  if (!page.query.at.empty()) out += trail(page, at);
  out +=
      TreeHtml(page, analysis::visible_callees(data.costs(), {at}, limit, diff ? &*diff : nullptr))
          .write();
  if (diff) out += chance_note(page, *diff);
  return out;
}

}  // namespace fbleprof::web
