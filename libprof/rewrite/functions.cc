#include "rewrite/functions.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace fbleprof::rewrite {
namespace {

// Reads a piece of the unwind table; a read beyond its end gives 0 and sets `failed`.
class Reader {
 public:
  Reader(const std::uint8_t* begin, const std::uint8_t* end, Address address)
      : begin_(begin), at_(begin), end_(end), address_(address) {}

  bool failed() const { return failed_; }
  bool at_end() const { return failed_ || at_ >= end_; }
  Address address() const { return address_ + static_cast<Address>(at_ - begin_); }

  template <typename T>
  T value() {
    T result{};
    if (static_cast<std::size_t>(end_ - at_) < sizeof result) {
      fail();
    } else {
      std::memcpy(&result, at_, sizeof result);
      at_ += sizeof result;
    }
    return result;
  }
  std::uint64_t uleb() {
    std::uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = value<std::uint8_t>();
      result |= std::uint64_t{byte & 0x7fu} << shift;
      if (!(byte & 0x80)) return result;
    }
    fail();
    return 0;
  }
  void skip(std::uint64_t bytes) {
    if (static_cast<std::uint64_t>(end_ - at_) < bytes) return fail();
    at_ += bytes;
  }
  const char* string() {
    const auto* text = reinterpret_cast<const char*>(at_);
    while (value<char>() != 0 && !failed_) {
    }
    return failed_ ? "" : text;
  }
  // A pointer in one of the encodings that linkers use for code: relative to itself, or absolute.
  Address pointer(int encoding) {
    const Address base = (encoding & 0x70) == 0x10 ? address() : 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return base + value<std::uint64_t>();
      case 0x03:
        return base + value<std::uint32_t>();
      case 0x0b:
        return base + static_cast<Address>(std::int64_t{value<std::int32_t>()});
      default:
        fail();
        return 0;
    }
  }
  void fail() {
    failed_ = true;
    at_ = end_;
  }

 private:
  const std::uint8_t* begin_;
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  Address address_;
  bool failed_ = false;
};

// The place of the frame, as far as the table was read: CFA = register + offset.
struct Frame {
  std::uint64_t base = 0, offset = 0;
  bool is_odd = false;

  bool is_of_a_call() const { return !is_odd && base == 7 && offset == 8; }
};

// Runs the instructions for the function's first address. Anything but a plain CFA makes the frame
// odd.
void read_start(Reader& reader, bool is_common, Frame& frame) {
  while (!reader.at_end()) {
    const auto code = reader.value<std::uint8_t>();
    switch (code & 0xc0) {
      case 0x40:  // the next address
        return;
      case 0x80:  // a register is saved; the return address always is
        reader.uleb();
        if (!is_common || (code & 0x3f) != 16) frame.is_odd = true;
        continue;
      case 0xc0:
        continue;
      default:
        break;
    }
    switch (code) {
      case 0x00:
        break;
      case 0x01:  // the next address, in longer forms
      case 0x02:
      case 0x03:
      case 0x04:
        return;
      case 0x0c:
        frame.base = reader.uleb();
        frame.offset = reader.uleb();
        break;
      case 0x0d:
        frame.base = reader.uleb();
        break;
      case 0x0e:
        frame.offset = reader.uleb();
        break;
      case 0x0a:  // remember the state
        break;
      case 0x2e:  // the size of arguments
        reader.uleb();
        break;
      default:
        frame.is_odd = true;
        return;
    }
  }
}

// The part that functions share: a CIE.
struct Common {
  int encoding = 0;
  bool has_length = false;  // of augmentation data
  Frame frame;
};

Common read_common(Reader reader) {
  Common common;
  const auto version = reader.value<std::uint8_t>();
  const char* augmentation = reader.string();
  reader.uleb();  // alignment of code
  reader.uleb();  // alignment of data, signed: as long
  if (version == 1) {
    reader.value<std::uint8_t>();
  } else {
    reader.uleb();
  }
  common.has_length = *augmentation == 'z';
  if (common.has_length) reader.uleb();
  for (const char* letter = augmentation; *letter; ++letter) {
    if (*letter == 'R') common.encoding = reader.value<std::uint8_t>();
    if (*letter == 'L') reader.value<std::uint8_t>();
    if (*letter == 'P') {
      const int encoding = reader.value<std::uint8_t>();
      reader.pointer(encoding);
    }
    if (*letter == 'S') common.frame.is_odd = true;  // a signal's frame
  }
  read_start(reader, true, common.frame);
  if (reader.failed()) common.frame.is_odd = true;
  return common;
}

}  // namespace

std::vector<Function> read_functions(const ElfImage& image) {
  std::vector<Function> functions;
  std::int32_t distance = 0;
  if (!image.read(image.unwind_header() + 4, &distance)) return functions;
  const Address table = image.unwind_header() + 4 + static_cast<Address>(std::int64_t{distance});
  const Address table_end = image.end_of_segment(table);
  std::unordered_map<Address, Common> commons;
  Address at = table;
  std::uint32_t length;
  while (at + 8 <= table_end && image.read(at, &length) && length != 0) {
    const Address body = at + 4;
    const std::uint8_t* bytes = image.at(body, length);
    if (length < 4 || length == 0xffffffff || !bytes) break;
    Reader reader(bytes, bytes + length, body);
    at = body + length;
    const auto id = reader.value<std::uint32_t>();
    if (id == 0) {
      commons.emplace(body - 4, read_common(reader));
      continue;
    }
    const auto found = commons.find(body - id);
    if (found == commons.end()) continue;
    const Common& common = found->second;
    Function function;
    function.begin = reader.pointer(common.encoding);
    function.end = function.begin + reader.pointer(common.encoding & 0x0f);
    if (common.has_length) reader.skip(reader.uleb());
    Frame frame = common.frame;
    read_start(reader, false, frame);
    function.starts_like_a_call = !reader.failed() && frame.is_of_a_call();
    if (function.begin < function.end && image.in_text(function.begin) &&
        function.end <= image.text_end()) {
      functions.push_back(function);
    }
  }
  std::sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<Function> apart;
  for (const Function& each : functions) {
    if (apart.empty() || each.begin >= apart.back().end) apart.push_back(each);
  }
  return apart;
}

Function* function_at(std::vector<Function>& functions, Address address) {
  auto next = std::upper_bound(functions.begin(), functions.end(), address,
                               [](Address a, const Function& b) { return a < b.begin; });
  if (next == functions.begin()) return nullptr;
  --next;
  return next->contains(address) ? &*next : nullptr;
}

}  // namespace fbleprof::rewrite
