#include "signal_safe/code_parts.h"

#include "arch/call_instruction.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::signal_safe {

namespace {
constexpr std::uint32_t kMostCodeBytes = 64 * 1024;
}  // namespace

bool is_part_of_function(const format::Function& part, const format::Function& whole) {
  const FrameRule first = frame_rule_at(part.address);
  if (first.base != FrameRule::Base::kSp || first.cfa_offset != arch::kReturnAddressBytes) {
    return true;
  }
  if (part.size == 0 || whole.size == 0 || whole.size > kMostCodeBytes) return true;
  return arch::jumps_into(whole.address, whole.size, part.address, part.size);
}

}  // namespace fbleprof::signal_safe
