#include "symbolize/disassembly.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "symbolize/module_files.h"

namespace fbleprof::symbolize {
namespace {

// A capstone handle and an instruction of it, released together.
class Decoder {
 public:
  explicit Decoder(std::uint16_t machine) {
    cs_arch arch = CS_ARCH_X86;
    cs_mode mode = CS_MODE_64;
    switch (machine) {
      case EM_X86_64:
        break;
      case EM_386:
        mode = CS_MODE_32;
        break;
      case EM_AARCH64:
        arch = CS_ARCH_ARM64;
        mode = CS_MODE_ARM;
        break;
      case EM_ARM:
        arch = CS_ARCH_ARM;
        mode = CS_MODE_ARM;
        break;
      default:
        return;
    }
    if (cs_open(arch, mode, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    cs_option(handle_, CS_OPT_SKIPDATA, CS_OPT_ON);
    if (arch == CS_ARCH_X86) cs_option(handle_, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    arch_ = arch;
    decoded_ = cs_malloc(handle_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    if (decoded_ != nullptr) cs_free(decoded_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }

  bool ready() const { return decoded_ != nullptr; }

  std::vector<Instruction> decode(std::string_view code, std::uint64_t address) {
    std::vector<Instruction> out;
    const auto* at = reinterpret_cast<const std::uint8_t*>(code.data());  // NOLINT: bytes
    std::size_t left = code.size();
    while (left != 0 && cs_disasm_iter(handle_, &at, &left, &address, decoded_)) {
      const cs_insn& found = *decoded_;
      Instruction& next = out.emplace_back();
      next.address = found.address;
      // capstone copies at most 16 bytes; skipped data may be longer.
      next.bytes.assign(code.substr(found.address - out.front().address, found.size));
      next.text = found.mnemonic;
      if (found.op_str[0] != '\0') next.text += fmt::format(" {}", found.op_str);
      next.target = target(found);
    }
    return out;
  }

 private:
  std::optional<std::uint64_t> target(const cs_insn& found) const {
    if (found.id == 0 || found.detail == nullptr) return std::nullopt;
    if (!cs_insn_group(handle_, &found, CS_GRP_JUMP) &&
        !cs_insn_group(handle_, &found, CS_GRP_CALL)) {
      return std::nullopt;
    }
    switch (arch_) {
      case CS_ARCH_X86: {
        const cs_x86& x86 = found.detail->x86;
        if (x86.op_count != 1 || x86.operands[0].type != X86_OP_IMM) return std::nullopt;
        return static_cast<std::uint64_t>(x86.operands[0].imm);
      }
      case CS_ARCH_ARM64: {
        const cs_arm64& arm = found.detail->arm64;
        if (arm.op_count == 0) return std::nullopt;
        const cs_arm64_op& last = arm.operands[arm.op_count - 1];
        if (last.type != ARM64_OP_IMM) return std::nullopt;
        return static_cast<std::uint64_t>(last.imm);
      }
      default:
        return std::nullopt;
    }
  }

  csh handle_ = 0;
  cs_arch arch_ = CS_ARCH_X86;
  cs_insn* decoded_ = nullptr;
};

}  // namespace

Result<std::vector<Instruction>> disassemble(const ModuleFile& module, std::uint64_t begin,
                                             std::uint64_t end, const Options& options) {
  const auto failed = [&](const std::string& what, const std::string& remedy) {
    return Error{module.path, std::nullopt, what, remedy};
  };
  const ModuleFiles files = open_module(module, options);
  if (!files.object) {
    return failed("its code cannot be shown", "the file that ran is gone or was replaced");
  }
  end = std::min(end, begin + kMaxCodeBytes);
  for (const Section& section : files.object->sections()) {
    const std::uint64_t start = section.header.sh_addr;
    if (!section.is_code() || begin < start || begin - start >= section.header.sh_size) continue;
    const std::string_view bytes = section.bytes();
    if (begin - start >= bytes.size()) break;
    Decoder decoder(files.object->machine());
    if (!decoder.ready()) {
      return failed(fmt::format("machine {} cannot be disassembled", files.object->machine()),
                    "--source shows the lines");
    }
    return decoder.decode(bytes.substr(begin - start, end - begin), begin);
  }
  return failed(fmt::format("there is no code at 0x{:x}", begin), "");
}

}  // namespace fbleprof::symbolize
