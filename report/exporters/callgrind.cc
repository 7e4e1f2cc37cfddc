// callgrind: the call graph with exact counts, for KCachegrind and callgrind_annotate.
//
// Readers assume that a function's inclusive cost is the sum of its callers' costs for it, without
// its calls to itself. So only a call whose callee is the outermost occurrence on the path has a
// cost; then that sum is the function's dominated cost. Calls further in are counted without cost.
// A tail call has no cost either: its callee's cost belongs to the caller's caller.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/flat_map.h"
#include "report/exporters/additive_metrics.h"
#include "report/exporters/exporter.h"
#include "report/exporters/node_facts.h"
#include "report/exporters/recorded_run.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

// Names of one kind, each written once with its number and then as the number alone. Numbers are
// dense: readers keep them in arrays.
class Names {
 public:
  explicit Names(std::size_t count) : number_(count) {}

  std::string of(std::size_t key, std::string_view name) {
    if (number_[key] != 0) return fmt::format("({})", number_[key]);
    number_[key] = ++last_;
    return fmt::format("({}) {}", last_, name);
  }

 private:
  std::vector<std::uint32_t> number_;
  std::uint32_t last_ = 0;
};

std::string event_name(const std::string& metric) {
  std::string name;
  for (const char c : metric) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0) {
    name.insert(0, "m");
  }
  return name;
}

class CallgrindWriter {
 public:
  explicit CallgrindWriter(const Export& input)
      : profile_(input.profile),
        functions_(input.profile.functions()),
        nodes_(input.profile.nodes()),
        metrics_(additive_metrics(input)),
        names_(function_names(input.profile)),
        objects_(input.profile.modules().size() + 1),
        files_(input.profile.strings().size()),
        function_numbers_(functions_.count()) {}

  std::string write() {
    gather_costs();
    header();
    // Callers before callees, in the order of the tree.
    std::vector<bool> told(functions_.count());
    for (const FunctionId f : nodes_.function) {
      if (told[f.index()]) continue;
      told[f.index()] = true;
      if (first_[f.index()] != kNone || first_call_[f.index()] != kNone) function(f.index());
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // A function's own cost at one line of its source, or one function's calls of another: a row of
  // values, in a list of rows of the same function.
  struct Row {
    std::uint32_t key;  // place, or callee
    std::uint32_t next;
    std::uint64_t calls = 0;
  };

  // The row of (function, key), made on first use.
  std::uint32_t row(std::vector<Row>& rows, std::vector<std::uint64_t>& values, FlatMap& index,
                    std::vector<std::uint32_t>& first, std::uint32_t function, std::uint32_t key) {
    const auto [at, added] =
        index.insert(std::uint64_t{function} << 32 | key, static_cast<std::uint32_t>(rows.size()));
    if (added) {
      rows.push_back({key, first[function]});
      first[function] = at;
      values.resize(values.size() + metrics_.size());
    }
    return at;
  }
  // The line of a sampled address can be in another file than its function: of inlined code.
  struct Place {
    StringId file;
    std::uint32_t line;
  };
  std::uint32_t place_of(FunctionId at, FunctionId owner) {
    const std::uint32_t line = functions_.line[at.index()];
    const Place place{functions_.file[(line != 0 ? at : owner).index()], line};
    const auto [index, added] =
        place_index_.insert(std::uint64_t{place.file.index()} << 32 | place.line,
                            static_cast<std::uint32_t>(places_.size()));
    if (added) places_.push_back(place);
    return index;
  }
  std::uint32_t call_row(FunctionId from, FunctionId to) {
    return row(calls_, call_values_, call_index_, first_call_, from.index(), to.index());
  }

  // The function that owns a node's self cost: a sampled address is a line of the function around
  // it.
  NodeId owner(std::size_t n) const {
    const NodeId node(n);
    return is_place_in_parent(profile_, node) ? nodes_.parent[n] : node;
  }

  void gather_costs() {
    const std::size_t width = metrics_.size();
    first_.assign(functions_.count(), kNone);
    first_call_.assign(functions_.count(), kNone);
    // Inclusive values of every node, a row of all metrics each.
    std::vector<std::uint64_t> cost(nodes_.count() * width);
    for (std::size_t n = nodes_.count(); n-- > 0;) {
      for (std::size_t m = 0; m < width; ++m) {
        cost[n * width + m] += metrics_[m]->value(NodeId(n));
        if (nodes_.parent[n]) cost[nodes_.parent[n].index() * width + m] += cost[n * width + m];
      }
    }
    // By function: the end of the subtree of its outermost node on the current path.
    std::vector<std::uint32_t> until(functions_.count());
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const FunctionId at_line = nodes_.function[n];
      const FunctionId f = nodes_.function[owner(n).index()];
      const std::uint32_t own =
          row(lines_, line_values_, line_index_, first_, f.index(), place_of(at_line, f));
      for (std::size_t m = 0; m < width; ++m) {
        line_values_[own * width + m] += metrics_[m]->value(NodeId(n));
      }
      if (!nodes_.parent[n] || owner(n) != NodeId(n)) continue;
      const std::uint32_t call = call_row(nodes_.function[nodes_.parent[n].index()], f);
      if (n < until[f.index()]) continue;
      until[f.index()] = nodes_.subtree_end[n];
      for (std::size_t m = 0; m < width; ++m) {
        call_values_[call * width + m] += cost[n * width + m];
      }
    }
    const Edges& edges = profile_.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      const NodeId to = edges.to[e];
      if (owner(to.index()) != to) continue;
      calls_[call_row(nodes_.function[edges.from[e].index()], nodes_.function[to.index()])].calls +=
          edges.calls[e];
    }
    total_.assign(cost.begin(), cost.begin() + static_cast<std::ptrdiff_t>(width));
  }

