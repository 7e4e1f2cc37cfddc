// Walks the stack of a stopped thread of another process, by the unwind tables of the files that
// the process has mapped. The recorder's own reader of these tables (signal_safe/unwind_table)
// gives the rules: a file that is mapped here as the loader maps it there has the same ones.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "attach/loaded_file.h"
#include "attach/tracee.h"

namespace fbleprof::attach {

struct OutsideWalk {
  // Addresses in the code of each frame, innermost first: of the next instruction for the first
  // one, within the call for others.
  std::vector<std::uint64_t> frames;
  // Whether the last one is the outermost frame, and nothing was guessed.
  bool is_complete = false;
};

// Walks from `at`, the registers of the thread, which must be stopped.
OutsideWalk walk_from_outside(pid_t pid, const Tracee& thread, const arch::TracedRegisters& at,
                              const std::vector<Mapping>& mappings);

}  // namespace fbleprof::attach
