// What the user asked for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/cli/gate.h"
#include "report/text/input.h"
#include "report/views/annotate_view.h"
#include "report/views/rollup_view.h"
#include "transform/filter.h"
#include "transform/merge.h"

namespace fbleprof::report {

enum class View {
  kTree,
  kSelf,
  kDominated,
  kBlock,
  kEdges,
  kCallSites,
  kCoverage,
  kAnnotate,
  kRollup,
  kSummary,
  kThreads,
  kRaw,
  kVerify,
  kExport,
  kPath,
  kCliques,
  kCliqueContexts,
  kHot,
  kOverview,
  kHelp,  // nothing else: `help_text` is to be printed
  kVersion,
};

struct Options {
  View view = View::kTree;
  std::string block;       // pattern of kBlock
  std::string call_sites;  // pattern of kCallSites
  std::string annotate;    // pattern of kAnnotate
  std::string coverage;    // pattern of kCoverage
  AnnotateBy annotate_by = AnnotateBy::kBoth;
  std::string rollup;         // of kRollup, see is_rollup
  std::string export_format;  // of kExport
  std::string output;         // file; "" = stdout
  std::string path;           // patterns of kPath, separated by commas
  std::vector<std::string> files;
  std::string metric;  // "" = the profile's own clock
  transform::Filter filter;
  std::vector<transform::Split> splits;
  bool tolerant = false;
  std::vector<std::string> baselines;   // --diff: what `files` are compared with
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

}  // namespace fbleprof::report
