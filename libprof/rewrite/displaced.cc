#include "rewrite/displaced.h"

#include <cstring>

namespace fbleprof::rewrite {

using plan::FixupKind;
using Kind = Instruction::Kind;

bool Displaced::fits() {
  trampoline(nullptr);
  return !is_full_;
}

plan::Trampoline Displaced::trampoline(const NumberOf& number_of) {
  result_ = {};
  is_full_ = false;
  number_of_ = number_of ? &number_of : nullptr;
  bool has_ended = false;
  for (const Instruction& instruction : instructions_) {
    write(instruction);
    has_ended = instruction.ends_flow() || instruction.kind == Kind::kCall;
  }
  if (!has_ended) {
    write_byte(0xe9);
    write_distance(FixupKind::kAddress, resume_);
  }
  return result_;
}

void Displaced::write(const Instruction& instruction) {
  const std::uint8_t* bytes = image_.at(instruction.address, instruction.length);
  switch (instruction.kind) {
    case Kind::kJump:
      write_byte(0xe9);
      return write_target(instruction);
    case Kind::kBranch:  // in its long form
      write_byte(0x0f);
      write_byte(static_cast<std::uint8_t>(0x80 | instruction.condition));
      return write_distance(FixupKind::kAddress, instruction.target);
    case Kind::kCall:
      // A push of the true return address, and a jump: code that looks at the stack sees no
      // difference.
      result_.pushes_return = 1;
      write_byte(0xff);
      write_byte(0x35);
      write_distance(FixupKind::kReturnAddress, instruction.end());
      write_byte(0xe9);
      return write_target(instruction);
    default:
      break;
  }
  if (instruction.distance_at == 0) return write_bytes(bytes, instruction.length);
  const std::size_t rest = instruction.distance_at + std::size_t{4};
  write_bytes(bytes, instruction.distance_at);
  write_distance(FixupKind::kAddress, instruction.target, instruction.length - rest);
  write_bytes(bytes + rest, instruction.length - rest);
}

void Displaced::write_bytes(const std::uint8_t* bytes, std::size_t count) {
  if (result_.code_bytes + count > plan::kMostCode) {
    is_full_ = true;
    return;
  }
  std::memcpy(result_.code + result_.code_bytes, bytes, count);
  result_.code_bytes = static_cast<std::uint8_t>(result_.code_bytes + count);
}

void Displaced::write_distance(FixupKind kind, Address target, std::size_t trailing) {
  if (result_.fixup_count == plan::kMostFixups || target > UINT32_MAX) {
    is_full_ = true;
    return;
  }
  result_.fixups[result_.fixup_count++] = {static_cast<std::uint32_t>(target), result_.code_bytes,
                                           static_cast<std::uint8_t>(trailing), kind, 0};
  const std::uint8_t zeros[4] = {};
  write_bytes(zeros, sizeof zeros);
}

void Displaced::write_target(const Instruction& instruction) {
  const Address target = instruction.target;
  const std::uint32_t number = number_of_ ? (*number_of_)(target, instruction.kind) : kNotCounted;
  if (number == kNotCounted) return write_distance(FixupKind::kAddress, target);
  write_distance(FixupKind::kTrampoline, number);
}

}  // namespace fbleprof::rewrite
