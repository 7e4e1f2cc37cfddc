#include "symbolize/symbol_reader.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace fbleprof::symbolize {
namespace {

bool is_code(const Section& section) {
  constexpr std::uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
  return (section.header.sh_flags & kCode) == kCode && section.header.sh_size != 0;
}

// The end of the section of code that holds an address, or 0.
class CodeLimits {
 public:
  explicit CodeLimits(const ElfObject& object) {
    for (const Section& section : object.sections()) {
      if (!is_code(section)) continue;
      const std::uint64_t begin = section.header.sh_addr;
      if (begin + section.header.sh_size > begin) {
        ranges_.push_back({begin, begin + section.header.sh_size});
      }
    }
  }

  std::uint64_t of(std::uint64_t address) {
    const auto holds = [&](const AddressRange& range) {
      return range.begin <= address && address < range.end;
    };
    if (last_ < ranges_.size() && holds(ranges_[last_])) return ranges_[last_].end;
    const auto found = std::find_if(ranges_.begin(), ranges_.end(), holds);
    if (found == ranges_.end()) return 0;
    last_ = static_cast<std::size_t>(found - ranges_.begin());
    return found->end;
  }

 private:
  std::vector<AddressRange> ranges_;
  std::size_t last_ = 0;
};

// "$x", "$d": where ARM code and data begin. ".L": labels that assemblers should have dropped.
bool is_mark(std::string_view name) {
  return name.starts_with(".L") ||
         (name.size() >= 2 && name[0] == '$' && (name.size() == 2 || name[2] == '.'));
}

void read_section(const ElfObject& object, const Section& section, NameOrigin origin,
                  std::vector<RawSymbol>* symbols) {
  Elf_Data* data = elf_getdata(section.scn, nullptr);
  if (data == nullptr || section.header.sh_entsize == 0) return;
  CodeLimits limits(object);
  const std::size_t count = data->d_size / section.header.sh_entsize;
  for (std::size_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (!is_function && type != STT_NOTYPE) continue;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
        symbol.st_shndx == SHN_COMMON) {
      continue;
    }
    const std::uint64_t limit = limits.of(symbol.st_value);
    if (limit == 0) continue;
    const char* name = elf_strptr(object.elf(), section.header.sh_link, symbol.st_name);
    if (name == nullptr || *name == '\0' || is_mark(name)) continue;
    const unsigned binding = GELF_ST_BIND(symbol.st_info);
    symbols->push_back({symbol.st_value, symbol.st_size, limit, name, origin, is_function,
                        binding == STB_LOCAL, binding == STB_WEAK});
  }
}

// What the dynamic linker writes into a slot of the GOT.
struct Slot {
  std::uint64_t address;
  std::string_view name;
};

struct Relocations {
  std::vector<Slot> slots;                  // by address
  std::vector<std::string_view> plt_names;  // of .rela.plt, in its order
};

bool fills_slot(std::uint16_t machine, std::uint32_t type) {
  if (machine == EM_X86_64) {
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_IRELATIVE;
  }
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_IRELATIVE;
}

// Functions by address, for the few relocations that name none.
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

Relocations read_relocations(const ElfObject& object, const std::vector<RawSymbol>& named) {
  Relocations found;
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
        if (!name.empty()) found.slots.push_back({relocation.r_offset, name});
      }
      if (section.name == ".rela.plt") found.plt_names.push_back(name);
    }
  }
  std::sort(found.slots.begin(), found.slots.end(),
            [](const Slot& a, const Slot& b) { return a.address < b.address; });
  return found;
}

std::string_view name_of_slot(const Relocations& relocations, std::uint64_t address) {
  const auto slot = std::lower_bound(
      relocations.slots.begin(), relocations.slots.end(), address,
      [](const Slot& candidate, std::uint64_t value) { return candidate.address < value; });
  if (slot == relocations.slots.end() || slot->address != address) return {};
  return slot->name;
}

std::uint32_t word_at(std::string_view code, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(code[at + i])) << (8 * i);
  }
  return word;
}

