#include "report/views/diff_view.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "analysis/diff.h"
#include "report/text/escape.h"
#include "report/text/namesakes.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "transform/baseline.h"

namespace fbleprof::report {

using namespace profile;
using analysis::Change;
using analysis::Diff;
using analysis::FunctionChange;

namespace {

constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;
constexpr std::size_t kRowsForPeople = 40;
constexpr std::size_t kFigureColumns = 10 + 2 + 9 + 2 + 9 + 2;
constexpr std::size_t kDeepest = 30;  // levels drawn unless asked otherwise

Diff compare(const Input& input, bool normalize) {
  static const Metric kNothing;
  const Metric* base = input.profile.find_metric(transform::baseline_name(input.metric.name));
  return analysis::diff(input.profile,
                        {.now = input.metric,
                         .base = base != nullptr ? *base : kNothing,
                         .calls = input.profile.find_metric("calls"),
                         .base_calls = input.profile.find_metric(transform::baseline_name("calls")),
                         .normalize = normalize});
}

std::string sign(const Change& change) {
  return change.grew() ? "+" : change.size() != 0 ? "-" : "";
}

std::string delta(const Input& input, const Change& change) {
  return sign(change) + quantity(change.size(), input.metric.unit, input.look.unit);
}

// "+12.5%", "new", "gone".
std::string relative(const Change& change) {
  if (change.is_new()) return "new";
  if (change.is_gone()) return "gone";
  if (change.size() == 0) return "=";
  const double percent =
      100.0 * static_cast<double>(change.size()) / static_cast<double>(change.base);
  return percent < 1000 ? fmt::format("{}{:.1f}%", sign(change), percent)
                        : fmt::format("x{:.3g}", static_cast<double>(change.now) /
                                                     static_cast<double>(change.base));
}

// Coloured only where it matters: by the part of the larger total that changed.
Ink ink_of(const Change& change, const Change& total) {
  const double share = percent_of(change.size(), std::max(total.base, total.now));
  if (share < 0.5) return Ink::kDim;
  return change.grew() ? Ink::kBad : Ink::kGood;
}

std::string state(const Change& cost, const Change& calls) {
  if (!cost.any() && !calls.any()) return "none";
  if (cost.base == 0 && calls.base == 0) return "new";
  if (cost.now == 0 && calls.now == 0) return "gone";
  return "both";
}

std::string calls_text(const Change& calls) {
  if (!calls.any()) return {};
  if (calls.size() == 0) return fmt::format("  [{} calls]", count(calls.now));
  return fmt::format("  [calls {} → {}]", count(calls.base), count(calls.now));
}

std::string total_line(const Input& input, const Diff& diff, bool normalize) {
  const auto value = [&](std::uint64_t v) {
    return quantity(v, input.metric.unit, input.look.unit);
  };
  std::string line =
      fmt::format("{} {} → {} ({}, {})", input.metric.name, value(diff.total.base),
                  value(diff.total.now), delta(input, diff.total), relative(diff.total));
  if (normalize) line += "; the base is scaled to the new total";
  if (input.kept != input.total) {
    line += fmt::format("; kept {} of {}", value(input.kept), value(input.total));
  }
  return line;
}

// --- the tree

class DiffTree {
 public:
  DiffTree(const Input& input, const Diff& diff)
      : input_(input), nodes_(input.profile.nodes()), diff_(diff) {
    const Change& total = diff.total;
    const std::uint64_t larger = std::max(total.base, total.now);
    least_ = input.look.all ? 0 : input.look.min_percent / 100 * static_cast<double>(larger);
    // By node: the most that a node of its subtree changed. A branch whose parts cancel out is
    // worth showing.
    most_.resize(nodes_.count());
    for (std::size_t n = nodes_.count(); n-- > 0;) {
      most_[n] = std::max(most_[n], std::max(diff.self[n].size(), diff.inclusive[n].size()));
      changed_calls_.resize(nodes_.count());
      changed_calls_[n] |= diff.calls[n].size() != 0;
      if (!nodes_.parent[n]) continue;
      std::uint64_t& above = most_[nodes_.parent[n].index()];
      above = std::max(above, most_[n]);
      changed_calls_[nodes_.parent[n].index()] |= changed_calls_[n];
    }
  }

