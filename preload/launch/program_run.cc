#include "launch/program_run.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace fbleprof::launch {
namespace {

volatile pid_t g_program = 0;
// The signal by which somebody told us to end.
volatile sig_atomic_t g_told_by = 0;

// Whether the program needs this signal from us. Nobody can see whether a process sent a signal to
// us alone or to our process group, in which the program got it already; then it gets it twice.
bool is_for_program(int signal, const siginfo_t& info) {
  if (info.si_code > 0) {
    // The kernel's. A terminal sends its own to the program, too; only that it is gone, it tells
    // the first process of the session alone. The timer of alarm() stays with a process at exec.
    return signal == SIGALRM || (signal == SIGHUP && getsid(0) == getpid());
  }
  // The program's to its group or its parent, or ours, such as SIGPIPE for a write.
  return info.si_pid != g_program && info.si_pid != getpid();
}

// Others tell programs something else: SIGHUP, to read their files again. A terminal's ^C may be
// meant for the program alone.
bool tells_us_to_end(int signal, const siginfo_t& info) {
  const bool is_to_end = signal == SIGTERM || signal == SIGINT;
  return is_to_end && info.si_code <= 0 && is_for_program(signal, info);
}

void pass_on(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  if (tells_us_to_end(signal, *info)) g_told_by = signal;
  if (g_program > 0 && is_for_program(signal, *info)) {
    if (info->si_code == SI_QUEUE) {
      sigqueue(g_program, signal, info->si_value);
    } else {
      kill(g_program, signal);
    }
  }
  errno = saved;
}

constexpr int kOfTerminal[] = {SIGINT, SIGQUIT};

// Users and service managers know only us: what they send must reach the program, and not end us
// before it. Excepted are faults of our own, and what stops us, with the program, from a terminal.
bool is_passed_on(int signal) {
  for (const int other : {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGKILL, SIGCHLD,
                          SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    if (signal == other) return false;
  }
  // libc keeps some of the kernel's real-time signals for itself.
  return signal <= SIGSYS || signal >= SIGRTMIN;
}

constexpr int kSignals = 65;
struct sigaction actions_before[kSignals];
bool are_prepared = false;

struct sigaction child_action_before;
bool expects_children = false;

void prepare_signals() {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  for (int signal = 1; signal < kSignals; ++signal) {
    if (!is_passed_on(signal)) continue;
    sigaction(signal, &action, are_prepared ? nullptr : &actions_before[signal]);
  }
  are_prepared = true;
}

// In the child process of a second run, which would inherit the ignored signals.
void restore_signals() {
  if (!are_prepared) return;
  for (int signal = 1; signal < kSignals; ++signal) {
    if (is_passed_on(signal)) sigaction(signal, &actions_before[signal], nullptr);
  }
}

}  // namespace

void expect_children() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  expects_children = sigaction(SIGCHLD, &action, &child_action_before) == 0;
}

void give_back_child_signal() {
  if (expects_children) sigaction(SIGCHLD, &child_action_before, nullptr);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

ProgramRun run_program(const std::function<int()>& become_program,
                       const std::function<void(pid_t)>& meanwhile) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    restore_signals();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    _exit(become_program());
  }
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return {};
  }
  g_program = child;
  // It came when there was no program that could get it.
  if (g_told_by != 0) kill(child, g_told_by);
  // Only after the fork: the child, and the program that it becomes, keep the signals' actions.
  prepare_signals();
  // Its threads must leave all signals to this one.
  if (meanwhile) meanwhile(child);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  const int status = wait_for(child);
  g_program = 0;
  // The work that follows a run, also of other programs, is not interrupted by a terminal.
  for (const int signal : kOfTerminal) ::signal(signal, SIG_IGN);
  return {child, status};
}

bool was_told_to_end() { return g_told_by != 0; }

int leave_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  // The program has dumped its core: ours would be useless.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int signal = WTERMSIG(status);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
  return 128 + signal;
}

void note_directory() {
  std::error_code failure;
  const std::string here = std::filesystem::current_path(failure).string();
  // Without a directory, the recorder says what it cannot do.
  setenv("FBLEPROF_DIRECTORY", here.c_str(), 1);
}

}  // namespace fbleprof::launch
