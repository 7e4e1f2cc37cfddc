// Shared by the annotations of functions and of inlined functions.
#pragma once

#include <string>
#include <vector>

#include "report/views/annotated.h"

namespace fbleprof::report {

// The source places of requested address number `i`, which lies in the function `name`.
analysis::PlaceChain chain_of(const symbolize::ModuleSymbols& symbols, std::size_t i,
                              const std::string& name);

// The file in which most of the chains begin, and the lines there.
void find_extent(Annotated& out, const std::vector<analysis::PlaceChain>& chains);

// The texts of the files in the chains, and a note for each that is not available.
void read_sources(const Request& request, const std::vector<analysis::PlaceChain>& chains,
                  Annotated& out);

// The functions of the request's value that were inlined anywhere: one for each module and name,
// complete except for its instructions. Empty if no debug information mentions any.
std::vector<Annotated> inlined_functions(const Request& request,
                                         const std::vector<analysis::Charge>& charges);

}  // namespace fbleprof::report
