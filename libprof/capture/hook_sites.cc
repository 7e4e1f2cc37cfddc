#include "capture/hook_sites.h"

#include "arch/hook_sections.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::capture {

namespace {

template <typename T>
T load(std::uint64_t address) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

bool equal(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

// Reads the file and remembers failures: whoever reads less than there is must say so.
class Reader {
 public:
  explicit Reader(const File& file) : file_(file) {}
  // Returns the number of bytes, or below 0.
  long read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
    const long got = file_.read(offset, to, bytes);
    has_failed_ |= got < 0;
    return got;
  }
  bool has_failed() const { return has_failed_; }

 private:
  const File& file_;
  mutable bool has_failed_ = false;
};

// Whether the file's program headers are those of the module.
bool is_file_of(const Reader& file, const Elf64_Ehdr& elf, const ModuleImage& image) {
  if (elf.e_phnum != image.count || elf.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (std::uint32_t i = 0; i < image.count; ++i) {
    Elf64_Phdr header;
    if (image.headers[i].p_type != PT_LOAD) continue;
    if (file.read(elf.e_phoff + i * sizeof header, &header, sizeof header) != sizeof header ||
        __builtin_memcmp(&header, &image.headers[i], sizeof header) != 0) {
      return false;
    }
  }
  return true;
}

// The names of sections: the first ones in one read, the others one by one.
class SectionNames {
 public:
  SectionNames(const Reader& file, const Elf64_Shdr& section) : file_(file), section_(section) {
    const long got = file.read(section.sh_offset, text_, sizeof text_);
    known_ = got > 0 ? static_cast<std::uint64_t>(got) : 0;
  }
  bool is(std::uint64_t name, const char* wanted) const {
    const std::uint64_t length = __builtin_strlen(wanted) + 1;
    if (name >= section_.sh_size || length > section_.sh_size - name) return false;
    if (name + length <= known_) return __builtin_memcmp(text_ + name, wanted, length) == 0;
    char text[arch::HookSection::kMostNameBytes];
    return file_.read(section_.sh_offset + name, text, length) == static_cast<long>(length) &&
           __builtin_memcmp(text, wanted, length) == 0;
  }

 private:
  const Reader& file_;
  const Elf64_Shdr& section_;
  char text_[1024];
  std::uint64_t known_;
};

AddressRange range_of(const Elf64_Shdr& section, const ModuleImage& image, std::uint64_t item) {
  const std::uint64_t begin = image.load_bias + section.sh_addr;
  const std::uint64_t bytes = section.sh_size / item * item;
  if (!image.has(begin, bytes, PF_R)) return {};
  return {begin, begin + bytes};
}

bool are_nops(std::uint64_t begin, std::uint64_t end) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(begin);
  const auto* stop = reinterpret_cast<const std::uint8_t*>(end);
  while (at < stop) {
    const std::uint64_t bytes = arch::nop_bytes(at, stop);
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

// The address of a patchable function's NOPs: the address that the section names or, if that is
// before the function (-fpatchable-function-entry=N,M), an address in the function.
std::uint64_t start_of_nops(const ModuleImage& image, const signal_safe::LoadedObject& object,
                            std::uint64_t named) {
  constexpr std::uint64_t kMostInFront = 256;
  std::uint64_t at = named;
  const signal_safe::CodeRange range = signal_safe::code_range_in(object, named);
  if (range.size != 0 && !range.exact) {
    const std::uint64_t next = range.start + range.size;
    if (next - named <= kMostInFront && image.is_code(next) && are_nops(named, next)) at = next;
  }
  if (image.has(at, arch::kMarkBytes, PF_X) &&
      arch::is_mark(reinterpret_cast<const std::uint8_t*>(at))) {
    at += arch::kMarkBytes;
  }
  return at;
}

// Collects the places for sites.
class Places {
 public:
  Places(const ModuleImage& image, SiteList& sites)
      : image_(image), object_(image.object()), sites_(sites) {}

  void add(const arch::HookSection& section, std::uint64_t named) {
    const std::uint64_t at = section.may_be_before ? start_of_nops(image_, object_, named) : named;
    if (section.room(bytes(at), end_of_code(at)) != 0) {
      sites_.add(at);
    } else if (!section.may_call || !is_call(at)) {
      ++too_small_;
    }
  }
  std::uint32_t too_small() const { return too_small_; }

 private:
  static const std::uint8_t* bytes(std::uint64_t at) {
    return reinterpret_cast<const std::uint8_t*>(at);
  }
  const std::uint8_t* end_of_code(std::uint64_t at) const {
    return bytes(image_.segment_end(at, PF_X));
  }
  bool is_call(std::uint64_t at) const {
    return image_.has(at, arch::kSlotSiteBytes, PF_X) && arch::named_by_site(bytes(at)) != 0;
  }

  const ModuleImage& image_;
  signal_safe::LoadedObject object_;
  SiteList& sites_;
  std::uint32_t too_small_ = 0;
};

// What the module's dynamic section says.
struct Dynamic {
  std::uint64_t relocations = 0, relocation_bytes = 0;
  std::uint64_t plt_relocations = 0, plt_bytes = 0;
  std::uint64_t symbols = 0, strings = 0, string_bytes = 0;

  explicit Dynamic(const ModuleImage& image) {
    const std::uint64_t begin = image.part(PT_DYNAMIC);
    if (begin == 0) return;
    // The loader has relocated these addresses, or will do so.
    const auto address = [&](std::uint64_t value) {
      return image.segment_end(value, PF_R) != 0 ? value : value + image.load_bias;
    };
    for (std::uint64_t at = begin; image.has(at, sizeof(Elf64_Dyn), PF_R);
         at += sizeof(Elf64_Dyn)) {
      const auto entry = load<Elf64_Dyn>(at);
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_RELA) relocations = address(entry.d_un.d_ptr);
      if (entry.d_tag == DT_RELASZ) relocation_bytes = entry.d_un.d_val;
      if (entry.d_tag == DT_JMPREL) plt_relocations = address(entry.d_un.d_ptr);
      if (entry.d_tag == DT_PLTRELSZ) plt_bytes = entry.d_un.d_val;
      if (entry.d_tag == DT_SYMTAB) symbols = address(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRTAB) strings = address(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRSZ) string_bytes = entry.d_un.d_val;
    }
    if (!image.has(relocations, relocation_bytes, PF_R)) relocation_bytes = 0;
    if (!image.has(plt_relocations, plt_bytes, PF_R)) plt_bytes = 0;
    if (!image.has(strings, string_bytes, PF_R)) string_bytes = 0;
  }

  template <typename Function>
  void for_each(Function function) const {
    const auto walk = [&](std::uint64_t begin, std::uint64_t bytes) {
      for (std::uint64_t i = 0; i < bytes / sizeof(Elf64_Rela); ++i) {
        function(load<Elf64_Rela>(begin + i * sizeof(Elf64_Rela)));
      }
    };
    walk(relocations, relocation_bytes);
    walk(plt_relocations, plt_bytes);
  }
};

bool is_hook(const Dynamic& dynamic, const ModuleImage& image, std::uint64_t number) {
  const std::uint64_t at = dynamic.symbols + number * sizeof(Elf64_Sym);
  if (number == 0 || !image.has(at, sizeof(Elf64_Sym), PF_R)) return false;
  const auto symbol = load<Elf64_Sym>(at);
  constexpr const char* kHooks[] = {"__fentry__", "mcount", "_mcount"};
  for (const char* name : kHooks) {
    if (symbol.st_name < dynamic.string_bytes &&
        dynamic.string_bytes - symbol.st_name > sizeof "__fentry__" &&
        equal(reinterpret_cast<const char*>(dynamic.strings + symbol.st_name), name)) {
      return true;
    }
  }
  return false;
}

void add_places(const ModuleImage& image, const arch::HookSection& section,
                const AddressRange& range, Places& places) {
  bool is_complete = true;
  for (std::uint64_t at = range.begin; at < range.end; at += section.item_bytes) {
    const std::uint64_t value = section.address(reinterpret_cast<const std::uint8_t*>(at), at);
    const std::uint64_t biased = value + image.load_bias;
    // 0: the linker left the function out, or a relocation will fill in the address.
    if (value == 0) is_complete = false;
    if (image.is_code(value)) {
      places.add(section, value);
    } else if (section.is_relocated && value != 0 && image.is_code(biased)) {
      places.add(section, biased);
    }
  }
  if (is_complete || !section.is_relocated) return;
  Dynamic(image).for_each([&](const Elf64_Rela& relocation) {
    const std::uint64_t at = image.load_bias + relocation.r_offset;
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE || at < range.begin ||
        at >= range.end) {
      return;
    }
    const auto to = image.load_bias + static_cast<std::uint64_t>(relocation.r_addend);
    if (load<std::uint64_t>(at) == 0 && image.is_code(to)) places.add(section, to);
  });
}

}  // namespace

