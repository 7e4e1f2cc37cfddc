#include "tests/proof/tracee.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace fbleprof::proof {

namespace {

constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                          PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
constexpr int kCallStop = SIGTRAP | 0x80;

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A stopped task's thread may have been killed meanwhile, so a failing request is not an error.
long ask(int request, pid_t tid, unsigned long address, unsigned long data) {
  return ptrace(static_cast<__ptrace_request>(request), tid, address, data);
}

constexpr unsigned char kTrap = 0xcc;  // int3

// The byte that was there before.
unsigned char write_byte(pid_t tid, unsigned long address, unsigned char byte) {
  errno = 0;
  // libc's ptrace returns the word, and tells an error by errno.
  const auto word = static_cast<unsigned long>(ptrace(PTRACE_PEEKTEXT, tid, address, nullptr));
  if (errno != 0) return 0;
  ask(PTRACE_POKETEXT, tid, address, (word & ~0xfful) | byte);
  return static_cast<unsigned char>(word);
}

// Our sampling signals look like those of the recorder's own timers.
void send_as_timer(pid_t tid) {
  siginfo_t info{};
  ask(PTRACE_GETSIGINFO, tid, 0, reinterpret_cast<unsigned long>(&info));
  if (info.si_code != SI_TKILL) return;
  info.si_code = POLL_IN;
  ask(PTRACE_SETSIGINFO, tid, 0, reinterpret_cast<unsigned long>(&info));
}

}  // namespace

Tracee::Tracee(const Run& run, bool profiled) {
  pid_ = fork();
  if (pid_ == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    run.become(profiled);
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  ask(PTRACE_SETOPTIONS, pid_, 0, kOptions);
  tasks_[pid_] = {pid_, true};
}

Tracee::~Tracee() { kill_all(); }

user_regs_struct Tracee::registers(const Task& task) const {
  user_regs_struct registers{};
  ask(PTRACE_GETREGS, task.tid, 0, reinterpret_cast<unsigned long>(&registers));
  return registers;
}

Task* Tracee::take(pid_t tid, int status, bool& is_call) {
  is_call = at_breakpoint_ = false;
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    tasks_.erase(tid);
    if (tid == pid_) status_ = status;
    return nullptr;
  }
  Task& task = tasks_[tid];
  task.tid = tid;
  task.is_stopped = true;
  const int signal = WSTOPSIG(status), event = status >> 16;
  if (signal == kCallStop) {
    is_call = true;
    task.in_call = !task.in_call;
  } else if (event == PTRACE_EVENT_EXEC) {
    ranges_.clear();
    programs_ += tid == pid_;
    task.in_call = true;  // its end is still to come
  } else if (event == 0 && signal == SIGTRAP) {
    // A step, or the breakpoint. Threads and children that came to it meanwhile take it out, too.
    at_breakpoint_ = leave_breakpoint(task);
  } else if (event != 0) {
    // A new child or thread.
  } else if (signal == SIGSTOP) {
    // The first stop of a new task.
  } else {
    task.signal = signal;
    if (signal == SIGPROF) send_as_timer(tid);
  }
  return &task;
}

void Tracee::resume(Task& task, int how) {
  task.is_stopped = false;
  const int signal = task.signal;
  task.signal = 0;
  ask(how, task.tid, 0, static_cast<unsigned long>(signal));
}

Task* Tracee::wait_for_any(bool& is_call) {
  for (;;) {
    int status = 0;
    const pid_t tid = waitpid(-1, &status, __WALL);
    if (tid < 0) {
      if (errno == EINTR) continue;
      tasks_.clear();
      return nullptr;
    }
    if (Task* task = take(tid, status, is_call)) return task;
    if (tasks_.empty()) return nullptr;
  }
}

void Tracee::run_by_calls(const AtCall& at_call) {
  stopping_ = false;
  for (auto& [tid, task] : tasks_) {
    if (task.is_stopped) resume(task, PTRACE_SYSCALL);
  }
  bool is_call = false;
  while (Task* task = wait_for_any(is_call)) {
    if (is_call) {
      user_regs_struct state = registers(*task);
      if (at_call(*task, !task->in_call, state)) {
        ask(PTRACE_SETREGS, task->tid, 0, reinterpret_cast<unsigned long>(&state));
      }
      if (stopping_) return;
    }
    resume(*task, PTRACE_SYSCALL);
  }
}

void Tracee::run_by_steps(const Before& before) {
  // A task that does not stop again within this time is blocked in the kernel: others continue.
  constexpr double kPatience = 0.02;
  while (!tasks_.empty()) {
    // Tasks that were waiting, or are new.
    bool is_call = false;
    int status = 0;
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0;) take(tid, status, is_call);
    std::vector<pid_t> stopped;
    for (const auto& [tid, task] : tasks_) {
      if (task.is_stopped) stopped.push_back(tid);
    }
    if (stopped.empty()) {
      if (!wait_for_any(is_call)) return;
      continue;
    }
    for (const pid_t tid : stopped) {
      const auto found = tasks_.find(tid);
      if (found == tasks_.end() || !found->second.is_stopped) continue;
      if (!before(found->second)) return;
      resume(found->second, PTRACE_SINGLESTEP);
      const double end = now_s() + kPatience;
      pid_t got = 0;
      for (int spins = 0; (got = waitpid(tid, &status, __WALL | WNOHANG)) == 0; ++spins) {
        if (spins > 100 && now_s() > end) break;
      }
      if (got == tid) take(tid, status, is_call);
    }
  }
}

