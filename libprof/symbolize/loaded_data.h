// The data of an ELF file as the program sees it: words, with the addresses that the dynamic linker
// puts into them, and texts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbolize/elf_object.h"

namespace fbleprof::symbolize {

class LoadedData {
 public:
  // Reads a 64-bit little-endian file. The object must outlive this.
  explicit LoadedData(const ElfObject& object);

  // The word at an address (a multiple of 8) of writable data; 0 if there is none.
  std::uint64_t word(std::uint64_t address) const;
  // A word that the dynamic linker fills with the address of another file's symbol.
  static constexpr std::uint64_t kElsewhere = UINT64_MAX;

  // The text at an address, without its NUL; "" if there is none, or it is longer than 255 bytes.
  std::string_view text(std::uint64_t address) const;

  // The end of the code that holds an address; 0 = no code, or stubs (PLT).
  std::uint64_t end_of_code(std::uint64_t address) const;
  bool is_data(std::uint64_t address) const { return area_of(address) != nullptr; }

  // Calls visit(address) for each word of writable data.
  template <class Visit>
  void for_each_word(Visit visit) const {
    for (const Area& area : areas_) {
      for (std::size_t i = 0; i < area.words.size(); ++i) visit(area.begin + 8 * i);
    }
  }

 private:
  struct Area {
    std::uint64_t begin;
    std::vector<std::uint64_t> words;
  };
  const Area* area_of(std::uint64_t address) const;
  void relocate(const ElfObject& object, const Section& section);

  std::vector<Area> areas_;
  std::vector<Section> code_, texts_;
};

}  // namespace fbleprof::symbolize
