#include "attach/borrowed_thread.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include "arch/split_stack.h"
#include "attach/own_stack.h"
#include "attach/safe_place.h"
#include "control/process.h"
#include "format/attach_order.h"

namespace fbleprof::attach {

using format::kAttachBytes;

namespace {

// The first number of /proc/PID/task/TID/syscall: the system call that a thread waits in; none if
// it runs.
std::optional<long> waits_in(pid_t pid, pid_t tid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall");
  long number = -1;
  if (!(in >> number) || number < 0) return std::nullopt;
  return number;
}

// Whether it cannot be stopped now: it starts a program (vfork), or waits for a device.
bool cannot_stop(pid_t tid) { return control::status_field(tid, "State").starts_with('D'); }

// The threads, most suitable first: those whose wait the kernel restarts where it was interrupted.
// Those that cannot be stopped now are left out, if there are others: one that is asked to stop
// stops when it can, and then waits until we end.
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
  for (const auto& each : ranked) {
    if (!cannot_stop(each.second)) threads.push_back(each.second);
  }
  if (threads.empty() && !ranked.empty()) threads.push_back(ranked.front().second);
  return threads;
}

// A thread stopped where it holds no lock.
Result<Tracee> stop_safely(pid_t pid, const std::vector<Mapping>& mappings) {
  constexpr int kTryMs = 50, kTries = 200;
  constexpr std::chrono::milliseconds kBetween(1);  // lets the thread leave the place
  std::vector<pid_t> threads = by_suitability(pid);
  if (threads.empty()) return error_of(pid, "it has no thread");
  const SafePlaces places(pid, mappings);
  for (int i = 0; i < kTries; ++i) {
    if (i != 0) std::this_thread::sleep_for(kBetween);
    const pid_t tid = threads[static_cast<std::size_t>(i) % threads.size()];
    auto thread = Tracee::stop(pid, tid);
    if (!thread) {
      // Another thread may have ended meanwhile.
      if (has_ended(pid) || tid == pid || !has_ended(tid)) return thread.error();
      continue;
    }
    const auto is_free = [&](StoppedIn where) { return places.holds_no_lock(*thread, where); };
    const arch::TracedRegisters& at = thread->registers();
    if (arch::is_in_system_call(at)) {
      if (arch::is_quiet(arch::system_call_of(at)) && is_free(StoppedIn::kQuietCall)) return thread;
    } else if (thread->hold_here() && is_free(StoppedIn::kCode)) {
      return thread;
    }
    if (thread->run_to_quiet_call(kTryMs) && is_free(StoppedIn::kQuietCall)) return thread;
  }
  return error_of(pid,
                  "whenever it was stopped, its threads were in code that may hold a lock of libc, "
                  "the loader or an allocator",
                  "try again");
}

const Mapping* libc_in(const std::vector<Mapping>& mappings) {
  const Mapping* file = find_file(mappings, "libc.so.6");
  return file ? file : find_file(mappings, "libc-2");
}

// A program that has just begun has no file yet, then glibc's loader, and soon its libc.
std::vector<Mapping> mappings_after_start(pid_t pid) {
  constexpr int kLooks = 100;
  constexpr std::chrono::milliseconds kBetween(10);
  for (int i = 1;; ++i) {
    std::vector<Mapping> mappings = mappings_of(pid);
    const bool begins = !mappings.empty() && !libc_in(mappings) &&
                        (!find_file(mappings, "") || find_file(mappings, "ld-linux") ||
                         find_file(mappings, "ld-2"));
    if (!begins || i == kLooks) return mappings;
    std::this_thread::sleep_for(kBetween);
  }
}

Result<Libc> find_libc(pid_t pid, const std::vector<Mapping>& mappings) {
  if (mappings.empty()) return refusal_to_look(pid);
  const Mapping* file = libc_in(mappings);
  if (!file) {
    return error_of(pid, "it has no glibc: it is linked statically, or with another libc",
                    "it cannot be profiled");
  }
  Libc libc;
  const std::string copy = mapped_file_from_outside(pid, *file);
  libc.dlopen = find_function(mappings, file->path, copy, "dlopen");
  libc.dlerror = find_function(mappings, file->path, copy, "dlerror");
  libc.errno_location = find_function(mappings, file->path, copy, "__errno_location");
  if (libc.dlopen == 0) {
    // Before glibc 2.34; libc's own calls pass this flag.
    constexpr std::uint64_t kOwnCall = 0x80000000;
    libc.dlopen = find_function(mappings, file->path, copy, "__libc_dlopen_mode");
    libc.flags |= kOwnCall;
  }
  const auto find = [&](const auto& instructions) {
    const std::string bytes(reinterpret_cast<const char*>(instructions), sizeof instructions);
    return find_code(pid, mappings, file->path, bytes);
  };
  libc.system_call_instruction = find(arch::kSystemCallAndReturn);
  libc.way = {find(arch::kRestoreInstructions), find(arch::kChangeStackInstructions),
              find(arch::kStoreInstructions)};
  if (libc.dlopen == 0 || libc.system_call_instruction == 0) {
    return error_of(pid, file->path + " cannot be read, or is not a glibc",
                    "it cannot be profiled");
  }
  return libc;
}

}  // namespace

