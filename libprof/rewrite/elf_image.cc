#include "rewrite/elf_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "plan/plan.h"

namespace fbleprof::rewrite {

namespace {

// Between segments of code. Linkers leave up to a large page, and we keep notes on each address.
constexpr Address kMostGap = 16 << 20;

// Whether `mark` is in the name, with a right rest behind it.
bool has_mark(std::string_view name, std::string_view mark, bool (*is_right)(std::string_view)) {
  for (std::size_t at = 0; (at = name.find(mark, at)) != std::string_view::npos;) {
    at += mark.size();
    if (is_right(name.substr(at))) return true;
  }
  return false;
}

// As gcc (`f.cold`) and clang (`f.__part.1`) name them. Clang's `f.cold.1` is a function: it
// differs by being called. Other names may contain the same (`db.coldLoad`, and Rust's `..cold..`
// for a module).
bool is_name_of_part(std::string_view name) {
  return has_mark(name, ".cold",
                  [](std::string_view rest) {
                    return rest.empty() || (rest[0] == '.' && !rest.starts_with(".."));
                  }) ||
         has_mark(name, ".__part.", [](std::string_view rest) {
           return !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
         });
}

}  // namespace

ElfImage::~ElfImage() {
  if (file_) munmap(const_cast<std::uint8_t*>(file_), size_);
}

std::string ElfImage::open(const std::string& path) {
  is_unread_ = true;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::strerror(errno);
  struct stat status {};
  void* at = MAP_FAILED;
  const bool has_size = fstat(fd, &status) == 0;
  const bool is_short = has_size && status.st_size < static_cast<off_t>(sizeof(Elf64_Ehdr));
  if (has_size && !is_short) {
    at = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  is_unread_ = at == MAP_FAILED && !is_short;
  if (at == MAP_FAILED) return "it cannot be read";
  file_ = static_cast<const std::uint8_t*>(at);
  size_ = static_cast<std::uint64_t>(status.st_size);
  header_ = reinterpret_cast<const Elf64_Ehdr*>(file_);
  if (std::memcmp(header_->e_ident, ELFMAG, SELFMAG) != 0 ||
      header_->e_ident[EI_CLASS] != ELFCLASS64 || header_->e_machine != EM_X86_64 ||
      (header_->e_type != ET_DYN && header_->e_type != ET_EXEC)) {
    return "it is no program or library for this processor";
  }
  const std::uint64_t table = header_->e_phoff;
  if (header_->e_phentsize != sizeof(Elf64_Phdr) || table > size_ ||
      (size_ - table) / sizeof(Elf64_Phdr) < header_->e_phnum) {
    return "its program headers are damaged";
  }
  for (int i = 0; i < header_->e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, file_ + table + sizeof part * static_cast<std::size_t>(i), sizeof part);
    if (part.p_type == PT_GNU_EH_FRAME) unwind_header_ = part.p_vaddr;
    if (part.p_type == PT_DYNAMIC) dynamic_ = part.p_vaddr;
    if (part.p_type != PT_LOAD) continue;
    if (part.p_offset > size_ || part.p_filesz > size_ - part.p_offset ||
        part.p_filesz > part.p_memsz || part.p_memsz > UINT32_MAX ||
        part.p_vaddr > UINT32_MAX - part.p_memsz) {
      return "its segments are damaged, or beyond 4 GB";
    }
    segments_.push_back(part);
    if (!(part.p_flags & PF_X)) continue;
    if (part.p_flags & PF_W) return "its code is writable";
    // With protection keys, the kernel lets nobody read it, neither us nor the recorder.
    if (!(part.p_flags & PF_R)) return "its code may only be run, not read";
    if (!code_.empty() && (part.p_vaddr < text_end_ || part.p_vaddr - text_end_ > kMostGap ||
                           segments_[segments_.size() - 2].p_vaddr != code_.back().p_vaddr)) {
      return "its segments of code are apart";
    }
    if (code_.empty()) text_begin_ = part.p_vaddr;
    text_end_ = part.p_vaddr + part.p_filesz;
    code_.push_back(part);
  }
  if (code_.size() > plan::kMostSegments) return "it has too many segments of code";
  if (text_end_ == 0 || unwind_header_ == 0) return "it has no unwind table";
  if (dynamic(DT_TEXTREL) != 0 || (dynamic(DT_FLAGS) & DF_TEXTREL) != 0) {
    return "the loader changes its code";
  }
  return {};
}

const std::uint8_t* ElfImage::at(Address address, std::uint64_t count) const {
  for (const Elf64_Phdr& part : segments_) {
    if (address >= part.p_vaddr && address - part.p_vaddr <= part.p_filesz &&
        count <= part.p_filesz - (address - part.p_vaddr)) {
      return file_ + part.p_offset + (address - part.p_vaddr);
    }
  }
  return nullptr;
}

Address ElfImage::end_of_segment(Address address) const {
  for (const Elf64_Phdr& part : segments_) {
    if (address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz) {
      return part.p_vaddr + part.p_filesz;
    }
  }
  return address;
}

Address ElfImage::dynamic(std::int64_t tag) const {
  if (dynamic_ == 0) return 0;
  Elf64_Dyn entry;
  for (Address place = dynamic_; read(place, &entry) && entry.d_tag != DT_NULL;
       place += sizeof entry) {
    // Flags have no value: their presence is the meaning.
    if (entry.d_tag == tag) return tag == DT_TEXTREL ? 1 : entry.d_un.d_val;
  }
  return 0;
}

bool ElfImage::names(std::string_view function) const {
  const std::uint64_t bytes = dynamic(DT_STRSZ);
  const auto* strings = reinterpret_cast<const char*>(at(dynamic(DT_STRTAB), bytes));
  if (strings == nullptr || bytes == 0) return false;
  // Each name ends with a zero; a zero also precedes the first.
  const std::string whole = '\0' + std::string(function) + '\0';
  return std::string_view(strings, bytes).find(whole) != std::string_view::npos;
}

// Empty if there is none.
std::string_view ElfImage::text_at(const Elf64_Shdr& texts, std::uint64_t at) const {
  if (texts.sh_offset > size_ || texts.sh_size > size_ - texts.sh_offset || at >= texts.sh_size) {
    return {};
  }
  const auto* text = reinterpret_cast<const char*>(file_ + texts.sh_offset + at);
  return {text, strnlen(text, texts.sh_size - at)};
}

void ElfImage::read_symbols(const Elf64_Shdr& section, const Elf64_Shdr& names,
                            std::vector<Symbol>& symbols) const {
  if (section.sh_offset > size_ || section.sh_size > size_ - section.sh_offset) return;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, file_ + section.sh_offset + at, sizeof symbol);
    if (symbol.st_shndx == SHN_UNDEF) continue;
    symbols.push_back({symbol.st_value, symbol.st_size, ELF64_ST_TYPE(symbol.st_info),
                       section.sh_type == SHT_DYNSYM,
                       is_name_of_part(text_at(names, symbol.st_name))});
  }
}

