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

void pass_on(int signal) {
  const int saved = errno;
  if (g_program > 0) kill(g_program, signal);
  errno = saved;
}

// Signals that a shell or a service manager sends only to the process that it knows. A terminal
// also sends its signals to the program: they must not end us before the program.
constexpr int kPassedOn[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};
constexpr int kOfTerminal[] = {SIGINT, SIGQUIT};

constexpr int kSignals = 32;
struct sigaction actions_before[kSignals];
bool are_prepared = false;

void prepare(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, are_prepared ? nullptr : &actions_before[signal]);
}

void prepare_signals() {
  for (const int signal : kPassedOn) prepare(signal, pass_on);
  for (const int signal : kOfTerminal) prepare(signal, SIG_IGN);
  are_prepared = true;
}

// In the child process of a second run, which would inherit the ignored signals.
void restore_signals() {
  if (!are_prepared) return;
  for (const int signal : kPassedOn) sigaction(signal, &actions_before[signal], nullptr);
  for (const int signal : kOfTerminal) sigaction(signal, &actions_before[signal], nullptr);
}

}  // namespace

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
  // Only after the fork: the child, and the program that it becomes, keep the signals' actions.
  prepare_signals();
  // Its threads must leave all signals to this one.
  if (meanwhile) meanwhile(child);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  const int status = wait_for(child);
  g_program = 0;
  return {child, status};
}

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
