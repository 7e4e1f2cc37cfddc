#include "symbolize/debug_file.h"

#include <elfutils/libdwelf.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>

#include "base/hex.h"

namespace fbleprof::symbolize {
namespace {

// The checksum of a whole file, or nothing if it cannot be read.
std::optional<std::uint32_t> checksum(int fd) {
  std::vector<unsigned char> buffer(256 * 1024);
  uLong sum = crc32(0, nullptr, 0);
  for (off_t offset = 0;;) {
    const ssize_t count = pread(fd, buffer.data(), buffer.size(), offset);
    if (count < 0) return std::nullopt;
    if (count == 0) return static_cast<std::uint32_t>(sum);
    sum = crc32(sum, buffer.data(), static_cast<uInt>(count));
    offset += count;
  }
}

bool belongs(const ElfObject& candidate, const ElfObject& object, std::uint32_t crc) {
  if (!object.build_id().empty() || !candidate.build_id().empty()) {
    return candidate.build_id() == object.build_id();
  }
  return checksum(candidate.fd()) == crc;
}

// The content of an .xz stream; nothing if it is damaged, or larger than any symbol table.
std::vector<char> unpack(std::string_view packed) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  std::vector<char> bytes(4 * packed.size() + 4096);
  for (;;) {
    std::uint64_t memory = std::uint64_t{256} << 20;
    std::size_t from = 0, to = 0;
    const lzma_ret outcome = lzma_stream_buffer_decode(
        &memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(packed.data()), &from,
        packed.size(), reinterpret_cast<std::uint8_t*>(bytes.data()), &to, bytes.size());
    if (outcome == LZMA_BUF_ERROR && bytes.size() < kMostBytes) {
      bytes.resize(2 * bytes.size());
      continue;
    }
    bytes.resize(outcome == LZMA_OK ? to : 0);
    return bytes;
  }
}

}  // namespace

std::optional<ElfObject> mini_debug_info(const ElfObject& object) {
  const Section* section = object.section(".gnu_debugdata");
  if (section == nullptr || section->bytes().empty()) return std::nullopt;
  std::vector<char> image = unpack(section->bytes());
  if (image.empty()) return std::nullopt;
  return ElfObject::from_bytes(std::move(image));
}

std::optional<ElfObject> debug_file_by_build_id(std::string_view build_id,
                                                const std::vector<std::string>& roots) {
  if (build_id.size() < 2) return std::nullopt;
  const std::string name = hex(build_id);
  for (const std::string& root : roots) {
    OpenError error{};
    auto file = ElfObject::open(
        root + "/.build-id/" + name.substr(0, 2) + "/" + name.substr(2) + ".debug", &error);
    if (file && file->build_id() == build_id) return file;
  }
  return std::nullopt;
}

std::optional<ElfObject> debug_file_by_link(const ElfObject& object,
                                            const std::vector<std::string>& roots) {
  GElf_Word crc = 0;
  const char* link = dwelf_elf_gnu_debuglink(object.elf(), &crc);
  if (link == nullptr) return std::nullopt;
  const std::string name = link;
  if (name.empty() || name == ".." || name.find('/') != std::string::npos) return std::nullopt;

  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(object.path(), failure);
  if (failure) return std::nullopt;
  const std::string directory = real.parent_path().string();
  std::vector<std::string> candidates = {directory + "/" + name, directory + "/.debug/" + name};
  for (const std::string& root : roots) candidates.push_back(root + directory + "/" + name);
  for (const std::string& path : candidates) {
    if (path == real) continue;
    OpenError error{};
    auto file = ElfObject::open(path, &error);
    if (file && belongs(*file, object, crc)) return file;
  }
  return std::nullopt;
}

}  // namespace fbleprof::symbolize
