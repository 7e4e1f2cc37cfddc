// The tables behind the call tree and the code map.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "signal_safe/arena.h"
#include "signal_safe/fact_table.h"
#include "signal_safe/key_table.h"
#include "signal_safe/link_table.h"

namespace fbleprof::signal_safe {
namespace {

// The flags of the mapping that begins at `begin`; see proc(5), smaps.
std::string mapping_flags(const void* begin) {
  std::ostringstream start;
  start << std::hex << reinterpret_cast<std::uintptr_t>(begin) << '-';
  std::ifstream maps("/proc/self/smaps");
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.rfind(start.str(), 0) == 0) is_it = true;
    if (is_it && line.rfind("VmFlags:", 0) == 0) return line;
  }
  return "";
}

TEST(Pages, ALargeTableGetsHugePages) {
  Pages pages;
  void* table = pages.take_table(kHugePage);
  void* other = pages.take(kHugePage);
  ASSERT_TRUE(table != nullptr && other != nullptr);
  // A kernel without huge pages has no such flag to give.
  const bool has_huge_pages =
      std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").is_open();
  EXPECT_EQ(mapping_flags(table).find(" hg") != std::string::npos, has_huge_pages);
  pages.give_back(table, kHugePage);
  pages.give_back(other, kHugePage);
}

constexpr auto kAny = [](std::uint32_t) { return true; };

TEST(Arena, SpaceWithoutAHeadIsNoRecord) {
  static constexpr std::uint32_t kBytes = 64 << 10;
  alignas(4096) static char memory[kBytes];
  Arena arena;
  arena.adopt(memory, kBytes, kBytes);
  arena.header()->used_bytes = format::kHeaderBytes;
  const format::Ref first = arena.add_string("first", 5);
  // A thread has taken space. A search that began before the head was written meets the contents.
  const auto taken = static_cast<format::Ref>(arena.used_bytes() / format::kUnitBytes);
  arena.header()->used_bytes += 4 * format::kUnitBytes;
  *arena.at<format::Head>(taken + 1) = {1000, format::Kind::kString, 0};
  const format::Ref last = arena.add_string("last", 4);
  std::vector<format::Ref> found;
  arena.for_each(format::Kind::kString,
                 [&](format::Ref ref) { return found.push_back(ref), true; });
  EXPECT_EQ(found, (std::vector<format::Ref>{first, last}));
}

TEST(LinkTable, FindsAllThatWasAddedWhileItGrows) {
  Pages pages;
  std::vector<LinkTable::Item> first(LinkTable::kFirstItems);
  LinkTable table;
  table.adopt(&pages, first.data());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
  std::mt19937 random(1);
  for (std::uint32_t target = 1; target <= 50'000; ++target) {
    const std::pair<std::uint32_t, std::uint32_t> name{random() % 4000, random() % 100};
    if (!expected.try_emplace(name, target).second) continue;
    ASSERT_TRUE(table.make_room());
    table.add(name.first, name.second, target);
    if (target % 97 != 0) continue;
    for (const auto& [known, its_target] : expected) {
      ASSERT_EQ(table.find(known.first, known.second, kAny), its_target);
    }
  }
  EXPECT_EQ(table.find(5000, 1, kAny), 0u);
  EXPECT_EQ(table.size(), expected.size());
}

TEST(LinkTable, AsksWhoeverLooksWhichOfSeveralItMeans) {
  Pages pages;
  std::vector<LinkTable::Item> first(LinkTable::kFirstItems);
  LinkTable table;
  table.adopt(&pages, first.data());
  for (std::uint32_t target = 10; target < 15; ++target) table.add(1, 2, target);
  EXPECT_EQ(table.find(1, 2, [](std::uint32_t target) { return target == 13; }), 13u);
  EXPECT_EQ(table.find(1, 2, [](std::uint32_t) { return false; }), 0u);
}

TEST(FactTable, KeepsFactsAcrossGrowth) {
  Pages pages;
  FactTable table;
  ASSERT_TRUE(table.start(&pages));
  for (std::uint32_t i = 1; i <= 100'000; ++i) table.add(i * 0x1001ull, i);
  std::uint32_t known = 0;
  for (std::uint32_t i = 1; i <= 100'000; ++i) {
    const format::Ref found = table.find(i * 0x1001ull);
    EXPECT_TRUE(found == i || found == 0);
    known += found == i;
  }
  // Items added by other threads while the table is copied can be lost; with one thread, nothing
  // is.
  EXPECT_EQ(known, 100'000u);
  EXPECT_EQ(table.find(7), 0u);
}

TEST(FactTable, ForgetsWhatIsGoneAndLearnsAnew) {
  Pages pages;
  FactTable table;
  ASSERT_TRUE(table.start(&pages));
  for (std::uint32_t i = 1; i <= 5000; ++i) table.add(i, i);
  table.forget([](std::uint64_t key) { return key % 2 == 0; });
  EXPECT_EQ(table.find(10), 0u);
  EXPECT_EQ(table.find(11), 11u);
  table.add(10, 99);
  EXPECT_EQ(table.find(10), 99u);
}

TEST(FactTable, NeverTellsAnotherKeysFactWhileThreadsAdd) {
  Pages pages;
  FactTable table;
  ASSERT_TRUE(table.start(&pages));
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> wrong{0};
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 200'000; ++i) {
        const std::uint32_t key = 1 + random() % 60'000;
        const format::Ref found = table.find(key);
        if (found == 0) {
          table.add(key, key + 7);
        } else {
          wrong += found != key + 7;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(KeyTable, GivesAllThreadsTheSamePlace) {
  Pages pages;
  KeyTable table;
  ASSERT_TRUE(table.start(&pages));
  constexpr std::uint32_t kKeys = 20'000;
  std::vector<std::vector<KeyTable::Item*>> places(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < places.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t key = 1; key <= kKeys; ++key)
        places[t].push_back(table.place_of(key * 64));
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<KeyTable::Item*> all(places[0].begin(), places[0].end());
  EXPECT_EQ(all.size(), kKeys);
  EXPECT_FALSE(all.contains(nullptr));
  for (const auto& others : places) EXPECT_EQ(others, places[0]);
  std::uint32_t visited = 0;
  table.for_each([&](std::uint64_t, KeyTable::Item&) { ++visited; });
  EXPECT_EQ(visited, kKeys);
}

TEST(Pages, LiveOnTheirStockOnceItIsLaidIn) {
  Pages pages;
  void* before = pages.take(100);
  ASSERT_NE(before, nullptr);
  pages.give_back(before, 100);
  ASSERT_TRUE(pages.live_on_stock(8192));
  EXPECT_NE(pages.take(4096), nullptr);
  EXPECT_NE(pages.take(4096), nullptr);
  EXPECT_EQ(pages.take(1), nullptr);
}

}  // namespace
}  // namespace fbleprof::signal_safe
