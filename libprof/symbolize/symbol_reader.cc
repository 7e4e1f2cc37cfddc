#include "symbolize/symbol_reader.h"

#include <algorithm>

namespace fbleprof::symbolize {
namespace {

// The end of the section of code that holds an address, or 0.
class CodeLimits {
 public:
  explicit CodeLimits(const ElfObject& object) {
    for (const Section& section : object.sections()) {
      if (!section.is_code()) continue;
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
  std::uint32_t file = 0;
  std::string_view unit;
  for (std::size_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    const unsigned binding = GELF_ST_BIND(symbol.st_info);
    if (type == STT_FILE) {
      const char* source = elf_strptr(object.elf(), section.header.sh_link, symbol.st_name);
      file = static_cast<std::uint32_t>(i);
      unit = source == nullptr ? "" : source;
      continue;
    }
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
    const bool is_local = binding == STB_LOCAL;
    symbols->push_back({symbol.st_value, symbol.st_size, limit, name, origin, is_function, is_local,
                        binding == STB_WEAK, is_local ? file : 0,
                        is_local ? unit : std::string_view()});
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

}  // namespace fbleprof::symbolize
