#include "signal_safe/peek.h"

#include <sys/uio.h>

#include <atomic>

#include "arch/kernel.h"
#include "arch/peek.h"

namespace fbleprof::signal_safe {

namespace {
constinit std::atomic<bool> are_faults_caught{false};
constinit std::atomic<bool> may_be_forbidden{false};
}  // namespace

bool peek(const void* from, void* to, std::size_t bytes) {
  if (are_faults_caught.load(std::memory_order_relaxed)) {
    return fbleprof_copy_or_fail(to, from, bytes);
  }
  const iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
  const long got =
      arch::kernel_call(SYS_process_vm_readv, arch::kernel_call(SYS_getpid),
                        reinterpret_cast<long>(&local), 1, reinterpret_cast<long>(&remote), 1, 0);
  return got == static_cast<long>(bytes);
}

bool is_peek_harmless() {
  return are_faults_caught.load(std::memory_order_relaxed) ||
         !may_be_forbidden.load(std::memory_order_relaxed);
}

void expect_forbidden_calls() { may_be_forbidden.store(true, std::memory_order_relaxed); }

void expect_caught_faults() { are_faults_caught.store(true, std::memory_order_relaxed); }

}  // namespace fbleprof::signal_safe
