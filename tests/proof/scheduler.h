// Runs two threads in every order of their accesses to shared memory.
//
// The threads are fibers that switch before an atomic access of the real code, and before any
// access of a range that a test names. Each schedule runs from the start; a schedule is a list of
// choices. With `most_switches`, runs only schedules with at most that many switches away from a
// thread that could have continued.
#pragma once

#include <gtest/gtest.h>
#include <ucontext.h>

#include <functional>
#include <vector>

#include "tests/proof/observed.h"

namespace fbleprof::proof {

class Scheduler : public Observer {
 public:
  using Body = std::function<void()>;

  // Runs the two bodies in the next schedule. False: there are no more.
  bool run(const Body& first, const Body& second, int most_switches) {
    most_switches_ = most_switches;
    switches_ = 0;
    depth_ = 0;
    bodies_[0] = &first;
    bodies_[1] = &second;
    for (int i = 0; i < 2; ++i) {
      done_[i] = false;
      getcontext(&fibers_[i]);
      fibers_[i].uc_stack.ss_sp = stacks_[i].data();
      fibers_[i].uc_stack.ss_size = stacks_[i].size();
      fibers_[i].uc_link = nullptr;
      makecontext(&fibers_[i], reinterpret_cast<void (*)()>(&Scheduler::begin), 1, i);
    }
    current_ = choose(2);
    running_ = this;
    observer = this;
    swapcontext(&main_, &fibers_[current_]);
    observer = nullptr;
    // The last choice that has another alternative.
    while (!choices_.empty() && choices_.back().taken + 1 >= choices_.back().count) {
      choices_.pop_back();
    }
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  // What a third thread, or a handler, sees at each step.
  std::function<void()> look;
  // Plain accesses of this range are steps, too.
  const void* shared = nullptr;
  std::size_t shared_bytes = 0;

  void before_atomic() override {
    if (look) look();
    is_telling = false;
    if (done_[1 - current_] || switches_ >= most_switches_) return;
    if (choose(2) == 0) return;
    ++switches_;
    change_to(1 - current_);
  }
  void before_read(const void* at, unsigned) override { before_plain(at); }
  void before_store(void* at, unsigned) override { before_plain(at); }

 private:
  void before_plain(const void* at) {
    const auto* begin = static_cast<const char*>(shared);
    if (at >= begin && at < begin + shared_bytes) before_atomic();
  }

  struct Choice {
    int taken, count;
  };

  int choose(int count) {
    if (depth_ == choices_.size()) choices_.push_back({0, count});
    return choices_[depth_++].taken;
  }
  void change_to(int other) {
    const int from = current_;
    current_ = other;
    swapcontext(&fibers_[from], &fibers_[other]);
  }
  static void begin(int number) {
    (*running_->bodies_[number])();
    running_->finish(number);
  }
  void finish(int number) {
    done_[number] = true;
    const int other = 1 - number;
    if (done_[other]) setcontext(&main_);
    current_ = other;
    setcontext(&fibers_[other]);
  }

  static inline Scheduler* running_ = nullptr;
  ucontext_t main_{}, fibers_[2]{};
  std::vector<char> stacks_[2] = {std::vector<char>(256 << 10), std::vector<char>(256 << 10)};
  const Body* bodies_[2] = {};
  bool done_[2] = {};
  int current_ = 0, switches_ = 0, most_switches_ = 0;
  std::size_t depth_ = 0;
  std::vector<Choice> choices_;
};

constexpr int kAllSwitches = 1'000'000;

// Calls make() for a fresh case per schedule; it runs both bodies and checks.
template <typename Case>
std::size_t explore(int most_switches) {
  Scheduler scheduler;
  std::size_t schedules = 0;
  for (bool more = true; more; ++schedules) {
    Case one;
    if constexpr (requires { one.watch(scheduler); }) one.watch(scheduler);
    more = scheduler.run([&] { one.first(); }, [&] { one.second(); }, most_switches);
    one.check();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "in schedule " << schedules;
      break;
    }
  }
  testing::Test::RecordProperty("schedules", static_cast<int>(schedules));
  return schedules;
}

}  // namespace fbleprof::proof
