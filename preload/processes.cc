// fork, exec, and the calls that confine a process.
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "arch/kernel.h"
#include "capture/confinement.h"
#include "capture/ending.h"
#include "capture/exec.h"
#include "capture/fork_child.h"
#include "capture/loader_symbols.h"
#include "capture/locked_memory.h"
#include "capture/next_environment.h"
#include "capture/next_program.h"
#include "capture/program_actions.h"
#include "capture/signals.h"
#include "capture/text.h"
#include "capture/threads.h"
#include "interposed.h"
#include "signal_safe/peek.h"
#include "watching.h"

extern char** environ;

namespace {
namespace original = fbleprof::preload::original;
namespace capture = fbleprof::capture;
using Arguments = fbleprof::preload::Strings;

// The arguments of execl and the like, as an array on the caller's stack.
std::size_t count_arguments(va_list arguments) {
  std::size_t count = 1;
  while (va_arg(arguments, char*)) ++count;
  return count;
}
}  // namespace

namespace {
// Runs before and after a fork of any kind.
template <typename Fork>
auto forked(Fork fork) {
  capture::before_fork();
  const auto pid = fork();
  if (pid == 0) {
    capture::after_fork_in_child();
  } else {
    capture::after_fork_in_parent();
  }
  return pid;
}
}  // namespace

FBLEPROF_INTERPOSE pid_t _Fork() noexcept {
  // An older libc lacks it, but finds ours.
  return forked([] {
    return original::_Fork ? original::_Fork() : static_cast<pid_t>(original::syscall(SYS_fork));
  });
}

// libc's daemon ends the parent by a call of its own, which does not come to us. So this does the
// same (glibc 2.36), with our end; by the kernel's calls, as libc's own do not come to others.
namespace {
using fbleprof::arch::kernel_call;

int failed_with(int error) {
  errno = error;
  return -1;
}

// The three standard streams read and write nothing from now on.
int open_null_as_standard() {
  const long fd = kernel_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/dev/null"), O_RDWR);
  if (fd < 0) return failed_with(static_cast<int>(-fd));
  struct stat file {};
  const long result = kernel_call(SYS_newfstatat, fd, reinterpret_cast<long>(""),
                                  reinterpret_cast<long>(&file), AT_EMPTY_PATH);
  const bool is_null = S_ISCHR(file.st_mode) && file.st_rdev == makedev(1, 3);
  if (result < 0 || !is_null) {
    kernel_call(SYS_close, fd);
    return failed_with(result < 0 ? static_cast<int>(-result) : ENODEV);
  }
  for (int standard = 0; standard <= STDERR_FILENO; ++standard) kernel_call(SYS_dup2, fd, standard);
  if (fd > STDERR_FILENO) kernel_call(SYS_close, fd);
  return 0;
}

int become_daemon(bool keeps_directory, bool keeps_streams) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child != 0) {
    capture::finish_process(fbleprof::format::State::kEnded, 0);
    original::_exit(0);
  }
  if (const long result = kernel_call(SYS_setsid); result < 0) {
    return failed_with(static_cast<int>(-result));
  }
  if (!keeps_directory) kernel_call(SYS_chdir, reinterpret_cast<long>("/"));
  return keeps_streams ? 0 : open_null_as_standard();
}
}  // namespace

FBLEPROF_INTERPOSE fbleprof::preload::Words daemon_of_words __asm__("daemon");

long daemon_of_words(long a, long b, long c, long d, long e, long f) {
  const capture::Definition next = capture::next_definition_of_libc("daemon", _DYNAMIC);
  const bool is_libcs = next.is_libcs && next.next == next.of_libc;
  return is_libcs ? become_daemon(static_cast<int>(a) != 0, static_cast<int>(b) != 0)
                  : original::daemon(a, b, c, d, e, f);
}

// A child process that clone makes with its own memory is like a forked one, on another stack.
namespace {
struct CloneStart {
  int (*function)(void*);
  void* argument;
};
int run_clone(void* start) {
  const CloneStart copy = *static_cast<CloneStart*>(start);
  capture::after_fork_in_child();
  const int status = copy.function(copy.argument);
  // libc would end the process by its own system call.
  capture::finish_process(fbleprof::format::State::kEnded, 0);
  return status;
}
}  // namespace
// Declared with `...`: the arguments after the fourth exist if the flags ask for them.
FBLEPROF_INTERPOSE int clone_of_program(int (*function)(void*), void* stack, int flags,
                                        void* argument, void* parent_tid, void* tls,
                                        void* child_tid) __asm__("clone");
