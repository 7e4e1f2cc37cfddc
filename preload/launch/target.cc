#include "launch/target.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace fbleprof::launch {
namespace {

// Closes on the way out.
class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool read(std::uint64_t offset, void* to, std::size_t size) const {
    return pread(fd_, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }
  std::string first_bytes(std::size_t size) const {
    std::string bytes(size, '\0');
    const ssize_t count = pread(fd_, bytes.data(), size, 0);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }

 private:
  int fd_;
};

// 0, or why the file cannot be run.
int reason_not_to_run(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (access(path.c_str(), X_OK) != 0) return errno;
  return 0;
}

bool gains_rights(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

// The position-independent ones of the static programs look like the dynamic linker itself, but for
// this flag.
bool is_marked_as_program(const File& file, const ElfW(Phdr) & dynamic) {
  constexpr std::size_t kMaxEntries = 512;
  for (std::size_t i = 0; i < kMaxEntries && i * sizeof(ElfW(Dyn)) < dynamic.p_filesz; ++i) {
    ElfW(Dyn) entry;
    if (!file.read(dynamic.p_offset + i * sizeof entry, &entry, sizeof entry)) return false;
    if (entry.d_tag == DT_NULL) return false;
    if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
  }
  return false;
}

bool is_static(const File& file, const ElfW(Ehdr) & header) {
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  std::optional<ElfW(Phdr)> dynamic;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!file.read(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return false;
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
  }
  return !dynamic || is_marked_as_program(file, *dynamic);
}

// "#! /bin/sh -e" names "/bin/sh".
std::string interpreter_of(std::string_view script) {
  if (!script.starts_with("#!")) return {};
  script.remove_prefix(2);
  script.remove_prefix(std::min(script.find_first_not_of(" \t"), script.size()));
  return std::string(script.substr(0, script.find_first_of(" \t\r\n")));
}

Obstacle obstacle_of_file(const std::string& path, int scripts_left) {
  const File file(path);
  constexpr std::size_t kShebangBytes = 256;
  const std::string head = file.first_bytes(kShebangBytes);
  if (const std::string interpreter = interpreter_of(head); !interpreter.empty()) {
    return scripts_left > 0 ? obstacle_of_file(interpreter, scripts_left - 1) : Obstacle::kNone;
  }
  if (gains_rights(path)) return Obstacle::kSetuid;
  if (head.size() < EI_NIDENT || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) {
    return Obstacle::kNone;
  }
  ElfW(Ehdr) ours;
  ElfW(Ehdr) header;
  const File self("/proc/self/exe");
  if (!file.read(0, &header, sizeof header) || !self.read(0, &ours, sizeof ours)) {
    return Obstacle::kNone;
  }
  if (header.e_ident[EI_CLASS] != ours.e_ident[EI_CLASS] || header.e_machine != ours.e_machine) {
    return Obstacle::kForeignElf;
  }
  return is_static(file, header) ? Obstacle::kStatic : Obstacle::kNone;
}

}  // namespace

Program find_program(const std::string& name, const char* search_path) {
  if (name.empty()) return {"", ENOENT};
  if (name.find('/') != std::string::npos) {
    const int error = reason_not_to_run(name);
    return error == ENOENT || error == ENOTDIR ? Program{"", ENOENT} : Program{name, error};
  }
  const std::string_view path = search_path != nullptr ? search_path : "/bin:/usr/bin";
  Program found{"", ENOENT};  // a file that cannot be run gives way to a later one that can
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    std::string candidate(path.substr(begin, end - begin));
    candidate += candidate.empty() ? "./" : "/";  // an empty part of PATH is this directory
    candidate += name;
    const int error = reason_not_to_run(candidate);
    if (error == 0) return {candidate, 0};
    if (error == EACCES && found.path.empty()) found = {candidate, error};
    begin = end + 1;
  }
  return found;
}

Obstacle obstacle_of(const std::string& path) {
  constexpr int kMaxScripts = 4;
  return obstacle_of_file(path, kMaxScripts);
}

std::string explain(Obstacle obstacle, const std::string& program) {
  switch (obstacle) {
    case Obstacle::kNone:
      break;
    case Obstacle::kStatic:
      return program +
             ": is linked statically, so the recorder cannot be loaded: it runs "
             "unprofiled (link it dynamically)";
    case Obstacle::kSetuid:
      return program +
             ": runs with other rights (setuid, setgid or capabilities), so the recorder "
             "is not loaded: it runs unprofiled";
    case Obstacle::kForeignElf:
      return program +
             ": is built for another word size or processor than libfbleprof.so: it runs "
             "unprofiled";
  }
  return {};
}

}  // namespace fbleprof::launch
