#include "attach/tracee.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "attach/memory.h"
#include "attach/refusal.h"
#include "control/process.h"
#include "signal_safe/little_room.h"

namespace fbleprof::attach {

using arch::TracedRegisters;
using signal_safe::bit_of_signal;

namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;

// Waits for a stop of the thread; 0 if the thread has ended.
int wait_for_stop(pid_t tid) {
  int status = 0;
  while (waitpid(tid, &status, __WALL) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFSTOPPED(status) ? status : 0;
}

// The same, until `end`; none: the thread still runs.
std::optional<int> wait_for_stop_until(pid_t tid, std::chrono::steady_clock::time_point end) {
  int status = 0;
  pid_t got = 0;
  while ((got = waitpid(tid, &status, __WALL | WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return got > 0 && WIFSTOPPED(status) ? status : 0;
}

Error has_no_thread(pid_t pid, pid_t tid) {
  return error_of(pid, "its thread " + std::to_string(tid) + " has ended");
}

Error does_not_stop(pid_t pid, pid_t tid) {
  return error_of(pid,
                  "thread " + std::to_string(tid) +
                      " does not stop: it starts a program, or waits for a device",
                  "try again");
}

// Whether it did not stop when we asked before.
bool is_ours(pid_t tid) {
  return control::status_field(tid, "TracerPid") == std::to_string(getpid());
}

// SIGSTOP comes even while all signals wait. Delivered, it stops the other threads; this one goes
// on for us, and stops when we let it go, unless SIGCONT has come.
bool is_stop_of_process(int status) { return status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP; }

// glibc sends it to all threads that must change their user, and waits for them with a lock that
// the loader takes.
constexpr int kSetUser = 33;
// In a call, all signals wait but this one and faults: the kernel takes the program's handler away
// if a fault comes that waits.
constexpr std::uint64_t kWaitInCalls = signal_safe::kAllButFaults & ~bit_of_signal(kSetUser);

// A signal to deliver, as an argument of ptrace.
void* signal_data(int signal) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(signal));
}

}  // namespace

Result<Tracee> Tracee::stop(pid_t pid, pid_t tid) {
  auto thread = ask_to_stop(pid, tid);
  if (!thread) return thread;
  if (const Status bad = thread->wait_until_stopped(kPatienceMs)) return *bad;
  return thread;
}

Result<Tracee> Tracee::ask_to_stop(pid_t pid, pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
    const int error = errno;
    if (error == ESRCH) return has_no_thread(pid, tid);
    return is_ours(tid) ? does_not_stop(pid, tid) : refusal_to_trace(pid, error);
  }
  Tracee thread(pid, tid);
  if (!thread.ask(PTRACE_INTERRUPT, "PTRACE_INTERRUPT", 0, nullptr)) return thread.failure("");
  return thread;
}

Status Tracee::wait_until_stopped(int milliseconds) {
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    const std::optional<int> status = wait_for_stop_until(tid_, end);
    if (!status) {
      is_gone_ = true;
      return does_not_stop(pid_, tid_);
    }
    if (*status == 0) {
      is_gone_ = true;
      return has_no_thread(pid_, tid_);
    }
    if (*status >> 16 == PTRACE_EVENT_STOP) break;
    // A signal came first: deliver it, and the thread stops behind it.
    if (!ask(PTRACE_CONT, "PTRACE_CONT", 0, signal_data(WSTOPSIG(*status)))) return failure("");
  }
  if (!get(&saved_)) return failure("");
  stopped_by_us_ = true;
  TracedRegisters again = saved_;
  if (arch::begin_again_if_interrupted(again) && due_signals() == 0 && set(again)) saved_ = again;
  return std::nullopt;
}

Tracee::Tracee(Tracee&& from) noexcept
    : pid_(from.pid_),
      tid_(from.tid_),
      saved_(from.saved_),
      refused_(std::move(from.refused_)),
      vectors_(std::move(from.vectors_)),
      mask_(from.mask_),
      mask_in_calls_(from.mask_in_calls_),
      way_(from.way_),
      frame_(from.frame_),
      held_signal_(from.held_signal_),
      has_mask_(from.has_mask_),
      holds_signals_(from.holds_signals_),
      is_moved_(from.is_moved_),
      is_at_entry_(from.is_at_entry_),
      stopped_by_us_(from.stopped_by_us_),
      is_gone_(from.is_gone_) {
  from.is_gone_ = true;
}

Tracee::~Tracee() { let_go(); }