int clone_of_program(int (*function)(void*), void* stack, int flags, void* argument,
                     void* parent_tid, void* tls, void* child_tid) {
  if ((flags & CLONE_VM) != 0 || !function || !stack) {
    return original::clone(function, stack, flags, argument, parent_tid, tls, child_tid);
  }
  CloneStart start{function, argument};
  capture::before_fork();
  const int pid = original::clone(run_clone, stack, flags, &start, parent_tid, tls, child_tid);
  capture::after_fork_in_parent();
  return pid;
}

namespace {
using capture::NextProgram;

// Calls start(environment), with the environment that the next program is to get.
template <typename Call>
[[gnu::always_inline]] inline auto start_program(const NextProgram& program, Arguments environment,
                                                 Call start) {
  const capture::NextEnvironment next(program, environment);
  void* const memory = __builtin_alloca(next.bytes());
  return start(next.bytes() != 0 ? next.write(memory) : environment);
}
template <typename Call>
[[gnu::always_inline]] inline auto become_program(const NextProgram& program, Arguments environment,
                                                  Call exec) {
  return start_program(program, environment, [&](Arguments handed_on) {
    const capture::MaskOfProgram mask;
    const capture::Exec around;
    return exec(handed_on);
  });
}

NextProgram at(const char* path) { return {path, path}; }
NextProgram in_path(const char* file) { return {file, file, NextProgram::Search::kInPath}; }

// With the program's own environment, which is rarely changed.
int exec_at_path(const char* path, Arguments argv) {
  return become_program(at(path), environ, [&](Arguments envp) {
    return envp == environ ? original::execv(path, argv) : original::execve(path, argv, envp);
  });
}
int exec_by_name(const char* file, Arguments argv) {
  return become_program(in_path(file), environ, [&](Arguments envp) {
    return envp == environ ? original::execvp(file, argv) : original::execvpe(file, argv, envp);
  });
}

const char* first_argument(Arguments argv) {
  const char* first = nullptr;
  const bool is_known = fbleprof::signal_safe::is_peek_harmless() &&
                        fbleprof::signal_safe::peek(argv, &first, sizeof first);
  return is_known ? first : nullptr;
}

// A program by its descriptor, or by a path from the directory that a descriptor is. Lives as long
// as the call.
class ProgramOfDescriptor {
 public:
  ProgramOfDescriptor(int fd, const char* path, Arguments argv)
      : program_{first_argument(argv), file_.c_str()} {
    char first = 0;
    if (!fbleprof::signal_safe::is_peek_harmless() ||
        !fbleprof::signal_safe::peek(path, &first, sizeof first)) {
      program_.file = nullptr;
    } else if (first == '/' || fd == AT_FDCWD) {
      program_.file = path;
    } else if (first == 0) {
      file_.add("/proc/self/fd/").add_number(static_cast<unsigned>(fd));
    } else {
      program_.file = nullptr;
    }
  }
  const NextProgram& program() const { return program_; }

 private:
  capture::Text<32> file_;
  NextProgram program_;
};
}  // namespace

FBLEPROF_INTERPOSE int execve(const char* path, Arguments argv, Arguments envp) noexcept {
  return become_program(
      at(path), envp, [&](Arguments handed_on) { return original::execve(path, argv, handed_on); });
}
FBLEPROF_INTERPOSE int execv(const char* path, Arguments argv) noexcept {
  return exec_at_path(path, argv);
}
FBLEPROF_INTERPOSE int execvp(const char* file, Arguments argv) noexcept {
  return exec_by_name(file, argv);
}
FBLEPROF_INTERPOSE int execvpe(const char* file, Arguments argv, Arguments envp) noexcept {
  return become_program(in_path(file), envp, [&](Arguments handed_on) {
    return original::execvpe(file, argv, handed_on);
  });
}
FBLEPROF_INTERPOSE int fexecve(int fd, Arguments argv, Arguments envp) noexcept {
  const ProgramOfDescriptor of(fd, "", argv);
  return become_program(of.program(), envp, [&](Arguments handed_on) {
    return original::fexecve(fd, argv, handed_on);
  });
}
FBLEPROF_INTERPOSE int execveat(int fd, const char* path, Arguments argv, Arguments envp,
                                int flags) noexcept {
  const ProgramOfDescriptor of(fd, path, argv);
  return become_program(of.program(), envp, [&](Arguments handed_on) {
    return original::execveat ? original::execveat(fd, path, argv, handed_on, flags)
                              : static_cast<int>(original::syscall(SYS_execveat, fd, path, argv,
                                                                   handed_on, flags));
  });
}

