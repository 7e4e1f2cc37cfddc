#include "symbolize/generated_code.h"

#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace fbleprof::symbolize {
namespace {

std::optional<std::uint64_t> take_hexadecimal(std::string_view& text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take_blank(std::string_view& text) {
  if (text.empty() || text[0] != ' ') return false;
  text.remove_prefix(1);
  return true;
}

// The number of ":13" at the end, which is cut off; 0 and the text unchanged if there is none.
std::uint32_t take_last_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return 0;
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, value);
  if (error != std::errc() || stop != end) return 0;
  text = text.substr(0, colon);
  return value;
}

template <class Record>
std::optional<Record> read_at(std::span<const std::byte> bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return record;
}

// The file's layout is described in the Linux sources, jitdump-specification.txt.
struct DumpHeader {
  std::uint32_t magic, version, bytes, machine, padding, pid;
  std::uint64_t time, flags;
};
constexpr std::uint32_t kMagic = 0x4A695444;

struct RecordHead {
  std::uint32_t kind, bytes;
  std::uint64_t time;
};
enum RecordKind : std::uint32_t { kLoad = 0, kMove = 1, kLines = 2 };

struct LoadRecord {
  RecordHead head;
  std::uint32_t pid, tid;
  std::uint64_t virtual_address, address, size, index;
};  // and the name, NUL-terminated

struct MoveRecord {
  RecordHead head;
  std::uint32_t pid, tid;
  std::uint64_t virtual_address, from, to, size, index;
};

struct LinesRecord {
  RecordHead head;
  std::uint64_t address, count;
};  // and the entries

struct LineEntry {
  std::uint64_t address;
  std::uint32_t line, discriminator;
};  // and the file, NUL-terminated

std::string_view text_at(std::span<const std::byte> bytes, std::size_t at) {
  if (at >= bytes.size()) return {};
  const auto* text = reinterpret_cast<const char*>(bytes.data() + at);
  return {text, strnlen(text, bytes.size() - at)};
}

// The newest record of lines, which describes the function that is loaded next.
struct FirstLine {
  std::uint64_t address = 0;
  std::string file;
  std::uint32_t line = 0;
};

FirstLine first_line(std::span<const std::byte> record) {
  const auto head = read_at<LinesRecord>(record, 0);
  const auto entry = read_at<LineEntry>(record, sizeof(LinesRecord));
  if (!head || !entry || head->count == 0) return {};
  return {head->address, std::string(text_at(record, sizeof(LinesRecord) + sizeof(LineEntry))),
          entry->line};
}

void read_load(std::span<const std::byte> record, const FirstLine& line, GeneratedCode* code) {
  const auto load = read_at<LoadRecord>(record, 0);
  if (!load) return;
  GeneratedFunction function = take_apart(text_at(record, sizeof(LoadRecord)));
  function.begin = load->address;
  function.size = load->size;
  if (function.file.empty() && line.address == load->address) {
    function.file = line.file;
    function.line = line.line;
  }
  code->add(std::move(function));
}

void read_move(std::span<const std::byte> record, GeneratedCode* code) {
  const auto move = read_at<MoveRecord>(record, 0);
  const GeneratedFunction* before = move ? code->find(move->from) : nullptr;
  if (before == nullptr) return;
  GeneratedFunction function = *before;
  function.begin = move->to;
  function.size = move->size;
  code->add(std::move(function));
}

}  // namespace

void GeneratedCode::add(GeneratedFunction function) {
  if (function.size == 0 || function.begin + function.size < function.begin) return;
  const std::uint64_t begin = function.begin, end = begin + function.size;
  auto at = by_begin_.lower_bound(begin);
  if (at != by_begin_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size > begin) by_begin_.erase(before);
  }
  while (at != by_begin_.end() && at->first < end) at = by_begin_.erase(at);
  by_begin_.emplace_hint(at, begin, std::move(function));
}

const GeneratedFunction* GeneratedCode::find(std::uint64_t address) const {
  const auto after = by_begin_.upper_bound(address);
  if (after == by_begin_.begin()) return nullptr;
  const GeneratedFunction& function = std::prev(after)->second;
  return address - function.begin < function.size ? &function : nullptr;
}

const GeneratedFunction* GeneratedCode::first_in(std::uint64_t begin, std::uint64_t end) const {
  const auto first = by_begin_.lower_bound(begin);
  return first != by_begin_.end() && first->first < end ? &first->second : nullptr;
}

void read_perf_map(std::string_view text, GeneratedCode* code) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto begin = take_hexadecimal(line);
    if (!begin || !take_blank(line)) continue;
    const auto size = take_hexadecimal(line);
    if (!size || !take_blank(line) || line.empty()) continue;
    GeneratedFunction function = take_apart(line);
    function.begin = *begin;
    function.size = *size;
    code->add(std::move(function));
  }
}

bool read_jitdump(std::span<const std::byte> bytes, GeneratedCode* code) {
  const auto header = read_at<DumpHeader>(bytes, 0);
  if (!header || header->magic != kMagic) return false;
  FirstLine line;
  for (std::size_t at = header->bytes; const auto head = read_at<RecordHead>(bytes, at);) {
    if (head->bytes < sizeof(RecordHead) || head->bytes > bytes.size() - at) break;
    const auto record = bytes.subspan(at, head->bytes);
    if (head->kind == kLines) line = first_line(record);
    if (head->kind == kLoad) read_load(record, line, code);
    if (head->kind == kMove) read_move(record, code);
    at += head->bytes;
  }
  return true;
}

GeneratedFunction take_apart(std::string_view name) {
  GeneratedFunction function;
  function.name = name;
  // Kinds of V8: "JS:", "Eval:", "LazyCompile:", "Function:", "Script:"; then how it was compiled.
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon + 1 == name.size()) return function;
  const std::string_view kind = name.substr(0, colon);
  bool is_script = false;
  for (const char* known : {"JS", "Eval", "LazyCompile", "Function", "Script"}) {
    is_script |= kind == known;
  }
  if (!is_script) return function;
  name.remove_prefix(colon + 1);
  // Some names also say that the code was compiled for one context alone.
  if (std::string_view("~^*+").find(name[0]) != std::string_view::npos) name.remove_prefix(1);
  if (name.starts_with('\'')) name.remove_prefix(1);
  function.language = "JavaScript";
  const std::size_t blank = name.find(' ');
  function.name = name.substr(0, blank);
  if (blank != std::string_view::npos) {
    std::string_view place = name.substr(blank + 1);
    const std::uint32_t last = take_last_number(place);
    const std::uint32_t first = take_last_number(place);
    function.line = first != 0 ? first : last;
    function.column = first != 0 ? last : 0;
    function.file = place;
  }
  if (function.name.empty()) {
    function.name = kind == "Eval" || kind == "Script" ? "(script)" : "(anonymous)";
  }
  return function;
}

}  // namespace fbleprof::symbolize
