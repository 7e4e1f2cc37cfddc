// Memory of the recorder's own that no reader needs: tables that can be made anew from the file.
//
// From the kernel, zeroed, in whole pages. Once the program has forbidden itself system calls it
// comes from a stock that was laid in before.
//
// All functions: any thread, hooks and handlers included; no lock, bounded.
#pragma once

#include <atomic>
#include <cstdint>

namespace fbleprof::signal_safe {

class Pages {
 public:
  // Null when there is no more.
  void* take(std::uint64_t bytes);
  // What take(bytes) gave. Memory of the stock is not used again.
  void give_back(void* memory, std::uint64_t bytes);

  // Lays in a stock of `bytes`; from now on there is nothing else. False: there is not even that.
  bool live_on_stock(std::uint64_t bytes);

 private:
  std::atomic<char*> stock_{nullptr};
  std::uint64_t stock_bytes_ = 0;
  std::atomic<std::uint64_t> stock_used_{0};
};

}  // namespace fbleprof::signal_safe
