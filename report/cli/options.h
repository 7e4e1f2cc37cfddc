// The user's options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/cli/gate.h"
#include "report/exporters/exporter.h"
#include "report/text/look.h"
#include "report/views/view.h"
#include "transform/filter.h"
#include "transform/grouping.h"
#include "transform/moments.h"

namespace fbleprof::report {

struct Options {
  enum class Action {
    kShow,
    kExport,
    kPack,
    kTrim,
    kServe,
    kHelp,
    kVersion
  } action = Action::kShow;
  const View* view = nullptr;             // of kShow
  std::string value;                      // of the view's option
  std::vector<std::string> view_options;  // options of the view's own that were given
  const Exporter* exporter = nullptr;     // of kExport
  std::string serve;                      // of kServe: where, see web/serve.h
  std::string output;                     // file; "" = stdout
  std::vector<std::string> files;
  bool names_no_file = false;  // `files` is the default
  std::string directory;       // `files` are what is in it; "" = they were named
  std::string metric;          // "" = the profile's own
  transform::Filter filter;
  bool busy = false;  // the filter excludes idle waits
  std::vector<transform::Split> splits;
  bool tolerant = false;
  std::vector<std::string> baselines;  // --diff: the baseline of `files`
  // --diff A1,A2 B1,B2: each file is one run, and figures are means of the runs.
  bool are_runs = false, are_base_runs = false;
  transform::Span window, base_window;  // the part of the runs, and of the baselines
  // By file: a copy of it, made while its program was running. The window begins there.
  std::map<std::string, std::string> marks;
  bool own_times = true;                // take the times of the sampled run in a file
  std::vector<std::string> times_from;  // --times-from: runs without hooks
  bool normalize = false;
  std::vector<Limit> limits;
  bool inlines = false;
  bool leaves = false;
  bool symbols = true;
  Look look;
};

// Reads the command line. `look` gets its width and colour from the terminal, COLUMNS and NO_COLOR.
Result<Options> parse_options(int argc, char** argv);

std::string help_text();

// An option that belongs to no view, as help and completions describe it.
struct OptionHelp {
  std::string_view name, value;  // value "" = takes none
  std::string_view help;
  std::string_view words = {};  // values that completions offer, separated by blanks
  enum class Kind { kFlag, kText, kTexts, kCount, kNumber } kind = Kind::kFlag;
  bool is_file = false;
};
struct OptionGroup {
  std::string_view title;
  std::vector<OptionHelp> options;
};
// All options except those of views.
const std::vector<OptionGroup>& option_groups();

}  // namespace fbleprof::report
