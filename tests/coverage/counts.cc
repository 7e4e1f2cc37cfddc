// Keeps the coverage counts of a program or library in a file that all processes map.
//
// gcov writes its counts when a process ends in the usual way. Many profiled processes of the tests
// do not: they are killed, call _exit or exec, or may make no system call. A shared mapping
// outlives all of these, and forked children count in it, too. -fprofile-update=atomic makes the
// counts exact.
//
// A process that has FBLEPROF_WRITE_COUNTS in its environment adds the counts to gcov's files and
// ends.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "arch/kernel.h"

extern "C" {
// From counts.ld.
extern char fbleprof_counts_begin[] __attribute__((visibility("hidden")));
extern char fbleprof_counts_end[] __attribute__((visibility("hidden")));

void __gcov_dump();

// In place of libgcov's: it would add the counts of all processes at the end of each.
void __wrap___gcov_exit() {}

// In place of libgcov's, which write the counts and begin again with 0.
pid_t __gcov_fork() { return fork(); }
int __gcov_execv(const char* path, char* const* arguments) { return execv(path, arguments); }
int __gcov_execvp(const char* file, char* const* arguments) { return execvp(file, arguments); }
int __gcov_execve(const char* path, char* const* arguments, char* const* environment) {
  return execve(path, arguments, environment);
}
}

namespace {

using fbleprof::arch::kernel_call;

// Uses no function of libc: a sanitizer's run-time library may stand before it, and not be ready.
bool share_counts() {
  const std::size_t bytes = fbleprof_counts_end - fbleprof_counts_begin;
  const int file = static_cast<int>(kernel_call(
      SYS_open, reinterpret_cast<long>(FBLEPROF_COUNTS_FILE), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file < 0) return false;
  kernel_call(SYS_fchmod, file, 0666);  // some tests give up their rights
  bool shared = false;
  if (kernel_call(SYS_ftruncate, file, static_cast<long>(bytes)) == 0) {
    const long mapped = kernel_call(SYS_mmap, reinterpret_cast<long>(fbleprof_counts_begin),
                                    static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_FIXED, file, 0);
    shared = mapped == reinterpret_cast<long>(fbleprof_counts_begin);
  }
  kernel_call(SYS_close, file);
  return shared;
}

// Before all other constructors but those of gcov.
__attribute__((constructor(101))) void start(int, char**, char** environment) {
  const bool shared = share_counts();
  for (char** each = environment; *each != nullptr; ++each) {
    if (__builtin_strncmp(*each, "FBLEPROF_WRITE_COUNTS=", 22) != 0) continue;
    if (shared) __gcov_dump();
    _exit(shared ? 0 : 1);
  }
}

}  // namespace
