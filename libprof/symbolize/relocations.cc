#include "symbolize/relocations.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace fbleprof::symbolize {
namespace {

bool fills_slot(std::uint16_t machine, std::uint32_t type) {
  if (machine == EM_X86_64) {
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_IRELATIVE;
  }
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_IRELATIVE;
}

// Functions by address, for the few relocations without a name.
using NamesByAddress = std::unordered_map<std::uint64_t, std::string_view>;

NamesByAddress names_by_address(const std::vector<RawSymbol>& symbols) {
  NamesByAddress names;
  for (const RawSymbol& symbol : symbols) {
    if (!symbol.is_function) continue;
    std::string_view& best = names[symbol.begin];
    if (best.empty() || symbol.name.find_first_not_of('_') < best.find_first_not_of('_')) {
      best = symbol.name;
    }
  }
  return names;
}

}  // namespace

Relocations Relocations::read(const ElfObject& object, const std::vector<RawSymbol>& named) {
  Relocations found;
  if (object.machine() != EM_X86_64 && object.machine() != EM_AARCH64) return found;
  std::optional<NamesByAddress> by_address;
  for (const Section& section : object.sections()) {
    if (section.header.sh_type != SHT_RELA || (section.header.sh_flags & SHF_ALLOC) == 0) continue;
    Elf_Data* data = elf_getdata(section.scn, nullptr);
    Elf_Scn* symbols_scn = elf_getscn(object.elf(), section.header.sh_link);
    GElf_Shdr symbols_header{};
    Elf_Data* symbols = nullptr;
    if (symbols_scn != nullptr && gelf_getshdr(symbols_scn, &symbols_header) != nullptr) {
      symbols = elf_getdata(symbols_scn, nullptr);
    }
    if (data == nullptr || section.header.sh_entsize == 0) continue;
    const std::size_t count = data->d_size / section.header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Rela relocation;
      if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) break;
      const auto type = static_cast<std::uint32_t>(GELF_R_TYPE(relocation.r_info));
      std::string_view name;
      if (fills_slot(object.machine(), type)) {
        const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
        GElf_Sym symbol;
        if (index == 0) {
          if (!by_address) by_address = names_by_address(named);
          const auto target = by_address->find(static_cast<std::uint64_t>(relocation.r_addend));
          if (target != by_address->end()) name = target->second;
        } else if (symbols != nullptr && gelf_getsym(symbols, index, &symbol) != nullptr) {
          const char* text = elf_strptr(object.elf(), symbols_header.sh_link, symbol.st_name);
          if (text != nullptr) name = text;
        }
        if (!name.empty()) found.slots_.push_back({relocation.r_offset, name});
      }
      if (section.name == ".rela.plt") found.plt_names_.push_back(name);
    }
  }
  std::sort(found.slots_.begin(), found.slots_.end(),
            [](const Slot& a, const Slot& b) { return a.address < b.address; });
  return found;
}

std::string_view Relocations::name_of_slot(std::uint64_t address) const {
  const auto slot = std::lower_bound(
      slots_.begin(), slots_.end(), address,
      [](const Slot& candidate, std::uint64_t value) { return candidate.address < value; });
  return slot == slots_.end() || slot->address != address ? std::string_view() : slot->name;
}

std::string_view Relocations::name_of_plt_entry(std::size_t number) const {
  return number < plt_names_.size() ? plt_names_[number] : std::string_view();
}

}  // namespace fbleprof::symbolize
