#include "capture/fatal_signals.h"

#include <errno.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/kernel.h"
#include "arch/peek.h"
#include "capture/control.h"
#include "capture/ending.h"
#include "capture/found_threads.h"
#include "capture/hook_copy.h"
#include "capture/profile.h"
#include "capture/signals.h"
#include "signal_safe/peek.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using signal_safe::session;

namespace {

// All signals that end a process by default, except SIGKILL and the sampling signal, which
// capture/signals handles. 32 and 33 are libc's own.
constexpr int kFatalSignals[] = {SIGHUP,    SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                 SIGFPE,    SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
                                 SIGSTKFLT, SIGPOLL, SIGPWR,  SIGSYS,  SIGXCPU, SIGXFSZ, SIGVTALRM};
constexpr int kFirstRealTime = 34, kLastRealTime = 64;

constexpr int kFaultSignals[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};

bool watching = false;
// In an attached program: the signals of faults that have our handler.
bool catching[kLastRealTime + 1] = {};
// Whether reads of memory that may not exist can fault: see peek.h.
bool peeking = false;
// The program's actions for the signals for which the kernel has our handler.
struct sigaction program_actions[kLastRealTime + 1];

constexpr long kPage = 4096;

bool is_fault(int number, int code) {
  for (const int fault : kFaultSignals) {
    if (number == fault) return code > 0;
  }
  return false;
}

// Whether the address is in a file of ours, which has been lost; if so, memory takes its place.
bool replace_lost_file(char* base, std::uint64_t bytes, long address) {
  const auto begin = reinterpret_cast<long>(base);
  const long end = begin + static_cast<long>(bytes);
  if (begin == 0 || address < begin || address >= end) return false;
  const long page = address / kPage * kPage;
  return !kernel_failed(kernel_call(SYS_mmap, page, end - page, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                                    0));
}

bool replace_lost_file(const siginfo_t* info) {
  const auto address = reinterpret_cast<long>(info->si_addr);
  const signal_safe::Arena* parents = profile.parents_file;
  if (parents && replace_lost_file(parents->base(), parents->cap_bytes(), address)) return true;
  for (format::Header* header : {mapped_base_header(), profile.output.name.base_header}) {
    if (replace_lost_file(reinterpret_cast<char*>(header), format::kHeaderBytes, address)) {
      return true;
    }
  }
  // The file is begun before the arena takes it.
  if (!replace_lost_file(session.arena.base(), session.arena.cap_bytes(), address) &&
      !replace_lost_file(profile.output.base, profile.output.cap_bytes, address)) {
    return false;
  }
  abandon_profile();
  return true;
}

// Faults that the program must not see.
bool may_be_our_fault(int number) { return number == SIGBUS || (peeking && number == SIGSEGV); }

// Signals that displaced instructions can cause: faults, and SIGSYS by a system call that a filter
// does not let through.
bool is_of_instruction(int number, int code) {
  return is_fault(number, code) || (number == SIGSYS && code > 0);
}
bool may_be_in_trampoline(int number) {
  constexpr int kAnyCode = 1;
  return !profile.settings.exact.empty() && is_of_instruction(number, kAnyCode);
}

// Whether the fault was ours: a read of memory that does not exist, or of our own lost file.
bool repair_fault(int number, const siginfo_t* info, void* context) {
  if (!may_be_our_fault(number) || info->si_code <= 0) return false;
  if (arch::resume_failed_copy(context)) return true;
  const int saved_errno = errno;
  const bool is_repaired = number == SIGBUS && replace_lost_file(info);
  errno = saved_errno;
  return is_repaired;
}

// A confined program may have forbidden to reset an action. Reads of memory that may not exist need
// a handler that stays.
bool is_reset_by_kernel(const struct sigaction& action) {
  return profile.confined &&
         (is_default(action) ? !peeking : (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0);
}

struct Death {
  int number;
  const void* context;
};
void write_end(void* argument) {
  const Death& death = *static_cast<const Death*>(argument);
  if (fbleprof_hot.top && fbleprof_hot.self->canary->alive && is_profiling() && !profile.confined &&
      is_own_process()) {
    signal_safe::charge_fatal(*fbleprof_hot.self, arch::state_of(death.context));
  }
  finish_process(format::State::kFatal, static_cast<std::uint32_t>(death.number));
}

void stand_in_front(int number, const struct sigaction& action);

// A fault of ours must not use up a handler that the kernel resets (SA_RESETHAND).
void restore_after_repair(int number) {
  const struct sigaction action = program_actions[number];
  if (is_reset_by_kernel(action)) stand_in_front(number, action);
}

void send_to_this_thread(int number, const siginfo_t* info) {
  const long pid = kernel_call(SYS_getpid), tid = kernel_call(SYS_gettid);
  // If no more signals can be queued, the signal comes without its details.
  if (kernel_failed(
          kernel_call(SYS_rt_tgsigqueueinfo, pid, tid, number, reinterpret_cast<long>(info)))) {
    kernel_call(SYS_tgkill, pid, tid, number);
  }
}

// SIGBUS is open in code of ours that blocks all other signals, and may hold locks. One that was
// sent waits until that code has ended. Another fault ends the program, as if it was blocked.
bool holds_off(int number, const siginfo_t* info, void* context) {
  if (number != SIGBUS || !are_all_signals_blocked()) return false;
  if (is_fault(number, info->si_code)) {
    const struct sigaction action {};
    return set_kernel_action(number, &action, nullptr) == 0;
  }
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, number);
  sigset_t waiting;
  sigemptyset(&waiting);
  sigaddset(&waiting, number);
  kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&waiting), 0,
              sizeof(std::uint64_t));
  send_to_this_thread(number, info);
  return true;
}

