// What --annotate shows of one function: its costs by address, its code, its lines, their text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/annotate.h"
#include "base/result.h"
#include "report/views/view.h"

namespace fbleprof::report {

struct Annotated {
  std::string name;                       // for people, not escaped
  analysis::CodeRange range;              // of an inlined function only the module
  std::vector<std::string> inlined_into;  // the functions that hold it; empty: it has its own code
  analysis::Annotation costs;
  std::vector<symbolize::Instruction> code;    // empty where it cannot be had: see notes
  std::vector<analysis::PlaceChain> chains;    // one for each of `code`
  std::map<std::uint64_t, std::string> names;  // what calls and jumps out of the function lead to
  std::vector<analysis::LineRow> lines;
  std::string file;  // source of the function itself, "" = unknown
  std::uint32_t first_line = 0, last_line = 0;
  std::map<std::string, symbolize::SourceText> sources;  // by path, as debug info names it
  std::vector<std::string> notes;                        // for the user, one line each
};

struct AnnotatedFunctions {
  std::vector<Annotated> functions;  // most expensive first
  std::size_t left_out = 0;          // cheaper ones that the pattern names too
};

// The functions that the request's value names, `most` of them at most. Fails if it names none,
// none with code, or if no addresses were recorded.
Result<AnnotatedFunctions> annotated_functions(const Request& request, std::size_t most);

}  // namespace fbleprof::report
