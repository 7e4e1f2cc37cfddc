// Where functions begin and end, as far as the unwind tables tell: they are there in stripped
// files.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/elf_object.h"

namespace fbleprof::symbolize {

struct AddressRange {
  std::uint64_t begin, end;  // virtual addresses in the file
  bool operator==(const AddressRange&) const = default;
};

// The ranges that .eh_frame describes, sorted, empty ones and doubles left out. What is damaged is
// skipped.
std::vector<AddressRange> unwind_ranges(const ElfObject& object);

}  // namespace fbleprof::symbolize
