// --only and --not: which functions the tree leaves out.
//
// Patterns name functions, and the recorder knows only addresses. So fble-prof-report, started
// outside of the program, writes a table of addresses for each module (plan/left_out_table.h), as
// fble-prof writes plans. Tables are kept under the filter, and are named as plans are.
#pragma once

#include "format/format.h"

namespace fbleprof::capture {

// Finds out which code of the new modules (modules.h) is left out. Call it before any of their code
// runs.
void filter_new_modules();

// Whether tables can be made for libraries that are loaded later.
bool has_filter_tool();

// In a program to which we were attached, fble-prof puts the tables into our memory. Whether the
// filter needs one for the module, and has none.
bool lacks_table(const format::Module& module);
// Filters the module by this table, which stays there. False: it is no table, or there are too
// many.
bool filter_by(const format::Module& module, const char* table, std::uint64_t size);
// Says that a module is not filtered.
void remark_not_filtered(const format::Module& module);

// Whether the filter leaves out a function of a script, or a block of the C API. Patterns with
// "module:" name no such function; those with "re:" cannot be tried here.
bool leaves_out(const char* name, const char* file);

}  // namespace fbleprof::capture
