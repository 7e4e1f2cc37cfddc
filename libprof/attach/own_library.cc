#include "attach/own_library.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "attach/memory.h"
#include "attach/refusal.h"

namespace fbleprof::attach {

namespace {

// The library as a file that the process can open: by its own path or, where the process sees other
// files, as a memory file whose descriptor the process holds for a moment.
class VisibleFile {
 public:
  VisibleFile(BorrowedThread& thread, pid_t pid, const std::string& path) : thread_(thread) {
    if (sees_file(pid, path)) {
      name_ = path;
      return;
    }
    const std::string name = name_in(path);
    // The loader opens the copy by its name there.
    if (access(path_from_outside(pid, "/proc/version").c_str(), F_OK) != 0) return;
    if (!thread_.write(thread_.text(), name.c_str(), name.size() + 1)) return;
    const long made = thread_.system_call(SYS_memfd_create, thread_.text(), MFD_CLOEXEC);
    if (made < 0) return;
    fd_ = made > STDERR_FILENO ? made : beyond_standard_descriptors(made);
    if (fd_ < 0) return;
    const std::string own = "/fd/" + std::to_string(fd_);
    std::ifstream in(path, std::ios::binary);
    std::ofstream out("/proc/" + std::to_string(pid) + own, std::ios::binary);
    out << in.rdbuf();
    if (out.flush()) name_ = "/proc/self" + detours(pid) + own;
  }
  ~VisibleFile() {
    if (fd_ >= 0) thread_.system_call(SYS_close, static_cast<std::uint64_t>(fd_));
  }
  VisibleFile(const VisibleFile&) = delete;
  VisibleFile& operator=(const VisibleFile&) = delete;

  const std::string& name() const { return name_; }

 private:
  // The loader knows a library by its path, and an earlier copy may have had the same descriptor.
  static std::string detours(pid_t pid) {
    std::string path;
    std::string last;
    for (const Mapping& each : mappings_of(pid)) {
      if (!each.is_code || !each.path.starts_with("/memfd:libfbleprof")) continue;
      if (each.path != last) path += "/.";
      last = each.path;
    }
    return path;
  }
  // The process may have closed some of them, and its other threads print all the same.
  long beyond_standard_descriptors(long made) {
    const auto fd = static_cast<std::uint64_t>(made);
    const long moved = thread_.system_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    thread_.system_call(SYS_close, fd);
    return moved;
  }

  BorrowedThread& thread_;
  long fd_ = -1;
  std::string name_;
};

std::string reason_of_loader(pid_t pid, BorrowedThread& thread) {
  if (thread.libc().dlerror == 0) return "the loader refused the library";
  const auto text = thread.call(thread.libc().dlerror);
  return text && *text != 0 ? read_text(pid, *text) : std::string("the loader refused");
}

}  // namespace

std::string read_text(pid_t pid, std::uint64_t from) {
  constexpr std::size_t kMost = 4096;
  std::string text;
  for (char c = 0; text.size() < kMost && read_memory(pid, from + text.size(), &c, 1) && c != 0;) {
    text += c;
  }
  return text;
}

const Mapping* find_library(const std::vector<Mapping>& mappings, const std::string& library) {
  const std::string name = name_in(library);
  for (const Mapping& each : mappings) {
    if (each.is_code && each.path.find(name) != std::string::npos) return &each;
  }
  return nullptr;
}

std::uint64_t find_in_library(pid_t pid, const std::string& library, const std::string& symbol) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  const Mapping* file = find_library(mappings, library);
  if (!file) return 0;
  const bool is_copy = file->path.starts_with("/memfd:");
  return find_function(mappings, file->path,
                       is_copy ? library : mapped_file_from_outside(pid, *file), symbol);
}

Status load_library(pid_t pid, BorrowedThread& thread, const std::string& library) {
  const VisibleFile file(thread, pid, library);
  if (file.name().empty() || file.name().size() >= BorrowedThread::kTextBytes) {
    return error_of(pid, "it cannot see " + library + " nor take a copy of it",
                    "in its root, mount /proc or copy the library to that place");
  }
  if (!thread.write(thread.text(), file.name().c_str(), file.name().size() + 1)) {
    return unwritable_memory(pid);
  }
  const auto handle = thread.open_library(thread.text());
  if (!handle) return handle.error();
  if (*handle == 0) return error_of(pid, reason_of_loader(pid, thread));
  return std::nullopt;
}

}  // namespace fbleprof::attach
