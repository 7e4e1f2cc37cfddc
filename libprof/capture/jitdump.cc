#include "capture/jitdump.h"

#include <unistd.h>

#include "capture/runtime_file.h"
#include "capture/text.h"
#include "format/jitdump.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

namespace jitdump = format::jitdump;
using signal_safe::session;

namespace {

class Dump {
 public:
  explicit Dump(const File& file) : file_(file) {}

  bool read_header() {
    jitdump::Header header;
    if (!read_at(0, &header) || header.magic != jitdump::kMagic || header.bytes < sizeof header)
      return false;
    has_times_ = (header.flags & jitdump::kTimesOfProcessor) == 0;
    begin_ = header.bytes;
    return true;
  }

  // Calls visit(record's offset, head) for each record before `end`.
  template <typename Visit>
  void for_each(std::uint64_t end, Visit visit) const {
    jitdump::RecordHead head;
    for (std::uint64_t at = begin_; at < end && read_at(at, &head); at += head.bytes) {
      if (head.bytes < sizeof head) return;
      visit(at, head);
    }
  }

  // What the function that is loaded at `at` is called, and where it is in the source. False: its
  // record is cut off.
  bool read_load(std::uint64_t at, const jitdump::RecordHead& head, std::uint64_t lines_at,
                 GeneratedFunctions::Item* item) const {
    jitdump::LoadRecord load;
    struct {
      jitdump::LinesRecord head;
      jitdump::LineEntry first;
    } lines;
    if (head.bytes < sizeof load || !read_at(at, &load)) return false;
    item->begin = load.address;
    item->bytes = load.size;
    item->moment = has_times_ ? head.time : 0;
    item->name_at = at + sizeof load;
    item->name_bytes = head.bytes - static_cast<std::uint32_t>(sizeof load);
    if (lines_at != 0 && read_at(lines_at, &lines) && lines.head.address == load.address &&
        lines.head.count != 0) {
      item->line = lines.first.line;
      item->file_at = lines_at + sizeof lines;
    }
    return true;
  }

  // A function that was moved has the name of what was there before.
  bool read_move(std::uint64_t at, const jitdump::RecordHead& head,
                 const GeneratedFunctions& functions, GeneratedFunctions::Item* item) const {
    jitdump::MoveRecord move;
    if (head.bytes < sizeof move || !read_at(at, &move)) return false;
    if (!functions.has_any_in(move.to, move.size) || !find_load(at, move.from, item)) return false;
    item->begin = move.to;
    item->bytes = move.size;
    item->moment = has_times_ ? head.time : 0;
    return true;
  }

  std::uint32_t read_text(std::uint64_t at, char* text, std::uint32_t most) const {
    const long got = file_.read(at, text, most);
    std::uint32_t length = 0;
    while (length < got && text[length] != 0) ++length;
    return length;
  }

 private:
  template <typename Record>
  bool read_at(std::uint64_t at, Record* record) const {
    return at < kMostBytesOfRuntimeFile &&
           file_.read(at, record, sizeof *record) == static_cast<long>(sizeof *record);
  }

  // The load of the code that is at `place` before the record at `end`.
  bool find_load(std::uint64_t end, std::uint64_t place, GeneratedFunctions::Item* item) const {
    constexpr int kMostMoves = 16;
    for (int i = 0; i < kMostMoves; ++i) {
      bool is_load = false;
      std::uint64_t moved_at = 0, moved_from = 0, lines_at = 0;
      for_each(end, [&](std::uint64_t at, const jitdump::RecordHead& head) {
        jitdump::MoveRecord move;
        GeneratedFunctions::Item loaded;
        if (head.kind == jitdump::kLines) lines_at = at;
        if (head.kind == jitdump::kLoad && read_load(at, head, lines_at, &loaded) &&
            loaded.begin == place) {
          *item = loaded;
          is_load = true;
        }
        if (head.kind == jitdump::kMove && head.bytes >= sizeof move && read_at(at, &move) &&
            move.to == place) {
          moved_at = at;
          moved_from = move.from;
          is_load = false;
        }
      });
      if (is_load || moved_at == 0) return is_load;
      end = moved_at;
      place = moved_from;
    }
    return false;
  }

