#include "symbolize/loaded_data.h"

#include <algorithm>
#include <cstring>

namespace fbleprof::symbolize {
namespace {

bool holds(const Section& section, std::uint64_t address) {
  return address >= section.header.sh_addr &&
         address - section.header.sh_addr < section.header.sh_size;
}

}  // namespace

LoadedData::LoadedData(const ElfObject& object) {
  for (const Section& section : object.sections()) {
    const auto flags = section.header.sh_flags;
    if ((flags & SHF_ALLOC) == 0 || (flags & SHF_TLS) != 0 || section.header.sh_addr == 0) continue;
    if (section.is_code()) {
      if (!section.name.starts_with(".plt")) code_.push_back(section);
      continue;
    }
    const std::string_view bytes = section.bytes();
    if (bytes.empty()) continue;
    texts_.push_back(section);
    if ((flags & SHF_WRITE) == 0 || section.header.sh_addr % 8 != 0) continue;
    Area area{section.header.sh_addr, std::vector<std::uint64_t>(bytes.size() / 8)};
    std::memcpy(area.words.data(), bytes.data(), area.words.size() * 8);
    areas_.push_back(std::move(area));
  }
  for (const Section& section : object.sections()) {
    if (section.header.sh_type == SHT_RELA && (section.header.sh_flags & SHF_ALLOC) != 0) {
      relocate(object, section);
    }
  }
}

void LoadedData::relocate(const ElfObject& object, const Section& section) {
  Elf_Data* data = elf_getdata(section.scn, nullptr);
  Elf_Scn* symbols_scn = elf_getscn(object.elf(), section.header.sh_link);
  Elf_Data* symbols = symbols_scn != nullptr ? elf_getdata(symbols_scn, nullptr) : nullptr;
  if (data == nullptr || section.header.sh_entsize == 0) return;
  const std::size_t count = data->d_size / section.header.sh_entsize;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Rela relocation;
    if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) return;
    const Area* area = area_of(relocation.r_offset);
    if (area == nullptr || relocation.r_offset % 8 != 0) continue;
    const auto addend = static_cast<std::uint64_t>(relocation.r_addend);
    const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
    GElf_Sym symbol;
    std::uint64_t value = addend;
    if (index != 0 && symbols != nullptr && gelf_getsym(symbols, index, &symbol) != nullptr) {
      value = symbol.st_shndx == SHN_UNDEF ? kElsewhere : symbol.st_value + addend;
    }
    const_cast<Area*>(area)->words[(relocation.r_offset - area->begin) / 8] = value;
  }
}

const LoadedData::Area* LoadedData::area_of(std::uint64_t address) const {
  for (const Area& area : areas_) {
    if (address >= area.begin && (address - area.begin) / 8 < area.words.size()) return &area;
  }
  return nullptr;
}

std::uint64_t LoadedData::word(std::uint64_t address) const {
  const Area* area = area_of(address);
  return area != nullptr && address % 8 == 0 ? area->words[(address - area->begin) / 8] : 0;
}

std::string_view LoadedData::text(std::uint64_t address) const {
  constexpr std::size_t kMost = 256;
  for (const Section& section : texts_) {
    if (!holds(section, address)) continue;
    const std::string_view bytes = section.bytes();
    const std::uint64_t offset = address - section.header.sh_addr;
    if (offset >= bytes.size()) return {};
    const std::string_view rest = bytes.substr(offset, kMost);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
  }
  return {};
}

std::uint64_t LoadedData::end_of_code(std::uint64_t address) const {
  for (const Section& section : code_) {
    if (holds(section, address)) return section.header.sh_addr + section.header.sh_size;
  }
  return 0;
}

}  // namespace fbleprof::symbolize
