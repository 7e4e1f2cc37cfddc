// Views, and the registry of them: the one list that help, manual page, completions, tests and
// later a server are made from.
//
// A view is one file. It describes itself and hands back a document, which is written as text, CSV
// or JSON elsewhere:
//
//     const Register kHot({.name = "hot", .help = "the most expensive path", .show = hot});
//
// Views are pure: what they need is in the Request.
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

// What a view is asked for, and of what.
struct Request {
  // Of views of contexts: one tree, named, merged and filtered, in the metric asked for.
  const analysis::Costs& costs;
  std::uint64_t total = 0;  // before filtering
  bool kept_is_bound = false;
  Look look;
  std::string value;                 // of the view's option
  std::vector<std::string> options;  // of the view's own that were given
  bool normalize = false;            // of comparisons: the baseline is scaled to the new total
  const symbolize::Code* code = nullptr;
  // The runs as they were recorded, process by process and thread by thread, without contexts (see
  // transform/outline.h), and what is to be said about them.
  const profile::Profile& runs;
  std::vector<std::string> warnings = {};
  std::span<const transform::Moment> moments = {};  // the snapshots of the files
  std::vector<FileChecks> files = {};               // of views of files

  const profile::Profile& profile() const { return costs.profile(); }
  const profile::Metric& metric() const { return costs.metric(); }
  Measure measure() const;
  Names names() const { return Names(profile(), look.lines); }
  bool has(std::string_view option) const;
  // A document of this metric.
  Document document(std::string view) const;
  // A cost as people see it.
  std::string amount(std::uint64_t cost) const;
};

// What a view must be given beside the merged tree.
struct Needs {
  std::vector<transform::Split> splits;  // groups below the root
  bool leaves = false;                   // sampled addresses apart
  bool sites = false;                    // call sites apart
  bool lines = false;                    // source lines
  bool moments = false;                  // totals of the snapshots
};

struct ViewOption {
  std::string_view name, help;
};

struct View {
  enum class Topic { kOverview, kFunctions, kCalls, kGroups, kCode, kRuns };
  // What it is of: contexts, which filters choose; whole runs; files as they are.
  enum class Subject { kContexts, kWholeTree, kRuns, kFiles };

  std::string_view name;          // the option, without dashes
  std::string_view value = {};    // what the option takes, as help shows it; "" = nothing
  std::string_view implied = {};  // the value where none is given; "" = one must be
  std::string_view words = {};    // values that completions offer, separated by blanks
  std::string_view example = {};  // a value that fits any profile
  std::string_view help;          // half a line
  std::string_view manual = {};   // paragraphs of the manual page, in roff; "" = help says it all
  Topic topic = Topic::kFunctions;
  Subject subject = Subject::kContexts;
  // What --sort takes, beside the view's own order, separated by blanks.
  std::string_view sort_keys = "self dominated calls per-call name";
  std::vector<ViewOption> options = {};  // of its own
  bool wants_symbols = false;            // means nothing without
  bool shows_warnings = false;           // else they go to stderr

  // Why `value` is none; "" = it is one.
  std::string (*check)(const std::string& value) = nullptr;
  Needs (*needs)(const std::string& value) = nullptr;
  Result<Document> (*show)(const Request&) = nullptr;
  // Beside a baseline: for --diff. Null: it compares nothing.
  Result<Document> (*compare)(const Request&) = nullptr;
  // Instead of `show`, of what may be too long to be held: writes as it goes.
  void (*print)(const profile::FileImage&, std::FILE* out) = nullptr;

  bool is_of_contexts() const { return subject == Subject::kContexts; }
};

// All views, by topic and name.
const std::vector<View>& views();
// Null if there is no such view.
const View* find_view(std::string_view name);
// The view that is shown if none is asked for: the tree.
const View& default_view();

// Makes a view known. To be a constant of the view's file.
class Register {
 public:
  explicit Register(View view);
};

}  // namespace fbleprof::report
