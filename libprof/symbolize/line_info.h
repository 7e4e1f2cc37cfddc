// Source lines and inlined functions, from DWARF.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "symbolize/elf_object.h"

namespace fbleprof::symbolize {

// A function on the path to an address, and the place in it where the path continues: for the
// innermost function the address itself, for those around it the call that was inlined.
struct SourceFrame {
  std::string name;           // for people
  std::string linkage_name;   // "" = same as name
  std::string file;           // "" = unknown
  std::uint32_t line = 0;     // 0 = unknown
  std::string declared_file;  // where the source defines the function; "" = unknown
  std::uint32_t declared_line = 0;
};

// What debug info says about one address.
struct SourceLocation {
  std::string declared_file;  // where the source defines that function
  std::uint32_t declared_line = 0;
  SourceFrame function;              // the function that the code belongs to; its name may be ""
  std::vector<SourceFrame> inlined;  // functions inlined into it here, innermost first
};

class LineInfo {
 public:
  // `object` holds the DWARF and must outlive this. Reads nothing yet.
  explicit LineInfo(const ElfObject& object);
  ~LineInfo();

  bool available() const { return dwarf_ != nullptr; }

  // For each of `addresses` (sorted), what is known; a location without names and lines is unknown.
  // `progress` receives the number of addresses done from time to time.
  std::vector<SourceLocation> locate(std::span<const std::uint64_t> addresses, bool inlines,
                                     const std::function<void(std::size_t)>& progress);

 private:
  struct Impl;
  std::unique_ptr<Impl> dwarf_;
};

}  // namespace fbleprof::symbolize
