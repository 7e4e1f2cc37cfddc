// What debug info said about addresses of one file, kept from one report to the next: walking a
// gigabyte of debug info takes ten seconds; reading back the sampled addresses takes no noticeable
// time.
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
  // Null: nothing is stored for the address.
  const SourceLocation* find(std::uint64_t address) const;
  void add(std::uint64_t address, SourceLocation location);

  // In this machine's byte order: a cache stays on one machine.
  std::string to_bytes() const;
  // Nothing if the bytes are damaged, cut short, or of another version.
  static std::optional<KnownLines> from_bytes(std::string_view bytes);

 private:
  std::map<std::uint64_t, SourceLocation> locations_;
};

}  // namespace fbleprof::symbolize
