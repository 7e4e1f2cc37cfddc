#include "control/running_profile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>

#include "control/nudge.h"
#include "control/process.h"
#include "control/record_check.h"
#include "signal_safe/kept_snapshots.h"

namespace fbleprof::control {

using format::Header;
using format::Request;

namespace {

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The program may end, and cut its file, while a snapshot is being written behind the new end: then
// memory replaces the lost part.
std::atomic<char*> guarded_begin{nullptr}, guarded_end{nullptr};
struct sigaction action_before;

void on_lost_page(int number, siginfo_t* info, void* context) {
  auto* at = static_cast<char*>(info->si_addr);
  char* const end = guarded_end.load();
  if (at >= guarded_begin.load() && at < end) {
    constexpr std::uintptr_t kPage = 4096;
    char* page = at - reinterpret_cast<std::uintptr_t>(at) % kPage;
    if (mmap(page, static_cast<std::size_t>(end - page), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
      return;
    }
  }
  if ((action_before.sa_flags & SA_SIGINFO) != 0) {
    return action_before.sa_sigaction(number, info, context);
  }
  sigaction(number, &action_before, nullptr);  // the fault happens again
}

// The action and the guarded area are the process's: one thread at a time.
std::mutex guard_mutex;

class Guarded {
 public:
  Guarded(char* base, std::uint64_t bytes) : lock_(guard_mutex) {
    guarded_end.store(base + bytes);
    guarded_begin.store(base);
    struct sigaction action {};
    action.sa_sigaction = on_lost_page;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, &action_before);
  }
  ~Guarded() {
    sigaction(SIGBUS, &action_before, nullptr);
    guarded_end.store(nullptr);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

 private:
  const std::lock_guard<std::mutex> lock_;
};

class Locked {
 public:
  Locked(int fd, int how) : fd_(fd) { flock(fd, how); }
  ~Locked() { flock(fd_, LOCK_UN); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const int fd_;
};

Error error_of(const std::string& path, const std::string& what, const std::string& remedy = "") {
  return Error{path, std::nullopt, what, remedy};
}

Error killed(const std::string& path) { return error_of(path, "its program was killed"); }

std::uint64_t own_pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

// Why the bytes are not the profile of a running program; empty if they are.
std::string fault_of(const Header& header, std::uint64_t size, const std::string& path) {
  if (header.state == format::State::kStarting) return "the program is only starting";
  if (header.state == format::State::kExeced) {
    // A second program has PATH.PID, a third one PATH.PID.2, and so on.
    const std::string ending = "." + std::to_string(header.pid);
    const std::size_t at = (path + ".").rfind(ending + ".");
    return "the program became another one by exec, whose profile is " + path.substr(0, at) +
           ending + "*";
  }
  if (header.state != format::State::kLive) return "the program has ended";
  if (header.cap_bytes > size || header.used_bytes > header.cap_bytes ||
      header.used_bytes < format::kHeaderBytes) {
    return "is damaged, or only a copy";
  }
  return {};
}

int open_file(const std::string& path) {
  return open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

struct FoundHeader {
  Header header{};
  std::uint64_t file_bytes = 0;
};

Result<FoundHeader> read_any_header(const std::string& path, int fd) {
  if (fd < 0) {
    const char* remedy =
        errno == ENOENT ? "name the profile that the program writes; fble-prof attach says which"
                        : "";
    return error_of(path, std::strerror(errno), remedy);
  }
  struct stat status {};
  FoundHeader found;
  Header& header = found.header;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
      pread(fd, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      std::memcmp(header.magic, format::kMagic, sizeof header.magic) != 0) {
    return error_of(path, "is not a profile");
  }
  found.file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (found.file_bytes < format::kHeaderBytes) return error_of(path, "is not a profile");
  if (header.major_version != format::kMajorVersion || header.minor_version < 1) {
    return error_of(path, "was made by another version of fbleprof");
  }
  return found;
}

Result<Header> read_header(const std::string& path, int fd) {
  const auto found = read_any_header(path, fd);
  if (!found) return found.error();
  const std::string fault = fault_of(found->header, found->file_bytes, path);
  if (!fault.empty()) return error_of(path, fault);
  return found->header;
}

// Whether the process was killed, and its parent has not waited for it. A main thread alone can
// have ended, too.
bool is_dead(pid_t pid) {
  return status_field(pid, "State").starts_with('Z') && threads_of(pid).size() <= 1;
}

// Whether the process, 0 if it cannot be seen, still writes the profile.
bool is_running(const Header& header, pid_t pid) {
  if (header.state != format::State::kLive) return false;
  if (pid != 0) return start_ticks(pid) == header.process_start_ticks && !is_dead(pid);
  // A process in another namespace may run even if it cannot be seen.
  return header.pid_namespace != 0 && header.pid_namespace != own_pid_namespace();
}

}  // namespace

pid_t process_of(const Header& header) {
  const auto pid = static_cast<pid_t>(header.pid);
  const bool is_same = header.pid_namespace == 0 || header.pid_namespace == own_pid_namespace();
  if (is_same) return start_ticks(pid) == header.process_start_ticks ? pid : 0;
  return find_process(pid, header.process_start_ticks);
}

bool has_ended(const Header& header) {
  const pid_t pid = process_of(header);
  if (pid == 0) return header.pid_namespace == 0 || header.pid_namespace == own_pid_namespace();
  return start_ticks(pid) == 0 || is_dead(pid);
}

bool is_writer(pid_t pid, const Header& header) {
  // 0: it could not see when it started.
  const std::uint64_t start = header.process_start_ticks;
  return static_cast<std::uint32_t>(inner_pid(pid)) == header.pid &&
         (start == 0 || start == start_ticks(pid));
}

Result<Header> RunningProfile::any_header_of(const std::string& path) {
  const int fd = open_file(path);
  const auto found = read_any_header(path, fd);
  if (fd >= 0) close(fd);
  if (!found) return found.error();
  return found->header;
}

Result<Header> RunningProfile::header_of(const std::string& path) {
  const int fd = open_file(path);
  auto header = read_header(path, fd);
  if (fd >= 0) close(fd);
  if (header && !control::is_running(*header, process_of(*header))) return killed(path);
  return header;
}

Result<RunningProfile> RunningProfile::open(const std::string& path) {
  const int fd = open_file(path);
  const auto header = read_header(path, fd);
  if (!header) {
    if (fd >= 0) close(fd);
    return header.error();
  }
  void* base = mmap(nullptr, header->cap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    const Error failure = error_of(path, std::strerror(errno));
    close(fd);
    return failure;
  }
  RunningProfile profile(path, fd, static_cast<char*>(base), header->cap_bytes);
  if (!profile.is_running()) return killed(path);
  const Guarded guard(profile.arena_.base(), profile.bytes_);
  if (!profile.has_sound_records()) return profile.unsound();
  return profile;
}

RunningProfile::RunningProfile(std::string path, int fd, char* base, std::uint64_t bytes)
    : path_(std::move(path)), fd_(fd), bytes_(bytes) {
  arena_.adopt(base, bytes, format::kHeaderBytes);
  pid_ = process_of(header());
}

RunningProfile::RunningProfile(RunningProfile&& from) noexcept
    : path_(std::move(from.path_)), fd_(from.fd_), bytes_(from.bytes_), pid_(from.pid_) {
  arena_.adopt(from.arena_.base(), bytes_, format::kHeaderBytes);
  from.fd_ = -1;
  from.bytes_ = 0;
}

RunningProfile::~RunningProfile() {
  if (bytes_ != 0) munmap(arena_.base(), bytes_);
  if (fd_ >= 0) close(fd_);
}

bool RunningProfile::is_running() const { return control::is_running(header(), pid_); }

std::uint64_t RunningProfile::elapsed_ns() const {
  const std::uint64_t now = monotonic_ns();
  return now > header().start_monotonic_ns ? now - header().start_monotonic_ns : 0;
}

std::string RunningProfile::text(format::Ref ref) const {
  const std::uint64_t at = std::uint64_t{ref} * format::kUnitBytes;
  if (ref == 0 || at + sizeof(format::String) > bytes_) return {};
  const auto* string = arena_.at<format::String>(ref);
  const std::uint64_t begin = at + offsetof(format::String, bytes);
  if (string->head.kind != format::Kind::kString || string->length > bytes_ - begin) return {};
  constexpr std::uint32_t kMost = 1 << 16;
  return {arena_.base() + begin, std::min(string->length, kMost)};
}

std::vector<KeptSnapshot> RunningProfile::snapshots() const {
  std::vector<KeptSnapshot> kept;
  arena_.for_each(format::Kind::kSnapshot, [&](format::Ref ref) {
    const auto* snapshot = arena_.at<format::Snapshot>(ref);
    if (snapshot->is_complete != 0) {
      kept.push_back({text(snapshot->name), snapshot->reason, snapshot->time_ns});
    }
    return true;
  });
  std::stable_sort(kept.begin(), kept.end(), [](const KeptSnapshot& a, const KeptSnapshot& b) {
    return a.time_ns < b.time_ns;
  });
  return kept;
}

Error RunningProfile::ended() const { return error_of(path_, "the program has ended"); }

Error RunningProfile::unsound() const { return error_of(path_, "is damaged, or no recorder's"); }

bool RunningProfile::has_sound_records() const {
  // The recorder may be about to write a record.
  constexpr int kLooks = 3;
  for (int i = 0; i < kLooks; ++i) {
    if (i != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (is_sound(arena_)) return true;
  }
  return false;
}

Status RunningProfile::take(bool (*taker)(signal_safe::Arena&, const RunningProfile&, const void*),
                            const void* argument) {
  if (!is_running()) return ended();
  // Two processes that use the same area at once would mix their values.
  const Locked lock(fd_, LOCK_EX);
  const Guarded guard(arena_.base(), bytes_);
  arena_.adopt(arena_.base(), bytes_, format::kHeaderBytes);
  if (!has_sound_records()) return unsound();
  const bool taken = taker(arena_, *this, argument);
  if (header().state != format::State::kLive) {
    // Data written behind the file's new end is lost.
    struct stat status {};
    if (fstat(fd_, &status) == 0) {
      const auto size = static_cast<std::uint64_t>(status.st_size);
      if (header().used_bytes > size) arena_.header()->used_bytes = size;
    }
    return ended();
  }
  if (taken) return std::nullopt;
  return error_of(path_, "no space for a snapshot", "record with a larger --memory");
}

Status RunningProfile::snapshot(const std::string& name) {
  return take(
      [](signal_safe::Arena& arena, const RunningProfile& self, const void* argument) {
        const auto& name = *static_cast<const std::string*>(argument);
        return signal_safe::take_named_snapshot(
            arena, name.data(), static_cast<std::uint32_t>(name.size()), self.elapsed_ns());
      },
      &name);
}

Status RunningProfile::reset() {
  return take(
      [](signal_safe::Arena& arena, const RunningProfile& self, const void*) {
        return signal_safe::take_reset_snapshot(arena, self.elapsed_ns());
      },
      nullptr);
}

Status RunningProfile::periodic_snapshot(std::uint32_t most) {
  return take(
      [](signal_safe::Arena& arena, const RunningProfile& self, const void* argument) {
        return signal_safe::take_periodic_snapshot(
            arena, *static_cast<const std::uint32_t*>(argument), self.elapsed_ns());
      },
      &most);
}

bool RunningProfile::wait_for(bool on, std::chrono::milliseconds patience) const {
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto is_done = [&] {
    const Header& now = header();
    return __atomic_load_n(&now.request, __ATOMIC_ACQUIRE) == Request::kNone &&
           (__atomic_load_n(&now.is_recording, __ATOMIC_ACQUIRE) != 0) == on;
  };
  while (!is_done()) {
    // An exec that fails ends a profile only for a moment, and then the recorder obeys.
    const bool may_go_on = is_running() || header().state == format::State::kExeced;
    if (std::chrono::steady_clock::now() >= end || !may_go_on) return is_done();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Result<Answer> RunningProfile::set_recording(bool on, std::chrono::milliseconds patience) {
  if (!is_running()) return ended();
  Header* header = arena_.header();
  if ((header->is_recording != 0) == on && header->request == Request::kNone) {
    return Answer::kAlready;
  }
  __atomic_store_n(&header->request, on ? Request::kStart : Request::kStop, __ATOMIC_RELEASE);
  // A program with hooks, or with samples, looks by itself.
  constexpr std::chrono::milliseconds kByItself(20);
  if (wait_for(on, std::min(kByItself, patience))) return Answer::kDone;
  int refusal = ESRCH;
  if (pid_ != 0) {
    // Until the end, nobody takes the handler away (without_signals).
    const Locked lock(fd_, LOCK_SH);
    const Nudge nudge(pid_);
    refusal = nudge.refusal();
    if (refusal == 0 && wait_for(on, patience)) return Answer::kDone;
  }
  if (wait_for(on, {})) return Answer::kDone;
  if (!is_running()) return ended();
  if (refusal == ENOTSUP) return Answer::kDetached;
  return refusal == 0 ? Answer::kPending : Answer::kRefused;
}

void RunningProfile::without_signals(const std::function<void()>& work) {
  const Locked lock(fd_, LOCK_EX);
  work();
}

}  // namespace fbleprof::control
