#include "symbolize/patchable.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "arch/hook_sections.h"

namespace fbleprof::symbolize {
namespace {

template <typename T>
std::optional<T> read(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The values that relocations put into the section, for files loaded at a variable address.
void add_relocated(const ElfObject& object, const Section& section,
                   std::vector<std::uint64_t>& found) {
  const std::uint64_t begin = section.header.sh_addr, end = begin + section.header.sh_size;
  for (const Section& each : object.sections()) {
    if (each.header.sh_type != SHT_RELA || (each.header.sh_flags & SHF_ALLOC) == 0) continue;
    const std::string_view bytes = each.bytes();
    for (std::uint64_t at = 0; at < bytes.size(); at += sizeof(Elf64_Rela)) {
      const auto relocation = read<Elf64_Rela>(bytes, at);
      if (relocation && ELF64_R_TYPE(relocation->r_info) == R_X86_64_RELATIVE &&
          relocation->r_offset >= begin && relocation->r_offset < end) {
        found.push_back(static_cast<std::uint64_t>(relocation->r_addend));
      }
    }
  }
}

// The addresses that the section lists.
std::vector<std::uint64_t> listed(const ElfObject& object, const Section& section,
                                  const arch::HookSection& kind) {
  std::vector<std::uint64_t> found;
  const std::string_view bytes = section.bytes();
  const auto* items = reinterpret_cast<const std::uint8_t*>(bytes.data());
  for (std::uint64_t at = 0; at + kind.item_bytes <= bytes.size(); at += kind.item_bytes) {
    const std::uint64_t address = kind.address(items + at, section.header.sh_addr + at);
    if (address != 0) found.push_back(address);
  }
  if (found.empty() && kind.is_relocated) add_relocated(object, section, found);
  return found;
}

// The code from an address to the end of its section.
std::string_view code_at(const ElfObject& object, std::uint64_t address) {
  for (const Section& section : object.sections()) {
    if (!section.is_code()) continue;
    const std::string_view bytes = section.bytes();
    const std::uint64_t offset = address - section.header.sh_addr;
    if (address >= section.header.sh_addr && offset < bytes.size()) return bytes.substr(offset);
  }
  return {};
}

bool has_room(std::string_view code, const arch::HookSection& kind) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(code.data());
  const std::uint8_t* end = at + code.size();
  if (code.size() >= arch::kMarkBytes && arch::is_mark(at)) at += arch::kMarkBytes;
  return kind.room(at, end) != 0;
}

// Functions by address, to find the one that follows NOPs.
class Starts {
 public:
  explicit Starts(const std::vector<RawSymbol>& symbols) {
    for (const RawSymbol& symbol : symbols) {
      if (symbol.is_function) ranges_.push_back({symbol.begin, symbol.begin + symbol.size});
    }
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }
  std::uint64_t function_of(std::uint64_t named) const {
    constexpr std::uint64_t kMostInFront = 256;
    const auto behind = std::upper_bound(
        ranges_.begin(), ranges_.end(), named,
        [](std::uint64_t value, const Range& range) { return value < range.begin; });
    const bool is_inside = behind != ranges_.begin() && named < std::prev(behind)->end;
    const bool is_in_front = behind != ranges_.end() && behind->begin - named <= kMostInFront;
    return !is_inside && is_in_front ? behind->begin : named;
  }

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  std::vector<Range> ranges_;
};

}  // namespace

std::vector<std::uint64_t> patchable_functions(const ElfObject& object,
                                               const std::vector<RawSymbol>& symbols) {
  std::vector<std::uint64_t> functions;
  const Starts starts(symbols);
  for (const arch::HookSection& kind : arch::kHookSections) {
    const Section* section = object.section(kind.name);
    if (section == nullptr) continue;
    for (const std::uint64_t named : listed(object, *section, kind)) {
      const std::uint64_t start = kind.may_be_before ? starts.function_of(named) : named;
      if (has_room(code_at(object, start), kind)) functions.push_back(start);
    }
  }
  return functions;
}

}  // namespace fbleprof::symbolize