// The signals that are about to be delivered. If there is one, the program may rely on EINTR.
std::uint64_t Tracee::due_signals() const {
  const auto number = [&](const char* field) {
    return std::strtoull(control::status_field(tid_, field).c_str(), nullptr, 16);
  };
  return (number("SigPnd") | number("ShdPnd")) & ~number("SigBlk");
}

bool Tracee::ask(__ptrace_request request, const char* name, std::uintptr_t address, void* data) {
  if (ptrace(request, tid_, address, data) == 0) return true;
  if (refused_.empty() && errno != ESRCH)
    refused_ = std::string(name) + ": " + std::strerror(errno);
  return false;
}

Error Tracee::failure(const std::string& otherwise) const {
  if (!refused_.empty()) return error_of(pid_, "the kernel refuses " + refused_);
  return otherwise.empty() ? has_no_thread(pid_, tid_) : error_of(pid_, otherwise);
}

bool Tracee::get(TracedRegisters* registers) {
  iovec place{registers, sizeof *registers};
  return ask(PTRACE_GETREGSET, "PTRACE_GETREGSET", NT_PRSTATUS, &place);
}

bool Tracee::set(const TracedRegisters& registers) {
  TracedRegisters copy = registers;
  iovec place{&copy, sizeof copy};
  return ask(PTRACE_SETREGSET, "PTRACE_SETREGSET", NT_PRSTATUS, &place);
}

bool Tracee::read(std::uint64_t from, void* to, std::size_t bytes) const {
  return read_memory(pid_, from, to, bytes);
}

bool Tracee::write(std::uint64_t to, const void* from, std::size_t bytes) const {
  return write_memory(pid_, to, from, bytes);
}

// A thread that computes uses vector registers, and expects that no call is made where it stands.
void Tracee::note_state() {
  if (vectors_.empty()) {
    vectors_.resize(arch::kMostVectorState);
    iovec place{vectors_.data(), vectors_.size()};
    const bool is_known = ptrace(PTRACE_GETREGSET, tid_, arch::kVectorStateSet, &place) == 0;
    vectors_.resize(is_known ? place.iov_len : 0);
  }
  if (!has_mask_) has_mask_ = ptrace(PTRACE_GETSIGMASK, tid_, sizeof mask_, &mask_) == 0;
}

TracedRegisters Tracee::as_restarted() const {
  TracedRegisters at = saved_;
  std::uint8_t before[arch::kNumberBytes];
  if (read(arch::pc_of_restart(at) - sizeof before, before, sizeof before)) {
    arch::find_number(at, before);
  }
  return arch::as_restarted(at);
}

bool Tracee::wait_anew() { return arch::is_to_restart(saved_) && set(as_restarted()); }

void Tracee::wait_on() { set(saved_); }

void Tracee::keep_way_back(const arch::WayBack& way, std::uint64_t stack_begin) {
  constexpr std::uint64_t kRoom = 32 << 10;  // for handlers of signals, too
  note_state();
  if (way.restore == 0 || way.change_stack == 0 || !has_mask_) return;
  const arch::SignalFrame frame = arch::frame_for(as_restarted(), mask_, vectors_);
  if (frame.address < stack_begin + kRoom) return;
  // What is returned to with the stack pointer below the frame.
  const std::uint64_t below = frame.address - sizeof way.restore;
  if (!write(frame.address, frame.bytes.data(), frame.bytes.size()) ||
      !write(below, &way.restore, sizeof way.restore)) {
    return;
  }
  way_ = way;
  frame_ = frame.address;
}

// In all that follows, the thread would go back if we were killed. So signals wait only when it has
// left its place, and its registers are given back last.
void Tracee::keep_state() {
  is_moved_ = true;
  note_state();
  if (holds_signals_ || !has_mask_) return;
  if (frame_ != 0) set(arch::before_going_back(saved_, way_, frame_));
  mask_in_calls_ = kWaitInCalls;
  holds_signals_ = hold_signals();
}

bool Tracee::hold_signals() {
  return ptrace(PTRACE_SETSIGMASK, tid_, sizeof mask_in_calls_, &mask_in_calls_) == 0;
}

void Tracee::restore_state() {
  if (!vectors_.empty()) {
    iovec place{vectors_.data(), vectors_.size()};
    ptrace(PTRACE_SETREGSET, tid_, arch::kVectorStateSet, &place);
  }
  if (holds_signals_) ptrace(PTRACE_SETSIGMASK, tid_, sizeof mask_, &mask_);
  // What the thread computed for us can have made a sample due. It must not end a call.
  constexpr std::uint64_t kOfSample = bit_of_signal(SIGPROF);
  set(due_signals() == kOfSample ? as_restarted() : saved_);
}

