#include "rewrite/reliance.h"

namespace fbleprof::rewrite {

using Kind = Instruction::Kind;

void Reliance::see(const Instruction& instruction, const std::vector<BelowStack>& accesses,
                   bool may_end) {
  see_flags(instruction, may_end);
  for (const BelowStack& access : accesses) {
    for (int i = 0; i < access.bytes; ++i) {
      const std::int64_t byte = access.offset + i + kRedZone;
      if (byte < 0 || byte >= kRedZone) continue;
      if (access.is_read && !written_[static_cast<std::size_t>(byte)]) relies_ = true;
      if (access.is_written) written_.set(static_cast<std::size_t>(byte));
    }
  }
}

void Reliance::see_flags(const Instruction& instruction, bool may_end) {
  for (const Jump& jump : jumps_) {
    if (jump.target != instruction.address) continue;
    known_flags_ &= jump.known;
    written_flags_ &= jump.written;
  }
  if ((instruction.reads_flags & ~known_flags_) != 0) relies_ = true;
  known_flags_ |= instruction.writes_flags;
  written_flags_ |= instruction.writes_flags;
  if (may_end && written_flags_ != kAllFlags) may_keep_flags_ = true;
  const bool is_jump = instruction.kind == Kind::kJump || instruction.kind == Kind::kBranch ||
                       instruction.kind == Kind::kUnmovable;
  if (is_jump && written_flags_ != kAllFlags && instruction.target > instruction.address) {
    jumps_.push_back({instruction.target, known_flags_, written_flags_});
  }
  // A callee leaves its own flags, and only jumps lead behind the end of a flow.
  const bool ends_flow = instruction.ends_flow() && instruction.kind != Kind::kIndirectJump;
  if (ends_flow || instruction.is_call()) known_flags_ = kAllFlags;
  if (ends_flow) written_flags_ = kAllFlags;
}

}  // namespace fbleprof::rewrite