  void header() {
    out_ += "# callgrind format\nversion: 1\ncreator: fble-prof-report\n";
    if (!profile_.processes().empty() && profile_.processes().front().pid != 0) {
      out_ += fmt::format("pid: {}\n", profile_.processes().front().pid);
    }
    if (const std::string command = command_line(profile_); !command.empty()) {
      out_ += fmt::format("cmd: {}\n", command);
    }
    out_ += "part: 1\n\n";
    for (const Metric* metric : metrics_) {
      out_ += fmt::format("desc: Event {}: {}\n", event_name(metric->name), escape(metric->unit));
    }
    out_ += "positions: line\nevents:";
    for (const Metric* metric : metrics_) out_ += " " + event_name(metric->name);
    out_ += "\nsummary:" + values(total_, 0) + "\n";
  }

  std::string values(const std::vector<std::uint64_t>& of, std::size_t row) const {
    std::string text;
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      text += fmt::format(" {}", of[row * metrics_.size() + m]);
    }
    return text;
  }

  static bool is_nothing(const std::string& values) {
    return values.find_first_not_of(" 0") == std::string::npos;
  }

  std::string object(std::size_t f) {
    const ModuleId module = functions_.module[f];
    if (!module) return objects_.of(profile_.modules().size(), "???");
    return objects_.of(module.index(),
                       escape(profile_.text(profile_.modules()[module.index()].path)));
  }
  std::string file(std::size_t f) { return file_of(functions_.file[f]); }
  std::string file_of(StringId id) {
    const std::string_view name = profile_.text(id);
    return name.empty() ? files_.of(0, "???") : files_.of(id.index(), escape(name));
  }
  std::string name(std::size_t f) { return function_numbers_.of(f, names_[f]); }

  void function(std::size_t f) {
    out_ += fmt::format("\nob={}\n", object(f));
    out_ += fmt::format("fl={}\n", file(f));
    out_ += fmt::format("fn={}\n", name(f));
    StringId current = functions_.file[f];
    for (std::uint32_t r = first_[f]; r != kNone; r = lines_[r].next) {
      const std::string text = values(line_values_, r);
      if (is_nothing(text)) continue;
      const Place& place = places_[lines_[r].key];
      if (place.file != current) out_ += fmt::format("fi={}\n", file_of(place.file));
      current = place.file;
      out_ += fmt::format("{}{}\n", place.line, text);
    }
    if (current != functions_.file[f]) out_ += fmt::format("fe={}\n", file(f));
    for (std::uint32_t r = first_call_[f]; r != kNone; r = calls_[r].next) {
      const std::size_t callee = calls_[r].key;
      const std::string cost = values(call_values_, r);
      if (calls_[r].calls == 0 && is_nothing(cost)) continue;
      // "0 calls" would make some readers take the next line for the function's own cost.
      const std::uint64_t count = std::max<std::uint64_t>(calls_[r].calls, 1);
      out_ += fmt::format("cob={}\n", object(callee));
      out_ += fmt::format("cfi={}\n", file(callee));
      out_ += fmt::format("cfn={}\n", name(callee));
      out_ += fmt::format("calls={} {}\n", count, functions_.line[callee]);
      out_ += fmt::format("{}{}\n", functions_.line[f], cost);
    }
  }

  const Profile& profile_;
  const Functions& functions_;
  const Nodes& nodes_;
  const std::vector<const Metric*> metrics_;
  const std::vector<std::string> names_;  // by function
  Names objects_, files_, function_numbers_;
  std::vector<Place> places_;
  FlatMap place_index_;
  std::vector<Row> lines_, calls_;
  std::vector<std::uint64_t> line_values_, call_values_;  // a value a metric for each row
  FlatMap line_index_, call_index_;
  std::vector<std::uint32_t> first_, first_call_;  // by function: its first row
  std::vector<std::uint64_t> total_;
  std::string out_;
};

Result<std::string> write_callgrind(const Export& input) {
  if (Status bad = check_additive(input, "callgrind")) return *bad;
  return CallgrindWriter(input).write();
}

const RegisterExporter kCallgrind({
    .name = "callgrind",
    .description = "all metrics and exact calls: KCachegrind, callgrind_annotate",
    .wants_lines = true,
    .write = write_callgrind,
});

}  // namespace
}  // namespace fbleprof::report