// Whether the signal is not, or not yet, for the program.
bool is_ours_to_handle(int number, const siginfo_t* info, void* context) {
  if (repair_fault(number, info, context)) {
    restore_after_repair(number);
    return true;
  }
  return holds_off(number, info, context);
}

void on_fatal(int number, siginfo_t* info, void* context) {
  if (is_ours_to_handle(number, info, context)) return;
  const int saved_errno = errno;
  Death death{number, context};
  // A filter of system calls may forbid to leave the signal stack. Threads that are not attached
  // have no other one.
  const bool may_leave_stack = fbleprof_hot.top && !profile.confined;
  if (!may_leave_stack || !call_where_room_is(context, write_end, &death)) write_end(&death);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // A confined program's action was reset by the kernel, unless we read memory that may not exist.
  const bool must_reset = !profile.confined || peeking;
  if (must_reset && set_kernel_action(number, &action, nullptr) != 0) {
    // The fault would come again and again.
    kernel_call(SYS_exit_group, kStatusOfSignal + number);
  }
  if (!is_fault(number, info->si_code)) send_to_this_thread(number, info);
  errno = saved_errno;
}

struct CodePlace {
  std::uint64_t pc, sp;
};

// Where the program was, if it knew nothing of trampolines: at the place itself; at a displaced
// instruction; or, if there was no stack for the hook, at the function's start.
CodePlace origin_of(const CodePlace& place) {
  const auto& trampolines = session.trampolines;
  if (const std::uint64_t origin = trampolines.origin_of(place.pc)) return {origin, place.sp};
  if (trampolines.calls_hook_at(place.pc)) return {trampolines.function_at(place.pc), place.sp};
  if (!saves_at(place.pc)) return place;
  const std::uint64_t function =
      trampolines.function_at(*reinterpret_cast<const std::uint64_t*>(place.sp));
  return function != 0 ? CodePlace{function, place.sp + sizeof function} : place;
}

void on_handled(int number, siginfo_t* info, void* context);

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) &&
         (action.sa_sigaction == on_fatal || action.sa_sigaction == on_handled);
}

// Calls function(number) for each signal for which the kernel has our handler.
template <typename Function>
void for_each_of_ours(Function function) {
  for (int number = 1; number <= kLastRealTime; ++number) {
    struct sigaction now {};
    if (set_kernel_action(number, nullptr, &now) == 0 && is_ours(now)) function(number);
  }
}

