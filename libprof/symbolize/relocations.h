// Which functions the dynamic linker puts into the slots of indirect jumps and calls.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

class Relocations {
 public:
  // For x86-64 and aarch64 files; empty for others. `named` gives names to IFUNCs that are not
  // exported. The names point into the file.
  static Relocations read(const ElfObject& object, const std::vector<RawSymbol>& named);

  // "" = unknown.
  std::string_view name_of_slot(std::uint64_t address) const;
  // By the number that a stub of a lazy PLT pushes.
  std::string_view name_of_plt_entry(std::size_t number) const;

 private:
  struct Slot {
    std::uint64_t address;
    std::string_view name;
  };
  std::vector<Slot> slots_;                  // by address
  std::vector<std::string_view> plt_names_;  // of .rela.plt, in its order
};

}  // namespace fbleprof::symbolize