std::uint64_t PatchableSections::most_sites() const {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < arch::kHookSectionKinds; ++i) {
    most += ranges[i].size() / arch::kHookSections[i].item_bytes;
  }
  return most;
}

namespace {
PatchableSections sections_in(const Reader& file, const ModuleImage& image) {
  PatchableSections found;
  Elf64_Ehdr elf;
  if (file.read(0, &elf, sizeof elf) != sizeof elf ||
      __builtin_memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shstrndx >= elf.e_shnum) {
    return found;
  }
  constexpr std::uint32_t kAtOnce = 32;
  Elf64_Shdr sections[kAtOnce], names_section;
  if (file.read(elf.e_shoff + elf.e_shstrndx * sizeof names_section, &names_section,
                sizeof names_section) != sizeof names_section) {
    return found;
  }
  const SectionNames names(file, names_section);
  std::uint32_t known = 0;
  bool has_any = false;
  for (std::uint32_t i = 0; i < elf.e_shnum; ++i) {
    if (i % kAtOnce == 0) {
      const long got = file.read(elf.e_shoff + i * sizeof *sections, sections, sizeof sections);
      known = i + (got > 0 ? static_cast<std::uint32_t>(got / sizeof *sections) : 0);
    }
    if (i >= known) break;
    const Elf64_Shdr& section = sections[i % kAtOnce];
    if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_ALLOC) == 0) continue;
    for (std::uint32_t kind = 0; kind < arch::kHookSectionKinds; ++kind) {
      const arch::HookSection& wanted = arch::kHookSections[kind];
      if (!names.is(section.sh_name, wanted.name)) continue;
      found.ranges[kind] = range_of(section, image, wanted.item_bytes);
      has_any |= found.ranges[kind].size() != 0;
    }
  }
  return has_any && is_file_of(file, elf, image) ? found : PatchableSections{};
}
}  // namespace

