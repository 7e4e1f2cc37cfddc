// What the annotations of functions and of inlined functions have in common.
#pragma once

#include <string>
#include <vector>

#include "report/views/annotated.h"

namespace fbleprof::report {

// The places of the `i`-th of the addresses that were asked for; it lies in the function `name`.
analysis::PlaceChain chain_of(const symbolize::ModuleSymbols& symbols, std::size_t i,
                              const std::string& name);

// The file that most of the chains begin in, and the lines there.
void find_extent(Annotated& out, const std::vector<analysis::PlaceChain>& chains);

// The texts that the chains name, and a note for each that cannot be had.
void read_sources(const Request& request, const std::vector<analysis::PlaceChain>& chains,
                  Annotated& out);

// The functions of the request's value that were inlined, wherever they were: one for each module
// and name, with all but its instructions. None if no debug information tells of any.
std::vector<Annotated> inlined_functions(const Request& request,
                                         const std::vector<analysis::Charge>& charges);

}  // namespace fbleprof::report
