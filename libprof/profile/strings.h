// Interned text: one blob of bytes and the end positions of its strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/ids.h"

namespace fbleprof::profile {

// Immutable once inside a Profile. Equal texts have one id, id 0 is the empty text, and bytes are
// kept as recorded: code that prints them escapes them.
class Strings {
 public:
  Strings() { ends_.push_back(0); }

  std::size_t size() const { return ends_.size(); }

  // The text of `id`; empty for "none". Valid as long as this table is.
  std::string_view get(StringId id) const {
    if (!id || id.index() >= ends_.size()) return {};
    const std::uint64_t begin = id.index() == 0 ? 0 : ends_[id.index() - 1];
    return std::string_view(bytes_).substr(begin, ends_[id.index()] - begin);
  }

 private:
  friend class StringInterner;
  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

// Adds to a copy of a table; existing ids keep their meaning.
class StringInterner {
 public:
  StringInterner() : StringInterner(Strings()) {}
  explicit StringInterner(Strings base);

  StringId intern(std::string_view text);
  std::string_view get(StringId id) const { return table_.get(id); }
  Strings take() { return std::move(table_); }

 private:
  Strings table_;
  std::unordered_multimap<std::size_t, StringId> ids_;  // by hash: views would move with the blob
};

}  // namespace fbleprof::profile
