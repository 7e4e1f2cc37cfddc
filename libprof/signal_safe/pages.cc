#include "signal_safe/pages.h"

#include <sys/mman.h>

#include "arch/kernel.h"
#include "signal_safe/populate.h"

namespace fbleprof::signal_safe {

namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

constexpr std::uint64_t kLarge = 1 << 20;

constinit std::atomic<bool> locked_mappings{false};

}  // namespace

long map_unlocked(std::uint64_t wanted, std::uint64_t bytes, int flags, int fd,
                  std::uint64_t offset) {
  const bool is_locked = are_mappings_locked();
  const auto all = static_cast<long>(in_pages(bytes));
  // Memory without access is not brought into core when it is locked.
  const long at = arch::kernel_call(SYS_mmap, static_cast<long>(wanted), all,
                                    is_locked ? PROT_NONE : PROT_READ | PROT_WRITE, flags, fd,
                                    static_cast<long>(offset));
  if (!arch::kernel_failed(at) && is_locked) {
    arch::kernel_call(SYS_munlock, at, all);
    arch::kernel_call(SYS_mprotect, at, all, PROT_READ | PROT_WRITE);
  }
  return at;
}

char* map_memory(std::uint64_t bytes, std::uint64_t wanted) {
  const long at = map_unlocked(wanted, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  return arch::kernel_failed(at) ? nullptr : reinterpret_cast<char*>(at);
}

void advise_huge_pages(char* memory, std::uint64_t bytes) {
  arch::kernel_call(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes),
                    MADV_HUGEPAGE);
}

void expect_locked_mappings() { locked_mappings.store(true, std::memory_order_relaxed); }
bool are_mappings_locked() { return locked_mappings.load(std::memory_order_relaxed); }

char* Pages::map(std::uint64_t bytes) {
  char* memory = map_memory(bytes);
  if (memory == nullptr || bytes < kLarge) return memory;
  for (Mapping& one : large_) {
    char* none = nullptr;
    if (!one.base.compare_exchange_strong(none, memory, std::memory_order_acq_rel)) continue;
    one.bytes.store(in_pages(bytes), std::memory_order_relaxed);
    break;
  }
  return memory;
}

void* Pages::take(std::uint64_t bytes) {
  char* stock = stock_.load(std::memory_order_acquire);
  if (stock == nullptr) return map(bytes);
  const std::uint64_t at = stock_used_.fetch_add(in_pages(bytes), std::memory_order_relaxed);
  return at + bytes <= stock_bytes_ ? stock + at : nullptr;
}

void* Pages::take_table(std::uint64_t bytes) {
  auto* memory = static_cast<char*>(take(bytes));
  const bool is_stock = stock_.load(std::memory_order_relaxed) != nullptr;
  if (memory != nullptr && bytes >= kHugePage && !is_stock) advise_huge_pages(memory, bytes);
  return memory;
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
  give_back(memory, bytes);
  return nullptr;
}

void Pages::give_back(void* memory, std::uint64_t bytes) {
  if (memory == nullptr || stock_.load(std::memory_order_relaxed) != nullptr) return;
  for (Mapping& one : large_) {
    if (bytes < kLarge) break;
    if (one.base.load(std::memory_order_relaxed) != memory) continue;
    one.bytes.store(0, std::memory_order_relaxed);
    one.base.store(nullptr, std::memory_order_release);
  }
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
