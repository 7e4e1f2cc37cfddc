#include "rewrite/decoder.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace fbleprof::rewrite {
namespace {

using Kind = Instruction::Kind;

struct FlagBits {
  std::uint64_t reads, writes;
};
// One for each bit of kAllFlags.
constexpr FlagBits kFlags[] = {
    {X86_EFLAGS_TEST_CF,
     X86_EFLAGS_MODIFY_CF | X86_EFLAGS_RESET_CF | X86_EFLAGS_SET_CF | X86_EFLAGS_UNDEFINED_CF},
    {X86_EFLAGS_TEST_ZF,
     X86_EFLAGS_MODIFY_ZF | X86_EFLAGS_RESET_ZF | X86_EFLAGS_SET_ZF | X86_EFLAGS_UNDEFINED_ZF},
    {X86_EFLAGS_TEST_SF,
     X86_EFLAGS_MODIFY_SF | X86_EFLAGS_RESET_SF | X86_EFLAGS_SET_SF | X86_EFLAGS_UNDEFINED_SF},
    {X86_EFLAGS_TEST_OF,
     X86_EFLAGS_MODIFY_OF | X86_EFLAGS_RESET_OF | X86_EFLAGS_SET_OF | X86_EFLAGS_UNDEFINED_OF},
    {X86_EFLAGS_TEST_PF,
     X86_EFLAGS_MODIFY_PF | X86_EFLAGS_RESET_PF | X86_EFLAGS_SET_PF | X86_EFLAGS_UNDEFINED_PF},
};

bool is_in(const cs_detail& detail, std::uint8_t group) {
  for (int i = 0; i < detail.groups_count; ++i) {
    if (detail.groups[i] == group) return true;
  }
  return false;
}

Kind kind_of(const cs_insn& instruction, bool is_direct) {
  switch (instruction.id) {
    case X86_INS_JMP:
      return is_direct ? Kind::kJump : Kind::kIndirectJump;
    case X86_INS_CALL:
      return is_direct ? Kind::kCall : Kind::kIndirectCall;
    case X86_INS_LJMP:
      return Kind::kIndirectJump;
    case X86_INS_LCALL:
      return Kind::kIndirectCall;
    case X86_INS_RET:
    case X86_INS_RETF:
    case X86_INS_RETFQ:
    case X86_INS_IRET:
    case X86_INS_IRETD:
    case X86_INS_IRETQ:
      return Kind::kReturn;
    case X86_INS_LOOP:
    case X86_INS_LOOPE:
    case X86_INS_LOOPNE:
    case X86_INS_JRCXZ:
    case X86_INS_JECXZ:
    case X86_INS_JCXZ:
    case X86_INS_XBEGIN:
      return Kind::kUnmovable;
    case X86_INS_UD2:
    case X86_INS_HLT:
    case X86_INS_INT3:
      return Kind::kStop;
    default:
      return is_in(*instruction.detail, CS_GRP_JUMP) ? Kind::kBranch : Kind::kPlain;
  }
}

constexpr std::uint8_t kCarry = 1, kZero = 2, kOverflow = 8;  // bits of kAllFlags

// What the library's tables say wrongly, or do not know.
bool read_special_flags(unsigned id, Instruction& instruction) {
  switch (id) {
    case X86_INS_PUSHF:
    case X86_INS_PUSHFD:
    case X86_INS_PUSHFQ:
    case X86_INS_LAHF:
      instruction.reads_flags = kAllFlags;
      return true;
    case X86_INS_ADC:
    case X86_INS_SBB:
      instruction.reads_flags = kCarry;
      instruction.writes_flags = kAllFlags;
      return true;
    case X86_INS_RCL:
    case X86_INS_RCR:
      instruction.reads_flags = kCarry;
      instruction.writes_flags = kCarry | kOverflow;
      return true;
    case X86_INS_CMC:
    case X86_INS_ADCX:
      instruction.reads_flags = instruction.writes_flags = kCarry;
      return true;
    case X86_INS_ADOX:
      instruction.reads_flags = instruction.writes_flags = kOverflow;
      return true;
    case X86_INS_LOOPE:
    case X86_INS_LOOPNE:
      instruction.reads_flags = kZero;
      return true;
    case X86_INS_FCMOVB:
    case X86_INS_FCMOVBE:
    case X86_INS_FCMOVE:
    case X86_INS_FCMOVNB:
    case X86_INS_FCMOVNBE:
    case X86_INS_FCMOVNE:
    case X86_INS_FCMOVNU:
    case X86_INS_FCMOVU:
      instruction.reads_flags = kAllFlags;
      return true;
    case X86_INS_LZCNT:
    case X86_INS_VCOMISD:
    case X86_INS_VCOMISS:
    case X86_INS_VUCOMISD:
    case X86_INS_VUCOMISS:
    case X86_INS_VPTEST:
    case X86_INS_PCMPESTRI:
    case X86_INS_PCMPESTRM:
    case X86_INS_PCMPISTRI:
    case X86_INS_PCMPISTRM:
    case X86_INS_VPCMPESTRI:
    case X86_INS_VPCMPESTRM:
    case X86_INS_VPCMPISTRI:
    case X86_INS_VPCMPISTRM:
    case X86_INS_KORTESTB:
    case X86_INS_KORTESTW:
    case X86_INS_KORTESTD:
    case X86_INS_KORTESTQ:
    case X86_INS_FCOMI:
    case X86_INS_FCOMIP:
    case X86_INS_FUCOMI:
    case X86_INS_FUCOMIP:
      instruction.writes_flags = kAllFlags;
      return true;
    default:
      return false;
  }
}

void read_flags(const cs_insn& decoded, Instruction& instruction) {
  if (read_special_flags(decoded.id, instruction)) return;
  if (is_in(*decoded.detail, X86_GRP_FPU)) return;  // these are the flags of the FPU
  const std::uint64_t effects = decoded.detail->x86.eflags;
  for (std::size_t i = 0; i < std::size(kFlags); ++i) {
    const auto bit = static_cast<std::uint8_t>(1 << i);
    if (effects & kFlags[i].reads) instruction.reads_flags |= bit;
    if (effects & kFlags[i].writes) instruction.writes_flags |= bit;
  }
}

// The bytes behind the opcode of an instruction with a ModRM byte: registers and memory, not
// constants.
int bytes_of_operands(const std::uint8_t* at, const std::uint8_t* end) {
  if (at == end) return 0;
  const int mode = *at >> 6, base = *at & 7;
  int bytes = 1;
  if (mode == 3) return bytes;
  const bool has_index = base == 4;
  if (has_index && at + 1 == end) return 0;
  const bool has_no_base = has_index && (at[1] & 7) == 5 && mode == 0;
  bytes += has_index;
  if (mode == 1) bytes += 1;
  if (mode == 2 || has_no_base || (mode == 0 && base == 5)) bytes += 4;
  return bytes;
}

// Behind the prefixes that may stand before REX, VEX and EVEX.
const std::uint8_t* skip_prefixes(const std::uint8_t* at, const std::uint8_t* end) {
  constexpr std::uint8_t kPrefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                        0x66, 0x67, 0xf0, 0xf2, 0xf3};
  return std::find_if(at, end, [&](std::uint8_t byte) {
    return std::find(std::begin(kPrefixes), std::end(kPrefixes), byte) == std::end(kPrefixes);
  });
}

