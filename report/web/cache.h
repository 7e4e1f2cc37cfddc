// Results by key: keeps the most recently used ones, up to a number and, if they differ in size, up
// to a total weight. A caller waits if another is making the same result.
#pragma once

#include <exception>
#include <future>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace fbleprof::web {

template <class Value>
class Cache {
 public:
  using Weigh = std::size_t (*)(const Value&);

  explicit Cache(std::size_t most) : most_(most) {}
  // The latest two always stay, however heavy they are.
  Cache(std::size_t most, std::size_t most_weight, Weigh weigh)
      : most_(most), most_weight_(most_weight), weigh_(weigh) {}

  // The result of `make` for `key`. Thread-safe.
  template <class Make>
  Value get(const std::string& key, Make make) {
    std::promise<Value> promise;
    {
      std::unique_lock lock(mutex_);
      for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (it->key != key) continue;
        entries_.splice(entries_.begin(), entries_, it);
        const std::shared_future<Value> future = entries_.front().value;
        lock.unlock();
        return future.get();
      }
      entries_.push_front({key, promise.get_future().share(), 0});
      if (entries_.size() > most_) entries_.pop_back();
    }
    try {
      Value value = make();
      promise.set_value(value);
      if (weigh_ != nullptr) make_room(key, weigh_(value));
      return value;
    } catch (...) {
      promise.set_exception(std::current_exception());
      forget(key);
      throw;
    }
  }

  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const auto& entry) { return entry.key == key; });
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  struct Entry {
    std::string key;
    std::shared_future<Value> value;
    std::size_t weight;
  };

  void make_room(const std::string& key, std::size_t weight) {
    std::list<Entry> old;
    {
      const std::lock_guard lock(mutex_);
      std::size_t all = 0;
      for (Entry& entry : entries_) {
        if (entry.key == key) entry.weight = weight;
        all += entry.weight;
      }
      while (all > most_weight_ && entries_.size() > 2) {
        all -= entries_.back().weight;
        old.splice(old.begin(), entries_, std::prev(entries_.end()));
      }
    }
    if (!old.empty()) drop(std::move(old));
  }

  // Freeing a result of a hundred megabytes takes milliseconds, for which no request waits.
  void drop(std::list<Entry> old) {
    const std::lock_guard lock(dropping_mutex_);
    try {
      dropping_ = std::async(std::launch::async, [old = std::move(old)]() mutable { old.clear(); });
    } catch (const std::system_error&) {
      // No thread can be made: it was freed here.
    }
  }

  const std::size_t most_;
  const std::size_t most_weight_ = 0;
  const Weigh weigh_ = nullptr;
  std::mutex mutex_;
  std::list<Entry> entries_;  // newest first
  std::mutex dropping_mutex_;
  std::future<void> dropping_;
};

}  // namespace fbleprof::web