// The signal with which the thread goes on after a stop in a call of ours; none: it met a fault.
std::optional<int> Tracee::signal_after(int status) {
  const int signal = WSTOPSIG(status);
  if (status >> 16 == PTRACE_EVENT_STOP) return 0;
  if (is_stop_of_process(status) || signal == kSetUser) return signal;
  siginfo_t info{};
  if (ptrace(PTRACE_GETSIGINFO, tid_, nullptr, &info) != 0 || info.si_code > 0) return std::nullopt;
  // Another process sent what looks like a fault. The kernel keeps a signal that must wait.
  mask_in_calls_ |= bit_of_signal(signal);
  return hold_signals() ? signal : 0;
}

bool Tracee::run_to_system_call(const std::optional<Clock::time_point>& end) {
  int signal = 0;
  for (;;) {
    if (!ask(PTRACE_SYSCALL, "PTRACE_SYSCALL", 0, signal_data(signal))) return false;
    const std::optional<int> until_end =
        end ? wait_for_stop_until(tid_, *end) : wait_for_stop(tid_);
    if (!until_end && !ask(PTRACE_INTERRUPT, "PTRACE_INTERRUPT", 0, nullptr)) return false;
    const int status = until_end ? *until_end : wait_for_stop(tid_);
    if (status == 0) {
      is_gone_ = true;
      return false;
    }
    if (WSTOPSIG(status) == kSystemCallStop) {
      is_at_entry_ = !is_at_entry_;
      return true;
    }
    if (!until_end && status >> 16 == PTRACE_EVENT_STOP) return false;
    const std::optional<int> next = signal_after(status);
    if (!next) return false;
    signal = *next;
  }
}

bool Tracee::run_on_in_call(std::optional<Clock::time_point>& end, const MayLeave& may_leave) {
  if (run_to_system_call(end)) return true;
  if (is_gone_ || !end || Clock::now() < *end) return false;
  end = std::nullopt;
  TracedRegisters now{};
  if (!get(&now) || may_leave(now)) return false;
  return run_to_system_call();
}

