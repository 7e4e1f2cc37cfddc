#include "signal_safe/shadow_growth.h"

#include <sys/syscall.h>

#include "arch/kernel.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

bool grow(GrowingMemory& memory, bool to_its_most) {
  std::uint64_t before = memory.bytes.load(std::memory_order_acquire);
  if (before >= memory.most) return false;
  const std::uint64_t after = to_its_most || 2 * before > memory.most ? memory.most : 2 * before;
  // Without MREMAP_MAYMOVE it stays where it is.
  const long at = arch::kernel_call(SYS_mremap, reinterpret_cast<long>(memory.base),
                                    static_cast<long>(before), static_cast<long>(after), 0);
  if (arch::kernel_failed(at)) return memory.bytes.load(std::memory_order_acquire) > before;
  memory.bytes.compare_exchange_strong(before, after, std::memory_order_acq_rel);
  return true;
}

namespace {
Entry* limit_in(const Stack& stack) {
  const std::uint64_t bytes = stack.memory->bytes.load(std::memory_order_acquire);
  return stack.gate + bytes / sizeof(Entry) - kSlackEntries;
}
}  // namespace

bool make_room(ThreadState& thread) {
  Stack& stack = *thread.current;
  // Otherwise the thread is changing its stack.
  if (stack.memory == nullptr || thread.hot->limit != stack.limit) return false;
  // Another thread may have made it larger, before it confined the program.
  if (limit_in(stack) == stack.limit) {
    if (thread.session->pages.is_on_stock() || !grow(*stack.memory)) {
      stack.memory = nullptr;  // not asked again for each call
      return false;
    }
  }
  stack.limit = limit_in(stack);
  thread.hot->limit = stack.limit;
  return true;
}

}  // namespace fbleprof::signal_safe
