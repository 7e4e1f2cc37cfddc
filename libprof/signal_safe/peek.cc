#include "signal_safe/peek.h"

#include <sys/uio.h>

#include <atomic>
#include <cstdint>

#include "arch/kernel.h"
#include "arch/peek.h"

namespace fbleprof::signal_safe {

namespace {
constinit std::atomic<bool> are_faults_caught{false};
constinit std::atomic<bool> may_be_forbidden{false};

// In a hook the thread's mask is not known.
enum class Faults : std::uint8_t { kUnknown, kHandled, kFatal };
[[gnu::tls_model("initial-exec")]] constinit thread_local Faults faults = Faults::kUnknown;

bool peek_by_call(const void* from, void* to, std::size_t bytes) {
  const iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
  const long got =
      arch::kernel_call(SYS_process_vm_readv, arch::kernel_call(SYS_getpid),
                        reinterpret_cast<long>(&local), 1, reinterpret_cast<long>(&remote), 1, 0);
  return got == static_cast<long>(bytes);
}

}  // namespace

FaultsOfSample::FaultsOfSample(bool are_blocked) {
  faults = are_blocked ? Faults::kFatal : Faults::kHandled;
}
FaultsOfSample::~FaultsOfSample() { faults = Faults::kUnknown; }

bool peek(const void* from, void* to, std::size_t bytes) {
  const bool is_caught = are_faults_caught.load(std::memory_order_relaxed);
  return is_caught && faults != Faults::kFatal ? fbleprof_copy_or_fail(to, from, bytes)
                                               : peek_by_call(from, to, bytes);
}

bool peek_anywhere(const void* from, void* to, std::size_t bytes) {
  return faults == Faults::kHandled ? peek(from, to, bytes) : peek_by_call(from, to, bytes);
}

bool is_peek_harmless() {
  const bool is_caught = are_faults_caught.load(std::memory_order_relaxed);
  return (is_caught && faults == Faults::kHandled) || !are_calls_forbidden();
}

void expect_forbidden_calls() { may_be_forbidden.store(true, std::memory_order_relaxed); }

bool are_calls_forbidden() { return may_be_forbidden.load(std::memory_order_relaxed); }

void expect_caught_faults(bool are_caught) {
  are_faults_caught.store(are_caught, std::memory_order_relaxed);
}

}  // namespace fbleprof::signal_safe