bool Tracee::run_to_quiet_call(int milliseconds) {
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  if (!set(saved_)) return false;
  is_moved_ = false;
  while (Clock::now() < end) {
    if (ptrace(PTRACE_SYSCALL, tid_, nullptr, signal_data(held_signal_)) != 0) return false;
    held_signal_ = 0;
    int status = 0;
    pid_t got = 0;
    while ((got = waitpid(tid_, &status, __WALL | WNOHANG)) == 0 && Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (got == 0) {
      // The thread computes, or waits. The next stop need not be at a system call.
      if (!ask(PTRACE_INTERRUPT, "PTRACE_INTERRUPT", 0, nullptr)) return false;
      status = wait_for_stop(tid_);
    }
    if (got < 0 || status == 0 || !WIFSTOPPED(status)) {
      is_gone_ = true;
      return false;
    }
    const bool is_at_call = WSTOPSIG(status) == kSystemCallStop;
    stopped_by_us_ = status >> 16 == PTRACE_EVENT_STOP;
    if (!is_at_call && !stopped_by_us_) {
      held_signal_ = WSTOPSIG(status);
      continue;
    }
    if (!get(&saved_)) return false;
    if (is_at_call && arch::has_just_entered(saved_)) continue;
    const bool is_done =
        is_at_call && !arch::is_to_restart(saved_) && arch::is_quiet(arch::system_call_of(saved_));
    // We may have interrupted it.
    if ((stopped_by_us_ || got == 0) && due_signals() == 0 &&
        arch::begin_again_if_interrupted(saved_)) {
      set(saved_);
    }
    if (is_done) return true;
  }
  return false;
}

// The kernel lets a thread that was moved out of such a section finish it as if it had not been
// interrupted.
bool Tracee::is_in_rseq_section() const {
  constexpr auto kGetConfiguration = static_cast<__ptrace_request>(0x420f);
  struct {
    std::uint64_t area;
    std::uint32_t bytes, signature, flags, padding;
  } configuration{};
  struct {
    std::uint32_t version, flags;
    std::uint64_t start, bytes, abort;
  } section{};
  constexpr std::uint64_t kSectionIn = 8;  // of struct rseq
  std::uint64_t at = 0;
  const std::uintptr_t size = sizeof configuration;
  if (ptrace(kGetConfiguration, tid_, size, &configuration) <= 0 || configuration.area == 0) {
    return false;
  }
  if (!read(configuration.area + kSectionIn, &at, sizeof at) || at == 0) return false;
  return read(at, &section, sizeof section) && arch::pc_of(saved_) - section.start < section.bytes;
}

bool Tracee::hold_here() {
  return !is_gone_ && stopped_by_us_ && get(&saved_) && !arch::is_in_system_call(saved_) &&
         !is_in_rseq_section();
}

bool Tracee::end_open_call() {
  if (!is_at_entry_) return true;
  TracedRegisters now{};
  if (!get(&now)) return false;
  arch::make_call_do_nothing(now);
  return set(now) && run_to_system_call();
}

long Tracee::system_call(std::uint64_t instruction, long number, std::uint64_t a, std::uint64_t b,
                         std::uint64_t c, std::uint64_t d, std::uint64_t e, std::uint64_t f) {
  if (!end_open_call()) return -EFAULT;
  keep_state();
  TracedRegisters start = arch::for_system_call(saved_, instruction, number, {a, b, c, d, e, f});
  if (frame_ != 0) start = arch::returning_to(start, frame_ - sizeof frame_);
  if (!set(start)) return -EFAULT;
  TracedRegisters now{};
  // A handler may come first, with calls of its own.
  do {
    if (!run_to_system_call() || !get(&now)) return -EFAULT;
  } while (!is_at_entry_ || arch::pc_of(now) != instruction + sizeof arch::kSystemCallInstruction ||
           arch::sp_of(now) != arch::sp_of(start));
  if (!run_to_system_call()) return -EFAULT;
  return get(&now) ? arch::result_of(now) : -EFAULT;
}

Result<std::uint64_t> Tracee::call(std::uint64_t instruction, std::uint64_t function,
                                   std::uint64_t a, std::uint64_t b, std::uint64_t stack,
                                   const MayLeave& may_leave) {
  const auto failed = [this] { return failure("a call in it failed"); };
  if (!end_open_call()) return failed();
  keep_state();
  // The function's result is stored, and the thread changes to the stack with the frame. We stop it
  // where it would go back. If that way is not known, the function returns to a system call, whose
  // number is then the result; we stop it there.
  const bool is_stored = frame_ != 0 && way_.store != 0;
  const std::uint64_t stored[] = {way_.store, 0, way_.change_stack, frame_ - sizeof frame_, 0};
  const std::uint64_t called[] = {instruction, way_.change_stack, frame_ - sizeof frame_};
  constexpr std::uint64_t kBelow = 32;  // the rest of the way
  TracedRegisters start = arch::for_call(saved_, function, a, b, stack - kBelow);
  const std::uint64_t sp = arch::sp_of(start), result = sp + sizeof stored - sizeof stored[0];
  if (is_stored) start = arch::storing_at(start, result);
  if (!(is_stored ? write(sp, stored, sizeof stored) : write(sp, called, sizeof called)) ||
      !set(start)) {
    return failed();
  }
  std::optional<Clock::time_point> end;
  if (may_leave) end = Clock::now() + std::chrono::milliseconds(kLongCallMs);
  for (;;) {
    TracedRegisters now{};
    if (!run_on_in_call(end, may_leave) || !get(&now)) return failed();
    std::uint64_t value = arch::returned_value(now);
    bool has_returned = arch::pc_of(now) == instruction + sizeof arch::kSystemCallInstruction &&
                        arch::sp_of(now) == sp + sizeof sp;
    if (is_stored) {
      has_returned = arch::is_going_back(now, way_, frame_);
      if (has_returned && !read(result, &value, sizeof value)) return failed();
      now = arch::as_if_called_by(now, instruction, frame_ - sizeof frame_);
    }
    if (has_returned) {
      arch::make_call_do_nothing(now);
      if (!set(now) || !run_to_system_call()) return failed();
      return value;
    }
    if (!run_on_in_call(end, may_leave)) return failed();  // to the end of the call
  }
}

void Tracee::let_go() {
  if (is_gone_) return;
  if (!is_moved_) {
    ptrace(PTRACE_DETACH, tid_, nullptr, signal_data(held_signal_));
    is_gone_ = true;
    return;
  }
  // The kernel restarts an interrupted call only when the thread stops on its way to user mode.
  bool will_stop = ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) == 0;
  int signal = 0;
  while (will_stop) {
    if (ptrace(PTRACE_CONT, tid_, nullptr, signal_data(signal)) != 0) break;
    const int status = wait_for_stop(tid_);
    if (status == 0) return;
    will_stop = status >> 16 != PTRACE_EVENT_STOP;
    signal = signal_after(status).value_or(0);
  }
  restore_state();
  ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
  is_gone_ = true;
}

}  // namespace fbleprof::attach