// The three functions with a variable number of arguments.
#define FBLEPROF_COLLECT_ARGUMENTS(first)                                     \
  va_list list, again;                                                        \
  va_start(list, first);                                                      \
  va_copy(again, list);                                                       \
  const std::size_t count = count_arguments(again) + 1;                       \
  va_end(again);                                                              \
  char** argv = static_cast<char**>(__builtin_alloca(count * sizeof(char*))); \
  argv[0] = const_cast<char*>(first);                                         \
  for (std::size_t i = 1; i < count; ++i) argv[i] = va_arg(list, char*)

FBLEPROF_INTERPOSE int execl(const char* path, const char* first, ...) noexcept {
  FBLEPROF_COLLECT_ARGUMENTS(first);
  va_end(list);
  return exec_at_path(path, argv);
}
FBLEPROF_INTERPOSE int execlp(const char* file, const char* first, ...) noexcept {
  FBLEPROF_COLLECT_ARGUMENTS(first);
  va_end(list);
  return exec_by_name(file, argv);
}
FBLEPROF_INTERPOSE int execle(const char* path, const char* first, ...) noexcept {
  FBLEPROF_COLLECT_ARGUMENTS(first);
  char** envp = va_arg(list, char**);
  va_end(list);
  return become_program(
      at(path), envp, [&](Arguments handed_on) { return original::execve(path, argv, handed_on); });
}

namespace {
// posix_spawn and the like, which hand the mask of signals on.
[[gnu::always_inline]] inline int spawn(
    fbleprof::preload::Original<fbleprof::preload::Spawn>& original, const NextProgram& program,
    int* id, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
    Arguments argv, Arguments envp) {
  if (!original) return ENOSYS;  // an older libc lacks the last two, but finds ours
  return start_program(program, envp, [&](Arguments handed_on) {
    const capture::MaskOfProgram mask;
    return original(id, program.file, actions, attributes, argv, handed_on);
  });
}
}  // namespace

FBLEPROF_INTERPOSE int posix_spawn(pid_t* pid, const char* path,
                                   const posix_spawn_file_actions_t* actions,
                                   const posix_spawnattr_t* attributes, Arguments argv,
                                   Arguments envp) {
  return spawn(original::posix_spawn, at(path), pid, actions, attributes, argv, envp);
}
FBLEPROF_INTERPOSE int posix_spawnp(pid_t* pid, const char* file,
                                    const posix_spawn_file_actions_t* actions,
                                    const posix_spawnattr_t* attributes, Arguments argv,
                                    Arguments envp) {
  return spawn(original::posix_spawnp, in_path(file), pid, actions, attributes, argv, envp);
}
FBLEPROF_INTERPOSE int pidfd_spawn(int* pidfd, const char* path,
                                   const posix_spawn_file_actions_t* actions,
                                   const posix_spawnattr_t* attributes, Arguments argv,
                                   Arguments envp) {
  return spawn(original::pidfd_spawn, at(path), pidfd, actions, attributes, argv, envp);
}
FBLEPROF_INTERPOSE int pidfd_spawnp(int* pidfd, const char* file,
                                    const posix_spawn_file_actions_t* actions,
                                    const posix_spawnattr_t* attributes, Arguments argv,
                                    Arguments envp) {
  return spawn(original::pidfd_spawnp, in_path(file), pidfd, actions, attributes, argv, envp);
}
// The shell's environment is the program's own, which is rarely changed.
FBLEPROF_INTERPOSE FILE* popen(const char* command, const char* type) {
  const capture::MaskOfProgram mask;
  return original::popen(command, type);
}
FBLEPROF_INTERPOSE int system(const char* command) {
  const capture::MaskOfProgram mask;
  return original::system(command);
}
FBLEPROF_INTERPOSE int wordexp(const char* text, wordexp_t* words, int flags) {
  const capture::MaskOfProgram mask;
  return original::wordexp(text, words, flags);
}

FBLEPROF_INTERPOSE int mlockall(int flags) noexcept {
  return capture::lock_program(flags, original::mlockall.get());
}

// Both are declared with `...` and take as many arguments as the call needs. These, under other
// names, pass on the largest possible number, which does no harm.
FBLEPROF_INTERPOSE int prctl_of_program(int option, unsigned long a, unsigned long b,
                                        unsigned long c, unsigned long d) __asm__("prctl");
FBLEPROF_INTERPOSE long syscall_of_program(long number, long a, long b, long c, long d, long e,
                                           long f) __asm__("syscall");

