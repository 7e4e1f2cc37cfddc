#include "symbolize/generated_code.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "format/jitdump.h"

namespace fbleprof::symbolize {

namespace jitdump = format::jitdump;

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
  const auto head = read_at<jitdump::LinesRecord>(record, 0);
  const auto entry = read_at<jitdump::LineEntry>(record, sizeof(jitdump::LinesRecord));
  if (!head || !entry || head->count == 0) return {};
  return {head->address,
          std::string(text_at(record, sizeof(jitdump::LinesRecord) + sizeof(jitdump::LineEntry))),
          entry->line};
}

void read_load(std::span<const std::byte> record, const FirstLine& line, bool has_times,
               GeneratedCode* code) {
  const auto load = read_at<jitdump::LoadRecord>(record, 0);
  if (!load) return;
  GeneratedFunction function = take_apart(text_at(record, sizeof(jitdump::LoadRecord)));
  function.begin = load->address;
  function.size = load->size;
  if (function.file.empty() && line.address == load->address) {
    function.file = line.file;
    function.line = line.line;
  }
  code->add(std::move(function), has_times ? load->head.time : 0);
}

void read_move(std::span<const std::byte> record, bool has_times, GeneratedCode* code) {
  const auto move = read_at<jitdump::MoveRecord>(record, 0);
  const GeneratedFunction* before = move ? code->find(move->from) : nullptr;
  if (before == nullptr) return;
  GeneratedFunction function = *before;
  function.begin = move->to;
  function.size = move->size;
  code->add(std::move(function), has_times ? move->head.time : 0);
}

}  // namespace

void PresentCode::add(const GeneratedFunction& function, Others others) {
  const std::uint64_t begin = function.begin, end = begin + function.size;
  auto at = by_begin_.lower_bound(begin);
  if (at != by_begin_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != by_begin_.end() && at->first < end) {
    const std::uint64_t first = at->first;
    const Part old = at->second;
    at = by_begin_.erase(at);
    if (others == Others::kGone) continue;
    if (first < begin) by_begin_.emplace_hint(at, first, Part{begin, old.function});
    if (old.end > end) at = by_begin_.emplace_hint(at, end, old);
  }
  by_begin_.emplace_hint(at, begin, Part{end, &function});
}

const GeneratedFunction* PresentCode::find(std::uint64_t address, std::uint64_t bytes) const {
  const auto after = by_begin_.upper_bound(address);
  if (after != by_begin_.begin()) {
    const Part& before = std::prev(after)->second;
    if (address < before.end) return before.function;
  }
  const bool is_near = after != by_begin_.end() && after->first - address < bytes;
  return is_near ? after->second.function : nullptr;
}

void GeneratedCode::add(GeneratedFunction function, std::uint64_t moment) {
  if (function.size == 0 || function.begin + function.size < function.begin) return;
  history_.push_back({moment, std::move(function)});
  present_.add(history_.back().function);
}

std::vector<const GeneratedFunction*> GeneratedCode::answer(
    std::span<const Question> questions) const {
  std::vector<std::size_t> order(questions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return questions[a].moment < questions[b].moment;
  });
  std::vector<const GeneratedFunction*> answers(questions.size());
  // Forwards, the newest function that was there before; backwards, the oldest one that came later.
  PresentCode past;
  std::size_t next = 0;
  for (const std::size_t q : order) {
    for (; next < history_.size() && history_[next].moment < questions[q].moment; ++next) {
      past.add(history_[next].function);
    }
    answers[q] = past.find(questions[q].address, questions[q].bytes);
  }
  PresentCode future;
  next = history_.size();
  for (auto q = order.rbegin(); q != order.rend(); ++q) {
    for (; next > 0 && history_[next - 1].moment >= questions[*q].moment; --next) {
      future.add(history_[next - 1].function, PresentCode::Others::kKept);
    }
    if (answers[*q] == nullptr)
      answers[*q] = future.find(questions[*q].address, questions[*q].bytes);
  }
  return answers;
}

void read_perf_map(std::string_view text, GeneratedCode* code) {
  const char* const start = text.data();
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    const auto moment = static_cast<std::uint64_t>(line.data() - start);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto begin = take_hexadecimal(line);
    if (!begin || !take_blank(line)) continue;
    const auto size = take_hexadecimal(line);
    if (!size || !take_blank(line) || line.empty()) continue;
    GeneratedFunction function = take_apart(line);
    function.begin = *begin;
    function.size = *size;
    code->add(std::move(function), moment);
  }
}

bool read_jitdump(std::span<const std::byte> bytes, GeneratedCode* code) {
  const auto header = read_at<jitdump::Header>(bytes, 0);
  if (!header || header->magic != jitdump::kMagic) return false;
  const bool has_times = (header->flags & jitdump::kTimesOfProcessor) == 0;
  FirstLine line;
  for (std::size_t at = header->bytes; const auto head = read_at<jitdump::RecordHead>(bytes, at);) {
    if (head->bytes < sizeof(jitdump::RecordHead) || head->bytes > bytes.size() - at) break;
    const auto record = bytes.subspan(at, head->bytes);
    if (head->kind == jitdump::kLines) line = first_line(record);
    if (head->kind == jitdump::kLoad) read_load(record, line, has_times, code);
    if (head->kind == jitdump::kMove) read_move(record, has_times, code);
    at += head->bytes;
  }
  return true;
}

namespace {

// The length of the function's name before " PLACE". V8 names accessors "get size" and "set size";
// a function may also be called get or set, and its file's name may have blanks. Places are
// absolute paths, URLs, or begin with a word and a colon ("node:fs").
std::size_t name_length(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (!text.starts_with("get ") && !text.starts_with("set ")) return blank;
  const std::size_t next = text.find(' ', blank + 1);
  if (next == std::string_view::npos) return blank;
  const std::string_view second = text.substr(blank + 1, next - blank - 1);
  const bool is_place = second.starts_with('/') || second.find(':') != std::string_view::npos;
  return is_place ? blank : next;
}

}  // namespace

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
  const std::size_t blank = name_length(name);
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