// One stub of x86-64, at `address`: either it jumps through its slot (jmp *disp(%rip), behind an
// endbr64, a bnd or a mov, as linkers differ), or, where a .plt.sec does that, it pushes its number
// for the lazy linker. The first stub of a .plt pushes the link map instead.
std::string_view decode_x86_64(std::string_view stub, std::uint64_t address,
                               const Relocations& relocations) {
  constexpr std::string_view kJumpThrough("\xff\x25", 2);
  constexpr std::string_view kPushThrough("\xff\x35", 2);
  constexpr std::string_view kEndbr64("\xf3\x0f\x1e\xfa", 4);
  if (stub.starts_with(kPushThrough)) return "_dl_runtime_resolve";
  for (std::size_t at = stub.find(kJumpThrough);
       at != std::string_view::npos && stub.size() - at >= 6;
       at = stub.find(kJumpThrough, at + 1)) {
    const auto displacement = static_cast<std::int32_t>(word_at(stub, at + 2));
    const std::string_view name = name_of_slot(
        relocations,
        address + at + 6 + static_cast<std::uint64_t>(static_cast<std::int64_t>(displacement)));
    if (!name.empty()) return name;
  }
  if (stub.starts_with(kEndbr64)) stub.remove_prefix(kEndbr64.size());
  if (stub.size() >= 5 && stub[0] == '\x68') {
    const std::uint32_t number = word_at(stub, 1);
    if (number < relocations.plt_names.size()) return relocations.plt_names[number];
  }
  return {};
}

void decode_x86_64_section(const Section& section, std::string_view code,
                           const Relocations& relocations, std::vector<RawSymbol>* stubs) {
  const std::uint64_t begin = section.header.sh_addr;
  const std::size_t stub_bytes = section.header.sh_entsize == 8 ? 8 : 16;
  for (std::size_t at = 0; at + stub_bytes <= code.size(); at += stub_bytes) {
    const std::string_view name =
        decode_x86_64(code.substr(at, stub_bytes), begin + at, relocations);
    if (name.empty()) continue;
    stubs->push_back(
        {begin + at, stub_bytes, begin + code.size(), name, NameOrigin::kPlt, true, true, false});
  }
}

// adrp x16, page of the slot; ldr x17, [x16, offset in the page]; ...; br x17. A `bti c` may stand
// before it. A stub ends where the next one begins.
void decode_aarch64_section(const Section& section, std::string_view code,
                            const Relocations& relocations, std::vector<RawSymbol>* stubs) {
  constexpr std::uint32_t kBtiC = 0xd503245f;
  const std::uint64_t begin = section.header.sh_addr;
  for (std::size_t at = 0; at + 8 <= code.size(); at += 4) {
    const std::uint32_t adrp = word_at(code, at);
    const std::uint32_t ldr = word_at(code, at + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) continue;
    const std::uint32_t immediate = ((adrp >> 29) & 3) | (((adrp >> 5) & 0x7ffff) << 2);
    const std::int64_t pages = static_cast<std::int32_t>(immediate << 11) >> 11;
    const std::uint64_t page =
        ((begin + at) & ~0xfffULL) + static_cast<std::uint64_t>(pages) * 4096;
    const std::string_view name = name_of_slot(relocations, page + ((ldr >> 10) & 0xfff) * 8);
    if (name.empty()) continue;
    const std::size_t start = at >= 4 && word_at(code, at - 4) == kBtiC ? at - 4 : at;
    stubs->push_back(
        {begin + start, 0, begin + code.size(), name, NameOrigin::kPlt, true, true, false});
  }
}

}  // namespace

std::vector<RawSymbol> read_symbols(const ElfObject& object) {
  std::vector<RawSymbol> symbols;
  for (const Section& section : object.sections()) {
    if (section.header.sh_type == SHT_SYMTAB) {
      read_section(object, section, NameOrigin::kSymtab, &symbols);
    } else if (section.header.sh_type == SHT_DYNSYM) {
      read_section(object, section, NameOrigin::kDynsym, &symbols);
    }
  }
  return symbols;
}

std::vector<RawSymbol> read_plt(const ElfObject& object, const std::vector<RawSymbol>& named) {
  std::vector<RawSymbol> stubs;
  if (object.machine() != EM_X86_64 && object.machine() != EM_AARCH64) return stubs;
  std::optional<Relocations> relocations;
  for (const Section& section : object.sections()) {
    if (!section.name.starts_with(".plt") && section.name != ".iplt") continue;
    if (section.header.sh_type != SHT_PROGBITS || !is_code(section)) continue;
    Elf_Data* data = elf_rawdata(section.scn, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    if (!relocations) relocations = read_relocations(object, named);
    const std::string_view code(static_cast<const char*>(data->d_buf), data->d_size);
    if (object.machine() == EM_X86_64) {
      decode_x86_64_section(section, code, *relocations, &stubs);
    } else {
      decode_aarch64_section(section, code, *relocations, &stubs);
    }
  }
  return stubs;
}

}  // namespace fbleprof::symbolize
