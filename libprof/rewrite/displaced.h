// The code of a trampoline after the hook: instructions that were taken from a function's start,
// as they work elsewhere, and a jump to the rest.
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

  // Whether it fits into a trampoline.
  bool fits();

  // `number_of` tells which trampoline stands for a call of a function, or kNotCounted.
  plan::Trampoline trampoline(const std::function<std::uint32_t(Address)>& number_of);

 private:
  void write(const Instruction& instruction);
  void write_bytes(const std::uint8_t* bytes, std::size_t count);
  void write_byte(std::uint8_t byte) { write_bytes(&byte, 1); }
  void write_distance(plan::FixupKind kind, Address target, std::size_t trailing = 0);
  void write_target(Address target);

  const ElfImage& image_;
  const std::vector<Instruction>& instructions_;
  Address resume_;
  const std::function<std::uint32_t(Address)>* number_of_ = nullptr;
  plan::Trampoline result_{};
  bool is_full_ = false;
};

}  // namespace fbleprof::rewrite
