// Calls: the call graph of the most expensive functions as a picture, then every pair of caller and
// callee.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analysis/hot_path.h"
#include "base/at_once.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/web/bodies.h"
#include "report/web/function_names.h"
#include "report/web/graph_layout.h"
#include "report/web/html.h"
#include "report/web/pages.h"

namespace fbleprof::web {

using namespace profile;
using analysis::FunctionRow;
using analysis::PairRow;

namespace {

constexpr std::size_t kBoxes = 40, kNameColumns = 30;
constexpr double kLeastPercent = 1;  // of boxes and lines
// In pixels.
constexpr double kCharacter = 7.3, kMargin = 10, kBoxHeight = 40, kLayerHeight = 92, kTop = 6;
constexpr double kThickest = 8;

class Graph {
 public:
  explicit Graph(const Page& page) : page_(page) {
    const analysis::Tables& tables = page.data.costs().tables();
    at_once(page.data.profile().nodes().count(),
            {[&] { tables.pairs(); }, [&] { tables.functions(); }});
    rows_ = tables.functions();
    const std::vector<std::uint8_t> is_before = functions_before_start();
    std::erase_if(rows_, [&](const FunctionRow& row) {
      return is_small(row.dominated) || is_before[row.function.index()] != 0;
    });
    std::stable_sort(rows_.begin(), rows_.end(), [](const FunctionRow& a, const FunctionRow& b) {
      return a.dominated > b.dominated;
    });
    if (rows_.size() > kBoxes) rows_.resize(kBoxes);
    std::vector<FunctionId> functions;
    for (const FunctionRow& row : rows_) {
      box_of_.emplace(row.function.index(), functions.size());
      functions.push_back(row.function);
    }
    names_.emplace(page, functions, kNameColumns);
    for (const PairRow& pair : tables.pairs()) {
      const auto from = box_of_.find(pair.caller.index()), to = box_of_.find(pair.callee.index());
      if (from == box_of_.end() || to == box_of_.end() || is_small(pair.cost)) continue;
      pairs_.push_back(pair);
      lines_.push_back({from->second, to->second, static_cast<double>(pair.cost)});
    }
    std::vector<double> widths;
    for (const FunctionRow& row : rows_) widths.push_back(width_of(row));
    layout_ = place_graph(widths, lines_);
  }

  bool empty() const { return pairs_.empty(); }

  std::string write() const {
    const double width = layout_.width + 4 * kMargin + kLoop;
    const double height =
        static_cast<double>(layout_.layers) * kLayerHeight - kLayerHeight + kBoxHeight + 2 * kTop;
    std::string out = fmt::format(
        "<svg class=graph width={0:.0f} height={1:.0f} viewBox=\"0 0 {0:.0f} {1:.0f}\" role=group "
        "aria-label=\"call graph\">",
        width, height);
    for (std::size_t i = 0; i < pairs_.size(); ++i) out += line(i);
    for (std::size_t box = 0; box < rows_.size(); ++box) out += this->box(box);
    return out + "</svg>";
  }

 private:
  static constexpr double kLoop = 46;  // beside a box, of a line that closes a circle

  // By function: on the way to where the picture begins, and nowhere else. They would be a long
  // column.
  std::vector<std::uint8_t> functions_before_start() const {
    const Profile& profile = page_.data.profile();
    const Nodes& nodes = profile.nodes();
    std::vector<std::uint8_t> is_before(profile.functions().count());
    if (nodes.count() == 0) return is_before;
    std::vector<std::size_t> contexts(profile.functions().count());
    for (const FunctionId f : nodes.function) ++contexts[f.index()];
    NodeId n = analysis::start_of_interest(page_.data.costs());
    while ((n = nodes.parent[n.index()])) {
      const std::size_t f = nodes.function[n.index()].index();
      is_before[f] = contexts[f] == 1;
    }
    return is_before;
  }

  bool is_small(std::uint64_t cost) const { return page_.percent(cost) < kLeastPercent; }

  std::string figures(const FunctionRow& row) const {
    return fmt::format("{}{}{}", row.dominated_is_bound ? "≥" : "", page_.share(row.dominated),
                       row.self == 0 ? "" : ", self " + page_.share(row.self));
  }
  double width_of(const FunctionRow& row) const {
    const std::size_t columns =
        std::max(report::width_of(names_->label(row.function)), report::width_of(figures(row)));
    return static_cast<double>(columns) * kCharacter + 2 * kMargin;
  }
  double left(std::size_t box) const { return x(layout_.x[box]) - width_of(rows_[box]) / 2; }
  static double x(double of_layout) { return of_layout + kMargin; }
  static double y(std::size_t layer) { return kTop + static_cast<double>(layer) * kLayerHeight; }

