#include "launch/target.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace fbleprof::launch {
namespace {

// A FIFO, which a script's first line can name, would wait for a writer.
int open_now(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

Fd open_to_read(const std::string& path) { return Fd(open_now(path)); }

std::string first_bytes(const Fd& file, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t count = pread(file.get(), bytes.data(), size, 0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

// The bytes of a whole file; none if it cannot be read.
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const int fd = open_now(path);
    struct stat status {};
    if (fd < 0) return;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      bytes_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
  }
  ~Mapped() {
    if (bytes_ != MAP_FAILED) munmap(bytes_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  bool holds(std::string_view text) const {
    return bytes_ != MAP_FAILED && memmem(bytes_, size_, text.data(), text.size()) != nullptr;
  }

 private:
  void* bytes_ = MAP_FAILED;
  std::size_t size_ = 0;
};

// 0, or why the file cannot be run.
int reason_not_to_run(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
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

// None if they cannot be read.
std::optional<std::vector<ElfW(Phdr)>> segments_of(const Fd& file, const ElfW(Ehdr) & header) {
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return {};
  std::vector<ElfW(Phdr)> segments;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!file.read_at(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    segments.push_back(segment);
  }
  return segments;
}

// What the dynamic section of a program tells about names.
struct DynamicNames {
  std::vector<std::uint64_t> libraries;  // places in the string table
  std::string table;
};

// None for a file that is no ELF file of ours, or has no dynamic section.
std::optional<DynamicNames> dynamic_names_of(const Fd& file) {
  constexpr std::size_t kMaxEntries = 4096;
  constexpr std::size_t kMaxTable = std::size_t{1} << 28;
  ElfW(Ehdr) header;
  if (!file.read_at(0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return {};
  }
  const auto segments = segments_of(file, header);
  if (!segments) return {};
  ElfW(Phdr) dynamic{};
  for (const ElfW(Phdr) & segment : *segments) {
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
  }
  DynamicNames names;
  std::uint64_t address = 0, size = 0;  // of the string table
  for (std::size_t i = 0; i < kMaxEntries && i * sizeof(ElfW(Dyn)) < dynamic.p_filesz; ++i) {
    ElfW(Dyn) entry;
    if (!file.read_at(dynamic.p_offset + i * sizeof entry, &entry, sizeof entry)) return {};
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) names.libraries.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
  }
  for (const ElfW(Phdr) & segment : *segments) {
    if (segment.p_type != PT_LOAD) continue;
    if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz) continue;
    const std::uint64_t place = address - segment.p_vaddr;
    names.table.resize(std::min({size, segment.p_filesz - place, kMaxTable}));
    if (file.read_at(segment.p_offset + place, names.table.data(), names.table.size())) {
      return names;
    }
  }
  return {};
}

// Position-independent static programs look like the dynamic linker itself, except for this flag.
bool is_marked_as_program(const Fd& file, const ElfW(Phdr) & dynamic) {
  constexpr std::size_t kMaxEntries = 512;
  for (std::size_t i = 0; i < kMaxEntries && i * sizeof(ElfW(Dyn)) < dynamic.p_filesz; ++i) {
    ElfW(Dyn) entry;
    if (!file.read_at(dynamic.p_offset + i * sizeof entry, &entry, sizeof entry)) return false;
    if (entry.d_tag == DT_NULL) return false;
    if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
  }
  return false;
}

bool is_static(const Fd& file, const std::vector<ElfW(Phdr)>& segments) {
  const ElfW(Phdr)* dynamic = nullptr;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type == PT_INTERP) return false;
    if (segment.p_type == PT_DYNAMIC) dynamic = &segment;
  }
  return dynamic == nullptr || is_marked_as_program(file, *dynamic);
}

bool needs_musl(const Fd& file, const std::vector<ElfW(Phdr)>& segments) {
  constexpr std::string_view kLinker = "/ld-musl-";
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX) continue;
    std::string path(segment.p_filesz, '\0');
    return file.read_at(segment.p_offset, path.data(), path.size()) &&
           path.find(kLinker) != std::string::npos;
  }
  return false;
}