bool is_rex(std::uint8_t byte) { return (byte & 0xf0) == 0x40; }

// Instructions without a vector prefix, of the map behind 0f, that the library does not know: of
// protection keys, user interrupts, shadow stacks, processor traces, prefetches.
bool is_known_shape(const std::uint8_t* at) {
  const bool has_registers = at[1] >> 6 == 3;
  const int operation = at[1] >> 3 & 7;
  switch (at[0]) {
    case 0x01:
      return has_registers;
    case 0x0d:
      return true;
    case 0x1e:
      return has_registers && operation == 1;
    case 0xae:
      return (has_registers && operation == 5) || operation == 4;
    default:
      return false;
  }
}

// Instructions that the library does not know, most of AVX-512 among them, but whose length the
// encoding tells. None of them branches. `modrm_at`: the offset of the byte behind the opcode.
struct Shape {
  int length = 0, modrm_at = 0;  // 0: not of a known shape
};
Shape shape_of(const std::uint8_t* code, const std::uint8_t* end) {
  const std::uint8_t* at = skip_prefixes(code, end);
  // Longest: EVEX (4), opcode, ModRM, SIB, distance (4), constant.
  if (end - at < 3) return {};
  int map = 0;
  constexpr int kMap0f = 1, kMap0f38 = 2, kMap0f3a = 3;
  const bool is_vector = *at == 0x62 || *at == 0xc4 || *at == 0xc5;
  if (*at == 0x62) {
    map = at[1] & 7;
    at += 4;
  } else if (*at == 0xc4) {
    map = at[1] & 0x1f;
    at += 3;
  } else if (*at == 0xc5) {
    map = kMap0f;
    at += 2;
  } else {
    if (is_rex(*at)) ++at;
    if (end - at < 3 || at[0] != 0x0f) return {};
    if (at[1] == 0x38 || at[1] == 0x3a) {
      map = at[1] == 0x38 ? kMap0f38 : kMap0f3a;
      at += 2;
    } else if (is_known_shape(at + 1)) {
      map = kMap0f;
      at += 1;
    } else {
      return {};
    }
  }
  // In map 4 (APX) and from map 7 on, constants of up to four bytes follow some opcodes.
  if (end - at < 2 || map == 0 || map == 4 || map > 6) return {};
  const std::uint8_t opcode = *at++;
  const int operands = bytes_of_operands(at, end);
  const bool has_constant =
      map == kMap0f3a || (map == kMap0f && is_vector &&
                          ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
                           (opcode >= 0xc4 && opcode <= 0xc6)));
  const auto length = static_cast<int>(at - code) + operands + has_constant;
  if (operands == 0 || length > 15 || length > end - code) return {};
  return {length, static_cast<int>(at - code)};
}

