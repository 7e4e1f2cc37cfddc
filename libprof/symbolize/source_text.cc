#include "symbolize/source_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace fbleprof::symbolize {
namespace {

bool read_all(int fd, std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return true;
}

}  // namespace

SourceText SourceText::read(const std::string& path, std::uint64_t recorded_ns) {
  SourceText source;
  const auto without = [&](std::string_view why) {
    source.note_ = fmt::format("{}: {}: its lines have no text", path, why);
    return source;
  };
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return without(errno == ENOENT ? "not found" : std::strerror(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return without("is no file");
  if (static_cast<std::uint64_t>(status.st_size) > kMaxSourceBytes) return without("is too large");
  source.text_.resize(static_cast<std::size_t>(status.st_size));
  if (!read_all(file.get(), source.text_)) return without("cannot be read");
  for (std::size_t at = 0; at < source.text_.size();) {
    source.begins_.push_back(at);
    const std::size_t end = source.text_.find('\n', at);
    at = end == std::string::npos ? source.text_.size() : end + 1;
  }
  const auto modified_ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000u +
                           static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  if (recorded_ns != 0 && modified_ns > recorded_ns) {
    source.note_ =
        fmt::format("{}: changed since the profile was recorded: lines may have moved", path);
  }
  return source;
}

std::string_view SourceText::line(std::uint32_t number) const {
  if (number == 0 || number > begins_.size()) return {};
  const std::size_t begin = begins_[number - 1];
  std::string_view rest = std::string_view(text_).substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

}  // namespace fbleprof::symbolize
