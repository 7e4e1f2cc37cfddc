// Decodes one instruction at a time: the facts needed to move it and to know where it leads.
#pragma once

#include <capstone/capstone.h>

#include <cstring>
#include <vector>

#include "rewrite/elf_image.h"

namespace fbleprof::rewrite {

struct Instruction {
  enum class Kind : std::uint8_t {
    kPlain,
    kJump,    // to `target`
    kBranch,  // a conditional jump to `target`
    kCall,    // of `target`
    kIndirectJump,
    kIndirectCall,
    kReturn,
    kUnmovable,  // a short loop or the like, without a longer form
    kStop,       // traps
  };

  Address address = 0;
  std::uint8_t length = 0;
  Kind kind = Kind::kPlain;
  Address target = 0;            // of a branch, or the address that a rip-relative operand names
  std::uint8_t distance_at = 0;  // offset of that address in the instruction; 0: none
  std::uint8_t reads_flags = 0, writes_flags = 0;  // sets, a bit for each; see kAllFlags
  bool is_nop = false;
  bool is_breakpoint = false;  // a trap that tells its handler the address behind it
  bool reads_table = false;    // an indirect jump to an address in a table at a fixed place
  bool writes_return = false;  // puts something where a return finds its address
  bool moves_stack = false;    // changes the stack pointer, but not by a push
  bool uses_red_zone = false;  // names memory below the stack pointer
  std::uint8_t condition = 0;  // of a conditional jump: the lower half of its opcode

  Address end() const { return address + length; }
  bool is_call() const { return kind == Kind::kCall || kind == Kind::kIndirectCall; }
  // Whether control never continues at the next instruction.
  bool ends_flow() const {
    return kind == Kind::kJump || kind == Kind::kIndirectJump || kind == Kind::kReturn ||
           kind == Kind::kStop;
  }
};

// Marks where indirect branches may arrive; no jump may overwrite it.
inline constexpr std::uint8_t kEndbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
inline bool begins_with_endbr(const std::uint8_t* code) {
  return std::memcmp(code, kEndbr, sizeof kEndbr) == 0;
}

// Whether code is `jmp *slot(%rip)`, with or without endbr64 and bnd before it.
inline constexpr std::size_t kStubBytes = sizeof kEndbr + 3;  // that the answer depends on
inline bool is_stub(const std::uint8_t* code) {
  if (begins_with_endbr(code)) code += sizeof kEndbr;
  if (*code == 0xf2) ++code;
  return code[0] == 0xff && code[1] == 0x25;
}

// Whether code, of so many bytes, first calls a place in itself: a retpoline or a return thunk.
// They do so to leave their return address, or to jump where a register tells. Reads nine bytes.
inline bool is_thunk(const std::uint8_t* code, std::uint64_t bytes) {
  const std::uint64_t call = begins_with_endbr(code) ? sizeof kEndbr : 0;
  std::int32_t distance;
  std::memcpy(&distance, code + call + 1, sizeof distance);
  return code[call] == 0xe8 && distance > 0 &&
         call + 5 + static_cast<std::uint64_t>(distance) < bytes;
}

// The arithmetic flags but AF, which no instruction that compilers emit reads. The direction flag
// is not one of them: the hook does not change it.
inline constexpr std::uint8_t kAllFlags = 0x1f;

// An access of memory below the stack pointer.
struct BelowStack {
  std::int64_t offset;  // below 0
  std::uint8_t bytes;
  bool is_read, is_written;
};

class Decoder {
 public:
  explicit Decoder(const ElfImage& image);  // throws std::bad_alloc
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Decodes the instruction at `address`, which must end at or before `end`, and in its segment.
  // False: there is none.
  bool decode(Address address, Address end, Instruction* instruction);

  // For the last instruction: values that may be addresses, and accesses below the stack pointer.
  const std::vector<Address>& mentioned() const { return mentioned_; }
  const std::vector<BelowStack>& below_stack() const { return below_stack_; }

 private:
  void read_operands(Instruction& instruction);
  bool decode_shape(Address address, Address end, Instruction& instruction);

  const ElfImage& image_;
  Address offset_table_;  // the global one; 0: there is none
  csh handle_ = 0;
  cs_insn* decoded_ = nullptr;
  std::vector<Address> mentioned_;
  std::vector<BelowStack> below_stack_;
};

}  // namespace fbleprof::rewrite