Result<std::unique_ptr<BorrowedThread>> BorrowedThread::take(pid_t pid) {
  const std::vector<Mapping> mappings = mappings_after_start(pid);
  const auto libc = find_libc(pid, mappings);
  if (!libc) return libc.error();
  auto thread = stop_safely(pid, mappings);
  if (!thread) return thread.error();
  if (const Mapping* stack = own_stack_of(pid, *thread, mappings)) {
    thread->keep_way_back(libc->way, stack->begin);
  }
  std::unique_ptr<BorrowedThread> borrowed(new BorrowedThread(pid, *libc, std::move(*thread)));
  if (const Status bad = borrowed->make_stack()) return *bad;
  borrowed->keep_errno();
  return borrowed;
}

BorrowedThread::~BorrowedThread() {
  if (errno_address_ != 0) write(errno_address_, &errno_, sizeof errno_);
  if (mapped_ != 0) system_call(SYS_munmap, mapped_, 2 * kAttachBytes);
}

Status BorrowedThread::make_stack() {
  const long at = try_to_map(2 * kAttachBytes);
  if (at < 0) {
    return thread_.failure(std::string("it gets no memory for the recorder: ") +
                           std::strerror(static_cast<int>(-at)));
  }
  mapped_ = static_cast<std::uint64_t>(at);
  stack_ = (mapped_ + kAttachBytes - 1) / kAttachBytes * kAttachBytes;
  return std::nullopt;
}

// The program may be about to read it.
void BorrowedThread::keep_errno() {
  if (libc_.errno_location == 0) return;
  const auto at = call(libc_.errno_location);
  if (at && read(*at, &errno_, sizeof errno_)) errno_address_ = *at;
}

std::uint64_t BorrowedThread::text() const { return stack_ + kAttachBytes - kTextBytes; }

long BorrowedThread::system_call(long number, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                 std::uint64_t d, std::uint64_t e) {
  return thread_.system_call(libc_.system_call_instruction, number, a, b, c, d, e);
}

Result<std::uint64_t> BorrowedThread::call(std::uint64_t function, std::uint64_t a,
                                           std::uint64_t b) {
  return thread_.call(libc_.system_call_instruction, function, a, b, text());
}

Result<std::uint64_t> BorrowedThread::open_library(std::uint64_t path) {
  bool is_left = false;
  const auto may_leave = [&](const arch::TracedRegisters& at) {
    const std::vector<Mapping> mappings = mappings_of(pid_);
    is_left = SafePlaces(pid_, mappings).waits_for_loader(thread_, at);
    return is_left;
  };
  auto handle = thread_.call(libc_.system_call_instruction, libc_.dlopen, path, libc_.flags, text(),
                             may_leave);
  if (is_left) return error_of(pid_, "another of its threads is loading a library", "try again");
  return handle;
}

long BorrowedThread::try_to_map(std::uint64_t bytes) {
  return thread_.system_call(libc_.system_call_instruction, SYS_mmap, 0, bytes,
                             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                             ~0ull, 0);
}

bool BorrowedThread::has_split_stack() const {
  std::uint64_t guard = 0;
  const std::uint64_t at = arch::thread_pointer_of(thread_.registers()) + arch::kSplitStackGuard;
  return read(at, &guard, sizeof guard) && guard != 0;
}

std::uint64_t BorrowedThread::map(std::uint64_t bytes) {
  const long at = try_to_map(bytes);
  return at > 0 ? static_cast<std::uint64_t>(at) : 0;
}

}  // namespace fbleprof::attach
