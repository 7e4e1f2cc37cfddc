#include "rewrite/decoder.h"

#include <iterator>

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

}  // namespace

Decoder::Decoder(const ElfImage& image) : image_(image) {
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
  cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
  decoded_ = cs_malloc(handle_);
}

Decoder::~Decoder() {
  if (decoded_) cs_free(decoded_, 1);
  if (handle_) cs_close(&handle_);
}

bool Decoder::decode(Address address, Address end, Instruction* instruction) {
  if (address >= end || !decoded_) return false;
  std::size_t size = end - address;
  const std::uint8_t* code = image_.at(address, size);
  std::uint64_t at = address;
  if (!code || !cs_disasm_iter(handle_, &code, &size, &at, decoded_)) return false;
  const cs_x86& x86 = decoded_->detail->x86;
  *instruction = {};
  instruction->address = address;
  instruction->length = static_cast<std::uint8_t>(decoded_->size);
  const bool is_direct = x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM;
  instruction->kind = kind_of(*decoded_, is_direct);
  read_flags(*decoded_, *instruction);
  instruction->is_nop = decoded_->id == X86_INS_NOP;
  if (is_direct && instruction->kind != Kind::kPlain) {
    instruction->target = static_cast<Address>(x86.operands[0].imm);
  }
  read_operands(*instruction);
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
    }
    if (operand.type != X86_OP_MEM) continue;
    const std::int64_t offset = operand.mem.disp;
    instruction.reads_table = instruction.kind == Kind::kIndirectJump &&
                              operand.mem.base == X86_REG_INVALID && offset > kLeastAddress;
    if (operand.mem.base == X86_REG_RIP) {
      instruction.distance_at = x86.encoding.disp_offset;
      instruction.target = instruction.end() + static_cast<Address>(offset);
      mentioned_.push_back(instruction.target);
    } else if (offset > kLeastAddress) {
      mentioned_.push_back(static_cast<std::uint32_t>(offset));
    }
    if (operand.mem.base == X86_REG_RSP && offset == 0 && is_written) {
      instruction.writes_return = true;
    }
    if (operand.mem.base == X86_REG_RSP && operand.mem.index == X86_REG_INVALID && offset < 0 &&
        decoded_->id != X86_INS_LEA && decoded_->id != X86_INS_NOP) {
      below_stack_.push_back({offset, operand.size, (operand.access & CS_AC_READ) != 0,
                              (operand.access & CS_AC_WRITE) != 0});
    }
  }
}

}  // namespace fbleprof::rewrite
