#include "attach/attach.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "attach/borrowed_thread.h"
#include "attach/loaded_file.h"
#include "attach/memory.h"
#include "control/process.h"
#include "format/attach_order.h"

namespace fbleprof::attach {

using format::AttachOrder;

namespace {

constexpr char kLibrary[] = "libfbleprof.so";

// The library as a file that the process can open: by its own path or, where the process sees other
// files, as a memory file whose descriptor the process holds for a moment.
class Library {
 public:
  Library(BorrowedThread& thread, pid_t pid, const std::string& path) : thread_(thread) {
    if (sees_file(pid, path)) {
      name_ = path;
      return;
    }
    // The loader opens the copy by its name there.
    if (access(path_from_outside(pid, "/proc/version").c_str(), F_OK) != 0) return;
    if (!thread_.write(thread_.text(), kLibrary, sizeof kLibrary)) return;
    const long made = thread_.system_call(SYS_memfd_create, thread_.text(), MFD_CLOEXEC);
    if (made < 0) return;
    fd_ = made > STDERR_FILENO ? made : beyond_standard_descriptors(made);
    if (fd_ < 0) return;
    const std::string own = "/fd/" + std::to_string(fd_);
    std::ifstream in(path, std::ios::binary);
    std::ofstream out("/proc/" + std::to_string(pid) + own, std::ios::binary);
    out << in.rdbuf();
    if (out.flush()) name_ = "/proc/self" + own;
  }
  ~Library() {
    if (fd_ >= 0) thread_.system_call(SYS_close, static_cast<std::uint64_t>(fd_));
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& name() const { return name_; }

 private:
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

// The recorder in the process: under its own name, or as a copy in memory.
const Mapping* find_library(const std::vector<Mapping>& mappings) {
  for (const Mapping& each : mappings) {
    if (each.is_code && each.path.find(kLibrary) != std::string::npos) return &each;
  }
  return nullptr;
}

}  // namespace

std::uint64_t find_in_recorder(pid_t pid, const std::string& library, const std::string& symbol) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  const Mapping* file = find_library(mappings);
  if (!file) return 0;
  const bool is_copy = file->path.starts_with("/memfd:");
  return find_function(mappings, file->path,
                       is_copy ? library : mapped_file_from_outside(pid, *file), symbol);
}

namespace {

std::string read_text(pid_t pid, std::uint64_t from) {
  constexpr std::size_t kMost = 4096;
  std::string text;
  for (char c = 0; text.size() < kMost && read_memory(pid, from + text.size(), &c, 1) && c != 0;) {
    text += c;
  }
  return text;
}

std::string reason_of_loader(pid_t pid, BorrowedThread& thread) {
  if (thread.libc().dlerror == 0) return "the loader refused the recorder";
  const auto text = thread.call(thread.libc().dlerror);
  return text && *text != 0 ? read_text(pid, *text) : std::string("the loader refused");
}

// A program that its user may run but not read may be.
bool may_be_same_machine(pid_t pid) {
  const auto head = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes(20, 0);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes.substr(4, 1) + bytes.substr(18);
  };
  const std::string exe = "/proc/" + std::to_string(pid) + "/exe";
  return access(exe.c_str(), R_OK) != 0 || head(exe) == head("/proc/self/exe");
}

}  // namespace

bool sees_file(pid_t pid, const std::string& path) {
  struct stat here {
  }, there{};
  return stat(path.c_str(), &here) == 0 &&
         stat(path_from_outside(pid, path).c_str(), &there) == 0 && here.st_ino == there.st_ino &&
         here.st_dev == there.st_dev;
}

bool has_own_files(pid_t pid) {
  struct stat own {
  }, its{};
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto differs = [&](const std::string& ours, const std::string& theirs) {
    return stat(ours.c_str(), &own) == 0 && stat(theirs.c_str(), &its) == 0 &&
           (own.st_ino != its.st_ino || own.st_dev != its.st_dev);
  };
  return differs("/proc/self/ns/mnt", folder + "/ns/mnt") || differs("/", folder + "/root/");
}

Result<Recorder> find_recorder(pid_t pid, const std::string& library) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  if (mappings.empty()) {
    if (control::start_ticks(pid) != 0) return refusal_to_look(pid);
    return Error{"process " + std::to_string(pid), std::nullopt, "there is none", ""};
  }
  Recorder recorder;
  std::uint64_t pointer = find_in_recorder(pid, library, "fbleprof_output_path");
  recorder.is_loaded = find_library(mappings) != nullptr;
  if (pointer != 0 && read_memory(pid, pointer, &pointer, sizeof pointer)) {
    recorder.profile = read_text(pid, pointer);
  }
  return recorder;
}