namespace {
// With the parent's memory, a child would return on another stack.
bool is_like_fork(const clone_args* arguments) {
  std::uint64_t flags = CLONE_VM;
  return fbleprof::signal_safe::is_peek_harmless() &&
         fbleprof::signal_safe::peek(&arguments->flags, &flags, sizeof flags) &&
         (flags & CLONE_VM) == 0;
}
// The kernel refuses a filter at address 0 or without the right to set one, and strict mode with
// flags or a filter. Libraries make such calls long before they confine the program, to learn what
// the kernel supports.
void before_seccomp(unsigned operation, unsigned flags, unsigned long filter) {
  if (capture::is_confined()) return;
  const bool is_taken = operation == SECCOMP_SET_MODE_STRICT ? flags == 0 && filter == 0
                        : operation == SECCOMP_SET_MODE_FILTER
                            ? filter != 0 && capture::may_filter_system_calls()
                            : false;
  if (is_taken) capture::before_confinement();
}
// Programs that emulate another system have the kernel dispatch system calls to a handler of
// theirs, which would get ours, too. Turning it off changes nothing: it is the first time.
void before_dispatch(unsigned long mode, unsigned long begin, unsigned long bytes) {
  const bool is_range = begin + bytes > begin || (begin == 0 && bytes == 0);
  if (mode == PR_SYS_DISPATCH_OFF || !is_range || capture::is_confined()) return;
  const long known = fbleprof::arch::kernel_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH,
                                                 PR_SYS_DISPATCH_OFF, 0, 0, 0);
  if (known == 0) capture::before_confinement();
}
void before_prctl(unsigned long option, unsigned long a, unsigned long b, unsigned long c) {
  if (option == PR_SET_SECCOMP) {
    if (a == SECCOMP_MODE_STRICT) before_seccomp(SECCOMP_SET_MODE_STRICT, 0, 0);
    if (a == SECCOMP_MODE_FILTER) before_seccomp(SECCOMP_SET_MODE_FILTER, 0, b);
  }
  if (option == PR_SET_SYSCALL_USER_DISPATCH) before_dispatch(a, b, c);
  if (option == PR_SET_TSC && a != PR_TSC_ENABLE) capture::before_counter_is_forbidden();
}
}  // namespace

int prctl_of_program(int option, unsigned long a, unsigned long b, unsigned long c,
                     unsigned long d) {
  before_prctl(static_cast<unsigned>(option), a, b, c);
  const int result = original::prctl(option, a, b, c, d);
  if (option == PR_SET_NAME && result == 0) capture::note_own_name();
  return result;
}

long syscall_of_program(long number, long a, long b, long c, long d, long e, long f) {
  switch (number) {
    case SYS_seccomp:
      before_seccomp(static_cast<unsigned>(a), static_cast<unsigned>(b),
                     static_cast<unsigned long>(c));
      break;
    case SYS_prctl:
      before_prctl(static_cast<unsigned>(a), static_cast<unsigned long>(b),
                   static_cast<unsigned long>(c), static_cast<unsigned long>(d));
      break;
    case SYS_rt_sigaction:
      if (d == sizeof(std::uint64_t) && capture::is_ours_to_set(static_cast<int>(a))) {
        const long result = capture::set_action_by_call(
            static_cast<int>(a), reinterpret_cast<const void*>(b), reinterpret_cast<void*>(c));
        if (result == 0) return 0;
        errno = static_cast<int>(-result);
        return -1;
      }
      break;
    case SYS_sigaltstack:
      return sigaltstack(reinterpret_cast<const stack_t*>(a), reinterpret_cast<stack_t*>(b));
    case SYS_exit_group:
      capture::finish_process(fbleprof::format::State::kEnded, 0);
      break;
    case SYS_clone:
      if (a & CLONE_VM) break;  // it returns on another stack
      [[fallthrough]];
    case SYS_fork:
      return forked([=] { return original::syscall(number, a, b, c, d, e, f); });
    case SYS_clone3:
      if (!is_like_fork(reinterpret_cast<const clone_args*>(a))) break;
      return forked([=] { return original::syscall(number, a, b, c, d, e, f); });
    case SYS_execve:
      return become_program(at(reinterpret_cast<const char*>(a)), reinterpret_cast<Arguments>(c),
                            [&](Arguments envp) { return original::syscall(number, a, b, envp); });
    case SYS_execveat: {
      const ProgramOfDescriptor of(static_cast<int>(a), reinterpret_cast<const char*>(b),
                                   reinterpret_cast<Arguments>(c));
      return become_program(of.program(), reinterpret_cast<Arguments>(d), [&](Arguments envp) {
        return original::syscall(number, a, b, c, envp, e);
      });
    }
    default:
      break;
  }
  return original::syscall(number, a, b, c, d, e, f);
}

// libc's, behind pthread_atfork.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                 void* object) noexcept;

namespace fbleprof::preload {
// Of no library: libc forgets what a library has registered when its destructor has run, but those
// of others fork, too.
void watch_forks() {
  __register_atfork(capture::before_fork, capture::after_fork_in_parent,
                    capture::after_fork_in_child, nullptr);
}
}  // namespace fbleprof::preload