// The action to give the kernel for the action that the program sets.
struct sigaction in_kernel(int number, const struct sigaction& action) {
  struct sigaction ours = action;
  if (is_default(action)) {
    ours = {};
    ours.sa_sigaction = on_fatal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ours.sa_mask = all_but_faults();
    if (is_reset_by_kernel(action)) ours.sa_flags |= static_cast<int>(SA_RESETHAND);
  } else if (!is_ignored(action) && (may_be_our_fault(number) || may_be_in_trampoline(number) ||
                                     (action.sa_flags & SA_RESETHAND))) {
    ours.sa_sigaction = on_handled;
    ours.sa_flags |= SA_SIGINFO;
    if (!profile.confined) ours.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  }
  return ours;
}

// Runs in front of a handler of the program's.
void on_handled(int number, siginfo_t* info, void* context) {
  if (is_ours_to_handle(number, info, context)) return;
  const int saved_errno = errno;
  const struct sigaction action = program_actions[number];
  if (action.sa_flags & static_cast<int>(SA_RESETHAND)) {
    const struct sigaction reset = after_reset(action);
    if (profile.confined) {
      program_actions[number] = reset;  // as the kernel has done
    } else {
      set_watched_action(number, &reset, nullptr);
    }
  }
  errno = saved_errno;
  auto* registers =
      reinterpret_cast<std::uint64_t*>(static_cast<char*>(context) + arch::kGeneralRegisters);
  const CodePlace place{registers[arch::kGregPc], registers[arch::kGregSp]};
  const CodePlace origin = is_of_instruction(number, info->si_code) ? origin_of(place) : place;
  registers[arch::kGregPc] = origin.pc;
  registers[arch::kGregSp] = origin.sp;
  // The address of the instruction, or of the memory.
  void*& told = number == SIGSYS ? info->si_call_addr : info->si_addr;
  if (origin.pc != place.pc && reinterpret_cast<std::uint64_t>(told) == place.pc) {
    told = reinterpret_cast<void*>(origin.pc);
  }
  call_handler(action, number, info, context);
  // Nothing to undo if the handler throws or jumps away.
  if (origin.pc == place.pc) return;
  if (session.trampolines.origin_of(place.pc) != 0) {
    registers[arch::kGregPc] = session.trampolines.place_of(place.pc, registers[arch::kGregPc]);
  } else if (registers[arch::kGregPc] == origin.pc && registers[arch::kGregSp] == origin.sp) {
    registers[arch::kGregPc] = place.pc;
    registers[arch::kGregSp] = place.sp;
  }
}

// Puts our handler in front of the program's action.
void stand_in_front(int number, const struct sigaction& action) {
  program_actions[number] = action;
  const struct sigaction ours = in_kernel(number, action);
  set_kernel_action(number, &ours, nullptr);
}

void watch(int number) {
  struct sigaction old {};
  if (set_kernel_action(number, nullptr, &old) != 0 || !is_default(old)) return;
  stand_in_front(number, old);
}

// The same for a signal that is known to have its default action: one call instead of two, and a
// start sets fifty.
void watch_default(int number) {
  const struct sigaction action {};
  const struct sigaction ours = in_kernel(number, action);
  struct sigaction old {};
  program_actions[number] = action;
  if (set_kernel_action(number, &ours, &old) != 0 || is_default(old)) return;
  set_kernel_action(number, &old, nullptr);  // another thread has just set it
}

void watch_all(std::uint64_t default_signals) {
  const auto watch_one = [&](int number) {
    const bool is_known = (default_signals >> (number - 1) & 1) != 0;
    is_known ? watch_default(number) : watch(number);
  };
  for (const int number : kFatalSignals) watch_one(number);
  for (int number = kFirstRealTime; number <= kLastRealTime; ++number) watch_one(number);
}

}  // namespace

void watch_fatal_signals(std::uint64_t default_signals) {
  // The kernel does not send the first process of a namespace a signal that has no handler.
  if (kernel_call(SYS_getpid) == 1) return;
  watch_all(default_signals);
  on_death_by_sampling_signal([] { finish_process(format::State::kFatal, kSamplingSignal); });
  watching = true;
}

