#include "profile/value_reader.h"

#include <algorithm>

namespace fbleprof::profile {

void ValueReader::add(const Items& items) {
  runs_.push_back({items, owner_.size()});
  owner_.resize(owner_.size() + items.count());
}

bool ValueReader::claim(NodeId node, format::Ref ref) {
  const std::uint64_t offset = std::uint64_t{ref} * format::kUnitBytes;
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), offset,
      [](std::uint64_t value, const Run& run) { return value < run.items.begin(); });
  if (after == runs_.begin()) return false;
  const Run& run = *std::prev(after);
  const auto place = run.items.place(ref);
  if (!place || owner_[run.first + *place]) return false;
  owner_[run.first + *place] = node;
  return true;
}

void ValueReader::read(FileWindow& window, std::size_t node_count,
                       const std::vector<MetricSource>& sources,
                       std::vector<Counts>& columns) const {
  struct Wanted {
    std::uint32_t word;
    Counts* column;
  };
  for (const Run& run : runs_) {
    std::vector<Wanted> wanted;
    for (std::size_t m = 0; m < sources.size(); ++m) {
      const bool is_there = sources[m].place == format::MetricPlace::kValues &&
                            sources[m].word < run.items.item_bytes() / sizeof(std::uint64_t);
      if (is_there) wanted.push_back({sources[m].word, &columns[m]});
    }
    run.items.each(window, [&](std::uint64_t i, const std::byte* bytes) {
      const NodeId owner = owner_[run.first + i];
      if (!owner) return;
      const auto* words = reinterpret_cast<const std::uint64_t*>(bytes);
      for (const Wanted& metric : wanted) {
        const std::uint64_t value = words[metric.word];
        if (value == 0) continue;
        if (metric.column->empty()) metric.column->resize(node_count);
        metric.column->set(owner.index(), value);
      }
    });
  }
}

}  // namespace fbleprof::profile
