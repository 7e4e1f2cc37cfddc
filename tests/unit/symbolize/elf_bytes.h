// ELF files byte by byte, for what no compiler here writes: other processors, damage.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace fbleprof::symbolize {

struct MadeSection {
  std::string name;
  std::uint32_t type = SHT_PROGBITS;
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::string bytes;
  std::uint32_t link = 0;  // a section's number: 1 for the first
  std::uint64_t entry_bytes = 0;
};

// The bytes of plain values, one after the other.
template <class... Value>
std::string raw(const Value&... values) {
  std::string out;
  (out.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  return out;
}

inline std::string bytes_of(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}

struct Types64 {
  using Ehdr = Elf64_Ehdr;
  using Shdr = Elf64_Shdr;
  static constexpr unsigned char kClass = ELFCLASS64;
};
struct Types32 {
  using Ehdr = Elf32_Ehdr;
  using Shdr = Elf32_Shdr;
  static constexpr unsigned char kClass = ELFCLASS32;
};

template <class Types = Types64>
std::vector<char> elf_bytes(std::uint16_t machine, std::vector<MadeSection> sections) {
  sections.push_back({.name = ".shstrtab", .type = SHT_STRTAB, .bytes = std::string(1, '\0')});
  std::string& names = sections.back().bytes;
  std::vector<typename Types::Shdr> headers(1);
  headers[0] = {};
  for (MadeSection& section : sections) {
    typename Types::Shdr& header = headers.emplace_back();
    header = {};
    header.sh_name = static_cast<std::uint32_t>(names.size());
    names += section.name + '\0';
  }
  typename Types::Ehdr file{};
  std::string out(sizeof file, '\0');
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const MadeSection& section = sections[i];
    typename Types::Shdr& header = headers[i + 1];
    out.resize((out.size() + 15) / 16 * 16);
    header.sh_type = section.type;
    header.sh_flags = static_cast<decltype(header.sh_flags)>(section.flags);
    header.sh_addr = static_cast<decltype(header.sh_addr)>(section.address);
    header.sh_offset = static_cast<decltype(header.sh_offset)>(out.size());
    header.sh_size = static_cast<decltype(header.sh_size)>(section.bytes.size());
    header.sh_link = section.link;
    header.sh_addralign = 1;
    header.sh_entsize = static_cast<decltype(header.sh_entsize)>(section.entry_bytes);
    if (section.type != SHT_NOBITS) out += section.bytes;
  }
  out.resize((out.size() + 15) / 16 * 16);
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = Types::kClass;
  file.e_ident[EI_DATA] = ELFDATA2LSB;
  file.e_ident[EI_VERSION] = EV_CURRENT;
  file.e_type = ET_DYN;
  file.e_machine = machine;
  file.e_version = EV_CURRENT;
  file.e_ehsize = sizeof file;
  file.e_shoff = static_cast<decltype(file.e_shoff)>(out.size());
  file.e_shentsize = sizeof headers[0];
  file.e_shnum = static_cast<std::uint16_t>(headers.size());
  file.e_shstrndx = static_cast<std::uint16_t>(headers.size() - 1);
  std::memcpy(out.data(), &file, sizeof file);
  for (const auto& header : headers) out += raw(header);
  return {out.begin(), out.end()};
}

}  // namespace fbleprof::symbolize
