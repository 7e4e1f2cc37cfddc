#include "report/views/diff_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/costs.h"
#include "analysis/diff.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/shown_contexts.h"
#include "transform/baseline.h"

namespace fbleprof::report {

using namespace profile;
using analysis::Change;
using analysis::Diff;
using analysis::FunctionChange;
using Kind = Column::Kind;

namespace {

constexpr std::size_t kRowsForPeople = 40;
constexpr std::size_t kFigureColumns = 10 + 2 + 9 + 2 + 9 + 2;
constexpr std::size_t kDeepest = 30;  // levels drawn by default

}  // namespace

analysis::DiffMetrics diff_metrics(const Profile& profile, const Metric& metric, bool normalize) {
  static const Metric kNothing;
  const Metric* base = profile.find_metric(transform::baseline_name(metric.name));
  // Not counted does not mean zero: calls are compared only if both profiles have them.
  const Metric* calls = profile.find_metric(Role::kCalls);
  const Metric* base_calls = profile.find_baseline(Role::kCalls);
  const bool both_count =
      calls != nullptr && base_calls != nullptr && analysis::total(profile, *base_calls) != 0;
  analysis::DiffMetrics metrics{.now = metric,
                                .base = base != nullptr ? *base : kNothing,
                                .calls = both_count ? calls : nullptr,
                                .base_calls = both_count ? base_calls : nullptr,
                                .normalize = normalize,
                                .samples = profile.find_metric(Role::kSamples),
                                .base_samples = profile.find_baseline(Role::kSamples)};
  // Not each run has every metric.
  const std::string base_prefix = transform::baseline_name("");
  for (const Metric& run : profile.metrics()) {
    std::string_view name = run.name;
    const bool is_base = name.starts_with(base_prefix);
    if (is_base) name.remove_prefix(base_prefix.size());
    if (transform::is_of_run(name, metric.name)) {
      (is_base ? metrics.base_runs : metrics.runs).push_back(&run);
    }
    if (both_count && transform::is_of_run(name, calls->name)) {
      ++(is_base ? metrics.base_call_runs : metrics.call_runs);
    }
  }
  return metrics;
}

namespace {

Diff compare(const Request& request) {
  analysis::DiffMetrics metrics =
      diff_metrics(request.profile(), request.metric(), request.normalize);
  metrics.whole_now = request.total;
  metrics.whole_base = request.base_total;
  return analysis::diff(request.profile(), metrics);
}

std::string sign(const Change& change) {
  return change.grew() ? "+" : change.size() != 0 ? "-" : "";
}

std::string delta(const Request& request, const Change& change) {
  return sign(change) + request.amount(change.size());
}

// "+12.5%", "new", "gone"; "~": within what chance can cause.
std::string relative(const Change& change) {
  if (change.is_new() && !change.is_noise) return "new";
  if (change.is_gone() && !change.is_noise) return "gone";
  if (change.size() == 0) return "=";
  if (change.is_noise) return "~";
  const double percent =
      100.0 * static_cast<double>(change.size()) / static_cast<double>(change.base);
  return percent < 1000 ? fmt::format("{}{:.1f}%", sign(change), percent)
                        : fmt::format("x{:.3g}", static_cast<double>(change.now) /
                                                     static_cast<double>(change.base));
}

// Coloured only if it matters: if the change is large compared with the larger total.
Ink ink_of(const Change& change, const Change& total) {
  const double share = percent_of(change.size(), std::max(total.base, total.now));
  if (share < 0.5 || change.is_noise) return Ink::kDim;
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
  if (calls.size() == 0) return fmt::format("  [{}]", counted(calls.now, "call"));
  return fmt::format("  [calls {} → {}]", count(calls.base), count(calls.now));
}

}  // namespace

std::string noise_text(const Metric& metric, const Diff& diff, std::string_view bound) {
  const analysis::Noise& noise = diff.noise;
  std::string text;
  if (noise.base_runs != 1 || noise.now_runs != 1) {
    text += fmt::format("; {} of {} and {}",
                        metric.aggregation == Aggregation::kMax ? "the greatest" : "means",
                        noise.base_runs, counted(noise.now_runs, "run"));
  }
  if (noise.is_assumed && diff.total.any()) {
    text += noise.is_sampled ? "; each unit is taken for one sample"
                             : "; taken as exact, since most figures are equal in both";
  }
  if (!noise.is_sampled) {
    const bool is_unknown = metric.role == Role::kAmount && !noise.is_assumed && diff.total.any();
    return is_unknown ? text +
                            "; every change is shown: how many samples these figures are from "
                            "is not known, so small ones may be chance"
                      : text;
  }
  if (noise.common != 1) {
    return text + fmt::format(
                      "; most functions changed alike, by {:+.1f}% (~): the machine, or all of "
                      "them? Several runs tell: --diff A1,A2,A3 B1,B2,B3",
                      100 * (noise.common - 1));
  }
  return text + fmt::format("; chance alone makes ±{} ({} and {})", bound,
                            count(diff.total.base_samples),
                            counted(diff.total.now_samples, "sample"));
}

namespace {

std::string total_line(const Request& request, const Diff& diff) {
  const auto value = [&](std::uint64_t v) { return request.amount(v); };
  const std::uint64_t kept = request.costs.total();
  std::string line =
      fmt::format("{} {} → {} ({}, {})", escape(request.metric().name), value(diff.total.base),
                  value(diff.total.now), delta(request, diff.total), relative(diff.total));
  line += noise_text(request.metric(), diff, value(static_cast<std::uint64_t>(diff.total_bound)));
  if (request.normalize) line += "; the base is scaled to the new total";
  if (kept != request.total) {
    line += fmt::format("; kept {} of {}", value(kept), value(request.total));
  }
  return line;
}

// --- the tree

// By node: the largest change of a node in its subtree. A branch whose changes cancel out is still
// worth showing.
std::vector<std::uint64_t> largest_changes(const Nodes& nodes, const Diff& diff) {
  std::vector<std::uint64_t> most(nodes.count());
  for (std::size_t n = nodes.count(); n-- > 0;) {
    for (const Change* change : {&diff.self[n], &diff.inclusive[n]}) {
      if (change->did_change()) most[n] = std::max(most[n], change->size());
    }
    if (!nodes.parent[n]) continue;
    std::uint64_t& above = most[nodes.parent[n].index()];
    above = std::max(above, most[n]);
  }
  return most;
}

// The contexts of the tables for programs: all, unless the user said otherwise by --depth or --min.
ShownContexts contexts_for_programs(const Nodes& nodes, const Diff& diff, const Look& look) {
  const std::uint64_t larger = std::max(diff.total.base, diff.total.now);
  const double least = look.min_for_programs / 100 * static_cast<double>(larger);
  std::vector<std::uint64_t> most;
  if (!look.all && look.min_for_programs != 0) most = largest_changes(nodes, diff);
  return shown_contexts(nodes, look,
                        [&](std::uint32_t n) { return static_cast<double>(most[n]) < least; });
}

class DiffTree {
 public:
  DiffTree(const Request& request, const Look& look, const Diff& diff)
      : request_(request),
        look_(look),
        names_(request.names()),
        nodes_(request.profile().nodes()),
        diff_(diff) {
    const Change& total = diff.total;
    const std::uint64_t larger = std::max(total.base, total.now);
    least_ = look.all ? 0 : look.min_percent / 100 * static_cast<double>(larger);
    most_ = largest_changes(nodes_, diff);
    changed_calls_.resize(nodes_.count());
    for (std::size_t n = nodes_.count(); n-- > 0;) {
      changed_calls_[n] |= diff.calls[n].size() != 0;
      if (!nodes_.parent[n]) continue;
      changed_calls_[nodes_.parent[n].index()] |= changed_calls_[n];
    }
  }

