#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fbleprof::symbolize {

// FNV-1a over words: enough to tell a damaged file from a whole one.
inline std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace fbleprof::symbolize
