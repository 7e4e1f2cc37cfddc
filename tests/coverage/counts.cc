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
#include <cstdint>

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
using fbleprof::arch::kernel_failed;

// Replaces the counters by the file's, and adds what they have counted: the recorder is initialised
// before the libraries beside it, and calls them. Uses no function of libc: a sanitizer's run-time
// library may stand before it, and not be ready.
bool share_counts() {
  const long own = reinterpret_cast<long>(fbleprof_counts_begin);
  const long bytes = fbleprof_counts_end - fbleprof_counts_begin;
  const long file = kernel_call(SYS_open, reinterpret_cast<long>(FBLEPROF_COUNTS_FILE),
                                O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (kernel_failed(file)) return false;
  kernel_call(SYS_fchmod, file, 0666);  // some tests give up their rights
  kernel_call(SYS_ftruncate, file, bytes);
  const long shared = kernel_call(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  kernel_call(SYS_close, file);
  if (kernel_failed(shared)) return false;
  const auto* before = reinterpret_cast<const std::int64_t*>(own);
  auto* counts = reinterpret_cast<std::int64_t*>(shared);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof *counts; ++i) {
    if (before[i] != 0) __atomic_fetch_add(&counts[i], before[i], __ATOMIC_RELAXED);
  }
  return kernel_call(SYS_mremap, shared, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, own) == own;
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
