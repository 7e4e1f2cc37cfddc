// std::thread, std::async and an exception that a future carries between threads.
#include <pthread.h>

#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "block.h"

BLOCK void item(void) { work(10); }
// All allocate at once: how many heaps malloc makes must not depend on how fast they are.
enum { kWorkers = 20 };
pthread_barrier_t together;
BLOCK void worker(void) {
  char* volatile own = new char;
  delete own;
  for (int i = 0; i < 100; ++i) item();
  pthread_barrier_wait(&together);
}
BLOCK int failing(void) {
  item();
  throw std::runtime_error("carried");
}

int main() {
  pthread_barrier_init(&together, nullptr, kWorkers);
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) threads.emplace_back(worker);
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < 20; ++i) {
    auto result = std::async(std::launch::async, failing);
    try {
      result.get();
    } catch (const std::exception& error) {
      if (i == 0) puts(error.what());
    }
  }
  expect("worker", "item", 20 * 100);
  expect("failing", "item", 20);
  return 0;
}
