// A file of code as the loader would map it: gives the bytes at an address of the file.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fbleprof::rewrite {

using Address = std::uint64_t;

class ElfImage {
 public:
  ElfImage() = default;
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  // Returns why the file cannot be rewritten; empty if it can.
  std::string open(const std::string& path);
  // Whether it could not even be read: for want of memory or descriptors, say. It may be suitable.
  bool is_unread() const { return is_unread_; }

  // `count` bytes that the file holds, or null.
  const std::uint8_t* at(Address address, std::uint64_t count = 1) const;
  // The same, as a value of type T.
  template <typename T>
  bool read(Address address, T* value) const {
    const std::uint8_t* bytes = at(address, sizeof(T));
    if (bytes) __builtin_memcpy(value, bytes, sizeof(T));
    return bytes != nullptr;
  }
  // The end of the bytes that follow in the same segment.
  Address end_of_segment(Address address) const;

  bool in_text(Address address) const { return address >= text_begin_ && address < text_end_; }
  // The segments of code. Nothing else lies between the first and the last.
  const std::vector<Elf64_Phdr>& code() const { return code_; }
  Address text_begin() const { return text_begin_; }
  Address text_end() const { return text_end_; }
  bool is_relocatable() const { return header_->e_type == ET_DYN; }
  Address entry() const { return header_->e_entry; }
  Address unwind_header() const { return unwind_header_; }

  // Values of the dynamic section; 0 if missing.
  Address dynamic(std::int64_t tag) const;

  // Whether the file imports or exports a function of this name.
  bool names(std::string_view function) const;

  // Segments of data.
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }

  // All symbols: the dynamic ones and, if the file is not stripped, the others.
  struct Symbol {
    Address address;
    std::uint64_t size;
    int type;
    bool is_dynamic;
    bool is_part;  // its name is that of a function's part elsewhere
  };
  std::vector<Symbol> symbols() const;

  // The sections of this name, if the file has a table of sections.
  std::vector<Elf64_Shdr> sections(std::string_view name) const;

  // The instructions that debuggers and tracers may replace while the program runs (USDT), in
  // order, if the file has a table of sections.
  std::vector<Address> probes() const;

 private:
  std::vector<Elf64_Shdr> sections() const;
  std::string_view text_at(const Elf64_Shdr& texts, std::uint64_t at) const;
  void read_probes(const Elf64_Shdr& notes, std::vector<Address>& probes) const;
  void read_symbols(const Elf64_Shdr& section, const Elf64_Shdr& names,
                    std::vector<Symbol>& symbols) const;

  const std::uint8_t* file_ = nullptr;
  bool is_unread_ = false;
  std::uint64_t size_ = 0;
  const Elf64_Ehdr* header_ = nullptr;
  std::vector<Elf64_Phdr> segments_, code_;
  Address text_begin_ = 0, text_end_ = 0;
  Address unwind_header_ = 0, dynamic_ = 0;
};

}  // namespace fbleprof::rewrite
