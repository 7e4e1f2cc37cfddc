// DOT: the call graph of functions, with exact calls and the cost of each pair.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/costs.h"
#include "analysis/functions.h"
#include "analysis/pair_table.h"
#include "report/exporters/additive_metrics.h"
#include "report/exporters/dot.h"
#include "report/exporters/recorded_run.h"
#include "report/text/escape.h"
#include "report/text/names.h"
#include "report/text/quantity.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr std::size_t kNameColumns = 60;
// Graphviz reads no string of more than 16384 bytes: four of a character, or two of a quoted one.
constexpr std::size_t kMostCharacters = 4000, kMostOfCaption = 1000;
constexpr double kWidestLine = 5;  // points

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// From white to red. HSV, as dot takes it.
std::string heat_colour(double share) {
  return fmt::format("0.02 {:.3f} 1.0", std::clamp(std::sqrt(share), 0.0, 1.0) * 0.6);
}

class DotWriter {
 public:
  explicit DotWriter(const Export& input)
      : input_(input),
        profile_(input.profile),
        costs_(input.profile, input.metric),
        kept_(costs_.total()),
        shown_(input.profile.functions().count()),
        names_(Names(input.profile).marked(input.profile.nodes().function)) {}

  std::string write() {
    auto functions = analysis::function_table(costs_);
    auto pairs = analysis::pair_table(costs_);
    std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) {
      return a.dominated != b.dominated ? a.dominated > b.dominated : a.function < b.function;
    });
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
      return std::tie(a.caller, a.callee, a.is_tail) < std::tie(b.caller, b.callee, b.is_tail);
    });
    std::vector<Pieces> labels;
    for (const auto& row : functions) {
      shown_[row.function.index()] = input_.all || !is_small(row.dominated);
      if (shown_[row.function.index()]) labels.push_back({{{}, row.function}});
    }
    const std::vector<std::string> names = names_.fit(labels, kNameColumns);
    std::string body;
    std::size_t hidden = 0, hidden_pairs = 0, number = 0;
    for (const auto& row : functions) {
      if (shown_[row.function.index()]) {
        body += node(row, names[number++]);
      } else {
        ++hidden;
      }
    }
    for (const auto& pair : pairs) {
      if (!shown_[pair.callee.index()] || !shown_[pair.caller.index()]) {
        // Calls by the root start threads, and are not drawn.
        hidden_pairs += pair.caller != profile_.nodes().function[0];
      } else {
        body += edge(pair);
      }
    }
    return head(hidden, hidden_pairs) + body + "}\n";
  }

 private:
  bool is_small(std::uint64_t cost) const { return percent_of(cost, kept_) < input_.min_percent; }
  double share(std::uint64_t cost) const { return percent_of(cost, kept_) / 100; }

  std::string figure(std::uint64_t cost, bool is_bound) const {
    return fmt::format("{}{} ({})", is_bound ? "≥ " : "", quantity(cost, input_.metric.unit),
                       percent(cost, kept_));
  }

  std::string head(std::size_t hidden, std::size_t hidden_pairs) const {
    std::string caption =
        fmt::format("{}\n{} {} in all ({})", cut(command_line(profile_), kMostOfCaption),
                    cut(escape(input_.metric.name), kMostOfCaption),
                    quantity(kept_, input_.metric.unit), kept_);
    if (kept_ != input_.total) {
      caption += fmt::format(", kept of {}", quantity(input_.total, input_.metric.unit));
    }
    if (hidden != 0 || hidden_pairs != 0) {
      caption += fmt::format("\n{} and {} below {}% {} hidden (--min, --all)",
                             counted(hidden, "function"), counted(hidden_pairs, "call"),
                             input_.min_percent, hidden + hidden_pairs == 1 ? "is" : "are");
    }
    return fmt::format(
        "digraph \"fbleprof\" {{\n"
        "  label={} labelloc=t labeljust=l fontname=\"Helvetica\"\n"
        "  node [shape=box style=filled fillcolor=white fontname=\"Helvetica\" fontsize=11]\n"
        "  edge [fontname=\"Helvetica\" fontsize=9 color=\"#555555\"]\n",
        lines(caption));
  }

  // Line ends become dot's own, for left-aligned text.
  static std::string lines(const std::string& text) {
    std::string out;
    for (const char c : quoted(text)) {
      if (c == '\n') {
        out += "\\l";
      } else {
        out += c;
      }
    }
    return out;
  }

  std::string node(const analysis::FunctionRow& row, const std::string& name) const {
    const std::string full = whole_name(profile_, row.function);
    std::string label = quoted(name);
    label.pop_back();
    label += "\\ntotal " + figure(row.dominated, row.dominated_is_bound) + "\\nself " +
             figure(row.self, false) + "\"";
    return fmt::format("  n{} [label={} tooltip={} fillcolor=\"{}\"]\n", row.function.index(),
                       label, quoted(cut(full, kMostCharacters)),
                       heat_colour(share(row.dominated)));
  }

  std::string edge(const analysis::PairRow& pair) const {
    std::string label = pair.calls != 0 ? count(pair.calls) + "×" : std::string();
    if (!pair.is_tail) {
      label += (label.empty() ? "" : "\\n") + figure(pair.cost, pair.cost_is_bound);
    }
    const double width = 0.5 + share(pair.cost) * kWidestLine;
    return fmt::format("  n{} -> n{} [label=\"{}\" penwidth={:.2f}{}]\n", pair.caller.index(),
                       pair.callee.index(), label, width,
                       pair.is_tail ? " style=dashed arrowhead=empty" : "");
  }

  const Export& input_;
  const Profile& profile_;
  const analysis::Costs costs_;
  const std::uint64_t kept_;
  std::vector<bool> shown_;  // by function
  const Names names_;
};

}  // namespace

Result<std::string> write_dot(const Export& input) {
  if (Status bad = check_additive(input, "dot")) return *bad;
  return DotWriter(input).write();
}

namespace {

const RegisterExporter kDot({
    .name = "dot",
    .description = "the call graph for graphviz; --min and --all choose how much of it",
    .limits = "min all",
    .write = write_dot,
});

}  // namespace

}  // namespace fbleprof::report