  const File& file_;
  bool has_times_ = false;
  std::uint64_t begin_ = 0;
};

bool take_names(const char* path, GeneratedFunctions& functions) {
  const File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file || !is_of_this_process(file)) return false;
  Dump dump(file);
  if (!dump.read_header()) return false;
  functions.count_moments_in_time();
  std::uint64_t lines_at = 0;
  dump.for_each(kMostBytesOfRuntimeFile, [&](std::uint64_t at, const jitdump::RecordHead& head) {
    GeneratedFunctions::Item item;
    if (head.kind == jitdump::kLines) lines_at = at;
    if (head.kind == jitdump::kLoad && dump.read_load(at, head, lines_at, &item))
      functions.offer(item);
    if (head.kind == jitdump::kMove && dump.read_move(at, head, functions, &item))
      functions.offer(item);
  });
  functions.take_names([&](std::uint64_t at, char* name, std::uint32_t bytes) {
    return dump.read_text(at, name, bytes);
  });
  return true;
}

// -- Where it is --

using LongPath = Text<4096>;
using Name = Text<40>;

bool ends_with(const char* text, std::uint32_t bytes, const Name& end) {
  if (bytes < end.size()) return false;
  for (std::size_t i = 0; i < end.size(); ++i) {
    if (text[bytes - end.size() + i] != end.c_str()[i]) return false;
  }
  return true;
}

// perf finds the dump by the pages of it that the program maps.
bool find_mapped(const Name& name, char* buffer, LongPath* path) {
  const File maps("/proc/self/maps", O_RDONLY);
  if (!maps) return false;
  Lines lines(maps, buffer);
  for (Line line; lines.next(&line);) {
    if (!ends_with(line.text, line.bytes, name)) continue;
    std::uint32_t at = 0;
    while (at < line.bytes && line.text[at] != '/') ++at;
    path->clear();
    while (at < line.bytes) path->add(line.text[at++]);
    return !path->was_cut();
  }
  return false;
}

struct DirectoryEntry {
  std::uint64_t inode, offset;
  std::uint16_t bytes;
  std::uint8_t kind;
  char name[1];
};

const char* variable(const char* name) {
  for (char** at = environ; at && *at; ++at) {
    const char* value = *at;
    const char* expected = name;
    while (*expected && *value == *expected) ++value, ++expected;
    if (*expected == 0 && *value == '=') return value + 1;
  }
  return nullptr;
}

// LLVM's are in a directory for each process, below `.debug/jit`.
bool take_from_home(const Name& name, char* buffer, LongPath* path, GeneratedFunctions& functions) {
  const char* home = variable("JITDUMPDIR");
  if (!home) home = variable("HOME");
  if (!home) return false;
  const LongPath folder = LongPath{home}.add("/.debug/jit");
  const File directory(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory) return false;
  for (;;) {
    const long got = arch::kernel_call(SYS_getdents64, directory.fd(),
                                       reinterpret_cast<long>(buffer), kLineBufferBytes);
    if (got <= 0) return false;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      at += entry->bytes;
      *path = folder;
      path->add("/").add(entry->name).add(name.c_str());
      if (!path->was_cut() && take_names(path->c_str(), functions)) return true;
    }
  }
}

}  // namespace

void name_by_jitdump(GeneratedFunctions& functions) {
  if (functions.is_empty()) return;
  auto* buffer = static_cast<char*>(session.pages.take(kLineBufferBytes));
  auto* path = static_cast<LongPath*>(session.pages.take(sizeof(LongPath)));
  if (buffer != nullptr && path != nullptr) {
    Name name{"/jit-"};
    name.add_number(static_cast<std::uint64_t>(arch::kernel_call(SYS_getpid))).add(".dump");
    const bool is_done =
        (find_mapped(name, buffer, path) && take_names(path->c_str(), functions)) ||
        take_names((*path = LongPath{"."}).add(name.c_str()).c_str(), functions) ||
        take_names((*path = LongPath{"/tmp"}).add(name.c_str()).c_str(), functions);
    if (!is_done) take_from_home(name, buffer, path, functions);
  }
  if (buffer != nullptr) session.pages.give_back(buffer, kLineBufferBytes);
  if (path != nullptr) session.pages.give_back(path, sizeof(LongPath));
}

}  // namespace fbleprof::capture
