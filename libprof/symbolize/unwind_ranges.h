// Where functions begin and end according to the unwind tables, which stripped files have too.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/elf_object.h"

namespace fbleprof::symbolize {

struct AddressRange {
  std::uint64_t begin, end;  // virtual addresses in the file
  bool operator==(const AddressRange&) const = default;
};

// The ranges that .eh_frame describes, sorted, without empty ones and duplicates. Damaged entries
// are skipped.
std::vector<AddressRange> unwind_ranges(const ElfObject& object);

}  // namespace fbleprof::symbolize