// Whether the library reads an instruction with EVEX as longer or shorter than it is. It takes the
// rounding of some for a constant.
bool has_wrong_length(const std::uint8_t* code, const std::uint8_t* end, int length) {
  constexpr std::uint8_t kEvex = 0x62;
  const std::uint8_t* at = skip_prefixes(code, end);
  if (at == end || *at != kEvex) return false;
  const int right = shape_of(code, end).length;
  return right != 0 && right != length;
}

// `ud1` and `ud0`, which compilers put where control must not come. The library reads them as
// shorter ones. 0: it is none.
int bytes_of_trap(const std::uint8_t* code, const std::uint8_t* end) {
  const std::uint8_t* at = skip_prefixes(code, end);
  if (at != end && is_rex(*at)) ++at;
  if (end - at < 3 || at[0] != 0x0f || (at[1] != 0xb9 && at[1] != 0xff)) return 0;
  const int operands = bytes_of_operands(at + 2, end);
  const auto bytes = static_cast<int>(at - code) + 2 + operands;
  return operands != 0 && bytes <= end - code ? bytes : 0;
}

// Whether the operand is memory from rsp, or r12, downward.
bool is_below_stack(const std::uint8_t* modrm) {
  const int mode = *modrm >> 6;
  if ((mode != 1 && mode != 2) || (*modrm & 7) != 4 || (modrm[1] & 7) != 4) return false;
  return (modrm[mode == 1 ? 2 : 5] & 0x80) != 0;
}

}  // namespace

Decoder::Decoder(const ElfImage& image) : image_(image), offset_table_(image.dynamic(DT_PLTGOT)) {
  // Without a decoder, all functions would seem to hold bytes that are no instructions.
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) throw std::bad_alloc();
  cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
  decoded_ = cs_malloc(handle_);
  if (decoded_) return;
  cs_close(&handle_);
  throw std::bad_alloc();
}

Decoder::~Decoder() {
  cs_free(decoded_, 1);
  cs_close(&handle_);
}

bool Decoder::decode(Address address, Address end, Instruction* instruction) {
  end = std::min(end, image_.end_of_segment(address));
  if (address >= end) return false;
  std::size_t size = end - address;
  const std::uint8_t* code = image_.at(address, size);
  std::uint64_t at = address;
  if (!code) return false;
  if (const int bytes = bytes_of_trap(code, code + size)) {
    *instruction = {};
    instruction->address = address;
    instruction->length = static_cast<std::uint8_t>(bytes);
    instruction->kind = Kind::kStop;
    mentioned_.clear();
    below_stack_.clear();
    return true;
  }
  const std::uint8_t* const first = code;  // `code` becomes what follows
  if (!cs_disasm_iter(handle_, &code, &size, &at, decoded_) ||
      has_wrong_length(first, first + (end - address), decoded_->size)) {
    return decode_shape(address, end, *instruction);
  }
  const cs_x86& x86 = decoded_->detail->x86;
  *instruction = {};
  instruction->address = address;
  instruction->length = static_cast<std::uint8_t>(decoded_->size);
  const bool is_direct = x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM;
  instruction->kind = kind_of(*decoded_, is_direct);
  read_flags(*decoded_, *instruction);
  if (instruction->kind == Kind::kBranch) {
    instruction->condition = (x86.opcode[0] == 0x0f ? x86.opcode[1] : x86.opcode[0]) & 15;
  }
  instruction->is_nop = decoded_->id == X86_INS_NOP;
  instruction->is_breakpoint = decoded_->id == X86_INS_INT3 || decoded_->id == X86_INS_INT1;
  if (is_direct && instruction->kind != Kind::kPlain) {
    instruction->target = static_cast<Address>(x86.operands[0].imm);
  }
  read_operands(*instruction);
  return true;
}

