// What several views say in the same words.
#pragma once

#include <string>
#include <vector>

#include "report/views/view.h"

namespace fbleprof::report {

// Behind the name of what was reached by a jump of the function that was called: the machine's
// caller is not the source's.
inline constexpr char kThroughTailCall[] = "  (through a tail call)";

// What "≥" means.
inline constexpr char kBoundNote[] =
    "≥ at least: recursion is folded, and part of what it cost is charged to an outer call";

// What "·" means among calls.
inline constexpr char kSampledNote[] = "·  no hook: sampled, calls not counted";

// Behind a number of calls of fbleprof_leave, of blocks that were not entered or ended before.
inline constexpr char kUnmatchedLeaves[] =
    "to leave what was not entered (see FBLEPROF_WRAPPER in man 3 fbleprof)";

// Cells of counts of calls. In a profile with counted calls, people see "·" where only samples saw
// the calls; programs see the flag in a column of its own.
class CallCells {
 public:
  explicit CallCells(const profile::Profile& profile);
  Cell operator()(std::uint64_t calls, bool is_sampled);
  // Whether any cell shows "·".
  bool any_sampled() const { return any_sampled_; }

 private:
  bool any_counted_, any_sampled_ = false;
};

// "kept 1.2 s of 3.4 s (35%)", or what percentages are of. One line, without its end.
std::string kept_line(const Request& request);

// How many of `size` rows to show, and a note about the others. JSON and CSV have all of them.
std::size_t rows_to_show(const Look& look, std::size_t size, std::vector<std::string>& notes);

// What a pattern names, by function. Fails, with what may have been meant, if that is nothing.
Result<std::vector<std::uint8_t>> named_functions(const Request& request,
                                                  const std::string& pattern);

}  // namespace fbleprof::report
