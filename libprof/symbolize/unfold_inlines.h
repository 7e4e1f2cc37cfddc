// Puts inlined functions on the paths of a profile, as if they had been called.
#pragma once

#include <span>
#include <vector>

#include "profile/profile.h"
#include "symbolize/line_info.h"

namespace fbleprof::symbolize {

// What was inlined at each place, innermost first; empty if nothing was.
struct InlinedCalls {
  std::vector<std::vector<SourceFrame>> at_function;  // by FunctionId: of sampled instructions
  std::vector<std::vector<SourceFrame>> at_site;      // by SiteId
};

// A sampled instruction moves below the functions inlined around it: `f → *` becomes
// `f → inlined → *`. A call moves below those inlined around its call site, if the profile knows
// the sites of all calls (format::kHeaderCallSites): without that, one site stands for many.
//
// Each inlined function of a module is one function, flagged kFunctionInlined, without an address.
// Its calls are unknown: nothing counts inlined code. All sums stay unchanged.
profile::Profile unfold_inlines(const profile::Profile& profile, const InlinedCalls& inlined);

}  // namespace fbleprof::symbolize