// "#! /bin/sh -e" names "/bin/sh".
std::string interpreter_of(std::string_view script) {
  if (!script.starts_with("#!")) return {};
  script.remove_prefix(2);
  script.remove_prefix(std::min(script.find_first_not_of(" \t"), script.size()));
  return std::string(script.substr(0, script.find_first_of(" \t\r\n")));
}

// "#!/usr/bin/env -S A=B lua5.4 -i" names "lua5.4": neither an option nor a setting.
std::string word_for_env(std::string_view script) {
  std::string_view rest = script.substr(2, script.find_first_of("\r\n") - 2);
  bool is_env = true;
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(word.size());
    const bool is_program = !word.starts_with('-') && word.find('=') == std::string_view::npos;
    if (!is_env && is_program) return std::string(word);
    is_env = false;
  }
  return {};
}

Obstacle obstacle_of_file(const std::string& path, int scripts_left) {
  const Fd file = open_to_read(path);
  constexpr std::size_t kShebangBytes = 256;
  const std::string head = first_bytes(file, kShebangBytes);
  if (const std::string interpreter = interpreter_of(head); !interpreter.empty()) {
    return scripts_left > 0 ? obstacle_of_file(interpreter, scripts_left - 1) : Obstacle::kNone;
  }
  if (gains_rights(path)) return Obstacle::kSetuid;
  if (head.size() < EI_NIDENT || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) {
    return Obstacle::kNone;
  }
  ElfW(Ehdr) ours;
  ElfW(Ehdr) header;
  const Fd self = open_to_read("/proc/self/exe");
  if (!file.read_at(0, &header, sizeof header) || !self.read_at(0, &ours, sizeof ours)) {
    return Obstacle::kNone;
  }
  if (header.e_ident[EI_CLASS] != ours.e_ident[EI_CLASS] || header.e_machine != ours.e_machine) {
    return Obstacle::kForeignElf;
  }
  const auto segments = segments_of(file, header);
  if (!segments) return Obstacle::kNone;
  if (needs_musl(file, *segments)) return Obstacle::kMusl;
  return is_static(file, *segments) ? Obstacle::kStatic : Obstacle::kNone;
}

}  // namespace

