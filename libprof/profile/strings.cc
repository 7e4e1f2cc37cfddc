#include "profile/strings.h"

namespace fbleprof::profile {

StringInterner::StringInterner(Strings base) : table_(std::move(base)) {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const StringId id(i);
    ids_.emplace(std::hash<std::string_view>()(table_.get(id)), id);
  }
}

StringId StringInterner::intern(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>()(text);
  const auto [begin, end] = ids_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (table_.get(it->second) == text) return it->second;
  }
  table_.bytes_ += text;
  table_.ends_.push_back(table_.bytes_.size());
  const StringId id(table_.ends_.size() - 1);
  ids_.emplace(hash, id);
  return id;
}

}  // namespace fbleprof::profile
