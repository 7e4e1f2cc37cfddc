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

// What the table tells about an address: CFA = register + offset, and what is saved there.
struct Row {
  FramePlace frame = {};
  bool saves_registers = false;  // other than the return address
  bool is_odd = false;           // there is more to it

  bool is_of_a_call() const { return !is_odd && !saves_registers && frame.is_of_a_call(); }
};

// The part that functions share: a CIE.
struct Common {
  int encoding = 0;
  bool has_length = false;  // of augmentation data
  std::uint64_t code_alignment = 1;
  Row row;
};

// Runs the instructions of a record. Those for one address are run together, when the first address
// behind it is asked for.
class Program {
 public:
  Program(Reader reader, const Common& common, Address location)
      : reader_(reader), common_(common), location_(location), row_(common.row) {}

  // The row for an address, which is not below the one before.
  const Row& row_at(Address until) {
    while (!reader_.at_end() && location_ <= until && !row_.is_odd) step();
    if (reader_.failed()) row_.is_odd = true;
    return row_;
  }

 private:
  void advance(std::uint64_t units) { location_ += units * common_.code_alignment; }
  void step();

  Reader reader_;
  const Common& common_;
  Address location_;
  Row row_;
  std::vector<Row> remembered_;
};

void Program::step() {
  const auto code = reader_.value<std::uint8_t>();
  const bool is_of_return = (code & 0x3f) == 16;
  switch (code & 0xc0) {
    case 0x40:  // the next address
      return advance(code & 0x3f);
    case 0x80:  // a register is saved; the return address always is
      reader_.uleb();
      row_.saves_registers = row_.saves_registers || !is_of_return;
      return;
    case 0xc0:  // a register is as it was
      return;
    default:
      break;
  }
  switch (code) {
    case 0x00:
      break;
    case 0x01:  // the next address, in longer forms
      location_ = reader_.pointer(common_.encoding);
      break;
    case 0x02:
      advance(reader_.value<std::uint8_t>());
      break;
    case 0x03:
      advance(reader_.value<std::uint16_t>());
      break;
    case 0x04:
      advance(reader_.value<std::uint32_t>());
      break;
    case 0x0a:
      remembered_.push_back(row_);
      break;
    case 0x0b:
      if (remembered_.empty()) return reader_.fail();
      row_ = remembered_.back();
      remembered_.pop_back();
      break;
    case 0x0c:
      row_.frame.base = reader_.uleb();
      row_.frame.offset = reader_.uleb();
      break;
    case 0x0d:
      row_.frame.base = reader_.uleb();
      break;
    case 0x0e:
      row_.frame.offset = reader_.uleb();
      break;
    case 0x2e:  // the size of arguments
      reader_.uleb();
      break;
    default:
      row_.is_odd = true;
  }
}

Common read_common(Reader reader) {
  Common common;
  const auto version = reader.value<std::uint8_t>();
  const char* augmentation = reader.string();
  common.code_alignment = reader.uleb();
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
    if (*letter == 'S') common.row.is_odd = true;  // a signal's frame
  }
  if (reader.failed()) common.row.is_odd = true;
  common.row = Row(Program(reader, common, 0).row_at(0));
  return common;
}

// A record of the table at an address, behind its length; no bytes: there is none.
struct Record {
  Address body = 0;
  std::uint32_t length = 0;
  const std::uint8_t* bytes = nullptr;

  Reader reader() const { return {bytes, bytes + length, body}; }
};
Record record_at(const ElfImage& image, Address at) {
  Record record;
  if (!image.read(at, &record.length) || record.length < 4 || record.length == 0xffffffff) {
    return {};
  }
  record.body = at + 4;
  record.bytes = image.at(record.body, record.length);
  return record;
}

// Reads a function's range from the record behind its reference to a CIE; the instructions follow.
void read_range(Reader& reader, const Common& common, Function& function) {
  function.begin = reader.pointer(common.encoding);
  function.end = function.begin + reader.pointer(common.encoding & 0x0f);
  if (common.has_length) reader.skip(reader.uleb());
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
  while (at + 8 <= table_end) {
    const Record record = record_at(image, at);
    if (!record.bytes) break;
    Reader reader = record.reader();
    const Address begin = at;
    at = record.body + record.length;
    const auto id = reader.value<std::uint32_t>();
    if (id == 0) {
      commons.emplace(begin, read_common(reader));
      continue;
    }
    const auto found = commons.find(record.body - id);
    if (found == commons.end()) continue;
    const Common& common = found->second;
    Function function;
    function.unwind_record = begin;
    read_range(reader, common, function);
    const bool has_range = !reader.failed();
    function.starts_like_a_call =
        has_range && Program(reader, common, function.begin).row_at(function.begin).is_of_a_call();
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
    if (!apart.empty() && each.begin == apart.back().begin) continue;
    // Linkers that remove the jump at the end of a part do not shorten what is listed.
    if (!apart.empty()) apart.back().end = std::min(apart.back().end, each.begin);
    apart.push_back(each);
  }
  return apart;
}

std::vector<FrameAt> frames_at(const ElfImage& image, const Function& function,
                               const std::vector<Address>& addresses) {
  std::vector<FrameAt> frames(addresses.size());
  if (addresses.empty()) return frames;
  const Record record = record_at(image, function.unwind_record);
  if (!record.bytes) return frames;
  Reader reader = record.reader();
  const Record common_record = record_at(image, record.body - reader.value<std::uint32_t>());
  if (!common_record.bytes) return frames;
  Reader common_reader = common_record.reader();
  common_reader.value<std::uint32_t>();
  const Common common = read_common(common_reader);
  Function same;
  read_range(reader, common, same);
  if (reader.failed()) return frames;
  Program program(reader, common, same.begin);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!same.contains(addresses[i])) continue;
    const Row& row = program.row_at(addresses[i]);
    if (!row.is_odd) frames[i] = row.frame;
  }
  return frames;
}

FrameAt frame_at(const ElfImage& image, const Function& function, Address address) {
  return frames_at(image, function, {address}).front();
}

Function* function_at(std::vector<Function>& functions, Address address) {
  auto next = std::upper_bound(functions.begin(), functions.end(), address,
                               [](Address a, const Function& b) { return a < b.begin; });
  if (next == functions.begin()) return nullptr;
  --next;
  return next->contains(address) ? &*next : nullptr;
}

}  // namespace fbleprof::rewrite
