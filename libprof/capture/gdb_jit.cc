#include "capture/gdb_jit.h"

#include <elf.h>

#include "capture/loader_symbols.h"
#include "signal_safe/peek.h"

namespace fbleprof::capture {

using signal_safe::peek;

namespace {

// The interface's structures, as GDB's manual defines them.
struct CodeEntry {
  std::uint64_t next, previous, object, bytes;
};
struct Descriptor {
  std::uint32_t version, action;
  std::uint64_t relevant_entry, first_entry;
};

// Limits for lists and tables that another thread may be changing.
constexpr int kMostObjects = 100'000;
constexpr std::uint64_t kMostSymbols = 1'000'000;

template <typename Value>
bool read_at(std::uint64_t address, Value* value) {
  return peek(reinterpret_cast<const void*>(address), value, sizeof *value);
}

// A part of the object's image.
struct Image {
  std::uint64_t begin, bytes;

  template <typename Value>
  bool read(std::uint64_t offset, Value* value) const {
    return offset <= bytes && bytes - offset >= sizeof *value && read_at(begin + offset, value);
  }
};

// Where a symbol's code is. In an object for the linker (ET_REL) its value is relative to its
// section, whose address the JIT compiler has filled in.
std::uint64_t address_of(const Image& image, const Elf64_Ehdr& elf, const Elf64_Sym& symbol) {
  if (elf.e_type != ET_REL) return symbol.st_value;
  Elf64_Shdr section;
  if (symbol.st_shndx >= elf.e_shnum ||
      !image.read(elf.e_shoff + symbol.st_shndx * sizeof section, &section)) {
    return 0;
  }
  return section.sh_addr != 0 ? section.sh_addr + symbol.st_value : 0;
}

void offer_symbols(GeneratedFunctions& functions, const Image& image, const Elf64_Ehdr& elf,
                   const Elf64_Shdr& table) {
  Elf64_Shdr strings;
  if (table.sh_link >= elf.e_shnum ||
      !image.read(elf.e_shoff + table.sh_link * sizeof strings, &strings)) {
    return;
  }
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  for (std::uint64_t i = 0; i < count && i < kMostSymbols; ++i) {
    Elf64_Sym symbol;
    if (!image.read(table.sh_offset + i * sizeof symbol, &symbol)) return;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    char first;
    if (symbol.st_name >= strings.sh_size ||
        !image.read(strings.sh_offset + symbol.st_name, &first) || first == 0) {
      continue;
    }
    // How long the name is shows when it is taken.
    const std::uint64_t most = strings.sh_size - symbol.st_name;
    functions.offer(address_of(image, elf, symbol), symbol.st_size, GeneratedFunctions::kAlways,
                    image.begin + strings.sh_offset + symbol.st_name,
                    static_cast<std::uint32_t>(most < UINT32_MAX ? most : UINT32_MAX));
  }
}

void offer_object(GeneratedFunctions& functions, const Image& image) {
  Elf64_Ehdr elf;
  if (!image.read(0, &elf) || elf.e_ident[EI_MAG0] != ELFMAG0 || elf.e_ident[EI_MAG1] != 'E' ||
      elf.e_ident[EI_MAG2] != 'L' || elf.e_ident[EI_MAG3] != 'F' ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_shentsize != sizeof(Elf64_Shdr)) {
    return;
  }
  for (std::uint32_t i = 0; i < elf.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!image.read(elf.e_shoff + i * sizeof section, &section)) return;
    if (section.sh_type == SHT_SYMTAB) offer_symbols(functions, image, elf, section);
  }
}

}  // namespace

void name_by_gdb_interface(GeneratedFunctions& functions) {
  const void* found = functions.is_empty() ? nullptr : any_definition("__jit_debug_descriptor");
  Descriptor descriptor;
  if (found == nullptr || !peek(found, &descriptor, sizeof descriptor)) return;
  CodeEntry entry;
  std::uint64_t at = descriptor.first_entry;
  for (int i = 0; i < kMostObjects && at != 0 && read_at(at, &entry); ++i, at = entry.next) {
    offer_object(functions, {entry.object, entry.bytes});
  }
  functions.take_names([](std::uint64_t name_at, char* name, std::uint32_t bytes) {
    std::uint32_t length = 0;
    if (!peek(reinterpret_cast<const void*>(name_at), name, bytes)) return length;
    while (length < bytes && name[length] != 0) ++length;
    return length;
  });
}

}  // namespace fbleprof::capture