Tracee::Delivery Tracee::run_handler(Task& task, int signal) {
  const pid_t tid = task.tid;
  const auto wait_here = [&](bool& is_call) -> Task* {
    int status = 0;
    if (waitpid(tid, &status, __WALL) != tid) return nullptr;
    return take(tid, status, is_call);
  };
  bool is_call = false;
  const user_regs_struct at = registers(task);
  Task* now = &task;
  // One that was sent while it was blocked may come just now. Another one would wait in its
  // handler, which would then run for ever.
  if (task.signal != signal) {
    if (syscall(SYS_tkill, tid, signal) != 0) return Delivery::kEnded;
    // The signal stops the task before its next instruction; if it is blocked, the task steps on.
    resume(task, PTRACE_SINGLESTEP);
    now = wait_here(is_call);
    if (!now || now->signal != signal) return now ? Delivery::kBlocked : Delivery::kEnded;
  }
  now->in_call = false;
  for (;;) {
    resume(*now, PTRACE_SYSCALL);
    now = wait_here(is_call);
    if (!now) return Delivery::kEnded;
    if (!is_call || now->in_call) continue;
    // After rt_sigreturn, the state is as before the signal.
    const user_regs_struct state = registers(*now);
    if (state.rip == at.rip && state.rsp == at.rsp) return Delivery::kHandled;
  }
}

bool Tracee::leave_breakpoint(const Task& task) {
  user_regs_struct state = registers(task);
  if (breakpoint_.address == 0 || state.rip != breakpoint_.address + 1) return false;
  state.rip = breakpoint_.address;
  ask(PTRACE_SETREGS, task.tid, 0, reinterpret_cast<unsigned long>(&state));
  write_byte(task.tid, breakpoint_.address, breakpoint_.original);
  return true;
}

bool Tracee::run_freely(unsigned seconds, const std::function<bool(const Task& task)>& is_found) {
  for (auto& [tid, task] : tasks_) {
    if (task.is_stopped) resume(task, PTRACE_CONT);
  }
  const double end = now_s() + seconds;
  while (!tasks_.empty()) {
    int status = 0;
    bool is_call = false;
    const pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
    if (tid > 0) {
      Task* task = take(tid, status, is_call);
      if (task && is_found(*task)) return true;
      if (task) resume(*task, PTRACE_CONT);
    } else if (tid < 0 && errno != EINTR) {
      tasks_.clear();
    } else if (now_s() > end) {
      return false;
    } else {
      usleep(100);
    }
  }
  return false;
}

Task* Tracee::run_to(unsigned long address, unsigned seconds) {
  breakpoint_ = {address, write_byte(pid_, address, kTrap)};
  Task* there = nullptr;
  run_freely(seconds, [&](const Task& task) {
    if (!at_breakpoint_) return false;
    there = &tasks_[task.tid];
    return true;
  });
  return there;
}

bool Tracee::finish(unsigned seconds) {
  run_freely(seconds, [](const Task&) { return false; });
  if (tasks_.empty()) return true;
  kill_all();
  return false;
}

void Tracee::kill_all() {
  for (const auto& [tid, task] : tasks_) kill(tid, SIGKILL);
  while (!tasks_.empty()) {
    int status = 0;
    const pid_t tid = waitpid(-1, &status, __WALL);
    if (tid < 0 && errno != EINTR) tasks_.clear();
    bool is_call = false;
    if (tid > 0) {
      // A task that was just created, or that stopped on its way to its end.
      if (const Task* task = take(tid, status, is_call)) kill(task->tid, SIGKILL);
    }
  }
}

pid_t Tracee::process_of(pid_t tid) {
  std::ifstream status(fmt::format("/proc/{}/status", tid));
  for (std::string line; std::getline(status, line);) {
    pid_t process = 0;
    if (std::sscanf(line.c_str(), "Tgid: %d", &process) == 1) return process;
  }
  return tid;
}

bool Tracee::is_recorders(pid_t tid, unsigned long address) {
  constexpr int kMostReads = 400;
  Ranges& ranges = ranges_[tid];
  const auto holds = [&] {
    for (const auto& [begin, end] : ranges.all) {
      if (address >= begin && address < end) return true;
    }
    return false;
  };
  if (holds()) return ranges.is_settled = true;
  if (ranges.is_settled || ranges.reads++ > kMostReads) return false;
  ranges.all.clear();
  std::ifstream maps(fmt::format("/proc/{}/maps", tid));
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char rights[5] = {};
    if (line.find("/libfbleprof") == std::string::npos ||
        std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3 || rights[2] != 'x') {
      continue;
    }
    ranges.all.emplace_back(begin, end);
  }
  return holds();
}

}  // namespace fbleprof::proof
