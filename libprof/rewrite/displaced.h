// The code of a trampoline after the hook: the instructions taken from a function's start, changed
// to work in their new place, and a jump to the rest.
#pragma once

#include <functional>
#include <vector>

#include "plan/plan.h"
#include "rewrite/decoder.h"

namespace fbleprof::rewrite {

class Displaced {
 public:
  static constexpr std::uint32_t kNotCounted = ~0u;

  Displaced(const ElfImage& image, const std::vector<Instruction>& instructions, Address resume)
      : image_(image), instructions_(instructions), resume_(resume) {}

  // Whether the code fits into a trampoline.
  bool fits();

  // Returns the number of the trampoline for calls of (or jumps to) a function, or kNotCounted.
  using NumberOf = std::function<std::uint32_t(Address function, Instruction::Kind)>;
  plan::Trampoline trampoline(const NumberOf& number_of);

 private:
  void write(const Instruction& instruction);
  void write_bytes(const std::uint8_t* bytes, std::size_t count);
  void write_byte(std::uint8_t byte) { write_bytes(&byte, 1); }
  void write_distance(plan::FixupKind kind, Address target, std::size_t trailing = 0);
  void write_target(const Instruction& instruction);

  const ElfImage& image_;
  const std::vector<Instruction>& instructions_;
  Address resume_;
  const NumberOf* number_of_ = nullptr;
  plan::Trampoline result_{};
  bool is_full_ = false;
};

}  // namespace fbleprof::rewrite
