// Turns a page's query into the sources that it needs.
#pragma once

#include <string>

#include "base/result.h"
#include "report/web/profiles.h"
#include "report/web/query.h"
#include "report/web/site.h"

namespace fbleprof::web {

// Fails if the query names a baseline or a mark that does not exist.
Result<LoadRequest> load_request(const Query& query, const Site& site);

// "from #2 to peak", "since mark 1 at 12:00:01": the window of a query; "" = it has none.
std::string window_text(const Query& query, const Site& site);
// The value of base=: a profile's label, or a window.
std::string base_text(const Query& query, const Site& site);

}  // namespace fbleprof::web
