// Indirect jumps that do not look like one: returns to an address that the code wrote, and jumps to
// a compiler's thunk.
#pragma once

#include <vector>

#include "rewrite/branch.h"
#include "rewrite/functions.h"

namespace fbleprof::rewrite {

// A return to an address that the code has just written is an indirect jump: `push %rcx; ret`, or,
// in code that is built against speculation, `mov %rcx,(%rsp); ret`.
class WrittenReturn {
 public:
  // Of the instructions in order.
  bool is_used_by(const Instruction& instruction) {
    const bool is_used = is_written_ && instruction.kind == Instruction::Kind::kReturn;
    is_written_ = instruction.writes_return || (is_written_ && !instruction.moves_stack &&
                                                instruction.kind == Instruction::Kind::kPlain);
    return is_used;
  }

 private:
  bool is_written_ = false;
};

// Says of functions that jump to thunks that they jump indirectly.
void find_jumps_by_thunks(const ElfImage& image, const std::vector<Branch>& branches,
                          std::vector<Function>& functions);

}  // namespace fbleprof::rewrite
