// Results by key, the most recently used ones. Whoever asks for what another is making waits for
// it.
#pragma once

#include <exception>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace fbleprof::web {

template <class Value>
class Cache {
 public:
  explicit Cache(std::size_t most) : most_(most) {}

  // What `make` returned for `key`. Any thread may call.
  template <class Make>
  Value get(const std::string& key, Make make) {
    std::promise<Value> promise;
    {
      std::unique_lock lock(mutex_);
      for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (it->first != key) continue;
        entries_.splice(entries_.begin(), entries_, it);
        const std::shared_future<Value> future = entries_.front().second;
        lock.unlock();
        return future.get();
      }
      entries_.emplace_front(key, promise.get_future().share());
      if (entries_.size() > most_) entries_.pop_back();
    }
    try {
      Value value = make();
      promise.set_value(value);
      return value;
    } catch (...) {
      promise.set_exception(std::current_exception());
      forget(key);
      throw;
    }
  }

  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const auto& entry) { return entry.first == key; });
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_future<Value>>> entries_;  // newest first
};

}  // namespace fbleprof::web
