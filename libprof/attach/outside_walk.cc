#include "attach/outside_walk.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "signal_safe/unwind_table.h"

namespace fbleprof::attach {

namespace {

using signal_safe::FrameRule;

constexpr std::size_t kMostFrames = 1 << 16;
constexpr std::uint64_t kPage = 4096;

// A file's loadable segments, mapped here at the same distances from each other as there. Nothing
// is relocated: unwind tables need no relocation.
class Image {
 public:
  explicit Image(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    map(fd);
    close(fd);
  }
  ~Image() {
    if (base_) munmap(base_, bytes_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // The rule for an address in the file.
  FrameRule rule_at(std::uint64_t in_file) const {
    const std::uint64_t here = object_.load_bias + in_file;
    if (!object_.eh_frame_header || here < object_.begin || here >= object_.end) return {};
    return signal_safe::frame_rule_in(object_, here);
  }
  // The address in the file where its first page is mapped.
  std::uint64_t first() const { return first_; }

 private:
  template <typename Struct>
  static std::optional<Struct> read_at(int fd, std::uint64_t offset) {
    Struct result;
    if (pread(fd, &result, sizeof result, static_cast<off_t>(offset)) != sizeof result) {
      return std::nullopt;
    }
    return result;
  }

  static std::vector<Elf64_Phdr> headers_of(int fd) {
    std::vector<Elf64_Phdr> headers;
    const auto elf = read_at<Elf64_Ehdr>(fd, 0);
    if (!elf || std::string(reinterpret_cast<const char*>(elf->e_ident), 4) != ELFMAG) return {};
    for (unsigned i = 0; i < elf->e_phnum; ++i) {
      const auto header = read_at<Elf64_Phdr>(fd, elf->e_phoff + i * sizeof(Elf64_Phdr));
      if (header) headers.push_back(*header);
    }
    return headers;
  }

  // Whether the file has all bytes of the segment, since others must not be touched, and the
  // segment lies where it is mapped, since it must not replace our own memory.
  static bool is_sound(const Elf64_Phdr& segment, std::uint64_t file_bytes) {
    constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 47;
    return segment.p_offset <= file_bytes && segment.p_filesz <= file_bytes - segment.p_offset &&
           segment.p_filesz <= segment.p_memsz && segment.p_memsz <= kMostMemory &&
           segment.p_vaddr <= kMostMemory && segment.p_vaddr % kPage == segment.p_offset % kPage;
  }

  void map(int fd) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return;
    const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
    const std::vector<Elf64_Phdr> headers = headers_of(fd);
    std::uint64_t low = ~std::uint64_t{0}, high = 0, table = 0;
    for (const Elf64_Phdr& each : headers) {
      if (each.p_type == PT_GNU_EH_FRAME) table = each.p_vaddr;
      if (each.p_type != PT_LOAD) continue;
      if (!is_sound(each, file_bytes)) return;
      low = std::min(low, each.p_vaddr / kPage * kPage);
      high = std::max(high, each.p_vaddr + each.p_memsz);
    }
    if (low >= high || table < low || table >= high) return;
    bytes_ = high - low;
    void* place =
        mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return;
    base_ = place;
    const auto begin = reinterpret_cast<std::uint64_t>(place);
    for (const Elf64_Phdr& each : headers) {
      if (each.p_type != PT_LOAD || each.p_filesz == 0) continue;
      const std::uint64_t lead = each.p_vaddr % kPage;
      mmap(reinterpret_cast<void*>(begin + each.p_vaddr - lead - low), each.p_filesz + lead,
           PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, static_cast<off_t>(each.p_offset - lead));
    }
    first_ = low;
    object_.begin = begin;
    object_.end = begin + bytes_;
    object_.load_bias = begin - low;
    object_.eh_frame_header = reinterpret_cast<const std::uint8_t*>(begin + table - low);
  }

  void* base_ = nullptr;
  std::uint64_t bytes_ = 0, first_ = 0;
  signal_safe::LoadedObject object_;
};

class Images {
 public:
  Images(pid_t pid, const std::vector<Mapping>& mappings) : pid_(pid), mappings_(mappings) {}

  FrameRule rule_at(std::uint64_t address) {
    const Mapping* code = mapping_at(mappings_, address);
    if (!code || !code->is_code || !code->path.starts_with('/')) return {};
    std::unique_ptr<Image>& image = images_[code->path];
    if (!image) image = std::make_unique<Image>(mapped_file_from_outside(pid_, *code));
    const Mapping* object = object_with(mappings_, *code);
    return object ? image->rule_at(address - object->begin + image->first()) : FrameRule{};
  }

 private:
  pid_t pid_;
  const std::vector<Mapping>& mappings_;
  std::map<std::string, std::unique_ptr<Image>> images_;
};

struct Frame {
  std::uint64_t pc, sp, fp;
};

// The caller's frame. False: the rule is not one that a walk from outside follows.
bool leave(const Tracee& thread, const FrameRule& rule, Frame& frame) {
  const auto word = [&](std::uint64_t at, std::uint64_t* value) {
    return at % sizeof *value == 0 && thread.read(at, value, sizeof *value);
  };
  const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
  std::uint64_t cfa = 0;
  switch (rule.base) {
    case FrameRule::Base::kSp:
      cfa = frame.sp + offset;
      break;
    case FrameRule::Base::kFp:
      cfa = frame.fp + offset;
      break;
    case FrameRule::Base::kDerefFp:
      if (!word(frame.fp + offset, &cfa)) return false;
      break;
    case FrameRule::Base::kPltEntry:
      cfa = frame.sp + 8 + (frame.pc % 16 >= offset ? 8 : 0);
      break;
    default:
      return false;
  }
  Frame caller = frame;
  if (cfa < frame.sp || !word(cfa - 8, &caller.pc)) return false;
  caller.sp = cfa;
  const auto fp_offset = static_cast<std::uint64_t>(std::int64_t{rule.fp_offset});
  if (rule.saved_fp == FrameRule::SavedFp::kAtCfa && !word(cfa + fp_offset, &caller.fp)) {
    return false;
  }
  if (rule.saved_fp == FrameRule::SavedFp::kAtFp && !word(frame.fp + fp_offset, &caller.fp)) {
    return false;
  }
  frame = caller;
  return true;
}

}  // namespace

OutsideWalk walk_from_outside(pid_t pid, const Tracee& thread, const arch::TracedRegisters& at,
                              const std::vector<Mapping>& mappings) {
  OutsideWalk walk;
  Images images(pid, mappings);
  Frame frame{arch::pc_of(at), arch::sp_of(at), arch::fp_of(at)};
  bool is_return = false;
  while (walk.frames.size() < kMostFrames) {
    const std::uint64_t address = frame.pc - (is_return ? 1 : 0);
    walk.frames.push_back(address);
    const FrameRule rule = images.rule_at(address);
    if (rule.base == FrameRule::Base::kEnd) {
      walk.is_complete = true;
      return walk;
    }
    if (!leave(thread, rule, frame)) return walk;
    if (frame.pc == 0) {
      walk.is_complete = true;
      return walk;
    }
    is_return = true;
  }
  return walk;
}

}  // namespace fbleprof::attach
