// The format of the bytes: a head, the texts, each once, then the locations, which refer to texts
// by number.
#include "symbolize/known_lines.h"

#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolize/checksum.h"

namespace fbleprof::symbolize {

namespace {

struct Head {
  char magic[8];
  std::uint32_t version;  // increment it too if locate() gives other results
  std::uint32_t text_count;
  std::uint64_t location_count;
  std::uint64_t checksum;  // of all that follows
};
constexpr char kMagic[8] = {'f', 'b', 'l', 'e', 'l', 'i', 'n', '\n'};
constexpr std::uint32_t kVersion = 3;

class Writer {
 public:
  void number(std::uint32_t value) { append(&value, sizeof value); }
  void address(std::uint64_t value) { append(&value, sizeof value); }
  void text(const std::string& value) {
    const auto [at, added] = index_.try_emplace(value, static_cast<std::uint32_t>(index_.size()));
    if (added) {
      const auto length = static_cast<std::uint32_t>(value.size());
      texts_.append(reinterpret_cast<const char*>(&length), sizeof length);
      texts_ += value;
    }
    number(at->second);
  }
  void frame(const SourceFrame& frame) {
    text(frame.name);
    text(frame.linkage_name);
    text(frame.file);
    number(frame.line);
    text(frame.declared_file);
    number(frame.declared_line);
  }
  std::string take(std::uint64_t location_count) const {
    const std::string body = texts_ + locations_;
    Head head{};
    std::memcpy(head.magic, kMagic, sizeof kMagic);
    head.version = kVersion;
    head.text_count = static_cast<std::uint32_t>(index_.size());
    head.location_count = location_count;
    head.checksum = checksum(body);
    return std::string(reinterpret_cast<const char*>(&head), sizeof head) + body;
  }

 private:
  void append(const void* data, std::size_t size) {
    locations_.append(static_cast<const char*>(data), size);
  }

  std::unordered_map<std::string, std::uint32_t> index_;
  std::string texts_, locations_;
};

// Reads what a Writer wrote. After the end, or for an invalid text, returns nothing and is marked
// as bad.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }
  std::uint32_t number() { return take<std::uint32_t>(); }
  std::uint64_t address() { return take<std::uint64_t>(); }
  void texts(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count && good_; ++i) {
      const std::uint32_t length = number();
      good_ = good_ && length <= rest_.size();
      if (!good_) return;
      texts_.push_back(rest_.substr(0, length));
      rest_.remove_prefix(length);
    }
  }
  std::string text() {
    const std::uint32_t index = number();
    good_ = good_ && index < texts_.size();
    return good_ ? std::string(texts_[index]) : std::string();
  }
  SourceFrame frame() {
    SourceFrame frame;
    frame.name = text();
    frame.linkage_name = text();
    frame.file = text();
    frame.line = number();
    frame.declared_file = text();
    frame.declared_line = number();
    return frame;
  }

 private:
  template <class Number>
  Number take() {
    Number value = 0;
    good_ = good_ && rest_.size() >= sizeof value;
    if (!good_) return 0;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }

  std::string_view rest_;
  std::vector<std::string_view> texts_;
  bool good_ = true;
};

}  // namespace

const SourceLocation* KnownLines::find(std::uint64_t address) const {
  const auto found = locations_.find(address);
  return found == locations_.end() ? nullptr : &found->second;
}

void KnownLines::add(std::uint64_t address, SourceLocation location) {
  locations_.insert_or_assign(address, std::move(location));
}

std::string KnownLines::to_bytes() const {
  Writer writer;
  for (const auto& [address, location] : locations_) {
    writer.address(address);
    writer.text(location.declared_file);
    writer.number(location.declared_line);
    writer.frame(location.function);
    writer.number(static_cast<std::uint32_t>(location.inlined.size()));
    for (const SourceFrame& frame : location.inlined) writer.frame(frame);
  }
  return writer.take(locations_.size());
}

std::optional<KnownLines> KnownLines::from_bytes(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.version != kVersion ||
      head.checksum != checksum(bytes)) {
    return std::nullopt;
  }
  Reader reader(bytes);
  reader.texts(head.text_count);
  KnownLines lines;
  for (std::uint64_t i = 0; i < head.location_count && reader.good(); ++i) {
    const std::uint64_t address = reader.address();
    SourceLocation location;
    location.declared_file = reader.text();
    location.declared_line = reader.number();
    location.function = reader.frame();
    const std::uint32_t inlined = reader.number();
    for (std::uint32_t f = 0; f < inlined && reader.good(); ++f) {
      location.inlined.push_back(reader.frame());
    }
    lines.add(address, std::move(location));
  }
  if (!reader.good() || !reader.at_end()) return std::nullopt;
  return lines;
}

}  // namespace fbleprof::symbolize
