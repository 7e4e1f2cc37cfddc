#include "capture/perf_map.h"

#include "capture/kernel_file.h"
#include "capture/text.h"
#include "signal_safe/generated_code.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kBufferBytes = 64 << 10;

bool is_of_this_process(const File& file) {
  struct stat status;
  if (!file.read_status(&status) || !S_ISREG(status.st_mode)) return false;
  const auto user = static_cast<std::uint32_t>(arch::kernel_call(SYS_geteuid));
  const std::uint64_t start_s = session.arena.header()->start_realtime_ns / 1'000'000'000;
  return status.st_uid == user && static_cast<std::uint64_t>(status.st_mtime) + 1 >= start_s;
}

struct Line {
  const char* text = nullptr;
  std::uint32_t bytes = 0;   // without the newline
  std::uint64_t offset = 0;  // in the file
};

// The lines of a file, one after the other. One that is longer than the buffer is cut.
class Lines {
 public:
  Lines(const File& file, char* buffer) : file_(file), buffer_(buffer) {}

  // False at the end. The line is valid until the next call.
  bool next(Line* line) {
    std::uint64_t end = at_;
    for (;; ++end) {
      if (end == filled_ && !fill(&end)) break;
      if (buffer_[end] == '\n') break;
    }
    if (end == at_ && end == filled_) return false;
    *line = {buffer_ + at_, static_cast<std::uint32_t>(end - at_), offset_ + at_};
    at_ = end < filled_ ? end + 1 : end;
    return true;
  }

 private:
  // Moves the line that has begun to the buffer's start, and reads more behind it.
  bool fill(std::uint64_t* end) {
    const std::uint64_t kept = filled_ - at_;
    if (kept == kBufferBytes) return false;
    for (std::uint64_t i = 0; i < kept; ++i) buffer_[i] = buffer_[at_ + i];
    offset_ += at_;
    at_ = 0;
    *end = filled_ = kept;
    if (offset_ >= kMostBytes) return false;
    const long got = file_.read(offset_ + kept, buffer_ + kept, kBufferBytes - kept);
    if (got > 0) filled_ += static_cast<std::uint64_t>(got);
    return got > 0;
  }

  const File& file_;
  char* buffer_;
  std::uint64_t offset_ = 0;  // of the buffer in the file
  std::uint64_t at_ = 0, filled_ = 0;
};

// Takes a number in hexadecimal and the blank behind it.
bool take_number(const char** at, const char* end, std::uint64_t* number) {
  const char* c = *at;
  if (end - c > 2 && c[0] == '0' && c[1] == 'x') c += 2;
  const char* first = c;
  *number = 0;
  for (; c < end && hex_digit(*c) >= 0; ++c) {
    *number = *number << 4 | static_cast<std::uint64_t>(hex_digit(*c));
  }
  if (c == first || c - first > 16 || c == end || *c != ' ') return false;
  *at = c + 1;
  return true;
}

}  // namespace

void name_by_perf_map(GeneratedFunctions& functions) {
  if (functions.is_empty()) return;
  char path[signal_safe::kMapPathBytes];
  signal_safe::write_map_path(path);
  const File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file || !is_of_this_process(file)) return;
  auto* buffer = static_cast<char*>(session.pages.take(kBufferBytes));
  if (buffer == nullptr) return;
  Lines lines(file, buffer);
  for (Line line; lines.next(&line);) {
    const char* at = line.text;
    const char* end = line.text + line.bytes;
    std::uint64_t begin, bytes;
    if (!take_number(&at, end, &begin) || !take_number(&at, end, &bytes)) continue;
    const auto name_at = line.offset + static_cast<std::uint64_t>(at - line.text);
    functions.offer(begin, bytes, line.offset, name_at, static_cast<std::uint32_t>(end - at));
  }
  session.pages.give_back(buffer, kBufferBytes);
  functions.take_names([&](std::uint64_t at, char* name, std::uint32_t bytes) {
    const long got = file.read(at, name, bytes);
    return got > 0 ? static_cast<std::uint32_t>(got) : 0;
  });
}

}  // namespace fbleprof::capture
