#include "report/importers/file_kind.h"

#include <cstdint>

#include "report/importers/folded.h"
#include "report/importers/perf_script.h"
#include "report/importers/speedscope.h"

namespace fbleprof::importers {
namespace {

// Text has no control characters except for layout. Bytes from 0x80 on may be any encoding.
bool is_text(std::string_view head) {
  for (const unsigned char c : head) {
    if (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b) return false;
  }
  return true;
}

// The first field of a pprof profile: a known number, with its wire type.
bool looks_like_pprof(std::string_view head) {
  const auto tag = static_cast<unsigned char>(head[0]);
  const unsigned field = tag >> 3, wire_type = tag & 7;
  constexpr unsigned kVarint = 0, kLengthDelimited = 2;
  const bool is_message = (field >= 1 && field <= 6) || field == 11;
  const bool is_number = (field >= 7 && field <= 10) || (field >= 12 && field <= 14);
  if (is_message && wire_type == kLengthDelimited) {
    // Messages at the start of a profile are short, but a sample may be long.
    return head.size() < 2 || field == 2 || static_cast<unsigned char>(head[1]) < 0x80 ||
           head.size() < 3 || static_cast<unsigned char>(head[2]) < 0x80;
  }
  return is_number && (wire_type == kVarint || (field == 13 && wire_type == kLengthDelimited));
}

// OTLP's first message holds a message; the first one of pprof, a pair of numbers.
bool looks_like_otlp(std::string_view head) {
  constexpr char kResourceProfiles = 0x0a, kResource = 0x0a, kScopeProfiles = 0x12;
  if (head[0] != kResourceProfiles) return false;
  std::size_t at = 1;
  while (at < head.size() && (static_cast<unsigned char>(head[at]) & 0x80) != 0) ++at;
  return at + 1 < head.size() && (head[at + 1] == kResource || head[at + 1] == kScopeProfiles);
}

struct Format {
  std::string_view name, start;
};
constexpr Format kTextFormats[] = {{"callgrind's format", "# callgrind format"},
                                   {"the Firefox Profiler's format", R"({"meta":{)"},
                                   {"the JSON of --export json", R"({"format":"fbleprof-profile")"},
                                   {"the JSON of --format json", R"({"schema":)"},
                                   {"a graph in DOT", "digraph "},
                                   {"GraphML", "<graphml"},
                                   {"an SVG picture", "<svg"},
                                   {"a page", "<html"},
                                   {"CSV of --export csv", "id,parent,depth,function,"}};

FileKind detect_text(std::string_view head) {
  const bool is_full = head.size() >= kDetectBytes;
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.starts_with('#'))
      continue;
    if (is_perf_script_header(line)) return FileKind::kPerfScript;
    if (is_folded_line(line)) return FileKind::kFolded;
    // A stack of thousands of frames: its number comes later.
    const bool is_cut = end == std::string_view::npos && is_full;
    return is_cut && line.find(';') != std::string_view::npos ? FileKind::kFolded
                                                              : FileKind::kUnknown;
  }
  return FileKind::kUnknown;
}

}  // namespace

FileKind detect(std::string_view head) {
  if (head.empty()) return FileKind::kEmpty;
  if (head.starts_with("FBLEPROF")) return FileKind::kNative;
  if (head.starts_with("\x1f\x8b")) return FileKind::kGzip;
  if (head.starts_with("\x7f"
                       "ELF")) {
    return FileKind::kElf;
  }
  if (head.starts_with("PERFILE2")) return FileKind::kPerfData;
  if (head.starts_with("gmon")) return FileKind::kGmon;
  if (!write_only_format(head).empty()) return FileKind::kWriteOnly;
  if (is_text(head)) {
    return is_speedscope(head) ? FileKind::kSpeedscope : detect_text(head);
  }
  return looks_like_pprof(head) ? FileKind::kPprof : FileKind::kUnknown;
}

std::string_view write_only_format(std::string_view head) {
  if (head.empty()) return {};
  if (!is_text(head)) return looks_like_otlp(head) ? "OTLP" : "";
  constexpr std::size_t kProlog = 400;  // of XML: the declaration and the document's type
  const std::string_view prolog = head.substr(0, head[0] == '<' ? kProlog : 0);
  for (const Format& format : kTextFormats) {
    if (head.starts_with(format.start)) return format.name;
    if (format.start[0] == '<' && prolog.find(format.start) != prolog.npos) return format.name;
  }
  return {};
}

}  // namespace fbleprof::importers
