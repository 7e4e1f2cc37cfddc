#include "profile/file_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "profile/missing_file.h"

namespace fbleprof::profile {
namespace {

Error failure(const std::string& file, std::string what, std::string remedy = {}) {
  return {file, std::nullopt, std::move(what), std::move(remedy)};
}

// A hint at what a file may be that is not a profile.
std::string guess_kind(const std::byte* bytes, std::size_t size) {
  const auto starts = [&](const char* magic, std::size_t length) {
    return size >= length && std::memcmp(bytes, magic, length) == 0;
  };
  if (starts("\x7f"
             "ELF",
             4))
    return "this is a program or library, not its profile";
  if (starts("gmon", 4)) return "this is gprof's gmon.out";
  if (starts("PERFILE2", 8)) return "this is perf.data, of perf record";
  if (starts("\x1f\x8b", 2)) return "this is a gzip file; a pprof profile?";
  return "give the mlmon.out that a profiled program wrote";
}

// As much as a Ref can address, and no more than the header says is in use.
std::uint64_t readable(std::uint64_t used_bytes, std::uint64_t file_bytes) {
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 32) * format::kUnitBytes;
  return std::min({used_bytes, file_bytes, kLargest});
}

}  // namespace

FileImage::FileImage(FileImage&& other) noexcept
    : name_(std::move(other.name_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(std::move(other.bytes_)),
      header_(other.header_),
      size_(other.size_) {}

FileImage& FileImage::operator=(FileImage&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  std::swap(header_, other.header_);
  std::swap(size_, other.size_);
  return *this;
}

FileImage::~FileImage() {
  if (fd_ >= 0) close(fd_);
}

Status FileImage::check_header(std::size_t count, std::uint64_t file_bytes) {
  if (count == 0) {
    return failure(name_, "empty file", "did its program never run, or was the disk full?");
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(&header_);
  const std::size_t magic_part = std::min(count, sizeof header_.magic);
  if (std::memcmp(header_.magic, format::kMagic, magic_part) != 0) {
    return failure(name_, "not a profile of fbleprof", guess_kind(bytes, count));
  }
  if (count < sizeof header_) {
    return Error{name_, count, "the file ends inside its header", "nothing can be read from it"};
  }
  if (header_.byte_order != format::kByteOrderMark) {
    return Error{name_, offsetof(format::Header, byte_order), "written with another byte order",
                 "read it on a little-endian machine"};
  }
  if (header_.major_version < format::kMajorVersion) {
    return failure(name_,
                   fmt::format("written by an older fbleprof (format {})", header_.major_version),
                   "record it again");
  }
  if (header_.major_version > format::kMajorVersion) {
    return failure(name_,
                   fmt::format("written by a newer fbleprof (format {}; this program reads {})",
                               header_.major_version, format::kMajorVersion),
                   "use a newer fble-prof-report");
  }
  if (header_.header_bytes != format::kHeaderBytes || header_.unit_bytes != format::kUnitBytes) {
    return Error{name_,
                 offsetof(format::Header, header_bytes),
                 fmt::format("damaged header: sizes {} and {}, not {} and {}", header_.header_bytes,
                             header_.unit_bytes, format::kHeaderBytes, format::kUnitBytes),
                 {}};
  }
  if (header_.used_bytes < format::kHeaderBytes) {
    return Error{name_,
                 offsetof(format::Header, used_bytes),
                 fmt::format("damaged header: {} bytes in use", header_.used_bytes),
                 {}};
  }
  size_ = readable(header_.used_bytes, file_bytes);
  return {};
}

Result<FileImage> FileImage::load(const std::string& path) {
  FileImage image(path);
  // Non-blocking: opening a FIFO would otherwise wait for a writer.
  image.fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (image.fd_ < 0) {
    const int error = errno;
    return failure(path, fmt::format("cannot open: {}", std::strerror(error)),
                   error == ENOENT ? kAdviceIfMissing : "");
  }
  struct stat status;
  if (fstat(image.fd_, &status) != 0) {
    return failure(path, fmt::format("cannot stat: {}", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    return failure(path, "is a directory", "name the mlmon.out in it");
  }
  if (!S_ISREG(status.st_mode)) return failure(path, "is not a regular file");
  errno = 0;
  const std::size_t count =
      image.read(reinterpret_cast<std::byte*>(&image.header_), sizeof image.header_, 0);
  if (count == 0 && errno != 0) {
    return failure(path, fmt::format("cannot read: {}", std::strerror(errno)));
  }
  if (Status bad = image.check_header(count, static_cast<std::uint64_t>(status.st_size))) {
    return *bad;
  }
  return image;
}

Result<FileImage> FileImage::from_bytes(std::span<const std::byte> bytes, std::string name) {
  FileImage image(std::move(name));
  image.bytes_.assign(bytes.begin(), bytes.end());
  const std::size_t count =
      image.read(reinterpret_cast<std::byte*>(&image.header_), sizeof image.header_, 0);
  if (Status bad = image.check_header(count, bytes.size())) return *bad;
  return image;
}

std::uint64_t FileImage::size_now() const {
  format::Header now;
  struct stat status;
  if (fd_ < 0 || fstat(fd_, &status) != 0 ||
      read(reinterpret_cast<std::byte*>(&now), sizeof now, 0) != sizeof now) {
    return size_;
  }
  return std::max(size_, readable(now.used_bytes, static_cast<std::uint64_t>(status.st_size)));
}

std::size_t FileImage::read(std::byte* out, std::size_t count, std::uint64_t offset) const {
  if (fd_ < 0) {
    if (offset >= bytes_.size()) return 0;
    count = std::min<std::uint64_t>(count, bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, out);
    return count;
  }
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(fd_, out + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::span<const std::byte> FileWindow::at(std::uint64_t offset, std::size_t least) {
  if (const auto all = image_.in_memory(); !all.empty()) {
    return all.subspan(std::min<std::uint64_t>(offset, all.size()));
  }
  constexpr std::size_t kUsual = 1 << 20;
  constexpr std::uint64_t kUnit = format::kUnitBytes;
  if (offset < begin_ || offset + least > end_) {
    begin_ = offset / kUnit * kUnit;
    const std::size_t units = (std::max(least, kUsual) + 2 * kUnit - 1) / kUnit;
    if (buffer_.size() < units) buffer_.resize(units);
    auto* out = reinterpret_cast<std::byte*>(buffer_.data());
    end_ = begin_ + image_.read(out, buffer_.size() * kUnit, begin_);
  }
  if (offset >= end_) return {};
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer_.data());
  return {bytes + (offset - begin_), static_cast<std::size_t>(end_ - offset)};
}

}  // namespace fbleprof::profile
