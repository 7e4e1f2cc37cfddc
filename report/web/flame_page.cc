// The flame graph: as much of the tree as fits on a screen. The browser draws and moves it; parts
// that are too small stay on the server until the user zooms in.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/hot_path.h"
#include "analysis/in_and_out.h"
#include "analysis/visible_tree.h"
#include "report/exporters/additive_metrics.h"
#include "report/text/escape.h"
#include "report/text/json_writer.h"
#include "report/text/names.h"
#include "report/web/bodies.h"
#include "report/web/comparison.h"
#include "report/web/function_names.h"
#include "report/web/html.h"

namespace fbleprof::web {

using namespace profile;
using analysis::VisibleLimit;
using analysis::VisibleNode;

namespace {

constexpr std::size_t kNodes = 1200;      // 180 KB of long names
constexpr std::size_t kNodesOfTwo = 600;  // of each, if both callers and callees are shown
constexpr std::size_t kSmallNodes = 400;
constexpr std::size_t kListedNodes = 6000;  // of a file, whose lists work on its own content
constexpr std::uint64_t kFinest = 4000;     // a part of the whole: a quarter of a pixel

class FlameJson {
 public:
  FlameJson(const Page& page, const std::optional<analysis::Diff>& compared)
      : page_(page), diff_(compared ? &*compared : nullptr) {}

  // With what the lists of a file need.
  std::string write_for_lists() {
    for (const analysis::FunctionRow& row : page_.data.costs().tables().functions()) {
      calls_elsewhere_[row.function.index()] = row.calls;
    }
    return write(kListedNodes);
  }

  // `begin`: of the tree, unless the address says where.
  std::string write(std::size_t most, NodeId begin = NodeId(0)) {
    const Data& data = page_.data;
    const Query& query = page_.query;
    std::vector<VisibleNode> down, up;
    VisibleLimit limit{most, 0};
    const NodeId at = query.at.empty() ? NodeId() : data.node(query.at);
    const FunctionId pivot = data.source().function(query.pivot);
    if (data.profile().nodes().count() == 0) {
    } else if (pivot) {
      std::vector<std::uint8_t> wanted(data.profile().functions().count());
      wanted[pivot.index()] = 1;
      const auto contexts = analysis::outermost_contexts(data.costs(), wanted)[pivot.index()];
      limit.nodes = std::min(most, kNodesOfTwo);
      std::uint64_t cost = 0;
      for (const NodeId node : contexts) {
        data.costs().add(cost, data.costs().inclusive()[node.index()]);
      }
      limit.least_cost = cost / kFinest;
      down = analysis::visible_callees(data.costs(), contexts, limit, diff_);
      up = analysis::visible_callers(data.costs(), contexts, limit);
    } else if (query.inverted) {
      limit.least_cost = data.costs().total() / kFinest;
      down = analysis::visible_inverted(data.costs(), limit);
    } else {
      const NodeId from = at ? at : begin;
      limit.least_cost = data.costs().inclusive()[from.index()] / kFinest;
      down = analysis::visible_callees(data.costs(), {from}, limit, diff_);
    }
    collect(down);
    collect(up);
    json_.StartObject();
    json_.member("schema", "fbleprof/1");
    json_.member("view", "flame");
    json_.member("metric", report::escape(data.metric().name));
    json_.member("unit", report::escape(data.metric().unit));
    json_.key("total");
    json_.Uint64(data.costs().total());
    json_.member("mode", pivot ? "pivot" : query.inverted ? "inverted" : "tree");
    if (at) path(at);
    functions();
    tree("down", down, !pivot && !query.inverted, diff_ != nullptr);
    if (pivot) tree("up", up, false, false);
    json_.EndObject();
    return json_.take();
  }

 private:
  void collect(const std::vector<VisibleNode>& nodes) {
    for (const VisibleNode& node : nodes) {
      if (node.function && number_.try_emplace(node.function.index(), shown_.size()).second) {
        shown_.push_back(node.function);
      }
      if (!calls_elsewhere_.empty()) calls_elsewhere_[node.function.index()] -= node.calls;
    }
  }

