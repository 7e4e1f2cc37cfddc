// A program, its threads and its children under ptrace.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/proof/scenario.h"

namespace fbleprof::proof {

// The system call by which steps.c says where its steps begin (1) and end (0).
inline constexpr long kMark = 0x4242;

// One thread of the program or of a child.
struct Task {
  pid_t tid = 0;
  bool is_stopped = false;
  bool in_call = false;  // between a call's entry and its end
  int signal = 0;        // to deliver when it goes on
};

class Tracee {
 public:
  // Starts the program, stopped at its first instruction.
  Tracee(const Run& run, bool profiled);
  // Ends all remaining tasks.
  ~Tracee();
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;

  // Lets everything run from system call to system call. Calls `at_call` before and after each call
  // (`is_end`) with the task's registers, which it may change (it then returns true). Returns when
  // the program has ended, or `at_call` has requested it (stop_here).
  using AtCall = std::function<bool(Task& task, bool is_end, user_regs_struct& registers)>;
  void run_by_calls(const AtCall& at_call);
  void stop_here() { stopping_ = true; }

  // Lets one task at a time execute one instruction, in turn. Before each, `before` is called with
  // the task; it returns false to end the stepping.
  using Before = std::function<bool(Task& task)>;
  void run_by_steps(const Before& before);

  // Sends the stopped task a signal, and lets it run until the handler has returned to the task's
  // current instruction; if the task blocks the signal, for one instruction.
  enum class Delivery { kHandled, kBlocked, kEnded };
  Delivery run_handler(Task& task, int signal);

  // Lets all run freely until one of them is about to execute the instruction at `address`, which
  // must be mapped; each does so only once. Null: none came there within `seconds`.
  Task* run_to(unsigned long address, unsigned seconds);

  // Lets all run to the end; gives up after `seconds`. False: something still ran and was killed.
  bool finish(unsigned seconds);
  void kill_all();

  bool has_ended() const { return tasks_.empty(); }
  int status() const { return status_; }  // of the first process, as of waitpid
  std::size_t tasks() const { return tasks_.size(); }
  pid_t pid() const { return pid_; }
  // How many programs the first process has become, this one included.
  unsigned programs() const { return programs_; }
  // The process of a thread.
  static pid_t process_of(pid_t tid);
  user_regs_struct registers(const Task& task) const;
  // Whether an address is in the text of the recorder's libraries.
  bool is_recorders(pid_t tid, unsigned long address);

 private:
  struct Ranges {
    std::vector<std::pair<unsigned long, unsigned long>> all;
    int reads = 0;
    bool is_settled = false;  // the recorder runs: all of it is loaded
  };
  // The reason of a stop; handles new tasks, ends and execs. Null: no task is left.
  Task* take(pid_t tid, int status, bool& is_call);
  void resume(Task& task, int how);
  Task* wait_for_any(bool& is_call);
  // After a trap: whether it is the breakpoint's. Then the task stands before the instruction.
  bool leave_breakpoint(const Task& task);
  // Lets all go on until `is_found`. False: all have ended, or the time is over.
  bool run_freely(unsigned seconds, const std::function<bool(const Task& task)>& is_found);

  struct Breakpoint {
    unsigned long address = 0;
    unsigned char original = 0;
  };

  pid_t pid_ = 0;
  unsigned programs_ = 0;
  Breakpoint breakpoint_;
  bool at_breakpoint_ = false;  // the last stop was at it
  int status_ = -1;
  bool stopping_ = false;
  std::map<pid_t, Task> tasks_;
  std::map<pid_t, Ranges> ranges_;
};

}  // namespace fbleprof::proof
