// Memory outside the file, for tables that readers do not need and that the file could restore.
//
// The kernel provides it, zeroed, in whole pages. If the program has forbidden itself system calls,
// memory comes from a stock that was allocated before.
//
// All functions: any thread, hooks and handlers included; no lock, bounded.
#pragma once

#include <atomic>
#include <cstdint>

namespace fbleprof::signal_safe {

// mmap for reading and writing; returns what the kernel does. Not locked in core, even if the
// program locks each new mapping.
long map_unlocked(std::uint64_t wanted, std::uint64_t bytes, int flags, int fd = -1,
                  std::uint64_t offset = 0);
// `bytes` of zeros in a mapping of its own, or null; at `wanted` if nothing is there. Not
// locked.
char* map_memory(std::uint64_t bytes, std::uint64_t wanted = 0);
// Asks for huge pages, with which lookups all over a large table miss the TLB less often. `memory`
// is whole pages. (Since Linux 6.7, mmap places large mappings so that they can have huge pages.)
void advise_huge_pages(char* memory, std::uint64_t bytes);
inline constexpr std::uint64_t kHugePage = 2 << 20;
// The program locks each new mapping (mlockall), or may do so.
void expect_locked_mappings();
bool are_mappings_locked();

class Pages {
 public:
  // Null if there is no memory.
  void* take(std::uint64_t bytes);
  // The same for a table that will be in use everywhere: a large one gets huge pages.
  void* take_table(std::uint64_t bytes);
  // The same, zeroed again in a forked child. Also null if memory comes from the stock.
  void* take_wiped(std::uint64_t bytes);
  // Returns memory from take(bytes). Memory from the stock is not reused.
  void give_back(void* memory, std::uint64_t bytes);

  // Allocates a stock of `bytes`; all later memory comes from it. False: there is no memory.
  bool live_on_stock(std::uint64_t bytes);
  bool is_on_stock() const { return stock_.load(std::memory_order_acquire) != nullptr; }

  // Calls function(base, bytes) for the mappings of a megabyte or more.
  template <typename Function>
  void for_each_large(Function function) const {
    for (const Mapping& one : large_) {
      const char* base = one.base.load(std::memory_order_acquire);
      if (base != nullptr) function(base, one.bytes.load(std::memory_order_relaxed));
    }
  }

 private:
  // More of them are not remembered.
  static constexpr int kMostLarge = 64;
  struct Mapping {
    std::atomic<char*> base{nullptr};
    std::atomic<std::uint64_t> bytes{0};  // 0: not known yet
  };

  char* map(std::uint64_t bytes);

  Mapping large_[kMostLarge];
  std::atomic<char*> stock_{nullptr};
  std::uint64_t stock_bytes_ = 0;
  std::atomic<std::uint64_t> stock_used_{0};
};

}  // namespace fbleprof::signal_safe
