#include "profile/plain_run.h"

#include <cstring>
#include <fstream>

#include "format/format.h"
#include "format/plain_run.h"

namespace fbleprof::profile {
namespace {

using format::PlainRunEnd;

// The position of the sampled run in a file of `size` bytes. read(offset, to, bytes) is false if it
// cannot read them.
template <typename Read>
std::optional<PlainRunEnd> find(std::uint64_t size, Read read) {
  format::Header header{};
  PlainRunEnd end{};
  if (size < sizeof header + sizeof end || !read(0, &header, sizeof header) ||
      !read(size - sizeof end, &end, sizeof end)) {
    return std::nullopt;
  }
  const bool is_one = std::memcmp(header.magic, format::kMagic, sizeof header.magic) == 0 &&
                      std::memcmp(end.magic, format::kPlainRunMagic, sizeof end.magic) == 0 &&
                      end.offset >= header.used_bytes && end.offset <= size - sizeof end &&
                      end.bytes == size - sizeof end - end.offset;
  return is_one ? std::optional(end) : std::nullopt;
}

bool read_at(std::ifstream& in, std::uint64_t offset, void* to, std::size_t bytes) {
  in.seekg(static_cast<std::streamoff>(offset));
  return !!in.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
}

std::optional<PlainRunEnd> find(std::ifstream& in) {
  in.seekg(0, std::ios::end);
  if (!in) return std::nullopt;
  return find(static_cast<std::uint64_t>(in.tellg()),
              [&](std::uint64_t offset, void* to, std::size_t bytes) {
                return read_at(in, offset, to, bytes);
              });
}

}  // namespace

std::optional<std::vector<std::byte>> plain_run_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const auto end = find(in);
  if (!end) return std::nullopt;
  std::vector<std::byte> bytes(end->bytes);
  if (!read_at(in, end->offset, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

bool has_plain_run(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return find(in).has_value();
}

std::span<const std::byte> plain_run_in(std::span<const std::byte> file) {
  const auto end = find(file.size(), [&](std::uint64_t offset, void* to, std::size_t bytes) {
    std::memcpy(to, file.data() + offset, bytes);
    return true;
  });
  return end ? file.subspan(end->offset, end->bytes) : std::span<const std::byte>();
}

void append_plain_run(std::vector<std::byte>& file, const std::vector<std::byte>& plain_run) {
  PlainRunEnd end{file.size(), plain_run.size(), {}};
  std::memcpy(end.magic, format::kPlainRunMagic, sizeof end.magic);
  file.insert(file.end(), plain_run.begin(), plain_run.end());
  const auto* bytes = reinterpret_cast<const std::byte*>(&end);
  file.insert(file.end(), bytes, bytes + sizeof end);
}

}  // namespace fbleprof::profile
