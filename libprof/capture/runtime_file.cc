#include "capture/runtime_file.h"

#include "signal_safe/session.h"

namespace fbleprof::capture {

bool is_of_this_process(const File& file) {
  struct stat status;
  if (!file.read_status(&status) || !S_ISREG(status.st_mode)) return false;
  const auto user = static_cast<std::uint32_t>(arch::kernel_call(SYS_geteuid));
  const std::uint64_t start_s =
      signal_safe::session.arena.header()->start_realtime_ns / 1'000'000'000;
  return status.st_uid == user && static_cast<std::uint64_t>(status.st_mtime) + 1 >= start_s;
}

bool Lines::next(Line* line) {
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

// Moves the line that has begun to the buffer's start, and reads more behind it.
bool Lines::fill(std::uint64_t* end) {
  const std::uint64_t kept = filled_ - at_;
  if (kept == kLineBufferBytes) return false;
  for (std::uint64_t i = 0; i < kept; ++i) buffer_[i] = buffer_[at_ + i];
  offset_ += at_;
  at_ = 0;
  *end = filled_ = kept;
  if (offset_ >= kMostBytesOfRuntimeFile) return false;
  const long got = file_.read(offset_ + kept, buffer_ + kept, kLineBufferBytes - kept);
  if (got > 0) filled_ += static_cast<std::uint64_t>(got);
  return got > 0;
}

}  // namespace fbleprof::capture