  std::string run() {
    out_ += paint(input_.look, Ink::kDim,
                  pad_left("change", 10) + "  " + pad_left("relative", 9) + "  " +
                      pad_left("now", 9) + "  context") +
            "\n";
    open_below(0, "", 0);
    while (!pending_.empty()) {
      const Pending next = std::move(pending_.back());
      pending_.pop_back();
      show(next);
    }
    if (hidden_ != 0) {
      out_ += paint(input_.look, Ink::kDim,
                    fmt::format("{} contexts changed less than {}% of the total (--min, --all)",
                                count(hidden_), input_.look.min_percent)) +
              "\n";
    }
    return std::move(out_);
  }

 private:
  struct Pending {
    std::uint32_t node;
    std::string prefix;
    bool is_last;
    std::size_t level;
  };

  bool is_shown(std::uint32_t node) const {
    if (input_.look.all) return true;
    if (most_[node] != 0 && static_cast<double>(most_[node]) >= least_) return true;
    // Counts are exact: where nothing was measured but calls, any change counts.
    return diff_.total.base == 0 && diff_.total.now == 0 && changed_calls_[node] != 0;
  }

  void open_below(std::uint32_t node, const std::string& prefix, std::size_t level) {
    const std::size_t deepest = input_.look.depth != 0 ? input_.look.depth : kDeepest;
    std::vector<std::uint32_t> shown;
    for (std::uint32_t c = node + 1; c < nodes_.subtree_end[node]; c = nodes_.subtree_end[c]) {
      if (is_shown(c) && (level < deepest || input_.look.all)) {
        shown.push_back(c);
      } else {
        hidden_ += nodes_.subtree_end[c] - c;
      }
    }
    std::stable_sort(shown.begin(), shown.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::uint64_t change_a = diff_.inclusive[a].size(),
                          change_b = diff_.inclusive[b].size();
      return change_a != change_b ? change_a > change_b : most_[a] > most_[b];
    });
    for (std::size_t i = shown.size(); i-- > 0;) {
      pending_.push_back({shown[i], prefix, i + 1 == shown.size(), level});
    }
  }

  void show(const Pending& next) {
    const Change& change = diff_.inclusive[next.node];
    const std::string branch = next.level == 0 ? "" : next.prefix + (next.is_last ? "└─ " : "├─ ");
    const std::string calls = calls_text(diff_.calls[next.node]);
    const FunctionId function = nodes_.function[next.node];
    std::string name;
    if (input_.look.width == 0) {
      name = label(input_, function);
    } else {
      const std::size_t used = kFigureColumns + width_of(branch) + width_of(calls);
      name = short_label(input_, function,
                         input_.look.width > used + 12 ? input_.look.width - used : 12);
    }
    const Ink ink = ink_of(change, diff_.total);
    out_ += paint(input_.look, ink, pad_left(delta(input_, change), 10)) + "  " +
            paint(input_.look, ink, pad_left(change.any() ? relative(change) : "", 9)) + "  " +
            pad_left(quantity(change.now, input_.metric.unit, input_.look.unit), 9) + "  " +
            paint(input_.look, Ink::kDim, branch) + name + paint(input_.look, Ink::kDim, calls) +
            "\n";
    open_below(next.node, next.level == 0 ? "" : next.prefix + (next.is_last ? "   " : "│  "),
               next.level + 1);
  }

  const Input& input_;
  const Nodes& nodes_;
  const Diff& diff_;
  double least_ = 0;
  std::vector<std::uint64_t> most_;
  std::vector<std::uint8_t> changed_calls_;
  std::vector<Pending> pending_;
  std::uint64_t hidden_ = 0;
  std::string out_;
};

std::string tree_csv(const Input& input, const Diff& diff) {
  const Nodes& nodes = input.profile.nodes();
  std::string out = "depth,name,base,now,base_self,self,base_calls,calls,state\n";
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", nodes.depth[n],
                       csv_field(escape(display_name(input.profile, nodes.function[n]))),
                       diff.inclusive[n].base, diff.inclusive[n].now, diff.self[n].base,
                       diff.self[n].now, diff.calls[n].base, diff.calls[n].now,
                       state(diff.inclusive[n], diff.calls[n]));
  }
  return out;
}

std::string tree_rows(const Input& input, const Diff& diff) {
  const Nodes& nodes = input.profile.nodes();
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  json.StartArray();
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    json.StartObject();
    const auto text = [&](const char* key, const std::string& value) {
      json.Key(key);
      json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    };
    const auto number = [&](const char* key, std::uint64_t value) {
      json.Key(key);
      json.Uint64(value);
    };
    text("name", escape(display_name(input.profile, nodes.function[n])));
    json.Key("parent");
    if (nodes.parent[n]) {
      json.Uint(nodes.parent[n].index());
    } else {
      json.Null();
    }
    number("base", diff.inclusive[n].base);
    number("now", diff.inclusive[n].now);
    number("base_self", diff.self[n].base);
    number("self", diff.self[n].now);
    number("base_calls", diff.calls[n].base);
    number("calls", diff.calls[n].now);
    text("state", state(diff.inclusive[n], diff.calls[n]));
    json.EndObject();
  }
  json.EndArray();
  return buffer.GetString();
}

}  // namespace

