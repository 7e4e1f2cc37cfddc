// The system calls of attaching, and what the filters of a process (seccomp) say to them.
#pragma once

#include <string>
#include <vector>

#include "attach/seccomp_program.h"

namespace fbleprof::attach {

using SeccompFilters = std::vector<std::vector<sock_filter>>;

// What else the recorder does.
enum class Recording {
  kSamples,
  kWithTables,  // it may start fble-prof for a library that is loaded later
};

// A call that the process would not survive, or not unchanged.
struct HarmedCall {
  std::string name;
  Verdict verdict = Verdict::kAllowed;  // kAllowed: there is none
};

// The first call that is made for attaching, by us or by the recorder up to the program's end, and
// that one of the filters forbids.
HarmedCall find_harmed_call(const SeccompFilters& filters, Recording recording);

}  // namespace fbleprof::attach
