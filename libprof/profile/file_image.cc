#include "profile/file_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace fbleprof::profile {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Error failure(const std::string& file, std::string what, std::string remedy = {}) {
  return {file, std::nullopt, std::move(what), std::move(remedy)};
}

// Reads up to `count` bytes; fewer only at the end of the file.
Result<std::size_t> read_at(int fd, const std::string& name, std::byte* out, std::size_t count,
                            std::size_t offset) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(fd, out + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Error{name, offset + done, fmt::format("cannot read: {}", std::strerror(errno)), {}};
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

// What a file that is no profile looks like, as a hint.
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

}  // namespace

FileImage::FileImage(std::string name, std::size_t capacity) : name_(std::move(name)) {
  if (grow(capacity)) throw std::bad_alloc();
}

FileImage::FileImage(FileImage&& other) noexcept
    : name_(std::move(other.name_)),
      bytes_(std::exchange(other.bytes_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

FileImage& FileImage::operator=(FileImage&& other) noexcept {
  if (this != &other) {
    release();
    name_ = std::move(other.name_);
    bytes_ = std::exchange(other.bytes_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

FileImage::~FileImage() { release(); }

void FileImage::release() {
  if (bytes_ != nullptr) munmap(bytes_, capacity_);
  bytes_ = nullptr;
}

Status FileImage::grow(std::size_t capacity) {
  capacity = std::max<std::size_t>(capacity, format::kHeaderBytes);
  void* where = bytes_ == nullptr ? mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                  : mremap(bytes_, capacity_, capacity, MREMAP_MAYMOVE);
  if (where == MAP_FAILED) {
    return failure(name_, fmt::format("no memory for {} bytes", capacity));
  }
  bytes_ = static_cast<std::byte*>(where);
  capacity_ = capacity;
  return {};
}

Status FileImage::check_header() const {
  const format::Header& header = this->header();
  if (size_ == 0)
    return failure(name_, "empty file", "was it written by a program that never ran?");
  const std::size_t magic_part = std::min(size_, sizeof header.magic);
  if (std::memcmp(header.magic, format::kMagic, magic_part) != 0) {
    return failure(name_, "not a profile of fbleprof", guess_kind(bytes_, size_));
  }
  if (size_ < sizeof(format::Header)) {
    return Error{name_, size_, "the file ends inside its header", "nothing can be read from it"};
  }
  if (header.byte_order != format::kByteOrderMark) {
    return Error{name_, offsetof(format::Header, byte_order), "written with another byte order",
                 "read it on a little-endian machine"};
  }
  if (header.version != format::kVersion) {
    return Error{name_, offsetof(format::Header, version),
                 fmt::format("format version {}, this program reads version {}", header.version,
                             format::kVersion),
                 header.version > format::kVersion ? "use a newer fble-prof-report"
                                                   : "use the fble-prof-report it came with"};
  }
  if (header.header_bytes != format::kHeaderBytes || header.unit_bytes != format::kUnitBytes) {
    return Error{name_,
                 offsetof(format::Header, header_bytes),
                 fmt::format("damaged header: sizes {} and {}, not {} and {}", header.header_bytes,
                             header.unit_bytes, format::kHeaderBytes, format::kUnitBytes),
                 {}};
  }
  if (header.used_bytes < format::kHeaderBytes) {
    return Error{name_,
                 offsetof(format::Header, used_bytes),
                 fmt::format("damaged header: {} bytes in use", header.used_bytes),
                 {}};
  }
  return {};
}

Result<FileImage> FileImage::load(const std::string& path) {
  // Non-blocking, or opening a FIFO would wait for a writer for ever.
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    const int error = errno;
    return failure(path, fmt::format("cannot open: {}", std::strerror(error)),
                   error == ENOENT ? "run the program first: fble-prof ./prog" : "");
  }
  struct stat status;
  if (fstat(fd.get(), &status) != 0) {
    return failure(path, fmt::format("cannot stat: {}", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    return failure(path, "is a directory", "name the mlmon.out in it");
  }
  if (!S_ISREG(status.st_mode)) return failure(path, "is not a regular file");

  FileImage image(path, format::kHeaderBytes);
  auto got = read_at(fd.get(), path, image.bytes_, format::kHeaderBytes, 0);
  if (!got) return got.error();
  image.size_ = *got;
  if (Status bad = image.check_header()) return *bad;

  // A live program's file grows while it is read. Records are allocated before anything refers to
  // them, so what the first bytes refer to lies below the `used_bytes` found after reading them:
  // one more look, and every Ref in the first part can be followed.
  for (int look = 0; look < 2; ++look) {
    if (fstat(fd.get(), &status) != 0) break;
    std::uint64_t used = image.header().used_bytes;
    if (look > 0) {
      format::Header now;
      auto header_bytes =
          read_at(fd.get(), path, reinterpret_cast<std::byte*>(&now), sizeof now, 0);
      if (!header_bytes || *header_bytes != sizeof now) break;
      used = std::max(used, now.used_bytes);
      reinterpret_cast<format::Header*>(image.bytes_)->used_bytes = used;
    }
    const std::size_t want =
        std::min<std::uint64_t>(used, static_cast<std::uint64_t>(status.st_size));
    if (want <= image.size_) continue;
    if (Status bad = image.grow(want)) return *bad;
    got = read_at(fd.get(), path, image.bytes_ + image.size_, want - image.size_, image.size_);
    if (!got) return got.error();
    image.size_ += *got;
  }
  return image;
}

Result<FileImage> FileImage::from_bytes(std::span<const std::byte> bytes, std::string name) {
  FileImage image(std::move(name), bytes.size());
  image.size_ = bytes.size();
  if (!bytes.empty()) std::memcpy(image.bytes_, bytes.data(), bytes.size());
  if (Status bad = image.check_header()) return *bad;
  image.size_ = std::min<std::uint64_t>(image.size_, image.header().used_bytes);
  return image;
}

}  // namespace fbleprof::profile