  std::string run() {
    out_ += paint(look_, Ink::kDim,
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
      std::string note =
          fmt::format("{} did not change, or less than {}% of the total (--min, --all)",
                      counted(hidden_, "context"), look_.min_percent);
      if (hidden_with_calls_ != 0 && request_.metric().role != Role::kCalls) {
        note += fmt::format("; the number of calls changed in {} of them (--metric calls)",
                            count(hidden_with_calls_));
      }
      out_ += paint(look_, Ink::kDim, note) + "\n";
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
    if (look_.all) return true;
    if (most_[node] != 0 && static_cast<double>(most_[node]) >= least_) return true;
    // Counts are exact: if only calls were measured, any change counts.
    return diff_.total.base == 0 && diff_.total.now == 0 && changed_calls_[node] != 0;
  }

  void open_below(std::uint32_t node, const std::string& prefix, std::size_t level) {
    const std::size_t deepest = look_.depth != 0 ? look_.depth : kDeepest;
    std::vector<std::uint32_t> shown;
    for (std::uint32_t c = node + 1; c < nodes_.subtree_end[node]; c = nodes_.subtree_end[c]) {
      if (is_shown(c) && (level < deepest || look_.all)) {
        shown.push_back(c);
      } else {
        hide(c);
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

  void hide(std::uint32_t branch) {
    hidden_ += nodes_.subtree_end[branch] - branch;
    for (std::uint32_t n = branch; n < nodes_.subtree_end[branch]; ++n) {
      hidden_with_calls_ += diff_.calls[n].size() != 0;
    }
  }

  void show(const Pending& next) {
    const Change& change = diff_.inclusive[next.node];
    const std::string branch = next.level == 0 ? "" : next.prefix + (next.is_last ? "└─ " : "├─ ");
    const std::string calls = calls_text(diff_.calls[next.node]);
    const FunctionId function = nodes_.function[next.node];
    std::string name;
    if (look_.width == 0) {
      name = names_.fit(function, 0);
    } else {
      const std::size_t used = kFigureColumns + width_of(branch) + width_of(calls);
      name = names_.fit(function, look_.width > used + 12 ? look_.width - used : 12);
    }
    const Ink ink = ink_of(change, diff_.total);
    out_ += paint(look_, ink, pad_left(delta(request_, change), 10)) + "  " +
            paint(look_, ink, pad_left(change.any() ? relative(change) : "", 9)) + "  " +
            pad_left(request_.amount(change.now), 9) + "  " + paint(look_, Ink::kDim, branch) +
            name + paint(look_, Ink::kDim, calls) + "\n";
    open_below(next.node, next.level == 0 ? "" : next.prefix + (next.is_last ? "   " : "│  "),
               next.level + 1);
  }

  const Request& request_;
  const Look& look_;
  const Names names_;
  const Nodes& nodes_;
  const Diff& diff_;
  double least_ = 0;
  std::vector<std::uint64_t> most_;
  std::vector<std::uint8_t> changed_calls_;
  std::vector<Pending> pending_;
  std::uint64_t hidden_ = 0, hidden_with_calls_ = 0;  // contexts
  std::string out_;
};

}  // namespace

Result<Document> diff_tree(const Request& request) {
  const auto diff = std::make_shared<const Diff>(compare(request));
  const Nodes& nodes = request.profile().nodes();
  Document document = request.document("diff-tree");
  const std::vector<Column> figures = {
      {"base", "", Kind::kCost},  {"now", "", Kind::kCost},    {"base_self", "", Kind::kCost},
      {"self", "", Kind::kCost},  {"base_calls", ""},          {"calls", ""},
      {"state", "", Kind::kText}, {"changed", "", Kind::kFlag}};
  const auto figures_of = [diff](std::size_t n, std::vector<Cell>& row) {
    for (const Change* change : {&diff->inclusive[n], &diff->self[n], &diff->calls[n]}) {
      row.push_back(number_cell(change->base));
      row.push_back(number_cell(change->now));
    }
    row.push_back(text_cell(state(diff->inclusive[n], diff->calls[n])));
    row.push_back(flag_cell(diff->inclusive[n].did_change() || diff->self[n].did_change() ||
                            diff->calls[n].size() != 0));
  };
  Table& table = document.tables.emplace_back();
  table.key = "nodes";
  table.columns = {{"name", "", Kind::kName}, {"parent", "", Kind::kNumber}};
  Table flat;
  flat.columns = {{"depth", "", Kind::kNumber}, {"name", "", Kind::kName}};
  for (const Column& column : figures) {
    table.columns.push_back(column);
    flat.columns.push_back(column);
  }
  const ShownContexts shown = contexts_for_programs(nodes, *diff, request.look);
  table.generate(shown.nodes.size(), [&nodes, shown, figures_of](std::size_t i) {
    const std::uint32_t n = shown.nodes[i];
    const NodeId parent = nodes.parent[n];
    std::vector<Cell> row{name_cell(nodes.function[n]),
                          parent ? number_cell(shown.place[parent.index()]) : Cell()};
    figures_of(n, row);
    return row;
  });
  flat.generate(shown.nodes.size(), [&nodes, nodes_shown = shown.nodes, figures_of](std::size_t i) {
    const std::uint32_t n = nodes_shown[i];
    std::vector<Cell> row{number_cell(nodes.depth[n]), name_cell(nodes.function[n])};
    figures_of(n, row);
    return row;
  });
  document.flat = std::move(flat);
  document.text = [request, diff](const Look& look) {
    const std::string total = total_line(request, *diff);
    if (request.profile().nodes().count() == 0) return total + "\n";
    return DiffTree(request, look, *diff).run() + paint(look, Ink::kDim, total) + "\n";
  };
  return document;
}

Result<Document> diff_table(const Request& request, bool by_self) {
  Diff diff = compare(request);
  const auto key = [&](const FunctionChange& row) -> const Change& {
    const std::string& sort = request.look.sort;
    if (sort == "calls") return row.calls;
    return sort == "self" || (by_self && sort != "dominated") ? row.self : row.dominated;
  };
  std::vector<FunctionChange>& rows = diff.functions;
  std::stable_sort(rows.begin(), rows.end(), [&](const FunctionChange& a, const FunctionChange& b) {
    if (request.look.sort == "name") {
      return display_name(request.profile(), a.function) <
             display_name(request.profile(), b.function);
    }
    if (key(a).did_change() != key(b).did_change()) return key(a).did_change();
    if (key(a).size() != key(b).size()) return key(a).size() > key(b).size();
    return a.calls.size() > b.calls.size();
  });
  Document document = request.document(by_self ? "diff-self" : "diff-dominated");
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"name", by_self ? "self of" : "dominated by", Kind::kName},
                   {"base_self", "", Kind::kCost},
                   {"self", "", Kind::kCost},
                   {"base_dominated", "", Kind::kCost},
                   {"dominated", "", Kind::kCost},
                   {"base_calls", ""},
                   {"calls", ""},
                   {"dominated_is_bound", "", Kind::kFlag},
                   {"state", "", Kind::kText},
                   {"changed", "", Kind::kFlag},
                   {"", "base", Kind::kCost},
                   {"", "now", Kind::kCost},
                   {"", "change", Kind::kCost},
                   {"", "relative"},
                   {"", "calls"}};
  std::size_t shown = request.look.top;
  const bool for_people = request.look.format == Format::kText && !request.look.all;
  if (shown == 0) shown = for_people ? kRowsForPeople : rows.size();
  std::vector<FunctionId> named;
  std::size_t unchanged = 0;
  for (const FunctionChange& row : rows) {
    if (for_people && !key(row).did_change() && row.calls.size() == 0) {
      ++unchanged;
      continue;
    }
    if (table.size() == shown) continue;
    const Change& change = key(row);
    named.push_back(row.function);
    Cell change_cell = shown_as(number_cell(change.size()), delta(request, change));
    Cell relative_cell = shown_as(Cell(), change.any() ? relative(change) : "");
    change_cell.ink = relative_cell.ink = ink_of(change, diff.total);
    table.add(
        {name_cell(row.function), number_cell(row.self.base), number_cell(row.self.now),
         number_cell(row.dominated.base), number_cell(row.dominated.now),
         number_cell(row.calls.base), number_cell(row.calls.now), flag_cell(row.is_bound),
         text_cell(state(row.dominated, row.calls)),
         flag_cell(row.self.did_change() || row.dominated.did_change() || row.calls.size() != 0),
         number_cell(change.base), number_cell(change.now), change_cell, relative_cell,
         shown_as(Cell(), row.calls.any() ? sign(row.calls) + count(row.calls.size()) : "")});
  }
  table.notes.push_back(total_line(request, diff));
  if (table.size() + unchanged < rows.size()) {
    const std::size_t left = rows.size() - table.size() - unchanged;
    table.notes.push_back(
        fmt::format("… {} more {} (--top N, --all)", count(left), plural(left, "row")));
  }
  if (unchanged != 0) {
    table.notes.push_back(fmt::format("{} did not change (--all)", counted(unchanged, "function")));
  }
  if (request.look.format == Format::kText) document.names = document.names.marked(named);
  return document;
}

}  // namespace fbleprof::report
