// What all pages of a server (or of a file with pages in it) have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/visible_tree.h"
#include "report/web/profiles.h"
#include "report/web/query.h"

namespace fbleprof::web {

// What can be done to the program that is profiled: start, stop, snapshot. A page shows buttons
// only for what is possible.
class Control {
 public:
  virtual ~Control() = default;
  // "start", "stop", "snapshot": those that the program takes now.
  virtual std::vector<std::string> actions() const = 0;
  virtual Status run(const std::string& action) = 0;
};

// A profile to compare with: a file beside those that are served, or a mark.
struct Base {
  std::string name;                // as base= says it
  std::vector<std::string> files;  // of a mark: a copy of each that is served
  std::string label;               // for people
  bool is_mark = false;
};

struct Site {
  std::string version;
  std::vector<std::string> files;  // that are served
  std::vector<Base> bases;
  std::vector<std::string> actions;  // of the control
  bool is_live = false;
  bool is_file = false;  // the pages stand in one file, without a server

  // Null: there is no such base.
  const Base* find_base(std::string_view name) const;
};

// What one page is made of.
struct Page {
  const Query& query;
  const Data& data;
  const Site& site;

  // The address of another page, as links hold it: escaped.
  std::string href(const Query& to) const;
  std::string href(const std::string& page, const std::string& value = {}) const;
  // How people read an amount of the metric.
  std::string amount(std::uint64_t cost) const;
  std::string share(std::uint64_t cost) const;  // "12.3%" of what was kept
  double percent(std::uint64_t cost) const;
  // HTML: how often, "·" where only samples saw it beside calls that were counted, else nothing.
  std::string calls(std::uint64_t calls, bool is_sampled) const;
  std::string calls(const analysis::VisibleNode& node) const;
};

}  // namespace fbleprof::web
