// A symbol table as bytes: a head, the ranges, the functions, the names, in this machine's byte
// order, since a cache stays on one machine. Reading trusts nothing: a file can be cut short or
// overwritten.
#include <cstring>

#include "symbolize/checksum.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

namespace {

struct Head {
  char magic[8];
  std::uint32_t version;  // increment it too if build() gives other results
  std::uint32_t has_names;
  std::uint64_t range_count, function_count, name_bytes;
  std::uint64_t checksum;  // of all that follows
};
constexpr char kMagic[8] = {'f', 'b', 'l', 'e', 's', 'y', 'm', '\n'};
constexpr std::uint32_t kVersion = 4;

struct StoredFunction {
  std::uint64_t begin, size;
  std::uint64_t name;  // where it begins in the names
  std::uint32_t name_length;
  std::uint32_t unit;  // where it begins in the names: units are the first of them
  std::uint32_t unit_length;
  std::uint16_t origin;
  std::uint16_t namesakes;
};

}  // namespace

std::string SymbolTable::to_bytes() const {
  static_assert(sizeof(Range) == 24 && sizeof(StoredFunction) == 40 && sizeof(Head) == 48);
  std::vector<StoredFunction> functions;
  functions.reserve(functions_.size());
  for (const Function& f : functions_) {
    const auto place_of = [&](std::string_view text) {
      return text.empty() ? std::ptrdiff_t{0} : text.data() - names_.data();
    };
    functions.push_back(
        {f.begin, f.size, static_cast<std::uint64_t>(place_of(f.name)),
         static_cast<std::uint32_t>(f.name.size()), static_cast<std::uint32_t>(place_of(f.unit)),
         static_cast<std::uint32_t>(f.unit.size()), static_cast<std::uint16_t>(f.origin),
         static_cast<std::uint16_t>(f.namesakes)});
  }
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.version = kVersion;
  head.has_names = has_names_ ? 1 : 0;
  head.range_count = ranges_.size();
  head.function_count = functions.size();
  head.name_bytes = names_.size();
  std::string bytes(sizeof head, '\0');
  const auto append = [&](const auto& table) {
    if (table.empty()) return;
    bytes.append(reinterpret_cast<const char*>(table.data()), table.size() * sizeof table[0]);
  };
  // Field by field: a Range's padding must not get into the file.
  std::vector<std::uint64_t> ranges;
  ranges.reserve(ranges_.size() * 3);
  for (const Range& range : ranges_) {
    ranges.insert(ranges.end(), {range.begin, range.end, range.function});
  }
  append(ranges);
  append(functions);
  append(names_);
  head.checksum = checksum(std::string_view(bytes).substr(sizeof head));
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

std::optional<SymbolTable> SymbolTable::from_bytes(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.version != kVersion) {
    return std::nullopt;
  }
  constexpr std::uint64_t kMost = UINT32_MAX;
  constexpr std::size_t kRangeBytes = 3 * sizeof(std::uint64_t);
  if (head.range_count > kMost || head.function_count > kMost || head.name_bytes > bytes.size() ||
      bytes.size() != head.range_count * kRangeBytes +
                          head.function_count * sizeof(StoredFunction) + head.name_bytes ||
      head.checksum != checksum(bytes)) {
    return std::nullopt;
  }
  SymbolTable table;
  table.has_names_ = head.has_names != 0;
  const char* ranges = bytes.data();
  const char* functions = ranges + head.range_count * kRangeBytes;
  const char* names = functions + head.function_count * sizeof(StoredFunction);
  table.names_.assign(names, names + head.name_bytes);
  table.ranges_.reserve(head.range_count);
  for (std::uint64_t i = 0; i < head.range_count; ++i) {
    std::uint64_t range[3];
    std::memcpy(range, ranges + i * kRangeBytes, sizeof range);
    if (range[0] > range[1] || range[2] >= head.function_count) return std::nullopt;
    if (i > 0 && range[0] < table.ranges_.back().end) return std::nullopt;
    table.ranges_.push_back({range[0], range[1], static_cast<std::uint32_t>(range[2])});
  }
  table.functions_.reserve(head.function_count);
  for (std::uint64_t i = 0; i < head.function_count; ++i) {
    StoredFunction f;
    std::memcpy(&f, functions + i * sizeof f, sizeof f);
    if (f.name > head.name_bytes || f.name_length > head.name_bytes - f.name ||
        f.unit > head.name_bytes || f.unit_length > head.name_bytes - f.unit ||
        f.origin > static_cast<std::uint16_t>(NameOrigin::kDwarf) ||
        f.namesakes > static_cast<std::uint16_t>(profile::Namesakes::kByPlace)) {
      return std::nullopt;
    }
    std::string_view name, unit;
    if (f.name_length != 0) name = {table.names_.data() + f.name, f.name_length};
    if (f.unit_length != 0) unit = {table.names_.data() + f.unit, f.unit_length};
    table.functions_.push_back({f.begin, f.size, name, static_cast<NameOrigin>(f.origin),
                                static_cast<profile::Namesakes>(f.namesakes), unit});
  }
  return table;
}

}  // namespace fbleprof::symbolize
