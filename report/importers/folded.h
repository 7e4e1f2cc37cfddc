// Folded stacks: one line per stack, outermost function first, with its cost.
//
//     main;parse;std::vector<int, std::allocator<int> >::push_back 12
//
// Names may hold blanks: the number follows the last one. Equal stacks are summed. The only metric
// is called "samples", because the format does not say what it measures. A name may end in a
// number, but where all do, these are costs of another profile (difffolded.pl): the file is
// refused.
#pragma once

#include <optional>

#include "profile/builder.h"
#include "report/importers/text_parser.h"

namespace fbleprof::importers {

class FoldedParser : public TextParser {
 public:
  explicit FoldedParser(std::string name);
  Result<profile::Profile> finish() override;

 private:
  Status parse(std::string_view text) override;

  profile::ProfileBuilder builder_;
  profile::NodeId root_;
  profile::MetricId samples_;
  std::uint64_t first_line_ = 0;  // with a stack; 0 = none yet
  bool all_have_two_numbers_ = true;
  std::size_t stacks_ = 0;
};

// Whether a line has the form of a folded stack.
bool is_folded_line(std::string_view line);

}  // namespace fbleprof::importers