  std::string box(std::size_t b) const {
    const FunctionRow& row = rows_[b];
    const double top = y(layout_.layer[b]), middle = x(layout_.x[b]);
    const std::string id = page_.data.source().id(row.function);
    return fmt::format(
        "<a href=\"{}\" data-function={}><title>{}\n{} of {}</title><rect x={:.0f} y={:.0f} "
        "width={:.0f} height={} "
        "rx=6 /><rect class=heat x={:.0f} y={:.0f} width={:.0f} height={} rx=6 "
        "fill-opacity={:.2f} /><text x={:.0f} y={:.0f}>{}</text><text class=soft x={:.0f} "
        "y={:.0f}>{}</text></a>",
        page_.href("block", id), id,
        html_text(report::whole_name(page_.data.profile(), row.function)),
        page_.amount(row.dominated), page_.amount(page_.data.costs().total()), left(b), top,
        width_of(row), kBoxHeight, left(b), top, width_of(row), kBoxHeight,
        0.6 * page_.percent(row.self) / 100 + (row.self == 0 ? 0 : 0.04), middle, top + 16,
        html_text(names_->label(row.function)), middle, top + 32, figures(row));
  }

  std::string line(std::size_t i) const {
    const PairRow& pair = pairs_[i];
    const bool is_some = report::counts_some_calls(page_.data.profile(), pair.callee);
    const std::string_view bound = is_some ? "≥" : "";
    const double thickness = 1 + (kThickest - 1) * page_.percent(pair.cost) / 100;
    const auto [way, tip, label_x, label_y] = layout_.lines[i].closes_circle ? back(i) : down(i);
    const std::string drawn = fmt::format(
        "<g class=\"line{}\"><title>{} → {}\n{}{}</title><path d=\"{}\" stroke-width={:.1f} "
        "/><path class=tip d=\"{}\"/><text x={:.0f} y={:.0f}>{}{}</text></g>",
        layout_.lines[i].closes_circle ? " back" : "", html_text(names_->label(pair.caller)),
        html_text(names_->label(pair.callee)), page_.amount(pair.cost),
        pair.calls == 0 ? "" : fmt::format(", {}{}", bound, report::counted(pair.calls, "call")),
        way, thickness, tip, label_x + thickness / 2 + 2, label_y, pair.cost_is_bound ? "≥" : "",
        page_.share(pair.cost));
    if (page_.site.is_file) return drawn;  // it has no pages of paths
    const Source& source = page_.data.source();
    const std::string path = source.id(pair.caller) + "," + source.id(pair.callee);
    return fmt::format("<a href=\"{}\" tabindex=-1>{}</a>", page_.href("path", path), drawn);
  }

  struct Way {
    std::string path, tip;
    double label_x, label_y;
  };

  // From the bottom of the caller through the layers between to the top of the callee.
  Way down(std::size_t i) const {
    const std::vector<double>& at = layout_.lines[i].x;
    const std::size_t first = layout_.layer[lines_[i].from];
    std::string path = fmt::format("M{:.0f} {:.0f}", x(at[0]), y(first) + kBoxHeight);
    for (std::size_t k = 1; k < at.size(); ++k) {
      const double begin = y(first + k - 1) + kBoxHeight, end = y(first + k);
      const double between = (begin + end) / 2;
      path += fmt::format("C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}", x(at[k - 1]), between,
                          x(at[k]), between, x(at[k]), end);
      if (k + 1 < at.size()) path += fmt::format("V{:.0f}", end + kBoxHeight);
    }
    const std::size_t last = at.size() - 1;
    const std::string tip = fmt::format("M{:.0f} {:.0f}l-4.5 -9h9z", x(at[last]), y(first + last));
    return {path, tip, (x(at[last - 1]) + x(at[last])) / 2,
            y(first + last) - (kLayerHeight - kBoxHeight) / 2 + 4};
  }

  // From the right side of the caller around to that of a box above, or of its own.
  Way back(std::size_t i) const {
    const auto [from, to, weight] = lines_[i];
    const double begin_x = left(from) + width_of(rows_[from]);
    const double end_x = left(to) + width_of(rows_[to]);
    const double begin_y = y(layout_.layer[from]) + kBoxHeight * 0.7;
    const double end_y = y(layout_.layer[to]) + kBoxHeight * 0.3;
    const double out = std::max(begin_x, end_x) + kLoop / (from == to ? 2 : 1);
    return {fmt::format("M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}", begin_x,
                        begin_y, out, begin_y, out, end_y, end_x, end_y),
            fmt::format("M{:.0f} {:.0f}l9 -4.5v9z", end_x, end_y), out, (begin_y + end_y) / 2 + 4};
  }

  const Page& page_;
  std::vector<FunctionRow> rows_;  // the boxes
  std::unordered_map<std::uint32_t, std::size_t> box_of_;
  std::optional<FunctionNames> names_;
  std::vector<PairRow> pairs_;    // the lines
  std::vector<GraphLine> lines_;  // likewise
  GraphLayout layout_;
};

}  // namespace

std::string edges_body(const Page& page) {
  const Graph graph(page);
  const auto table = registered_body(page);
  if (!table) return failure_html(table.error());
  if (graph.empty()) return *table;
  return fmt::format(
             "<section class=\"card wide\"><h2>Call graph <small>functions and calls with at least "
             "{}% of the cost; the fuller a box, the more it costs itself</small></h2><div "
             "class=scroll tabindex=0>{}</div></section>",
             kLeastPercent, graph.write()) +
         *table;
}

}  // namespace fbleprof::web
