#include "symbolize/start_code.h"

#include <cstring>
#include <optional>

namespace fbleprof::symbolize {
namespace {

constexpr std::size_t kStartBytes = 96;  // _start is half as long
constexpr std::size_t kInstructionBytes = 7;

std::uint64_t signed_word(std::string_view code, std::size_t at) {
  std::int32_t word = 0;
  std::memcpy(&word, code.data() + at, sizeof word);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(word));
}

const Section* code_at(const ElfObject& object, std::uint64_t address) {
  for (const Section& section : object.sections()) {
    const std::uint64_t offset = address - section.header.sh_addr;
    if (section.is_code() && offset < section.header.sh_size && offset < section.bytes().size()) {
      return &section;
    }
  }
  return nullptr;
}

// The end of _start: `lea main(%rip),%rdi` or `mov $main,%rdi` sets the first argument, then `call
// *slot(%rip)` calls __libc_start_main, whose address the slot holds.
std::optional<std::uint64_t> main_called_by(std::string_view code, std::uint64_t address,
                                            const Relocations& relocations) {
  constexpr std::string_view kCallThrough("\xff\x15", 2);
  constexpr std::string_view kLeaRdi("\x48\x8d\x3d", 3);
  constexpr std::string_view kMovRdi("\x48\xc7\xc7", 3);
  for (std::size_t at = code.find(kCallThrough);
       at != std::string_view::npos && code.size() - at >= 6;
       at = code.find(kCallThrough, at + 1)) {
    const std::uint64_t slot = address + at + 6 + signed_word(code, at + 2);
    if (relocations.name_of_slot(slot) != "__libc_start_main" || at < kInstructionBytes) continue;
    const std::string_view before = code.substr(at - kInstructionBytes, kInstructionBytes);
    if (before.starts_with(kLeaRdi)) return address + at + signed_word(before, 3);
    if (before.starts_with(kMovRdi)) return signed_word(before, 3);
  }
  return std::nullopt;
}

}  // namespace

std::vector<RawSymbol> read_start_code(const ElfObject& object, const Relocations& relocations) {
  std::vector<RawSymbol> symbols;
  const std::uint64_t entry = object.entry();
  if (object.machine() != EM_X86_64 || entry == 0) return symbols;
  const auto add = [&](std::uint64_t address, const Section& section, std::string_view name) {
    symbols.push_back({address, 0, section.header.sh_addr + section.header.sh_size, name,
                       NameOrigin::kStartCode, true, true, false});
  };
  const Section* start = code_at(object, entry);
  if (start == nullptr) return symbols;
  const std::string_view code = start->bytes().substr(entry - start->header.sh_addr, kStartBytes);
  const std::optional<std::uint64_t> target = main_called_by(code, entry, relocations);
  const Section* section = target ? code_at(object, *target) : nullptr;
  if (section == nullptr) return symbols;
  add(entry, *start, "_start");
  add(*target, *section, "main");
  return symbols;
}

}  // namespace fbleprof::symbolize
