// Runs independent pieces of work on all processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace fbleprof {

// With fewer contexts, starting a thread (some 50 us) costs more than it saves.
inline constexpr std::size_t kContextsForThreads = 50'000;

// Runs all tasks, with threads if they work on `contexts` contexts, and returns when all have
// ended. They begin in order, so the longest should be first. If one throws, so does this.
inline void at_once(std::size_t contexts, const std::vector<std::function<void()>>& tasks) {
  constexpr std::size_t kMostThreads = 4;  // memory is the limit beyond
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t task; (task = next++) < tasks.size();) tasks[task]();
  };
  std::size_t threads = 1;
  if (contexts >= kContextsForThreads) {
    threads =
        std::min({kMostThreads, tasks.size(), std::size_t{std::thread::hardware_concurrency()}});
  }
  std::vector<std::future<void>> others;
  try {
    while (others.size() + 1 < threads) others.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {
    // No thread can be made: those that there are do all the work.
  }
  work();
  for (auto& other : others) other.get();
}

}  // namespace fbleprof
