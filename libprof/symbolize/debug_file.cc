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

std::vector<std::string> places_by_build_id(std::string_view build_id,
                                            const std::vector<std::string>& roots) {
  std::vector<std::string> places;
  if (build_id.size() < 2) return places;
  const std::string name = hex(build_id);
  for (const std::string& root : roots) {
    places.push_back(root + "/.build-id/" + name.substr(0, 2) + "/" + name.substr(2) + ".debug");
  }
  return places;
}

// What .gnu_debuglink says.
struct Link {
  std::vector<std::string> places;
  GElf_Word checksum = 0;
};

Link link_of(const ElfObject& object, const std::vector<std::string>& roots) {
  Link link;
  const char* text = dwelf_elf_gnu_debuglink(object.elf(), &link.checksum);
  const std::string name = text != nullptr ? text : "";
  if (name.empty() || name == ".." || name.find('/') != std::string::npos) return link;

  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(object.path(), failure);
  if (failure) return link;
  const std::string directory = real.parent_path().string();
  link.places = {directory + "/" + name, directory + "/.debug/" + name};
  for (const std::string& root : roots) link.places.push_back(root + directory + "/" + name);
  std::erase(link.places, real.string());
  return link;
}

}  // namespace

std::optional<ElfObject> mini_debug_info(const ElfObject& object) {
  const Section* section = object.section(".gnu_debugdata");
  if (section == nullptr || section->bytes().empty()) return std::nullopt;
  std::vector<char> image = unpack(section->bytes());
  if (image.empty()) return std::nullopt;
  return ElfObject::from_bytes(std::move(image));
}

std::vector<std::string> places_of_debug_file(const ElfObject& object,
                                              const std::vector<std::string>& roots) {
  std::vector<std::string> places = places_by_build_id(object.build_id(), roots);
  for (std::string& place : link_of(object, roots).places) places.push_back(std::move(place));
  return places;
}

std::optional<ElfObject> debug_file_by_build_id(std::string_view build_id,
                                                const std::vector<std::string>& roots) {
  for (const std::string& path : places_by_build_id(build_id, roots)) {
    OpenError error{};
    auto file = ElfObject::open(path, &error);
    if (file && file->build_id() == build_id) return file;
  }
  return std::nullopt;
}

std::optional<ElfObject> debug_file_by_link(const ElfObject& object,
                                            const std::vector<std::string>& roots) {
  const Link link = link_of(object, roots);
  for (const std::string& path : link.places) {
    OpenError error{};
    auto file = ElfObject::open(path, &error);
    if (file && belongs(*file, object, link.checksum)) return file;
  }
  return std::nullopt;
}

}  // namespace fbleprof::symbolize
