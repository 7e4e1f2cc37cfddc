// Caller -> callee by the place of the call.
//
// Where the recorder kept call sites apart (FBLEPROF_CALLSITES=1), each way from node to node has
// one site, and calls and costs are exact for each. Otherwise an edge knows only its first site:
// all of its calls are counted there, and `is_first_only` says so.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/costs.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

struct CallSiteRow {
  profile::FunctionId caller, callee;
  profile::SiteId site;        // none = not known
  bool is_tail = false;        // a tail call, which has no cost of its own
  bool by_tail_call = false;   // the call here names another function, which jumped to the callee
  bool is_first_only = false;  // calls from other places in the caller may be among these
  std::uint64_t calls = 0;
  std::uint64_t cost = 0;
  bool cost_is_bound = false;  // at least
  bool is_sampled = false;     // only samples saw it: the number of calls is unknown
};

// A row for each caller, callee and site in the tree, in no order. `profile` was merged with its
// sites kept apart. A path counts once for a row, however often it holds that call.
std::vector<CallSiteRow> call_site_table(const Costs& costs);

// Whether all processes of the profile were recorded with their call sites apart.
bool has_call_sites(const profile::Profile& profile);

}  // namespace fbleprof::analysis
