#include "signal_safe/pages.h"

#include <sys/mman.h>

#include "arch/kernel.h"
#include "signal_safe/populate.h"

namespace fbleprof::signal_safe {

namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

char* map(std::uint64_t bytes) {
  const long at =
      arch::kernel_call(SYS_mmap, 0, static_cast<long>(in_pages(bytes)), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return arch::kernel_failed(at) ? nullptr : reinterpret_cast<char*>(at);
}

}  // namespace

void* Pages::take(std::uint64_t bytes) {
  char* stock = stock_.load(std::memory_order_acquire);
  if (stock == nullptr) return map(bytes);
  const std::uint64_t at = stock_used_.fetch_add(in_pages(bytes), std::memory_order_relaxed);
  return at + bytes <= stock_bytes_ ? stock + at : nullptr;
}

void* Pages::take_wiped(std::uint64_t bytes) {
  if (stock_.load(std::memory_order_acquire) != nullptr) return nullptr;
  char* memory = map(bytes);
  if (memory == nullptr) return nullptr;
  const auto at = reinterpret_cast<long>(memory);
  const auto all = static_cast<long>(in_pages(bytes));
  // A huge page on first touch would take 2 MB for a few used pages.
  arch::kernel_call(SYS_madvise, at, all, MADV_NOHUGEPAGE);
  if (!arch::kernel_failed(arch::kernel_call(SYS_madvise, at, all, MADV_WIPEONFORK))) return memory;
  arch::kernel_call(SYS_munmap, at, all);
  return nullptr;
}

void Pages::give_back(void* memory, std::uint64_t bytes) {
  if (memory == nullptr || stock_.load(std::memory_order_relaxed) != nullptr) return;
  arch::kernel_call(SYS_munmap, reinterpret_cast<long>(memory), static_cast<long>(in_pages(bytes)));
}

bool Pages::live_on_stock(std::uint64_t bytes) {
  char* stock = map(bytes);
  if (stock == nullptr) return false;
  // Touch it in advance: if a limit is reached later, the program gets a signal.
  populate(stock, bytes);
  stock_bytes_ = bytes;
  stock_.store(stock, std::memory_order_release);
  return true;
}

}  // namespace fbleprof::signal_safe
