// Machine code as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

struct Instruction {
  std::uint64_t address = 0;            // in the file
  std::string bytes;                    // raw
  std::string text;                     // "mov %rsp,%rbp"; data: ".byte 0x06"
  std::optional<std::uint64_t> target;  // of a direct call or jump
};

// The most code that is disassembled at once; the rest is left out.
inline constexpr std::uint64_t kMaxCodeBytes = 4 * 1024 * 1024;

// The code of [begin, end), virtual addresses of the module's file. x86 in AT&T's syntax, as in
// objdump and gdb; 64-bit and 32-bit ARM too. Fails if the file that ran is missing, has no code at
// these addresses, or is for another processor.
Result<std::vector<Instruction>> disassemble(const ModuleFile& module, std::uint64_t begin,
                                             std::uint64_t end, const Options& options);

}  // namespace fbleprof::symbolize