std::vector<Elf64_Shdr> ElfImage::sections() const {
  const bool has_sections = header_->e_shentsize == sizeof(Elf64_Shdr) &&
                            header_->e_shoff <= size_ &&
                            (size_ - header_->e_shoff) / sizeof(Elf64_Shdr) >= header_->e_shnum;
  std::vector<Elf64_Shdr> sections(has_sections ? header_->e_shnum : 0);
  if (!sections.empty()) {
    std::memcpy(sections.data(), file_ + header_->e_shoff, sections.size() * sizeof sections[0]);
  }
  return sections;
}

std::vector<Elf64_Shdr> ElfImage::sections(std::string_view name) const {
  std::vector<Elf64_Shdr> found;
  const std::vector<Elf64_Shdr> all = sections();
  if (header_->e_shstrndx >= all.size()) return found;
  for (const Elf64_Shdr& section : all) {
    if (text_at(all[header_->e_shstrndx], section.sh_name) == name) found.push_back(section);
  }
  return found;
}

// As <sys/sdt.h> writes them. What moves a file's addresses later (prelink) does not change notes:
// they tell where a section was.
void ElfImage::read_probes(const Elf64_Shdr& notes, std::vector<Address>& probes) const {
  constexpr Elf64_Word kProbe = 3;
  constexpr char kName[] = "stapsdt";
  if (notes.sh_offset > size_ || notes.sh_size > size_ - notes.sh_offset) return;
  const std::vector<Elf64_Shdr> bases = sections(".stapsdt.base");
  constexpr std::uint64_t kAlignment = 4;
  const auto aligned = [](std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  Elf64_Nhdr note;
  const std::uint8_t* at = file_ + notes.sh_offset;
  for (std::uint64_t rest = notes.sh_size; rest >= sizeof note;) {
    std::memcpy(&note, at, sizeof note);
    const std::uint64_t length = sizeof note + aligned(note.n_namesz) + aligned(note.n_descsz);
    if (length > rest) return;
    Address place_and_base[2];
    if (note.n_type == kProbe && note.n_namesz == sizeof kName &&
        note.n_descsz >= sizeof place_and_base &&
        std::memcmp(at + sizeof note, kName, sizeof kName) == 0) {
      std::memcpy(place_and_base, at + sizeof note + sizeof kName, sizeof place_and_base);
      const auto [place, base] = place_and_base;
      probes.push_back(place + (bases.empty() ? 0 : bases.front().sh_addr - base));
    }
    at += length;
    rest -= length;
  }
}

std::vector<Address> ElfImage::probes() const {
  std::vector<Address> found;
  for (const Elf64_Shdr& notes : sections(".note.stapsdt")) read_probes(notes, found);
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<ElfImage::Symbol> ElfImage::symbols() const {
  std::vector<Symbol> symbols;
  const std::vector<Elf64_Shdr> all = sections();
  for (const Elf64_Shdr& section : all) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section.sh_link < all.size() ? all[section.sh_link] : Elf64_Shdr{};
    read_symbols(section, names, symbols);
  }
  if (!symbols.empty()) return symbols;
  // Without sections, assume that the names follow the symbols.
  const Address table = dynamic(DT_SYMTAB), names = dynamic(DT_STRTAB);
  Elf64_Sym symbol;
  for (Address at = table; table != 0 && at + sizeof symbol <= names && read(at, &symbol);
       at += sizeof symbol) {
    if (symbol.st_shndx == SHN_UNDEF) continue;
    symbols.push_back(
        {symbol.st_value, symbol.st_size, ELF64_ST_TYPE(symbol.st_info), true, false});
  }
  return symbols;
}

}  // namespace fbleprof::rewrite
