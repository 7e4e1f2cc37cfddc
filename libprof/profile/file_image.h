// One mlmon.out and its checked header: the input of the reader, --verify and --raw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/format.h"

namespace fbleprof::profile {

// A file that is read piece by piece, or bytes in memory. A file is never mapped, so one that
// shrinks meanwhile does no harm, and what was read need not stay in memory. There may be fewer
// bytes than header().used_bytes says (a truncated file), never more.
class FileImage {
 public:
  FileImage(const FileImage&) = delete;
  FileImage& operator=(const FileImage&) = delete;
  FileImage(FileImage&& other) noexcept;
  FileImage& operator=(FileImage&& other) noexcept;
  ~FileImage();

  // Opens `path`. Fails with one clear line if the file is not a readable profile of this version.
  static Result<FileImage> load(const std::string& path);
  // The same for bytes in memory; `name` stands for the path in messages.
  static Result<FileImage> from_bytes(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  // The size when the file was opened.
  const format::Header& header() const { return header_; }
  std::uint64_t size() const { return size_; }
  bool truncated() const { return size_ < header_.used_bytes; }

  // The current size: a live program's file grows.
  std::uint64_t size_now() const;
  // Copies `count` bytes from `offset` on, or as many as are there; returns how many.
  std::size_t read(std::byte* out, std::size_t count, std::uint64_t offset) const;
  // The bytes, if they are in memory; else empty.
  std::span<const std::byte> in_memory() const { return bytes_; }

 private:
  explicit FileImage(std::string name) : name_(std::move(name)) {}
  // `count` bytes of the header were read, from a file of `file_bytes` bytes.
  Status check_header(std::size_t count, std::uint64_t file_bytes);

  std::string name_;
  int fd_ = -1;
  std::vector<std::byte> bytes_;
  format::Header header_{};
  std::uint64_t size_ = 0;
};

// A moving view of a FileImage, for reading it from one end to the other.
class FileWindow {
 public:
  explicit FileWindow(const FileImage& image) : image_(image) {}

  // The bytes from `offset` on, valid until the next call: `least` or more, unless the file ends
  // earlier. As well aligned as `offset` is, up to kUnitBytes.
  std::span<const std::byte> at(std::uint64_t offset, std::size_t least);
  // Discards the window, so that its bytes are read again.
  void forget() { begin_ = end_ = 0; }

 private:
  const FileImage& image_;
  struct alignas(format::kUnitBytes) Unit {
    std::byte bytes[format::kUnitBytes];
  };
  std::vector<Unit> buffer_;
  std::uint64_t begin_ = 0, end_ = 0;  // the part of the file in the buffer
};

}  // namespace fbleprof::profile
