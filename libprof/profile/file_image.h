// The bytes of one mlmon.out and its checked header: what the reader, --verify and --raw start
// from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "format/format.h"

namespace fbleprof::profile {

// A copy of a file's used part, taken with pread: no file that shrinks or grows meanwhile can hurt.
// The bytes may be fewer than header().used_bytes (a truncated file), never more.
class FileImage {
 public:
  FileImage(const FileImage&) = delete;
  FileImage& operator=(const FileImage&) = delete;
  FileImage(FileImage&& other) noexcept;
  FileImage& operator=(FileImage&& other) noexcept;
  ~FileImage();

  // Reads `path`. Fails with one clear line on what is no readable profile of this version.
  static Result<FileImage> load(const std::string& path);
  // The same for bytes in memory; `name` stands for the path in messages.
  static Result<FileImage> from_bytes(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  const format::Header& header() const { return *reinterpret_cast<const format::Header*>(bytes_); }
  std::size_t size() const { return size_; }
  const std::byte* data() const { return bytes_; }
  bool truncated() const { return size_ < header().used_bytes; }

 private:
  FileImage(std::string name, std::size_t capacity);
  Status grow(std::size_t capacity);
  Status check_header() const;
  void release();

  std::string name_;
  std::byte* bytes_ = nullptr;  // anonymous mapping: untouched pages cost nothing
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace fbleprof::profile
