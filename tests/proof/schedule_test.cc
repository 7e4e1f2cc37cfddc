// Two threads use the tables that all threads share, in every order of their atomic accesses.
//
// The threads are fibers that switch before an atomic access of the real code. Each schedule runs
// from the start; a schedule is a list of choices. With `most_switches`, runs only schedules with
// at most that many switches away from a thread that could have continued.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "signal_safe/arena.h"
#include "signal_safe/fact_table.h"
#include "signal_safe/key_table.h"
#include "signal_safe/pages.h"
#include "tests/proof/observed.h"

namespace fbleprof::proof {
namespace {

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

  void before_atomic() override {
    is_telling = false;
    if (done_[1 - current_] || switches_ >= most_switches_) return;
    if (choose(2) == 0) return;
    ++switches_;
    change_to(1 - current_);
  }

 private:
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

using signal_safe::Arena;
using signal_safe::FactTable;
using signal_safe::KeyTable;
using signal_safe::Pages;

// Calls make() for a fresh case per schedule; it runs both bodies and checks.
template <typename Case>
std::size_t explore(int most_switches) {
  Scheduler scheduler;
  std::size_t schedules = 0;
  for (bool more = true; more; ++schedules) {
    Case one;
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

struct SameKey {
  Pages pages;
  KeyTable table;
  KeyTable::Item *one = nullptr, *two = nullptr;
  SameKey() { table.start(&pages); }
  ~SameKey() { table.start(&pages); }
  void first() { one = table.place_of(77); }
  void second() { two = table.place_of(77); }
  void check() {
    ASSERT_NE(one, nullptr);
    ASSERT_EQ(one, two);
    ASSERT_EQ(one->key.load(), 77u);
  }
};

TEST(Interleavings, AKeyHasOnePlace) { EXPECT_GT(explore<SameKey>(kAllSwitches), 2u); }

// Keys with the same home: they occupy consecutive slots.
struct Neighbours {
  static constexpr std::uint64_t kInverse = 0xf1de83e19937733du;  // of the table's factor
  static std::uint64_t key(std::uint64_t n) { return (n + 1) * kInverse; }
  Pages pages;
  KeyTable table;
  KeyTable::Item *one = nullptr, *two = nullptr, *same = nullptr;
  Neighbours() {
    table.start(&pages);
    // One place of the window is left.
    for (std::uint64_t n = 0; n < 15; ++n) table.place_of(key(n));
  }
  ~Neighbours() { table.start(&pages); }
  void first() {
    one = table.place_of(key(100));
    if (one) one->record.store(5);
  }
  void second() {
    two = table.place_of(key(101));
    same = table.place_of(key(100));
  }
  void check() {
    ASSERT_NE(one, nullptr);
    ASSERT_NE(two, nullptr);
    ASSERT_NE(one, two);
    ASSERT_EQ(one, same);
    ASSERT_EQ(table.find(key(100)), 5u);
  }
};

TEST(Interleavings, KeysOfOneHomeTakeDifferentPlaces) { EXPECT_GT(explore<Neighbours>(3), 100u); }

struct SameFact {
  Pages pages;
  FactTable table;
  format::Ref found = 0;
  SameFact() { table.start(&pages); }
  ~SameFact() { table.start(&pages); }
  void first() { table.add(7, 70); }
  void second() {
    found = table.find(7);
    table.add(7, 70);
  }
  void check() {
    ASSERT_TRUE(found == 0 || found == 70);
    ASSERT_EQ(table.find(7), 70u);
  }
};

TEST(Interleavings, AFactIsKnownOrNot) { EXPECT_GT(explore<SameFact>(kAllSwitches), 10u); }

// Code is unloaded while the table grows: forgotten entries stay forgotten.
struct ForgetWhileGrowing {
  Pages pages;
  FactTable table;
  ForgetWhileGrowing() {
    table.start(&pages);
    for (std::uint64_t key = 1; key <= 511; ++key) table.add(key, static_cast<format::Ref>(key));
  }
  ~ForgetWhileGrowing() { table.start(&pages); }
  void first() { table.add(600, 600); }  // now more than half is taken
  void second() {
    table.forget([](std::uint64_t key) { return key == 300; });
  }
  void check() {
    ASSERT_EQ(table.find(300), 0u);
    // The others are known, or will be looked up again.
    const format::Ref other = table.find(200);
    ASSERT_TRUE(other == 0 || other == 200);
  }
};

TEST(Interleavings, WhatIsForgottenWhileTheTableGrowsStaysForgotten) {
  EXPECT_GT(explore<ForgetWhileGrowing>(1), 1000u);
}

struct TwoRecords {
  std::vector<char> memory = std::vector<char>(64 << 10);
  Arena arena;
  format::Ref refs[3] = {};
  TwoRecords() {
    arena.adopt(memory.data(), memory.size(), memory.size());
    arena.header()->used_bytes = format::kHeaderBytes;
  }
  void first() {
    refs[0] = arena.allocate(64);
    refs[1] = arena.allocate(32);
  }
  void second() { refs[2] = arena.allocate(96); }
  void check() {
    // One after the other without a gap, each with its head.
    std::uint64_t at = format::kHeaderBytes / format::kUnitBytes;
    while (at * format::kUnitBytes < arena.used_bytes()) {
      const auto* head = arena.at<format::Head>(static_cast<format::Ref>(at));
      ASSERT_EQ(head->mark, format::kHeadMark);
      ASSERT_EQ(std::count(refs, refs + 3, at), 1);
      at += head->units;
    }
    ASSERT_EQ(arena.used_bytes(), format::kHeaderBytes + 64 + 32 + 96);
  }
};

TEST(Interleavings, RecordsNeverOverlap) { EXPECT_GT(explore<TwoRecords>(kAllSwitches), 100u); }

}  // namespace
}  // namespace fbleprof::proof
