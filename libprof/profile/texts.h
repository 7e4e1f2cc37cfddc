// The strings of a file, as bytes, by their Refs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "format/format.h"

namespace fbleprof::profile {

class Texts {
 public:
  void add(format::Ref ref, std::string_view text) {
    index_.insert(ref, static_cast<std::uint32_t>(begin_.size()));
    begin_.push_back(bytes_.size());
    bytes_ += text;
  }

  // Valid until the next one is added.
  std::optional<std::string_view> find(format::Ref ref) const {
    const std::uint32_t i = index_.find(ref);
    if (i == FlatMap::kAbsent) return std::nullopt;
    const std::uint64_t end = i + 1 < begin_.size() ? begin_[i + 1] : bytes_.size();
    return std::string_view(bytes_).substr(begin_[i], end - begin_[i]);
  }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> begin_;
  FlatMap index_;
};

}  // namespace fbleprof::profile
