// Views, and their registry: the one list from which help, manual page, completions, tests and the
// page's menu are made.
//
// A view is one file. It describes itself and returns a document, which other code writes as text,
// CSV or JSON:
//
//     const Register kHot({.name = "hot", .help = "the most expensive path", .show = hot});
//
// Views are pure: the Request holds all their input.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/costs.h"
#include "base/result.h"
#include "profile/file_image.h"
#include "profile/profile.h"
#include "profile/verify.h"
#include "report/text/document.h"
#include "symbolize/code.h"
#include "transform/grouping.h"
#include "transform/moments.h"

namespace fbleprof::report {

struct FileChecks {
  std::string file;
  std::vector<profile::Check> checks;
};

// The input of a view.
struct Request {
  // For views of contexts: one tree, named, merged and filtered, in the requested metric.
  const analysis::Costs& costs;
  std::uint64_t total = 0, base_total = 0;  // before filtering; of the baseline, if there is one
  bool kept_is_bound = false;
  Look look;
  std::string value;                 // of the view's option
  std::vector<std::string> options;  // options of the view's own that were given
  bool normalize = false;            // of comparisons: the baseline is scaled to the new total
  const symbolize::Code* code = nullptr;
  // The same tree before a filter; null: there was none, or names do not matter.
  const profile::Profile* unfiltered = nullptr;
  // The runs as recorded, process by process and thread by thread, without contexts (see
  // transform/outline.h), and the warnings about them.
  const profile::Profile& runs;
  std::vector<std::string> warnings = {};
  std::span<const transform::Moment> moments = {};  // the snapshots of the files
  std::vector<FileChecks> files = {};               // of views of files
  bool has_sampled_times = false;                   // see Loaded
  const profile::Profile* sampled_runs = nullptr;   // see Loaded; null: not read

  const profile::Profile& profile() const { return costs.profile(); }
  const profile::Metric& metric() const { return costs.metric(); }
  Measure measure() const;
  Names names() const { return Names(profile(), look.lines); }
  bool has(std::string_view option) const;
  // A document of this metric.
  Document document(std::string view) const;
  // A cost as shown to people.
  std::string amount(std::uint64_t cost) const;
};

// What a view needs in addition to the merged tree.
struct Needs {
  std::vector<transform::Split> splits;  // groups below the root
  bool leaves = false;                   // sampled addresses apart
  bool sites = false;                    // call sites apart
  bool lines = false;                    // source lines
  bool moments = false;                  // totals of the snapshots
  bool sampled_runs = false;             // those of --runs 2, apart
};

struct ViewOption {
  std::string_view name, help;
};

struct View {
  enum class Topic { kOverview, kFunctions, kCalls, kGroups, kCode, kRuns };
  // The subject of a view: contexts, which filters choose; whole runs; files as they are.
  enum class Subject { kContexts, kWholeTree, kRuns, kFiles };

  std::string_view name;          // the option, without dashes
  std::string_view value = {};    // the option's argument, as help shows it; "" = none
  std::string_view implied = {};  // the default value; "" = a value is required
  std::string_view words = {};    // values that completions offer, separated by blanks
  std::string_view example = {};  // a value that fits any profile
  std::string_view help;          // half a line
  std::string_view manual = {};   // paragraphs of the manual page, in roff; "" = help says it all
  Topic topic = Topic::kFunctions;
  Subject subject = Subject::kContexts;
  // Orders that --sort accepts, separated by blanks; "" = the view has one order only.
  std::string_view sort_keys = {};
  std::string_view compared_sort_keys = {};  // beside a baseline
  // Of top, min and depth, those that limit how much is shown; "" = it shows all, or has limits of
  // its own.
  std::string_view limits = {};
  // It has figures in other units than the metric's.
  bool has_other_units = false;
  bool has_own_metrics = false;          // it shows the same figures whatever the metric
  std::vector<ViewOption> options = {};  // of its own
  bool wants_symbols = false;            // useless without names
  bool shows_warnings = false;           // else they go to stderr

  // Why `value` is invalid; "" = it is valid.
  std::string (*check)(const std::string& value) = nullptr;
  Needs (*needs)(const std::string& value) = nullptr;
  Result<Document> (*show)(const Request&) = nullptr;
  // For --diff, beside a baseline. Null: the view cannot compare.
  Result<Document> (*compare)(const Request&) = nullptr;
  // Instead of `show`, for output too long for memory: writes step by step.
  void (*print)(const profile::FileImage&, std::FILE* out) = nullptr;

  bool is_of_contexts() const { return subject == Subject::kContexts; }
  std::string_view sort_keys_if(bool compares) const {
    return compares ? compared_sort_keys : sort_keys;
  }
};

// All views, by topic and name.
const std::vector<View>& views();
// Null if there is no such view.
const View* find_view(std::string_view name);
// The default view: the tree.
const View& default_view();

// Registers a view. Must be a constant in the view's file.
class Register {
 public:
  explicit Register(View view);
};

}  // namespace fbleprof::report
