// Data that all pages of a server (or of a file with pages) share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/visible_tree.h"
#include "report/web/profiles.h"
#include "report/web/query.h"

namespace fbleprof::web {

// The commands for the profiled program: start, stop, snapshot, reset. A page shows buttons only
// for useful ones.
class Control {
 public:
  virtual ~Control() = default;
  // The commands that are useful at present.
  virtual std::vector<std::string> actions() const = 0;
  // Any command: a page may be older than the program's state.
  virtual Status run(const std::string& action) = 0;
};

// A baseline: a file beside the served ones, or a mark.
struct Base {
  std::string name;                // as in base=
  std::vector<std::string> files;  // of a mark: a copy of each served file
  std::string label;               // for people
  std::string state;               // of the file (see bases.h): which content the name stands for
  bool is_mark = false;
};

struct Site {
  std::string version;
  std::vector<std::string> files;    // the served files
  bool are_runs = false;             // of one program, in comparisons
  std::vector<Base> bases;           // marks first
  std::vector<std::string> actions;  // of the control
  bool is_live = false;
  bool is_file = false;  // the pages stand in one file, without a server
  // Of a file: the metrics that have pages in it. Addresses name all but the first.
  std::vector<std::string> metrics;

  // Null: there is no such base.
  const Base* find_base(std::string_view name) const;
  // A metric as addresses name it; nothing: no page shows it.
  std::optional<std::string> address_of_metric(const std::string& name) const;
  // JSON: what pages of a profile's `generation` depend on.
  std::string state(std::uint64_t generation) const;
};

// The input of one page.
struct Page {
  const Query& query;
  const Data& data;
  const Site& site;

  // The address of another page for links: escaped.
  std::string href(const Query& to) const;
  std::string href(const std::string& page, const std::string& value = {}) const;
  // An amount of the metric as shown to people.
  std::string amount(std::uint64_t cost) const;
  std::string share(std::uint64_t cost) const;  // "12.3%" of what was kept
  double percent(std::uint64_t cost) const;
  // HTML: the number of calls; "·" if only samples saw it in a profile with counted calls, else
  // nothing.
  std::string calls(std::uint64_t calls, bool is_sampled, profile::FunctionId callee) const;
  std::string calls(const analysis::VisibleNode& node) const;
};

}  // namespace fbleprof::web