Program find_program(const std::string& name, const char* search_path) {
  if (name.empty()) return {"", ENOENT};
  if (name.find('/') != std::string::npos) {
    const int error = reason_not_to_run(name);
    return error == ENOENT || error == ENOTDIR ? Program{"", ENOENT} : Program{name, error};
  }
  const std::string_view path = search_path != nullptr ? search_path : "/bin:/usr/bin";
  Program found{"", ENOENT};  // a later file that can be run is preferred
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

bool has_shared_asan(const std::string& path) {
  const auto names = dynamic_names_of(open_to_read(path));
  return names && std::any_of(names->libraries.begin(), names->libraries.end(), [&](auto place) {
           return place < names->table.size() &&
                  std::string_view(names->table).substr(place).starts_with("libasan.so");
         });
}

bool names_symbol(const std::string& path, std::string_view symbol) {
  const auto names = dynamic_names_of(open_to_read(path));
  if (!names) return false;
  return names->table.find(std::string(symbol) + '\0') != std::string::npos;
}

std::string program_of(const std::string& path, const char* search_path) {
  constexpr int kMaxScripts = 4;
  constexpr std::size_t kShebangBytes = 256;
  std::string program = path;
  for (int i = 0; i < kMaxScripts; ++i) {
    const std::string head = first_bytes(open_to_read(program), kShebangBytes);
    std::string interpreter = interpreter_of(head);
    if (interpreter.empty()) break;
    if (interpreter.ends_with("/env")) {
      interpreter = find_program(word_for_env(head), search_path).path;
    }
    program = interpreter;
  }
  return program;
}

bool holds_text(const std::string& path, std::initializer_list<std::string_view> texts) {
  const Mapped file(path);
  return std::any_of(texts.begin(), texts.end(),
                     [&](std::string_view text) { return file.holds(text); });
}

std::string linked_allocator(const std::string& path) {
  struct Known {
    const char *text, *name;
  };
  constexpr Known kKnown[] = {{"<jemalloc>: ", "jemalloc"},
                              {"tcmalloc: large alloc", "tcmalloc"},
                              {"mimalloc: warning", "mimalloc"},
                              {"mimalloc: error", "mimalloc"}};
  const Mapped file(path);
  for (const Known& known : kKnown) {
    if (file.holds(known.text)) return known.name;
  }
  return {};
}

namespace {

// Makes a file in the directory as the recorder will, and removes it. Returns 0 or the errno of the
// failure. Permissions alone do not decide (root in /proc, a file system without free inodes).
int reason_not_to_make_file_in(const std::string& directory) {
  int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 && errno != EACCES && errno != EROFS && errno != ENOSPC) {
    std::string name = directory + "/fble-prof." + std::to_string(getpid()) + ".new";
    fd = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) unlink(name.c_str());
  }
  int reason = fd < 0 ? errno : 0;
  // Not every file system can say whether there is room. Without it, the recorder keeps the profile
  // in memory and writes it at the end, if there is room then.
  constexpr off_t kLeastRoom = 64 << 10;
  if (fd >= 0 && fallocate(fd, 0, 0, kLeastRoom) != 0 && (errno == ENOSPC || errno == EDQUOT)) {
    reason = errno;
  }
  if (fd >= 0) close(fd);
  return reason;
}

// Why the recorder will make no profile at `path`. `doubt`: why the profile may be lost.
std::string refusal_of_output(const std::string& path, std::string* doubt) {
  constexpr std::string_view kMagic = "FBLEPROF";
  constexpr rlim_t kLeastBytes = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kLeastBytes) {
    return "the limit on file size (ulimit -f) is below 1 MiB, which a profile needs";
  }
  if (path.empty() || path.find('%') != std::string::npos) return {};
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int reason = reason_not_to_make_file_in(directory);
  if (reason == ENOSPC || reason == EDQUOT) {
    *doubt = directory + ": " + std::strerror(reason);
  } else if (reason != 0) {
    return directory + ": " + std::strerror(reason) + ": no profile can be written there";
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  const bool is_plain =
      S_ISREG(status.st_mode) && status.st_nlink == 1 && status.st_uid == geteuid();
  if (!is_plain) return path + ": is not a regular file that only you own; it was not changed";
  const std::string head = first_bytes(open_to_read(path), kMagic.size());
  if (!head.empty() && head != kMagic) return path + ": is not a profile; it was not changed";
  return {};
}

}  // namespace

std::string obstacle_of_output(const std::string& path, const std::string& program) {
  std::string doubt;
  if (const std::string refusal = refusal_of_output(path, &doubt); !refusal.empty()) {
    return refusal + ": " + program + " runs unprofiled";
  }
  if (doubt.empty()) return {};
  return doubt + ": the profile of " + program + " may be lost, unless there is room when it ends";
}

std::string explain(Obstacle obstacle, const std::string& program) {
  switch (obstacle) {
    case Obstacle::kNone:
      break;
    case Obstacle::kStatic:
      return program +
             ": is linked statically, so the recorder cannot be loaded; it runs "
             "unprofiled (link it dynamically)";
    case Obstacle::kSetuid:
      return program +
             ": runs with other rights (setuid, setgid or capabilities), so the recorder "
             "is not loaded: it runs unprofiled";
    case Obstacle::kForeignElf:
      return program +
             ": is built for another word size or processor than libfbleprof.so: it runs "
             "unprofiled";
    case Obstacle::kMusl:
      return program + ": is linked with musl, not glibc: it runs unprofiled";
  }
  return {};
}

}  // namespace fbleprof::launch
