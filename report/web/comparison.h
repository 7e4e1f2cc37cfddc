// The comparison with the baseline that base= names, for pages that show a change at each context.
#pragma once

#include <optional>
#include <string>

#include "analysis/diff.h"
#include "report/web/site.h"

namespace fbleprof::web {

// None: nothing is compared.
std::optional<analysis::Diff> comparison(const Page& page);

// HTML: how large a change chance can explain; empty if the figures are exact.
std::string chance_note(const Page& page, const analysis::Diff& diff);

}  // namespace fbleprof::web
