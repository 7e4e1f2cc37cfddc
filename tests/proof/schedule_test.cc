// Two threads use the tables that all threads share, in every order of their atomic accesses.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "signal_safe/arena.h"
#include "signal_safe/fact_table.h"
#include "signal_safe/key_table.h"
#include "signal_safe/pages.h"
#include "tests/proof/scheduler.h"

namespace fbleprof::proof {
namespace {

using signal_safe::Arena;
using signal_safe::FactTable;
using signal_safe::KeyTable;
using signal_safe::Pages;

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
