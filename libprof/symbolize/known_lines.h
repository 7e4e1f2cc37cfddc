// What debug info said about addresses of one file, to be kept from one report to the next: to walk
// a gigabyte of it takes ten seconds, to read back what it said of the sampled addresses none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "symbolize/line_info.h"

namespace fbleprof::symbolize {

class KnownLines {
 public:
  // Null: the address was not asked for yet.
  const SourceLocation* find(std::uint64_t address) const;
  void add(std::uint64_t address, SourceLocation location);

  // In this machine's byte order: a cache does not travel.
  std::string to_bytes() const;
  // Nothing if they are damaged, cut short, or of another version.
  static std::optional<KnownLines> from_bytes(std::string_view bytes);

 private:
  std::map<std::uint64_t, SourceLocation> locations_;
};

}  // namespace fbleprof::symbolize
