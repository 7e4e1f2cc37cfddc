// Phrases that several views share.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/views/view.h"

namespace fbleprof::report {

// Suffix of a function that was reached by a jump from the called function: the caller in machine
// code is not the caller in the source.
inline constexpr char kThroughTailCall[] = "  (through a tail call)";

// The meaning of "≥".
inline constexpr char kBoundNote[] =
    "≥ at least: part of the cost is charged to an outer call (folded recursion, or a callback)";

// The meaning of "·" among calls.
inline constexpr char kSampledNote[] = "·  no hook: sampled, calls not counted";

// The meaning of "≥" among calls.
inline constexpr char kSomeCallsNote[] =
    "≥ calls: at least; some were not counted (--coverage tells why), or found no space";

// Whether the counts of a function's calls are lower bounds. The function may be unknown.
bool counts_some_calls(const profile::Profile& profile, profile::FunctionId function);

// The languages of the functions whose calls an interpreter counted, escaped. Adapters that count
// name them as blocks; blocks of other programs have no language. Of C functions only the calls
// from scripts are counted.
std::set<std::string> counted_languages(const profile::Profile& profile);

// The cost per call that is shown; 0: none, because not all calls were counted, or because the
// metric is a maximum, which is no sum of what each call cost.
std::uint64_t shown_average(const Request& request, std::uint64_t cost, std::uint64_t calls,
                            profile::FunctionId callee);

// What the recorder remarked on --exact, each once: files of code that it left alone, and why.
std::vector<std::string> remarks_on_exact(const profile::Profile& profile);
// The same, if --exact counted nothing.
std::vector<std::string> why_nothing_is_exact(const profile::Profile& profile);
// A line if --only and --not kept none of the functions that were seen (a misspelt name); else "".
std::string filter_that_kept_nothing(const profile::Profile& profile);

// Suffix of a number of calls of fbleprof_leave for blocks that were not entered or had already
// ended.
inline constexpr char kUnmatchedLeaves[] =
    "to leave what was not entered (see FBLEPROF_WRAPPER in man 3 fbleprof)";

// Cells of call counts. In a profile with counted calls, people see "·" if only samples saw the
// calls, and "≥" if some calls were not counted; programs see the first flag in a separate column.
class CallCells {
 public:
  explicit CallCells(const Request& request);
  Cell operator()(std::uint64_t calls, bool is_sampled, profile::FunctionId callee);
  // The cost of a call; empty if the number of calls is not known, or if the metric is a maximum.
  Cell average(std::uint64_t cost, std::uint64_t calls, bool is_bound,
               profile::FunctionId callee) const;
  // Adds what the marks in the cells mean, if there are any.
  void add_notes(std::vector<std::string>& notes) const;

 private:
  const profile::Profile* profile_;
  bool has_averages_, any_counted_, any_sampled_ = false, any_some_ = false;
};

// Names the metrics that have values, as remedy.
Error no_such_metric(const profile::Profile& profile, const std::string& wanted);

// Where the waits of a wall time are charged if they were not recorded themselves; "" if there is
// nothing to say. One line.
std::string place_of_waits(const profile::Profile& profile, const profile::Metric& metric);

// Several profiles' peaks of memory: their sum was perhaps never in use at one moment.
struct AddedPeaks {
  std::size_t profiles = 0;  // that have one; below 2, nothing was added
  std::uint64_t highest = 0;
  profile::ProcessId of;  // the highest
};
AddedPeaks added_peaks(const Request& request);

// How often allocations were sampled.
inline constexpr char kAllocationSamples[] = "allocation-samples";

// "2 samples, too few for reliable figures ..." if most of a figure of memory rests on few samples
// of allocations; else "".
std::string few_allocation_samples(const Request& request, const profile::Metric& metric);

// The title of a tree's column of costs. Beside it is one of calls, which are the context's own.
std::string cost_title(const profile::Metric& metric);

// "kept 1.2 s of 3.4 s (35%)", or the basis of percentages. One line, without its end.
std::string kept_line(const Request& request);

// How many of `size` rows to show, and a note about the others. JSON and CSV have all of them.
std::size_t rows_to_show(const Look& look, std::size_t size, std::vector<std::string>& notes);

// The functions that a pattern names, by function. Fails, with suggestions, if there are none.
// `option` begins the error's line: "--path: " or nothing.
Result<std::vector<std::uint8_t>> named_functions(
    const Request& request, const std::string& pattern, const std::string& option = "",
    const std::string& remedy = "see --self for the names; globs and re:... work, too");

}  // namespace fbleprof::report
