#include "attach/attach.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "attach/loaded_file.h"
#include "attach/safe_place.h"
#include "attach/tracee.h"
#include "control/process.h"
#include "format/attach_order.h"

namespace fbleprof::attach {

using format::AttachOrder;
using format::kAttachBytes;

namespace {

constexpr char kLibrary[] = "libfbleprof.so";

Error error_of(pid_t pid, const std::string& what, const std::string& remedy = "") {
  return Error{"process " + std::to_string(pid), std::nullopt, what, remedy};
}

// The first number of /proc/PID/task/TID/syscall: the system call that a thread waits in; none if
// it runs.
std::optional<long> waits_in(pid_t pid, pid_t tid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall");
  long number = -1;
  if (!(in >> number) || number < 0) return std::nullopt;
  return number;
}

// The threads, most suitable first: those whose wait the kernel restarts where it was interrupted.
std::vector<pid_t> by_suitability(pid_t pid) {
  std::vector<std::pair<int, pid_t>> ranked;
  for (const pid_t tid : control::threads_of(pid)) {
    const auto call = waits_in(pid, tid);
    const bool starts_over = call && (*call == SYS_epoll_wait || *call == SYS_epoll_pwait ||
                                      *call == SYS_rt_sigtimedwait || *call == SYS_semtimedop);
    const int rank = !call ? 2 : !arch::is_quiet(*call) ? 3 : starts_over ? 1 : 0;
    ranked.emplace_back(rank, tid);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<pid_t> threads;
  for (const auto& each : ranked) threads.push_back(each.second);
  return threads;
}

// Also of a process that its parent has not waited for yet.
bool has_ended(pid_t pid) {
  const std::string state = control::status_field(pid, "State");
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

// A thread stopped where it holds no lock.
Result<Tracee> stop_safely(pid_t pid, const std::vector<Mapping>& mappings) {
  constexpr int kTryMs = 50, kTries = 200;
  std::vector<pid_t> threads = by_suitability(pid);
  if (threads.empty()) return error_of(pid, "there is none");
  for (int i = 0; i < kTries; ++i) {
    const pid_t tid = threads[static_cast<std::size_t>(i) % threads.size()];
    auto thread = Tracee::stop(pid, tid);
    if (!thread) {
      // Another thread may have ended meanwhile.
      if (has_ended(pid)) return error_of(pid, "it has ended");
      if (tid == pid) return thread.error();
      continue;
    }
    const auto is_free = [&](StoppedIn where) {
      return holds_no_lock(pid, tid, *thread, mappings, where);
    };
    const arch::TracedRegisters& at = thread->registers();
    if (arch::is_in_system_call(at)) {
      if (arch::is_quiet(arch::system_call_of(at)) && is_free(StoppedIn::kQuietCall)) return thread;
    } else if (thread->hold_here() && is_free(StoppedIn::kCode)) {
      return thread;
    }
    if (thread->run_to_quiet_call(kTryMs) && is_free(StoppedIn::kQuietCall)) return thread;
  }
  if (has_ended(pid)) return error_of(pid, "it has ended");
  return error_of(pid,
                  "whenever it was stopped, its threads were in code that may hold a lock of libc, "
                  "the loader or an allocator",
                  "try again");
}

// The functions of the process's libc that attaching needs.
struct Libc {
  std::uint64_t dlopen = 0, dlerror = 0, errno_location = 0;
  std::uint64_t flags = RTLD_NOW;
  std::uint64_t system_call_instruction = 0;
};

Result<Libc> find_libc(pid_t pid, const std::vector<Mapping>& mappings) {
  const Mapping* file = find_file(mappings, "libc.so.6");
  if (!file) file = find_file(mappings, "libc-2");
  if (!file) {
    return error_of(pid, "it has no glibc: it is linked statically, or with another libc",
                    "it cannot be profiled");
  }
  Libc libc;
  const std::string copy = path_from_outside(pid, file->path);
  libc.dlopen = find_function(mappings, file->path, copy, "dlopen");
  libc.dlerror = find_function(mappings, file->path, copy, "dlerror");
  libc.errno_location = find_function(mappings, file->path, copy, "__errno_location");
  if (libc.dlopen == 0) {
    // Before glibc 2.34; libc's own calls pass this flag.
    constexpr std::uint64_t kOwnCall = 0x80000000;
    libc.dlopen = find_function(mappings, file->path, copy, "__libc_dlopen_mode");
    libc.flags |= kOwnCall;
  }
  const std::string instruction(reinterpret_cast<const char*>(arch::kSystemCallInstruction),
                                sizeof arch::kSystemCallInstruction);
  libc.system_call_instruction = find_code(pid, mappings, file->path, instruction);
  if (libc.dlopen == 0 || libc.system_call_instruction == 0) {
    return error_of(pid, file->path + " cannot be read, or is not a glibc",
                    "it cannot be profiled");
  }
  return libc;
}

// A stack in the process, with an order at its start.
class Stack {
 public:
  Stack(Tracee& thread, std::uint64_t instruction) : thread_(thread), instruction_(instruction) {
    const long at =
        thread_.system_call(instruction_, SYS_mmap, 0, 2 * kAttachBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull, 0);
    if (at > 0) mapped_ = static_cast<std::uint64_t>(at);
  }
  ~Stack() {
    if (mapped_ != 0) thread_.system_call(instruction_, SYS_munmap, mapped_, 2 * kAttachBytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  explicit operator bool() const { return mapped_ != 0; }
  std::uint64_t begin() const { return (mapped_ + kAttachBytes - 1) / kAttachBytes * kAttachBytes; }
  // The end of the stack, below the name of a file that is passed on.
  std::uint64_t end() const { return begin() + kAttachBytes - kNameBytes; }
  std::uint64_t name() const { return end(); }

  static constexpr std::uint64_t kNameBytes = 8192;

 private:
  Tracee& thread_;
  std::uint64_t instruction_;
  std::uint64_t mapped_ = 0;
};

// A thread's errno, which the program may be about to read.
class KeptErrno {
 public:
  KeptErrno(Tracee& thread, const Libc& libc, const Stack& stack) : thread_(thread) {
    if (libc.errno_location == 0) return;
    const auto at =
        thread.call(libc.system_call_instruction, libc.errno_location, 0, 0, stack.end());
    if (at && thread.read(*at, &value_, sizeof value_)) address_ = *at;
  }
  ~KeptErrno() {
    if (address_ != 0) thread_.write(address_, &value_, sizeof value_);
  }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  Tracee& thread_;
  std::uint64_t address_ = 0;
  int value_ = 0;
};

// The library as a file that the process can open: by its own path or, where the process sees other
// files, as a memory file whose descriptor the process holds for a moment.
class Library {
 public:
  Library(Tracee& thread, const Stack& stack, std::uint64_t instruction, pid_t pid,
          const std::string& path)
      : thread_(thread), instruction_(instruction) {
    struct stat here {
    }, there{};
    const bool is_visible = stat(path.c_str(), &here) == 0 &&
                            stat(path_from_outside(pid, path).c_str(), &there) == 0 &&
                            here.st_ino == there.st_ino && here.st_dev == there.st_dev;
    if (is_visible) {
      name_ = path;
      return;
    }
    if (!thread_.write(stack.name(), kLibrary, sizeof kLibrary)) return;
    fd_ = thread_.system_call(instruction_, SYS_memfd_create, stack.name(), 0);
    if (fd_ < 0) return;
    const std::string own = "/fd/" + std::to_string(fd_);
    std::ifstream in(path, std::ios::binary);
    std::ofstream out("/proc/" + std::to_string(pid) + own, std::ios::binary);
    out << in.rdbuf();
    if (out.flush()) name_ = "/proc/self" + own;
  }
  ~Library() {
    if (fd_ >= 0) thread_.system_call(instruction_, SYS_close, static_cast<std::uint64_t>(fd_));
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& name() const { return name_; }

 private:
  Tracee& thread_;
  std::uint64_t instruction_;
  long fd_ = -1;
  std::string name_;
};

// The recorder in the process: under its own name, or as a copy in memory.
const Mapping* find_library(const std::vector<Mapping>& mappings) {
  for (const Mapping& each : mappings) {
    if (each.offset == 0 && each.path.find(kLibrary) != std::string::npos) return &each;
  }
  return nullptr;
}

std::uint64_t find_in_recorder(const std::vector<Mapping>& mappings, pid_t pid,
                               const std::string& library, const std::string& symbol) {
  const Mapping* file = find_library(mappings);
  if (!file) return 0;
  const bool is_copy = file->path.starts_with("/memfd:");
  return find_function(mappings, file->path, is_copy ? library : path_from_outside(pid, file->path),
                       symbol);
}

bool read_memory(pid_t pid, std::uint64_t from, void* to, std::size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

std::string read_text(pid_t pid, std::uint64_t from) {
  constexpr std::size_t kMost = 4096;
  std::string text;
  for (char c = 0; text.size() < kMost && read_memory(pid, from + text.size(), &c, 1) && c != 0;) {
    text += c;
  }
  return text;
}

std::string reason_of_loader(pid_t pid, Tracee& thread, const Libc& libc, const Stack& stack) {
  if (libc.dlerror == 0) return "the loader refused the recorder";
  const auto text = thread.call(libc.system_call_instruction, libc.dlerror, 0, 0, stack.end());
  return text && *text != 0 ? read_text(pid, *text) : std::string("the loader refused");
}

bool is_same_machine(pid_t pid) {
  const auto head = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes(20, 0);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes.substr(4, 1) + bytes.substr(18);
  };
  return head("/proc/" + std::to_string(pid) + "/exe") == head("/proc/self/exe");
}

}  // namespace

bool has_own_files(pid_t pid) {
  struct stat own {
  }, its{};
  const std::string folder = "/proc/" + std::to_string(pid);
  return stat("/proc/self/ns/mnt", &own) == 0 && stat((folder + "/ns/mnt").c_str(), &its) == 0 &&
         own.st_ino != its.st_ino;
}

Result<Recorder> find_recorder(pid_t pid, const std::string& library) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  if (mappings.empty()) {
    if (control::start_ticks(pid) == 0) return error_of(pid, "there is none");
    return error_of(pid, "it cannot be looked at, or has ended", "be its user or root");
  }
  Recorder recorder;
  std::uint64_t pointer = find_in_recorder(mappings, pid, library, "fbleprof_output_path");
  recorder.is_loaded = find_library(mappings) != nullptr;
  if (pointer != 0 && read_memory(pid, pointer, &pointer, sizeof pointer)) {
    recorder.profile = read_text(pid, pointer);
  }
  return recorder;
}

Status load_recorder(pid_t pid, const std::string& library,
                     const std::vector<std::string>& settings) {
  if (!is_same_machine(pid)) return error_of(pid, "it is a program for another processor");
  if (control::handles(pid, SIGPROF)) {
    return error_of(pid, "it uses SIGPROF itself", "start it under fble-prof instead");
  }
  const std::vector<Mapping> mappings = mappings_of(pid);
  const auto libc = find_libc(pid, mappings);
  if (!libc) return libc.error();
  AttachOrder order{};
  std::memcpy(order.magic, format::kAttachMagic, sizeof order.magic);
  std::size_t at = 0;
  for (const std::string& setting : settings) {
    if (at + setting.size() + 2 > sizeof order.settings) return error_of(pid, "too many settings");
    std::memcpy(order.settings + at, setting.c_str(), setting.size() + 1);
    at += setting.size() + 1;
  }
  auto thread = stop_safely(pid, mappings);
  if (!thread) return thread.error();
  const std::uint64_t instruction = libc->system_call_instruction;
  const Stack stack(*thread, instruction);
  if (!stack) return error_of(pid, "it has no memory for the recorder");
  const KeptErrno kept(*thread, *libc, stack);
  const Library file(*thread, stack, instruction, pid, library);
  if (file.name().empty() || file.name().size() >= Stack::kNameBytes) {
    return error_of(pid, "it cannot see " + library + " nor take a copy of it");
  }
  if (!thread->write(stack.begin(), &order, sizeof order) ||
      !thread->write(stack.name(), file.name().c_str(), file.name().size() + 1)) {
    return error_of(pid, "its memory cannot be written");
  }
  const auto handle =
      thread->call(instruction, libc->dlopen, stack.name(), libc->flags, stack.end());
  if (!handle) return has_ended(pid) ? error_of(pid, "it has ended") : handle.error();
  if (*handle == 0) return error_of(pid, reason_of_loader(pid, *thread, *libc, stack));
  if (!thread->read(stack.begin(), &order, sizeof order) || order.is_recording == 0) {
    order.reason[sizeof order.reason - 1] = 0;
    return error_of(pid, order.reason);
  }
  return std::nullopt;
}

Status make_recorder_obey(pid_t pid, const std::string& library) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  const auto libc = find_libc(pid, mappings);
  if (!libc) return libc.error();
  const std::uint64_t function = find_in_recorder(mappings, pid, library, "fbleprof_obey");
  if (function == 0) return error_of(pid, "its recorder cannot be read");
  auto thread = stop_safely(pid, mappings);
  if (!thread) return thread.error();
  const Stack stack(*thread, libc->system_call_instruction);
  if (!stack) return error_of(pid, "it has no memory to spare");
  const KeptErrno kept(*thread, *libc, stack);
  const auto called = thread->call(libc->system_call_instruction, function, 0, 0, stack.end());
  if (!called) return has_ended(pid) ? error_of(pid, "it has ended") : called.error();
  return std::nullopt;
}

}  // namespace fbleprof::attach
