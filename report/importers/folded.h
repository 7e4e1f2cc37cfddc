// Folded stacks: one line per stack, outermost first, and what it cost.
//
//     main;parse;std::vector<int, std::allocator<int> >::push_back 12
//
// Names may hold blanks: the number is what follows the last one. Stacks that come more than once
// are summed. The one metric is called "samples", because the format does not say what it is.
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
  bool any_ = false;
};

// Whether a line has the form of a folded stack.
bool is_folded_line(std::string_view line);

}  // namespace fbleprof::importers