PatchableSections find_patchable_sections(const File& file, const ModuleImage& image) {
  const Reader reader(file);
  PatchableSections found = sections_in(reader, image);
  found.is_unknown = reader.has_failed();
  return found;
}

std::uint32_t find_patchable(const ModuleImage& image, const PatchableSections& sections,
                             SiteList& sites) {
  Places places(image, sites);
  for (std::uint32_t i = 0; i < arch::kHookSectionKinds; ++i) {
    add_places(image, arch::kHookSections[i], sections.ranges[i], places);
  }
  return places.too_small();
}

HookNames find_hook_slots(const ModuleImage& image) {
  HookNames names;
  const Dynamic dynamic(image);
  dynamic.for_each([&](const Elf64_Rela& relocation) {
    const auto type = ELF64_R_TYPE(relocation.r_info);
    if ((type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT) &&
        is_hook(dynamic, image, ELF64_R_SYM(relocation.r_info))) {
      names.add(image.load_bias + relocation.r_offset);
    }
  });
  return names;
}

void find_called_hooks(const ModuleImage& image, HookNames& names, SiteList& sites) {
  // -pg without -mfentry calls its hook after the function's prologue.
  constexpr std::uint64_t kFarthest = 64;
  const HookNames slots = names;
  const auto calls_hook = [&](std::uint64_t at) {
    const auto* code = reinterpret_cast<const std::uint8_t*>(at);
    if (code[0] == arch::kCallSlot) return slots.has(arch::named_by_site(code));
    if (code[0] != arch::kCall) return false;
    const std::uint64_t stub = arch::named_by_site(code);
    constexpr std::uint64_t kStubBytes = 16;
    if (names.has(stub)) return true;
    if (!image.has(stub, kStubBytes, PF_X) ||
        !slots.has(arch::slot_of_stub(reinterpret_cast<const std::uint8_t*>(stub)))) {
      return false;
    }
    names.add(stub);
    return names.has(stub);
  };
  const signal_safe::LoadedObject object = image.object();
  const std::uint32_t count = signal_safe::entry_count(object);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t start = signal_safe::entry_start(object, i);
    const std::uint64_t code_end = image.segment_end(start, PF_X);
    std::uint64_t end = start + kFarthest;
    if (i + 1 < count && signal_safe::entry_start(object, i + 1) < end) {
      end = signal_safe::entry_start(object, i + 1);
    }
    for (std::uint64_t at = start; at < end && at + arch::kSlotSiteBytes <= code_end; ++at) {
      if (!calls_hook(at)) continue;
      sites.add(at);
      break;
    }
  }
}

}  // namespace fbleprof::capture