  // The path from the root to the start of the graph.
  void path(NodeId at) {
    const Nodes& nodes = page_.data.profile().nodes();
    std::vector<NodeId> above;
    for (NodeId n = at; n; n = nodes.parent[n.index()]) above.push_back(n);
    std::reverse(above.begin(), above.end());
    const report::Names names(page_.data.profile());
    json_.column("path", above.size(), [&](std::size_t i) {
      json_.StartArray();
      json_.text(names.fit(nodes.function[above[i].index()], 40));
      json_.text(node_name(page_.data.node_ids()[above[i].index()]));
      json_.EndArray();
    });
  }

  void functions() {
    const Profile& profile = page_.data.profile();
    const FunctionNames names(page_, shown_, 48);
    std::vector<std::string> groups;
    std::unordered_map<std::string, std::size_t> place;
    const auto module_number = [&](FunctionId f) {
      const std::string module = report::escape(report::module_of(profile, f));
      const auto [it, is_new] = place.try_emplace(module, groups.size());
      if (is_new) groups.push_back(module);
      return it->second;
    };
    json_.key("functions");
    json_.StartObject();
    json_.column("name", shown_.size(), [&](std::size_t i) { json_.text(names.label(shown_[i])); });
    json_.column("id", shown_.size(),
                 [&](std::size_t i) { json_.text(page_.data.source().id(shown_[i])); });
    json_.column("module", shown_.size(),
                 [&](std::size_t i) { json_.Uint64(module_number(shown_[i])); });
    json_.column("kind", shown_.size(), [&](std::size_t i) { json_.text(kind(shown_[i])); });
    if (!calls_elsewhere_.empty()) {
      json_.column("calls_elsewhere", shown_.size(),
                   [&](std::size_t i) { json_.Uint64(calls_elsewhere_[shown_[i].index()]); });
    }
    json_.EndObject();
    json_.column("modules", groups.size(), [&](std::size_t i) { json_.text(groups[i]); });
  }

  // The languages, which have different colours.
  std::string kind(FunctionId f) const {
    const Functions& functions = page_.data.profile().functions();
    const std::string_view language = page_.data.profile().text(functions.language[f.index()]);
    if (!language.empty()) return report::escape(language);
    switch (functions.kind[f.index()]) {
      case FunctionKind::kNative:
      case FunctionKind::kInstruction:
      case FunctionKind::kUnwound: {
        const std::string_view linkage =
            page_.data.profile().text(functions.linkage_name[f.index()]);
        return linkage.starts_with("_Z") ? "C++" : "C";
      }
      case FunctionKind::kBlock:
        return "block";
      case FunctionKind::kScript:
        return "script";
      case FunctionKind::kJit:
        return "JIT";
      default:
        return "other";
    }
  }

  bool is_sampled(const VisibleNode& node) const {
    const auto& sampled = page_.data.sampled();
    return node.calls == 0 && node.context && !sampled.empty() &&
           sampled[node.context.index()] != 0;
  }

  void tree(std::string_view name, const std::vector<VisibleNode>& nodes, bool can_open,
            bool has_base) {
    json_.key(name);
    json_.StartObject();
    const auto figure = [&](std::string_view column_name, auto member_of) {
      json_.column(column_name, nodes.size(), [&](std::size_t i) {
        json_.Uint64(static_cast<std::uint64_t>(member_of(nodes[i])));
      });
    };
    figure("parent", [](const VisibleNode& n) { return n.parent; });
    figure("function",
           [&](const VisibleNode& n) { return n.function ? number_.at(n.function.index()) : 0; });
    figure("cost", [](const VisibleNode& n) { return n.cost; });
    figure("own", [](const VisibleNode& n) { return n.own; });
    figure("calls", [](const VisibleNode& n) { return n.calls; });
    figure("flags", [this](const VisibleNode& n) {
      return (n.is_bound ? 1 : 0) | (n.by_tail_call ? 2 : 0) | (n.recurses ? 4 : 0) |
             (is_sampled(n) ? 8 : 0) | (n.change.is_noise ? 16 : 0);
    });
    if (has_base) figure("base", [](const VisibleNode& n) { return n.change.base; });
    // Which contexts have more below them, by index.
    json_.key("more");
    json_.StartObject();
    for (std::size_t i = 0; can_open && i < nodes.size(); ++i) {
      if (nodes[i].hidden == 0 || !nodes[i].context) continue;
      json_.member(std::to_string(i), node_name(page_.data.node_ids()[nodes[i].context.index()]));
    }
    json_.EndObject();
    json_.EndObject();
  }

