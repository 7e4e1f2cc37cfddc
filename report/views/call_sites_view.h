// --call-sites: what is called from where.
#pragma once

#include <string>

#include "base/result.h"
#include "report/text/input.h"

namespace fbleprof::report {

// A row a caller, callee and place of the call. With `pattern` only rows whose caller or callee it
// names; fails if it names none. `input` holds a profile merged with its sites kept apart.
// CSV: caller,callee,file,line,site,calls,cost,...
Result<std::string> call_sites_view(const Input& input, const std::string& pattern);

}  // namespace fbleprof::report
