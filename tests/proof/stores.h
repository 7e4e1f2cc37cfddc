// The stores of real code, and the states of memory that another thread or a reader of the file may
// see meanwhile: a release store becomes visible after all earlier ones, others in any order (the
// language allows this; x86 keeps stores in order). Reads of one thread are not reordered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/proof/observed.h"

namespace fbleprof::proof {

// How many stores after a missing one may be visible, in any combination.
constexpr std::size_t kWindow = 8;

struct Store {
  std::byte* at;
  std::vector<std::byte> before, after;
  Order order;
  bool is_fence = false;
};

// Logs stores between begin and end; with neither, those outside the stack of the caller.
class Log : public Observer {
 public:
  Log() = default;
  Log(const std::byte* begin, std::size_t size) : begin_(begin), end_(begin + size) {}

  void before_atomic() override { settle(); }
  void before_store(void* at, unsigned bytes) override {
    settle();
    // The value is in memory at the next access. A structure is copied word by word.
    for (unsigned done = 0; is_ours(at) && done < bytes; done += kWord) {
      begin_store(static_cast<std::byte*>(at) + done, std::min(bytes - done, kWord), Order::kPlain);
    }
  }
  void before_change(void* at, unsigned bytes) override {
    if (is_ours(at)) begin_store(at, bytes, Order::kRelaxed);
  }
  void after_store(void* at, unsigned, Order order) override {
    if (!is_ours(at)) return;
    stores_.back().order = order;
    settle();
  }
  void after_failure(void* at) override {
    if (!is_ours(at)) return;
    stores_.pop_back();
    pending_ = 0;
  }
  void at_fence() override {
    settle();
    stores_.push_back({nullptr, {}, {}, Order::kRelease, true});
  }
  void settle() {
    for (; pending_ > 0; --pending_) {
      Store& store = stores_[stores_.size() - pending_];
      std::memcpy(store.after.data(), store.at, store.after.size());
    }
  }
  const std::vector<Store>& stores() const { return stores_; }

  // Takes back all stores.
  void undo() const {
    for (std::size_t i = stores_.size(); i-- > 0;) put(stores_[i].at, stores_[i].before);
  }

  static void put(std::byte* at, const std::vector<std::byte>& bytes) {
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  }

 private:
  static constexpr unsigned kWord = 8;
  bool is_ours(const void* at) const {
    if (begin_) return at >= begin_ && at < end_;
    constexpr std::ptrdiff_t kStackBytes = 128 << 10;
    const auto distance =
        static_cast<const char*>(at) - static_cast<const char*>(__builtin_frame_address(0));
    return distance < -kStackBytes || distance > kStackBytes;
  }
  void begin_store(void* at, unsigned bytes, Order order) {
    auto* to = static_cast<std::byte*>(at);
    stores_.push_back({to, {to, to + bytes}, std::vector<std::byte>(bytes), order});
    ++pending_;
  }

  const std::byte *begin_ = nullptr, *end_ = nullptr;
  std::size_t pending_ = 0;  // stores at the end whose values are not known yet
  std::vector<Store> stores_;
};

template <typename Work>
Log log_of(Log log, Work work) {
  watch_by(&log);
  work();
  watch_by(nullptr);
  log.settle();
  return log;
}

// Puts memory into each state between those before and after the stores, and calls look(first),
// where `first` is the number of the missing store, until it returns false. Each store of the log,
// in turn, is missing; all before it are visible; of the next kWindow, each subset that no release
// store or fence holds back. Memory is as after all stores at last. Returns the number of states.
template <typename Look>
std::size_t for_each_state(const Log& log, Look look) {
  const std::vector<Store>& stores = log.stores();
  log.undo();
  std::size_t states = 0;
  bool goes_on = true;
  for (std::size_t first = 0; first <= stores.size(); ++first) {
    std::vector<std::size_t> free;
    for (std::size_t i = first + 1; i < stores.size() && i <= first + kWindow; ++i) {
      if (stores[i].is_fence) break;
      const bool follows_itself = stores[i].at == stores[first].at && !stores[first].is_fence;
      if (stores[i].order != Order::kRelease && !follows_itself) free.push_back(i);
    }
    for (std::size_t subset = 0; goes_on && subset < std::size_t{1} << free.size(); ++subset) {
      std::vector<std::vector<std::byte>> covered;
      for (std::size_t k = 0; k < free.size(); ++k) {
        if (!(subset >> k & 1)) continue;
        const Store& store = stores[free[k]];
        covered.emplace_back(store.at, store.at + store.after.size());
        Log::put(store.at, store.after);
      }
      ++states;
      goes_on = look(first);
      for (std::size_t k = free.size(); k-- > 0;) {
        if (!(subset >> k & 1)) continue;
        Log::put(stores[free[k]].at, covered.back());
        covered.pop_back();
      }
    }
    if (first < stores.size()) Log::put(stores[first].at, stores[first].after);
  }
  return states;
}

}  // namespace fbleprof::proof