  const Page& page_;
  const analysis::Diff* const diff_;  // null: nothing is compared
  report::JsonWriter json_;
  std::vector<FunctionId> shown_;
  std::unordered_map<std::uint32_t, std::size_t> number_;
  // By function, for lists: its calls in contexts that are not sent.
  std::unordered_map<std::uint32_t, std::uint64_t> calls_elsewhere_;
};

// Frames beside each other would not fit into the one below them.
std::string no_flame_note(const Page& page) {
  const std::string why = why_no_flame(page);
  return why.empty() ? why : "<p class=note>" + html_text(why) + "</p>";
}

}  // namespace

std::string why_no_flame(const Page& page) {
  return report::why_not_additive(page.data.metric(), "a flame graph");
}

std::string flame_json(const Page& page) {
  return FlameJson(page, comparison(page)).write(page.query.rows != 0 ? page.query.rows : kNodes);
}

std::string contexts_json(const Page& page) {
  return FlameJson(page, comparison(page)).write_for_lists();
}

std::string flame_canvas(const Page& page, bool is_small,
                         const std::optional<analysis::Diff>& compared) {
  if (std::string note = no_flame_note(page); !note.empty()) return note;
  FlameJson json(page, compared);
  std::string callers_page = "each function";
  if (const FunctionId pivot = page.data.source().function(page.query.pivot)) {
    callers_page = FunctionNames(page, {pivot}, 60).link(pivot);
  }
  return fmt::format(
      "<div class=\"flame{}\" data-state=\"{}\"><canvas class=scripted hidden tabindex=0 role=img "
      "aria-label=\"Flame graph. The arrow keys move, Enter looks closer, Escape goes back.\">"
      "</canvas><div class=flame-tip role=status aria-live=polite></div>"
      "<noscript><p class=note>The flame graph needs JavaScript. Without it, the <a "
      "href=\"{}\">tree</a> shows the same paths, and the page of {} its callers and callees."
      "</p></noscript></div>"
      "<script type=\"application/json\" class=flame-data>{}</script>",
      is_small ? " small" : "", html_text(state_of(page.query)), page.href("tree"), callers_page,
      json_for_script(is_small
                          ? json.write(kSmallNodes, analysis::start_of_interest(page.data.costs()))
                          : json.write(kNodes)));
}

std::string flame_body(const Page& page) {
  if (std::string note = no_flame_note(page); !note.empty()) return note;
  const Query& query = page.query;
  Query tree = query, inverted = query;
  tree.pivot.clear();
  tree.at.clear();
  tree.inverted = false;
  inverted = tree;
  inverted.inverted = true;
  const bool is_tree = query.pivot.empty() && !query.inverted;
  const auto link = [&](const Query& to, std::string_view text, bool is_here) {
    return fmt::format("<a href=\"{}\"{}>{}</a>", page.href(to),
                       is_here ? " aria-current=true" : "", text);
  };
  std::string out = "<div class=\"toolbar scripted\" hidden><span class=segments>";
  out += link(tree, "callees", is_tree);
  if (!page.site.is_file) {
    out += link(inverted, "callers (inverted)", query.inverted && query.pivot.empty());
  }
  out += "</span>";
  if (const FunctionId pivot = page.data.source().function(query.pivot)) {
    const FunctionNames names(page, {pivot}, 60);
    out += "<span class=pivot>around " + names.link(pivot) + "</span>";
  }
  out +=
      "<label>colour <select class=flame-colour aria-label=\"colour by\"><option>module<option>"
      "function<option>language</select></label>"
      "<label class=grow><input class=flame-search type=search placeholder=\"highlight (regular "
      "expression)\" aria-label=\"highlight functions\"></label><output class=flame-found></output>"
      "</div><nav class=flame-path aria-label=\"where the graph begins\"></nav>";
  const auto compared = comparison(page);
  out += flame_canvas(page, false, compared);
  if (compared) out += chance_note(page, *compared);
  // A file has neither graphs around a function nor inverted ones.
  out += fmt::format(
      "<p class=\"note scripted\" hidden>Click to look closer, {}<kbd>Enter</kbd> and "
      "<kbd>Esc</kbd> to go down and back{}. ↻ calls back to a context further up; ⇒ was reached "
      "by a tail call; … holds more than can be seen.</p>",
      page.site.is_file ? "" : "Shift-click or <kbd>p</kbd> for callers above and callees below, ",
      page.site.is_file ? "" : ", <kbd>i</kbd> to turn it over");
  return out;
}

}  // namespace fbleprof::web
