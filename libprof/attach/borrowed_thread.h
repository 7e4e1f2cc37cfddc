// A thread of a running program that makes calls for us: it is stopped where it holds no lock of
// libc, the loader or an allocator, and gets a stack of its own. Afterwards it continues where it
// was, with its errno. The other threads run meanwhile.
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attach/loaded_file.h"
#include "attach/refusal.h"
#include "attach/tracee.h"
#include "base/result.h"

namespace fbleprof::attach {

// The functions of the process's libc that attaching needs.
struct Libc {
  std::uint64_t dlopen = 0, dlerror = 0, errno_location = 0;
  std::uint64_t flags = RTLD_NOW;
  std::uint64_t system_call_instruction = 0;
  arch::WayBack way;
};

class BorrowedThread {
 public:
  static Result<std::unique_ptr<BorrowedThread>> take(pid_t pid);
  ~BorrowedThread();
  BorrowedThread(const BorrowedThread&) = delete;
  BorrowedThread& operator=(const BorrowedThread&) = delete;

  const Libc& libc() const { return libc_; }

  // The stack begins at a multiple of format::kAttachBytes, and has that size. An order for the
  // recorder may be at its begin.
  std::uint64_t stack() const { return stack_; }
  // Room for a text outside of the stack that calls use, with its NUL.
  static constexpr std::uint64_t kTextBytes = 8192;
  std::uint64_t text() const;

  bool read(std::uint64_t from, void* to, std::size_t bytes) const {
    return thread_.read(from, to, bytes);
  }
  bool write(std::uint64_t to, const void* from, std::size_t bytes) const {
    return thread_.write(to, from, bytes);
  }
  // Below 0: -errno.
  long system_call(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                   std::uint64_t d = 0, std::uint64_t e = 0);
  // Calls function(a, b). Fails if a fault ended it.
  Result<std::uint64_t> call(std::uint64_t function, std::uint64_t a = 0, std::uint64_t b = 0);
  // Calls dlopen(path, flags of libc()); `path` is an address in the process. Fails, too, if
  // another thread does not leave the loader: it may wait for this one.
  Result<std::uint64_t> open_library(std::uint64_t path);
  // Whether its stack grows by pieces (-fsplit-stack), and may have no room for a signal's frame.
  bool has_split_stack() const;
  // New memory of the process; 0: there is none.
  std::uint64_t map(std::uint64_t bytes);

 private:
  BorrowedThread(pid_t pid, Libc libc, Tracee thread)
      : pid_(pid), libc_(libc), thread_(std::move(thread)) {}
  // Below 0: -errno.
  long try_to_map(std::uint64_t bytes);
  Status make_stack();
  void keep_errno();

  pid_t pid_;
  Libc libc_;
  Tracee thread_;
  std::uint64_t mapped_ = 0, stack_ = 0;
  std::uint64_t errno_address_ = 0;
  int errno_ = 0;
};

}  // namespace fbleprof::attach
