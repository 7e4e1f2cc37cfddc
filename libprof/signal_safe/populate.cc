#include "signal_safe/populate.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>

#include "arch/kernel.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace fbleprof::signal_safe {

namespace {

constexpr std::uint64_t kPage = 4096;

// Before Linux 5.14: lets the kernel add 0 to a word of the page, in one atomic instruction. If the
// page does not exist, the kernel makes it or the call fails.
bool populate_page(char* page) {
  constexpr long kAddZero = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0);
  const long at = reinterpret_cast<long>(page);
  return !arch::kernel_failed(
      arch::kernel_call(SYS_futex, at, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, at, kAddZero));
}

}  // namespace

bool populate(char* begin, std::uint64_t bytes) {
  const auto first = reinterpret_cast<std::uint64_t>(begin) / kPage * kPage;
  const std::uint64_t end = reinterpret_cast<std::uint64_t>(begin) + bytes;
  const long result = arch::kernel_call(SYS_madvise, static_cast<long>(first),
                                        static_cast<long>(end - first), MADV_POPULATE_WRITE);
  if (result == 0) return true;
  if (result == -EFAULT || result == -ENOMEM) return false;
  for (std::uint64_t page = first; page < end; page += kPage) {
    if (!populate_page(reinterpret_cast<char*>(page))) return false;
  }
  return true;
}

}  // namespace fbleprof::signal_safe
