#include "rewrite/hidden_jumps.h"

#include <cstring>
#include <map>

namespace fbleprof::rewrite {
namespace {

using Kind = Instruction::Kind;

bool is_lfence(const std::uint8_t* code) {
  constexpr std::uint8_t kFence[] = {0x0f, 0xae, 0xe8};
  return std::memcmp(code, kFence, sizeof kFence) == 0;
}

// `jmp *%reg`, with or without a prefix.
bool jumps_by_register(const ElfImage& image, const Instruction& instruction) {
  const std::uint8_t* end = image.at(instruction.end() - 2, 2);
  return instruction.kind == Kind::kIndirectJump && end && end[0] == 0xff &&
         (end[1] & 0xf8) == 0xe0;
}

// Whether code only jumps to where a register tells: a compiler's thunk for indirect jumps.
bool is_thunk_of_jumps(const ElfImage& image, Decoder& decoder, Address address) {
  constexpr int kMostInstructions = 12;
  constexpr Address kNear = 64;
  WrittenReturn written_return;
  Address at = address;
  for (int i = 0; i < kMostInstructions; ++i) {
    Instruction instruction;
    if (!decoder.decode(at, image.text_end(), &instruction)) return false;
    if (jumps_by_register(image, instruction) || written_return.is_used_by(instruction)) {
      return true;
    }
    at = instruction.end();
    const std::uint8_t* code = image.at(instruction.address, sizeof kEndbr);
    const bool is_barrier = code && (is_lfence(code) || begins_with_endbr(code));
    if (is_barrier || instruction.is_nop || instruction.writes_return) continue;
    // It calls the place behind a loop in which the processor waits.
    if (instruction.kind != Kind::kCall || instruction.target - address > kNear) return false;
    at = instruction.target;
  }
  return false;
}

}  // namespace

void find_jumps_by_thunks(const ElfImage& image, const std::vector<Branch>& branches,
                          std::vector<Function>& functions) {
  Decoder decoder(image);
  std::map<Address, bool> known;
  for (const Branch& branch : branches) {
    if (branch.kind != Kind::kJump && branch.kind != Kind::kBranch) continue;
    Function* from = function_at(functions, branch.from);
    if (!from || from->contains(branch.target) || !image.in_text(branch.target)) continue;
    const auto [place, is_new] = known.try_emplace(branch.target, false);
    if (is_new) place->second = is_thunk_of_jumps(image, decoder, branch.target);
    if (place->second) from->jumps_indirectly = from->jumps_oddly = true;
  }
}

}  // namespace fbleprof::rewrite
