// --cliques: recursion as a whole.
#pragma once

#include <string>

#include "report/text/input.h"

namespace fbleprof::report {

// A clique an entry, its members inside. With `look.all` also functions without recursion.
std::string clique_view(const Input& input);

// --cliques=context: calls, told apart by the chain of cliques above the caller.
std::string clique_context_view(const Input& input);

// "none", "self", "single", "several" or "mutual".
struct RecursionLine {
  std::string name, kind, depth;
  std::uint64_t cost = 0;
};
// The recursion that costs most, for the overview. At most `limit`.
std::vector<RecursionLine> recursion_lines(const Input& input, std::size_t limit);

}  // namespace fbleprof::report