// Such instructions neither jump nor change the stack pointer.
bool Decoder::decode_shape(Address address, Address end, Instruction& instruction) {
  const std::uint8_t* code = image_.at(address, end - address);
  const Shape shape = shape_of(code, code + (end - address));
  if (shape.length == 0) return false;
  instruction = {};
  instruction.address = address;
  instruction.length = static_cast<std::uint8_t>(shape.length);
  mentioned_.clear();
  below_stack_.clear();
  const std::uint8_t* modrm = code + shape.modrm_at;
  if ((*modrm & 0xc7) == 5) {  // relative to rip
    std::int32_t distance;
    std::memcpy(&distance, modrm + 1, sizeof distance);
    instruction.distance_at = static_cast<std::uint8_t>(modrm + 1 - code);
    instruction.target = instruction.end() + static_cast<Address>(std::int64_t{distance});
    mentioned_.push_back(instruction.target);
  }
  instruction.uses_red_zone = is_below_stack(modrm);
  return true;
}

void Decoder::read_operands(Instruction& instruction) {
  constexpr std::int64_t kLeastAddress = 0x1000;
  mentioned_.clear();
  below_stack_.clear();
  const cs_x86& x86 = decoded_->detail->x86;
  instruction.writes_return = decoded_->id == X86_INS_PUSH;
  instruction.moves_stack = decoded_->id == X86_INS_POP || decoded_->id == X86_INS_LEAVE;
  for (int i = 0; i < x86.op_count; ++i) {
    const cs_x86_op& operand = x86.operands[i];
    const bool is_written = (operand.access & CS_AC_WRITE) != 0;
    if (operand.type == X86_OP_REG && operand.reg == X86_REG_RSP && is_written) {
      instruction.moves_stack = true;
    }
    if (operand.type == X86_OP_IMM && instruction.kind == Kind::kPlain) {
      mentioned_.push_back(static_cast<Address>(operand.imm));
      // In large code models, distances from the global offset table.
      if (decoded_->id == X86_INS_MOVABS && offset_table_ != 0) {
        mentioned_.push_back(offset_table_ + static_cast<Address>(operand.imm));
      }
    }
    if (operand.type != X86_OP_MEM) continue;
    const std::int64_t offset = operand.mem.disp;
    instruction.reads_table = instruction.kind == Kind::kIndirectJump &&
                              operand.mem.base == X86_REG_INVALID && offset > kLeastAddress;
    if (operand.mem.base == X86_REG_RIP) {
      instruction.distance_at = x86.encoding.disp_offset;
      instruction.target = instruction.end() + static_cast<Address>(offset);
      mentioned_.push_back(instruction.target);
    } else if (operand.mem.base == X86_REG_EIP) {
      instruction.kind = Kind::kUnmovable;
      mentioned_.push_back(
          static_cast<std::uint32_t>(instruction.end() + static_cast<Address>(offset)));
    } else if (offset > kLeastAddress) {
      mentioned_.push_back(static_cast<std::uint32_t>(offset));
    }
    if (operand.mem.base == X86_REG_RSP && offset == 0 && is_written) {
      instruction.writes_return = true;
    }
    if (operand.mem.base != X86_REG_RSP || offset >= 0 || instruction.is_nop) continue;
    const bool makes_frame = decoded_->id == X86_INS_LEA && instruction.moves_stack;
    instruction.uses_red_zone = !makes_frame;
    if (operand.mem.index == X86_REG_INVALID && decoded_->id != X86_INS_LEA) {
      below_stack_.push_back({offset, operand.size, (operand.access & CS_AC_READ) != 0,
                              (operand.access & CS_AC_WRITE) != 0});
    }
  }
}

}  // namespace fbleprof::rewrite