void stop_watching_fatal_signals() {
  if (!watching) return;
  watching = false;
  for_each_of_ours(
      [](int number) { set_kernel_action(number, &program_actions[number], nullptr); });
}

void watch_cleared_signals() {
  struct sigaction now {};
  // With our handler in front, the default action is never the kernel's.
  if (!watching || set_kernel_action(SIGSEGV, nullptr, &now) != 0 || !is_default(now)) return;
  watch_all(0);
}

void leave_signals_to_first_process() {
  if (!watching || kernel_call(SYS_getpid) != 1) return;
  watching = false;
  for_each_of_ours([](int number) {
    catching[number] = may_be_our_fault(number) || may_be_in_trampoline(number);
    if (!catching[number]) set_kernel_action(number, &program_actions[number], nullptr);
  });
}

void leave_signals_to_confined_program() {
  watching = false;
  for (int number = 1; number <= kLastRealTime; ++number) {
    catching[number] = is_control_signal(number);
  }
  for_each_of_ours([](int number) {
    catching[number] |= may_be_our_fault(number) || may_be_in_trampoline(number);
    const struct sigaction action = program_actions[number];
    if (catching[number]) {
      stand_in_front(number, action);
    } else {
      set_kernel_action(number, &action, nullptr);
    }
  });
}

void catch_faults() {
  for (const int number : kFaultSignals) {
    if (!may_be_our_fault(number) && !may_be_in_trampoline(number)) continue;
    struct sigaction old {};
    if (set_kernel_action(number, nullptr, &old) != 0 || is_ours(old)) continue;
    stand_in_front(number, old);
    catching[number] = true;
  }
}

void trust_caught_faults() {
  if (peeking && catching[SIGSEGV]) signal_safe::expect_caught_faults(true);
}

void stop_catching_faults() {
  if (!watching) signal_safe::expect_caught_faults(false);
  for (const int number : kFaultSignals) {
    struct sigaction now {};
    if (!catching[number] || set_kernel_action(number, nullptr, &now) != 0 || !is_ours(now)) {
      continue;
    }
    catching[number] = false;
    set_kernel_action(number, &program_actions[number], nullptr);
  }
}

void catch_faults_of_peeks() {
  // In an attached program, catch_faults() does the rest.
  if (!watching) peeking |= are_threads_found();
  if (!watching || peeking) return;
  peeking = true;
  struct sigaction action {};
  if (set_watched_action(SIGSEGV, nullptr, &action) != 0) return;
  if (set_watched_action(SIGSEGV, &action, nullptr) != 0) return;
  signal_safe::expect_caught_faults(true);
}

bool is_watched(int number) {
  if (!watching) return number >= 0 && number <= kLastRealTime && catching[number];
  for (const int fatal : kFatalSignals) {
    if (number == fatal) return true;
  }
  return number >= kFirstRealTime && number <= kLastRealTime;
}

namespace {
// A child of vfork sets its own actions, but runs in its parent's memory.
int set_action_of_child(int number, const struct sigaction* action, struct sigaction* old) {
  struct sigaction replaced {};
  if (set_kernel_action(number, action, &replaced) != 0) return -1;
  if (old) *old = is_ours(replaced) ? program_actions[number] : replaced;
  return 0;
}
}  // namespace

int set_watched_action(int number, const struct sigaction* action, struct sigaction* old,
                       SetAction set) {
  if (!is_own_process()) return set_action_of_child(number, action, old);
  const struct sigaction before = program_actions[number];
  if (is_control_signal(number)) {
    // The program's action is never called: all of these signals are ours.
    if (action) program_actions[number] = *action;
    if (old) *old = before;
    return 0;
  }
  struct sigaction replaced {};
  if (action) {
    // Store what our handler needs first: the signal may come as soon as the kernel has the new
    // action.
    program_actions[number] = *action;
    const struct sigaction ours = in_kernel(number, *action);
    if (set(number, &ours, &replaced) != 0) return -1;
  } else if (set(number, nullptr, &replaced) != 0) {
    return -1;
  }
  if (old) *old = is_ours(replaced) ? before : replaced;
  return 0;
}

}  // namespace fbleprof::capture
