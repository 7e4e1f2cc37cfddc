#include "profile/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>

#include "profile/file_image.h"
#include "profile/liveness.h"
#include "profile/plain_run.h"
#include "profile/records.h"

namespace fbleprof::profile {
namespace {

using format::kUnitBytes;
using format::Ref;

constexpr std::size_t kStringHead = offsetof(format::String, bytes);

// The records of functions, in the order in which the reader numbers them.
std::vector<Ref> function_records(const FileImage& image) {
  Damage damage;
  RecordWalk walk(image, damage);
  std::vector<Ref> refs;
  while (const auto record = walk.next()) {
    if (record->kind == format::Kind::kFunction && !record->is_cut) refs.push_back(record->ref);
  }
  return refs;
}

class Packer {
 public:
  Packer(std::vector<std::byte>& bytes, const Profile& named) : bytes_(bytes), named_(named) {}

  void name_function(Ref ref, std::size_t f) {
    const Functions& functions = named_.functions();
    format::Function record;
    std::byte* at = bytes_.data() + std::uint64_t{ref} * kUnitBytes;
    std::memcpy(&record, at, sizeof record);
    const bool has_code = record.kind == format::FunctionKind::kNative ||
                          record.kind == format::FunctionKind::kInstruction;
    if (!has_code) return;  // the file already holds everything about it
    if (functions.kind[f] == FunctionKind::kJit) {
      record.kind = FunctionKind::kJit;
      record.address = functions.address[f];
      record.size = functions.size[f];
      record.column = functions.column[f];
      record.language = string(functions.language[f]);
    }
    if (record.name == 0) record.name = string(functions.name[f]);
    if (record.linkage_name == 0) record.linkage_name = string(functions.linkage_name[f]);
    if (record.file == 0 && functions.file[f]) {
      record.file = string(functions.file[f]);
      record.line = functions.line[f];
    }
    // Adding a string moves the bytes.
    std::memcpy(bytes_.data() + std::uint64_t{ref} * kUnitBytes, &record, sizeof record);
  }

 private:
  Ref string(StringId id) {
    const std::string_view text = named_.text(id);
    if (!id || text.empty() || text.size() > std::numeric_limits<std::uint32_t>::max()) return 0;
    const auto [known, added] = strings_.try_emplace(id, 0);
    if (!added) return known->second;
    const std::size_t begin = bytes_.size();
    if (begin / kUnitBytes > std::numeric_limits<Ref>::max()) return 0;
    const std::size_t units = (kStringHead + text.size() + kUnitBytes - 1) / kUnitBytes;
    bytes_.resize(begin + units * kUnitBytes);
    format::String record{};
    record.head = {static_cast<std::uint32_t>(units), format::Kind::kString, format::kHeadMark};
    record.length = static_cast<std::uint32_t>(text.size());
    std::memcpy(bytes_.data() + begin, &record, kStringHead);
    std::memcpy(bytes_.data() + begin + kStringHead, text.data(), text.size());
    return known->second = static_cast<Ref>(begin / kUnitBytes);
  }

  std::vector<std::byte>& bytes_;
  const Profile& named_;
  std::map<StringId, Ref> strings_;
};

}  // namespace

Result<std::vector<std::byte>> pack(std::vector<std::byte> bytes, const std::string& name,
                                    const Profile& named) {
  std::vector<Ref> refs;
  format::Header header;
  {
    const auto image = FileImage::from_bytes(bytes, name);
    if (!image) return image.error();
    if (image->truncated()) {
      return Error{name, image->size(), "truncated: a packed file would look whole", {}};
    }
    refs = function_records(*image);
    header = image->header();
  }
  if (refs.size() > named.functions().count()) {
    return Error{name, {}, "its functions were not read all", "is the file being changed?"};
  }
  const std::uint64_t used = (header.used_bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
  bytes.resize(used);
  Packer packer(bytes, named);
  for (std::size_t f = 0; f < refs.size(); ++f) packer.name_function(refs[f], f);
  header.used_bytes = bytes.size();
  header.cap_bytes = std::max(header.cap_bytes, header.used_bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

Result<std::uint64_t> trim(const std::string& path) {
  const auto image = FileImage::load(path);
  if (!image) return image.error();
  const ProcessState state = process_state(image->header(), {}, true);
  if (state == ProcessState::kLive) {
    return Error{path, {}, "its program still runs", "trim it when the program has ended"};
  }
  struct stat status;
  const std::uint64_t used = image->header().used_bytes;
  if (stat(path.c_str(), &status) != 0) {
    return Error{path, {}, fmt::format("cannot stat: {}", std::strerror(errno)), {}};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size <= used || has_plain_run(path)) return std::uint64_t{0};
  if (truncate(path.c_str(), static_cast<off_t>(used)) != 0) {
    return Error{path, {}, fmt::format("cannot be cut: {}", std::strerror(errno)), {}};
  }
  return size - used;
}

}  // namespace fbleprof::profile
