// The data of one function for --annotate: its costs by address, its code, its lines, their text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/annotate.h"
#include "base/result.h"
#include "report/views/view.h"

namespace fbleprof::report {

struct Annotated {
  std::string name;           // for people, not escaped
  analysis::CodeRange range;  // of an inlined function only the module
  std::vector<std::string>
      inlined_into;  // the functions it was inlined into; empty: it has its own code
  analysis::Annotation costs;
  std::vector<symbolize::Instruction> code;    // empty if it is not available: see notes
  std::vector<analysis::PlaceChain> chains;    // one for each of `code`
  std::map<std::uint64_t, std::string> names;  // targets of calls and jumps out of the function
  std::vector<analysis::LineRow> lines;
  std::string file;  // source of the function itself, "" = unknown
  std::uint32_t first_line = 0, last_line = 0;
  std::map<std::string, symbolize::SourceText> sources;  // by path, as debug info names it
  std::vector<std::string> notes;                        // for the user, one line each
};

struct AnnotatedFunctions {
  std::vector<Annotated> functions;  // most expensive first
  std::size_t left_out = 0;          // cheaper ones that the pattern also names
};

// The functions that the request's value names, at most `most` of them. Fails if the value matches
// nothing or nothing with code, or if no addresses were recorded.
Result<AnnotatedFunctions> annotated_functions(const Request& request, std::size_t most);

}  // namespace fbleprof::report