std::string diff_tree(const Input& input, bool normalize) {
  const Diff diff = compare(input, normalize);
  switch (input.look.format) {
    case Format::kCsv:
      return tree_csv(input, diff);
    case Format::kJson:
      return json_document(input, "diff-tree", "nodes", tree_rows(input, diff)) + "\n";
    case Format::kText:
      break;
  }
  if (input.profile.nodes().count() == 0) return total_line(input, diff, normalize) + "\n";
  return DiffTree(input, diff).run() +
         paint(input.look, Ink::kDim, total_line(input, diff, normalize)) + "\n";
}

std::string diff_table(const Input& input, FunctionOrder order, bool normalize) {
  Diff diff = compare(input, normalize);
  const bool by_self = order == FunctionOrder::kSelf;
  const auto key = [&](const FunctionChange& row) -> const Change& {
    if (input.look.sort == "calls") return row.calls;
    return by_self ? row.self : row.dominated;
  };
  std::vector<FunctionChange>& rows = diff.functions;
  std::stable_sort(rows.begin(), rows.end(), [&](const FunctionChange& a, const FunctionChange& b) {
    if (input.look.sort == "name") {
      return display_name(input.profile, a.function) < display_name(input.profile, b.function);
    }
    if (key(a).size() != key(b).size()) return key(a).size() > key(b).size();
    return a.calls.size() > b.calls.size();
  });
  Table table;
  table.columns = {{"name", "", kLeft},
                   {"base_self", "", kRight},
                   {"self", "", kRight},
                   {"base_dominated", "", kRight},
                   {"dominated", "", kRight},
                   {"base_calls", "", kRight},
                   {"calls", "", kRight},
                   {"dominated_is_bound", "", kRight},
                   {"state", "", kLeft},
                   {"", "base", kRight},
                   {"", "now", kRight},
                   {"", "change", kRight},
                   {"", "relative", kRight},
                   {"", "calls", kRight},
                   {"", by_self ? "self of" : "dominated by", kLeft}};
  std::size_t shown = input.look.top;
  const bool for_people = input.look.format == Format::kText && !input.look.all;
  if (shown == 0) shown = for_people ? kRowsForPeople : rows.size();
  std::vector<FunctionId> named;
  for (std::size_t i = 0; i < std::min(shown, rows.size()); ++i) named.push_back(rows[i].function);
  const Input marked = with_marks(input, std::move(named));
  std::size_t unchanged = 0;
  for (const FunctionChange& row : rows) {
    if (for_people && key(row).size() == 0 && row.calls.size() == 0) {
      ++unchanged;
      continue;
    }
    if (table.rows.size() == shown) continue;
    const Change& change = key(row);
    const Cell name = name_cell(marked, row.function);
    Cell change_cell = text_cell(delta(input, change));
    Cell relative_cell = text_cell(change.any() ? relative(change) : "");
    change_cell.ink = relative_cell.ink = ink_of(change, diff.total);
    const std::string sign_of_calls = sign(row.calls);
    table.add({name, count_cell(row.self.base), count_cell(row.self.now),
               count_cell(row.dominated.base), count_cell(row.dominated.now),
               count_cell(row.calls.base), count_cell(row.calls.now), flag_cell(row.is_bound),
               text_cell(state(row.dominated, row.calls)), cost_cell(input, change.base),
               cost_cell(input, change.now), change_cell, relative_cell,
               text_cell(row.calls.any() ? sign_of_calls + count(row.calls.size()) : ""), name});
  }
  table.notes.push_back(total_line(input, diff, normalize));
  if (table.rows.size() + unchanged < rows.size()) {
    table.notes.push_back(fmt::format("… {} more rows (--top N, --all)",
                                      count(rows.size() - table.rows.size() - unchanged)));
  }
  if (unchanged != 0) {
    table.notes.push_back(fmt::format("{} functions did not change (--all)", count(unchanged)));
  }
  switch (input.look.format) {
    case Format::kCsv:
      return csv_of(table);
    case Format::kJson:
      return json_document(input, by_self ? "diff-self" : "diff-dominated", "rows",
                           json_of(table)) +
             "\n";
    case Format::kText:
      break;
  }
  return text_of(table, input.look);
}

}  // namespace fbleprof::report
