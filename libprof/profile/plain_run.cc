#include "profile/plain_run.h"

#include <cstring>
#include <fstream>

#include "format/format.h"
#include "format/plain_run.h"

namespace fbleprof::profile {
namespace {

using format::PlainRunEnd;

bool is_one(const format::Header& header, const PlainRunEnd& end, std::uint64_t size) {
  return std::memcmp(header.magic, format::kMagic, sizeof header.magic) == 0 &&
         std::memcmp(end.magic, format::kPlainRunMagic, sizeof end.magic) == 0 &&
         end.offset >= header.used_bytes && end.offset <= size - sizeof end &&
         end.bytes == size - sizeof end - end.offset;
}

// The position of the sampled run in the file.
std::optional<PlainRunEnd> find(std::ifstream& in) {
  format::Header header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  if (std::memcmp(header.magic, format::kMagic, sizeof header.magic) != 0) return std::nullopt;
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(in.tellg());
  PlainRunEnd end{};
  if (size < sizeof header + sizeof end) return std::nullopt;
  in.seekg(static_cast<std::streamoff>(size - sizeof end));
  if (!in.read(reinterpret_cast<char*>(&end), sizeof end)) return std::nullopt;
  return is_one(header, end, size) ? std::optional(end) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::byte>> plain_run_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const auto end = find(in);
  if (!end) return std::nullopt;
  std::vector<std::byte> bytes(end->bytes);
  in.seekg(static_cast<std::streamoff>(end->offset));
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) {
    return std::nullopt;
  }
  return bytes;
}

bool has_plain_run(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return find(in).has_value();
}

std::span<const std::byte> plain_run_in(std::span<const std::byte> file) {
  format::Header header{};
  PlainRunEnd end{};
  if (file.size() < sizeof header + sizeof end) return {};
  std::memcpy(&header, file.data(), sizeof header);
  std::memcpy(&end, file.data() + file.size() - sizeof end, sizeof end);
  return is_one(header, end, file.size()) ? file.subspan(end.offset, end.bytes)
                                          : std::span<const std::byte>();
}

void append_plain_run(std::vector<std::byte>& file, const std::vector<std::byte>& plain_run) {
  PlainRunEnd end{file.size(), plain_run.size(), {}};
  std::memcpy(end.magic, format::kPlainRunMagic, sizeof end.magic);
  file.insert(file.end(), plain_run.begin(), plain_run.end());
  const auto* bytes = reinterpret_cast<const std::byte*>(&end);
  file.insert(file.end(), bytes, bytes + sizeof end);
}

}  // namespace fbleprof::profile
