// Gives the functions and call sites of a profile their names, files and lines.
#pragma once

#include "profile/profile.h"
#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

// A profile that shares everything with `profile` except functions, sites, strings and added
// warnings. A pure step, except that it reads the modules' files.
//
//  - Native functions get a name (unless they have one), their first byte as address, their size
//    and, with options.lines, where the source defines them. Two that turn out to be one keep their
//    two ids, but have the same module and address: merging unites them.
//    The stubs of a PLT, which unwind tables don't tell apart, are "[plt]" together.
//  - Sampled instructions keep their address. They get the names of the function around them (with
//    options.inlines the innermost one) and, with options.lines, the line of the instruction.
//  - Sites get, with options.lines, the line of the call.
//  - options.inlines also unfolds: see unfold_inlines.h. Then nodes, edges and metrics are new too.
//
// If options.recorded_ns is 0, the start of the earliest process replaces it.
profile::Profile symbolize(const profile::Profile& profile, Options options);

// A module's file, for looking up more of its addresses.
ModuleFile module_file(const profile::Profile& profile, profile::ModuleId module);

// When the earliest process started, ns since 1970; 0 = unknown.
std::uint64_t start_of_earliest(const profile::Profile& profile);

}  // namespace fbleprof::symbolize