namespace {

// The loader loads the recorder, which finds the order on the stack.
Status load(pid_t pid, BorrowedThread& thread, const std::string& library) {
  const Library file(thread, pid, library);
  if (file.name().empty() || file.name().size() >= BorrowedThread::kTextBytes) {
    return error_of(pid, "it cannot see " + library + " nor take a copy of it",
                    "in its root, mount /proc or copy the library to that place");
  }
  if (!thread.write(thread.text(), file.name().c_str(), file.name().size() + 1)) {
    return unwritable_memory(pid);
  }
  const auto handle = thread.call(thread.libc().dlopen, thread.text(), thread.libc().flags);
  if (!handle) return handle.error();
  if (*handle == 0) return error_of(pid, reason_of_loader(pid, thread));
  return std::nullopt;
}

// The recorder is there since an attach that failed, for example because it could not make its
// file.
Status start_loaded(pid_t pid, BorrowedThread& thread, const std::string& library) {
  const std::uint64_t function = find_in_recorder(pid, library, "fbleprof_start_attached");
  if (function == 0) {
    return error_of(pid, "its recorder is that of another fble-prof", "restart the program");
  }
  const auto called = thread.call(function, thread.stack());
  if (!called) return called.error();
  return std::nullopt;
}

}  // namespace

Status load_recorder(pid_t pid, const std::string& library,
                     const std::vector<std::string>& settings) {
  if (!may_be_same_machine(pid)) return error_of(pid, "it is a program for another processor");
  if (control::handles(pid, SIGPROF)) {
    return error_of(pid, "it uses SIGPROF itself", "start it under fble-prof instead");
  }
  AttachOrder order{};
  std::memcpy(order.magic, format::kAttachMagic, sizeof order.magic);
  std::size_t at = 0;
  for (const std::string& setting : settings) {
    if (at + setting.size() + 2 > sizeof order.settings) return error_of(pid, "too many settings");
    std::memcpy(order.settings + at, setting.c_str(), setting.size() + 1);
    at += setting.size() + 1;
  }
  const auto taken = BorrowedThread::take(pid);
  if (!taken) return taken.error();
  BorrowedThread& thread = **taken;
  if (!thread.write(thread.stack(), &order, sizeof order)) {
    return unwritable_memory(pid);
  }
  // Without this, nothing could tell what the recorder answers.
  if (!thread.read(thread.stack(), &order, sizeof order)) {
    return unreadable_memory(pid);
  }
  const bool is_loaded = find_library(mappings_of(pid)) != nullptr;
  const Status bad = is_loaded ? start_loaded(pid, thread, library) : load(pid, thread, library);
  if (bad) return bad;
  if (!thread.read(thread.stack(), &order, sizeof order) || order.is_recording == 0) {
    order.reason[sizeof order.reason - 1] = 0;
    return error_of(pid, order.reason);
  }
  return std::nullopt;
}

Status make_recorder_obey(pid_t pid, const std::string& library) {
  const std::uint64_t function = find_in_recorder(pid, library, "fbleprof_obey");
  if (function == 0) return error_of(pid, "its recorder cannot be read");
  const auto thread = BorrowedThread::take(pid);
  if (!thread) return thread.error();
  const auto called = (*thread)->call(function);
  if (!called) return called.error();
  return std::nullopt;
}

}  // namespace fbleprof::attach
