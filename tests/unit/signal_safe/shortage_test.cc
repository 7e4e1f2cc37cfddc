// The recorder without a thread, without memory, without space in its file, and interrupted by
// itself: calls are lost and counted as lost, and nothing else happens.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <vector>

#include "signal_safe/blocks.h"
#include "signal_safe/enter.h"
#include "signal_safe/fact_table.h"
#include "signal_safe/key_table.h"
#include "signal_safe/link_table.h"
#include "signal_safe/live_blocks.h"
#include "signal_safe/sampled_blocks.h"
#include "tests/support/no_resources.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using format::Ref;
using signal_safe::Pages;
using test::NoMemory;
using test::Recording;

const std::uint32_t kBlocks[] = {1, 0, 2};

void name_blocks(Recording& recording) {
  auto& code = recording.session.code_map;
  for (std::uint32_t block = 1; block <= 4; ++block) {
    code.name_block(block, code.function_with_key(block, format::FunctionKind::kBlock));
  }
}

// Each function of the API that changes something.
void call_all() {
  fbleprof_enter(1);
  fbleprof_enter_from(1, 7);
  fbleprof_enter_all(kBlocks, 3);
  fbleprof_redo(2);
  fbleprof_replace(3);
  fbleprof_replace_below(3);
  fbleprof_leave(3);
  fbleprof_leave_newest();
  fbleprof_rewind(0);
  fbleprof_tick(5);
  *fbleprof_tick_counter() += 5;
}

TEST(WithoutAThread, TheApiDoesNothing) {
  fbleprof_hot = {};
  call_all();
  EXPECT_EQ(fbleprof_mark(), 0u);
  EXPECT_EQ(fbleprof_hot.top, nullptr);
}

TEST(WhileStopped, TheApiDoesNothing) {
  Recording recording;
  name_blocks(recording);
  recording.attach();
  fbleprof_enter(1);
  const auto before = recording.ways();
  recording.session.recording.store(false);
  // As capture leaves it: the hooks find no call.
  alignas(4096) static signal_safe::Slot empty[signal_safe::kMostCacheSlots] = {};
  fbleprof_hot.cache = empty;
  fbleprof_enter_from(1, 7);
  fbleprof_enter_all(kBlocks, 3);
  fbleprof_redo(2);
  fbleprof_replace(3);
  fbleprof_replace_below(3);
  fbleprof_rewind(0);
  fbleprof_tick(5);
  EXPECT_EQ(recording.ways(), before);
  EXPECT_EQ(recording.thread.record->lost_calls, 0u) << "nobody wanted to record them";
  recording.session.recording.store(true);
  fbleprof_enter_from(2, 0);
  EXPECT_EQ(recording.ways().size(), before.size() + 1);
}

TEST(Interrupted, CallsOfTheApiAreCountedAsLost) {
  Recording recording;
  name_blocks(recording);
  recording.attach();
  fbleprof_enter(1);
  const auto before = recording.ways();
  const auto* top = fbleprof_hot.top;
  const signal_safe::BusyGuard guard(recording.thread);
  const auto lost = [&] { return recording.thread.record->lost_calls; };
  fbleprof_enter_from(2, 7);
  EXPECT_EQ(lost(), 1u);
  fbleprof_enter_all(kBlocks, 3);
  EXPECT_EQ(lost(), 4u);
  fbleprof_redo(2);
  EXPECT_EQ(lost(), 5u);
  fbleprof_replace(3);
  EXPECT_EQ(lost(), 6u);
  fbleprof_replace_below(3);
  EXPECT_EQ(lost(), 7u);
  fbleprof_rewind(0);
  fbleprof_leave(77);
  EXPECT_EQ(fbleprof_hot.top, top);
  EXPECT_EQ(recording.ways(), before);
  fbleprof_tick(5);
  *fbleprof_tick_counter() += 5;
  const auto* values = recording.tree().values_or_root(recording.tree().root());
  EXPECT_EQ(values[signal_safe::kTicks], 10u) << "ticks are never lost: the root has them";
}

TEST(Blocks, BeyondTheShadowStackAreCountedAsDeep) {
  Recording recording;
  name_blocks(recording);
  recording.thread.main_stack.limit = recording.thread.main_stack.gate + 3;
  recording.attach();
  for (int i = 0; i < 3; ++i) fbleprof_enter(1);
  const std::uint64_t mark = fbleprof_mark();
  fbleprof_enter(2);
  fbleprof_enter_from(2, 0);
  fbleprof_enter_all(kBlocks, 3);
  fbleprof_redo(1);
  const std::uint64_t deep = recording.thread.record->deep_calls;
  EXPECT_GE(deep, 4u);
  fbleprof_replace(3);
  fbleprof_replace_below(3);
  EXPECT_EQ(recording.thread.record->deep_calls, deep + 2);
  const std::uint64_t deeper = fbleprof_mark();
  fbleprof_rewind(deeper);
  EXPECT_EQ(fbleprof_mark(), deeper) << "nothing was above it";
  fbleprof_rewind(mark);
  EXPECT_EQ(fbleprof_mark(), mark);
  for (int i = 0; i < 3; ++i) fbleprof_leave_newest();
  EXPECT_EQ(fbleprof_hot.top, recording.thread.main_stack.gate);
  fbleprof_leave_newest();
  EXPECT_EQ(recording.thread.record->unmatched, 1u);
}

TEST(Blocks, ThatAreNotThereAreNotReplaced) {
  Recording recording;
  name_blocks(recording);
  recording.attach();
  fbleprof_replace(0);
  fbleprof_replace_below(0);
  EXPECT_EQ(recording.thread.record->unmatched, 0u);
  fbleprof_replace(1);
  fbleprof_replace_below(1);
  EXPECT_EQ(recording.thread.record->unmatched, 2u);
  fbleprof_enter(1);
  fbleprof_replace(1000);  // nobody named it
  fbleprof_replace_below(1000);
  EXPECT_EQ(recording.thread.record->lost_calls, 2u);
  fbleprof_replace(2);
  fbleprof_replace_below(3);
  EXPECT_EQ(recording.ways().size(), 3u);
  fbleprof_enter_all(kBlocks, 0);
  fbleprof_enter_from(0, 1);
  fbleprof_redo(0);
  EXPECT_EQ(recording.ways().size(), 3u);
}

void fill(signal_safe::Arena& arena) {
  for (const std::uint32_t bytes : {4096u, 64u, 1u}) {
    const std::vector<char> filler(bytes, 'f');
    while (arena.add_string(filler.data(), bytes) != 0) continue;
  }
}

// A recorder whose file is full.
class FullFile : public testing::Test {
 protected:
  FullFile() {
    name_blocks(recording);
    recording.attach();
    fill(recording.session.arena);
  }
  Recording recording{{}, 2 << 20};
};

TEST_F(FullFile, HasNoNewFunctions) {
  auto& code = recording.session.code_map;
  EXPECT_EQ(code.function_at(recording.code.site_in(5)), 0u);
  EXPECT_EQ(code.hooked_function_at(recording.code.hook_of(6)), 0u);
  EXPECT_EQ(code.place_at(recording.code.site_in(7)), 0u);
  EXPECT_EQ(code.place_at(0x10), 0u) << "generated code";
  EXPECT_EQ(code.function_with_key(77, format::FunctionKind::kBlock), 0u);
  EXPECT_EQ(code.shared_string("text", 4), 0u);
  EXPECT_EQ(code.shared_string("", 0), 0u);
  const Ref block = code.block(1);
  ASSERT_NE(block, 0u);
  EXPECT_EQ(code.stand_in(block, format::kFunctionHolder), 0u);
  code.note_refusal(recording.code.start_of(9), 5, 1);
  code.note_unhooked(recording.code.hook_of(10), 1, 5);
  signal_safe::LoadedModule loaded{};
  loaded.begin = loaded.load_bias = recording.code.begin();
  loaded.end = recording.code.end();
  EXPECT_EQ(code.add_module(loaded), 0u);
}

TEST_F(FullFile, LosesCallsOfNewFunctions) {
  const signal_safe::HookState at{recording.code.hook_of(3), std::uint64_t{1} << 46, 0};
  fbleprof_enter_slow(fbleprof_hot.top, (std::uint64_t{1} << 46) - 8, recording.code.site_in(2),
                      recording.code.hook_of(3), HOOK_NATIVE, &at);
  EXPECT_EQ(recording.thread.record->lost_calls, 1u);
  EXPECT_EQ(fbleprof_hot.top, recording.thread.main_stack.gate);
}

TEST(WithoutSpace, ARecorderDoesNotStart) {
  constexpr std::uint64_t kBytes = 1 << 20;
  for (std::uint64_t cap = format::kHeaderBytes; cap < format::kHeaderBytes + 1024; cap += 64) {
    auto session = std::make_unique<signal_safe::Session>();
    void* file = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(file, MAP_FAILED);
    static_cast<format::Header*>(file)->used_bytes = format::kHeaderBytes;
    const bool starts = session->start(static_cast<char*>(file), cap, cap, {});
    EXPECT_EQ(starts, session->truncated != 0);
    signal_safe::LinkTable::Item links[signal_safe::LinkTable::kFirstItems] = {};
    signal_safe::CallTree tree;
    EXPECT_FALSE(starts && tree.start(session->trees, 0, 0, links)) << "a tree needs more";
    munmap(file, kBytes);
  }
}

TEST(WithoutSpace, ATreeStartsWithAllThatItNeedsOrNotAtAll) {
  constexpr std::uint64_t kBytes = 1 << 20;
  int starts = 0;
  for (std::uint64_t cap = format::kHeaderBytes + 512; cap < format::kHeaderBytes + 16'384;
       cap += 64) {
    auto session = std::make_unique<signal_safe::Session>();
    void* file = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(file, MAP_FAILED);
    static_cast<format::Header*>(file)->used_bytes = format::kHeaderBytes;
    signal_safe::LinkTable::Item links[signal_safe::LinkTable::kFirstItems] = {};
    signal_safe::CallTree tree;
    if (session->start(static_cast<char*>(file), cap, cap, {}) &&
        tree.start(session->trees, 0, 0, links)) {
      ++starts;
      EXPECT_NE(tree.node_at(tree.root())->values, 0u) << "time goes there";
    } else {
      EXPECT_EQ(starts, 0) << "less space was enough";
    }
    munmap(file, kBytes);
  }
  EXPECT_GT(starts, 0);
}

TEST(WithoutSpace, WhatIsChargedToContextsGoesToTheRoot) {
  Recording recording({}, 2 << 20);
  auto& tree = recording.tree();
  std::vector<Ref> nodes;
  for (std::uint32_t i = 0; i < 300; ++i) {
    nodes.push_back(tree.enter(recording.guard, tree.root(), recording.function(i), 0, 0).to);
  }
  fill(recording.session.arena);
  std::uint64_t* row = nullptr;
  for (const Ref node : nodes) {
    row = tree.values(recording.guard, node);
    ASSERT_NE(row, nullptr);
  }
  EXPECT_EQ(row, tree.values_or_root(tree.root()));
  EXPECT_EQ(tree.node_at(nodes.back())->values, 0u);
  const Ref caller = nodes[0];
  const auto into = tree.replace(recording.guard, caller, nodes[1], recording.function(2));
  ASSERT_TRUE(into) << "the call is counted where there is room";
  EXPECT_EQ(recording.session.arena.header()->edge_count, 0u);
}

// No more links: ways beyond those that are known are counted on [overflow].
TEST(WithoutMemory, NewWaysOverflow) {
  for (const std::uint32_t depth_limit : {0u, 1u}) {
    signal_safe::Options options;
    options.depth_limit = depth_limit;
    Recording recording(options);
    auto& tree = recording.tree();
    std::vector<Ref> functions;
    for (std::uint32_t i = 0; i < 200; ++i) functions.push_back(recording.function(i));
    const auto top = tree.enter(recording.guard, tree.root(), functions[0], 0, 0);
    std::uint64_t calls = 0;
    signal_safe::Step replaced;
    {
      const NoMemory none;
      for (const Ref function : functions) {
        const auto step = tree.enter(recording.guard, top.to, function, 0, 0);
        if (step) ++*step.calls, ++calls;
      }
      replaced = tree.replace(recording.guard, top.to, top.to, functions[199]);
    }
    EXPECT_EQ(calls, functions.size()) << "none is lost";
    EXPECT_TRUE(replaced);
    std::uint64_t counted = 0;
    for (const auto& each : recording.ways()) counted += each.second;
    EXPECT_EQ(counted, calls);
  }
}

TEST(WithoutMemory, ARecorderDoesNotStart) {
  auto session = std::make_unique<signal_safe::Session>();
  auto header = std::make_unique<char[]>(1 << 20);
  reinterpret_cast<format::Header*>(header.get())->used_bytes = format::kHeaderBytes;
  bool starts = true;
  {
    const NoMemory none;
    starts = session->start(header.get(), 1 << 20, 1 << 20, {});
  }
  EXPECT_FALSE(starts);
}

TEST(WithoutMemory, PagesAreNull) {
  Pages pages;
  void* taken[2];
  bool has_stock;
  {
    const NoMemory none;
    taken[0] = pages.take(1 << 20);
    taken[1] = pages.take_wiped(1 << 20);
    has_stock = pages.live_on_stock(1 << 20);
  }
  EXPECT_EQ(taken[0], nullptr);
  EXPECT_EQ(taken[1], nullptr);
  EXPECT_FALSE(has_stock);
  pages.give_back(nullptr, 1 << 20);
  void* wiped = pages.take_wiped(8192);
  ASSERT_NE(wiped, nullptr);
  pages.give_back(wiped, 8192);
  ASSERT_TRUE(pages.live_on_stock(8192));
  EXPECT_EQ(pages.take_wiped(4096), nullptr) << "the stock is not wiped in children";
  EXPECT_NE(pages.take(4096), nullptr);
  EXPECT_EQ(pages.take(8192), nullptr) << "the stock is at its end";
}

TEST(Pages, LargeMappingsAreRemembered) {
  Pages pages;
  std::vector<void*> taken;
  for (int i = 0; i < 70; ++i) taken.push_back(pages.take(1 << 20));
  std::uint64_t count = 0, bytes = 0;
  pages.for_each_large([&](const char*, std::uint64_t its_bytes) { ++count, bytes += its_bytes; });
  EXPECT_EQ(count, 64u) << "more are not";
  EXPECT_EQ(bytes, count << 20);
  for (void* each : taken) pages.give_back(each, 1 << 20);
  count = 0;
  pages.for_each_large([&](const char*, std::uint64_t) { ++count; });
  EXPECT_EQ(count, 0u);
}

TEST(WithoutMemory, TablesKeepWhatTheyHave) {
  Pages pages;
  signal_safe::FactTable facts, none_yet;
  signal_safe::KeyTable keys;
  auto links =
      std::make_unique<signal_safe::LinkTable::Item[]>(signal_safe::LinkTable::kFirstItems);
  signal_safe::LinkTable table;
  table.adopt(&pages, links.get());
  ASSERT_TRUE(facts.start(&pages));
  ASSERT_TRUE(keys.start(&pages));
  none_yet.add(1, 1);
  none_yet.forget([](std::uint64_t) { return true; });
  EXPECT_EQ(none_yet.find(1), 0u);
  std::uint32_t places = 0, linked = 0;
  {
    const NoMemory none;
    for (std::uint32_t i = 1; i <= 20'000; ++i) facts.add(i, i);
    while (places < 100'000 && keys.place_of(places + 1) != nullptr) ++places;
    while (linked < 100'000 && table.make_room()) {
      ++linked;
      table.add(linked, 1, linked);
    }
  }
  std::uint32_t known = 0;
  for (std::uint32_t i = 1; i <= 20'000; ++i) {
    const Ref found = facts.find(i);
    EXPECT_TRUE(found == 0 || found == i);
    known += found == i;
  }
  EXPECT_GT(known, 500u);
  EXPECT_LT(known, 20'000u);
  EXPECT_GT(places, 500u);
  EXPECT_LT(places, 100'000u);
  EXPECT_EQ(linked, signal_safe::LinkTable::kFirstItems - 1) << "one stays empty";
  EXPECT_EQ(table.find(linked, 1, [](std::uint32_t) { return true; }), linked);
  EXPECT_EQ(table.find(linked + 1, 1, [](std::uint32_t) { return true; }), 0u);
}

TEST(WithoutMemory, BlocksAreNotKept) {
  Pages pages;
  signal_safe::LiveBlocks live;
  signal_safe::SampledBlocks sampled;
  bool starts[2];
  {
    const NoMemory none;
    starts[0] = live.start(&pages, 32);
    starts[1] = sampled.start(&pages);
  }
  EXPECT_FALSE(starts[0]);
  EXPECT_FALSE(starts[1]);
  ASSERT_TRUE(live.start(&pages, 32));
  ASSERT_TRUE(sampled.start(&pages));
  EXPECT_TRUE(sampled.start(&pages)) << "it has started";
  int block;
  bool is_kept;
  {
    const NoMemory none;
    is_kept = live.add(&block, {2, 8, 0, 0});
  }
  EXPECT_FALSE(is_kept);
  EXPECT_EQ(live.take(&block).node, 0u);
  EXPECT_FALSE(live.add(reinterpret_cast<void*>(~std::uint64_t{0} - 63), {2, 8, 0, 0}))
      << "no address of this machine";
  EXPECT_EQ(live.take(reinterpret_cast<void*>(~std::uint64_t{0} - 63)).node, 0u);
  EXPECT_TRUE(live.add(&block, {2, 8, 0, 0}));
  EXPECT_EQ(live.take(&block).bytes, 8u);
}

TEST(SampledBlocks, OnePlaceThatIsFullTakesNoMore) {
  Pages pages;
  signal_safe::SampledBlocks sampled;
  ASSERT_TRUE(sampled.start(&pages));
  std::uint64_t kept = 0, stands_for = 0;
  constexpr std::uint64_t kMany = 400'000;
  const auto block = [](std::uint64_t i) { return reinterpret_cast<const void*>(16 * i); };
  for (std::uint64_t i = 1; i <= kMany; ++i) kept += sampled.add(block(i), {2, 0, 0, 1, i});
  EXPECT_LE(kept, std::uint64_t{1} << 18);
  EXPECT_GT(kept, std::uint64_t{1} << 17);
  sampled.for_each([&](const signal_safe::SampledBlock& what) { stands_for += what.count; });
  EXPECT_EQ(stands_for, kept);
  std::uint64_t taken = 0;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    const signal_safe::SampledBlock what = sampled.take(block(i));
    EXPECT_TRUE(what.node == 0 || what.bytes == i);
    taken += what.node != 0;
  }
  EXPECT_EQ(taken, kept);
  EXPECT_EQ(sampled.take(block(1)).node, 0u) << "it is gone";
}

TEST(CodeRanges, IsLimitedInNumber) {
  signal_safe::CodeRanges code;
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(code.add(100 * i, 100 * i + 10));
  EXPECT_FALSE(code.add(1000, 1010));
  EXPECT_TRUE(code.contains(305));
  EXPECT_FALSE(code.contains(310));
  EXPECT_FALSE(code.contains(1005));
}

// -- Modules --

TEST(BuildIds, OfDamagedNotesAreNone) {
  const auto has_id = [](auto damage) {
    Recording recording;
    recording.code.write_build_id("0123456789");
    auto* elf = reinterpret_cast<Elf64_Ehdr*>(recording.code.begin());
    auto* headers = reinterpret_cast<Elf64_Phdr*>(elf + 1);
    damage(elf, headers, reinterpret_cast<Elf64_Nhdr*>(recording.code.begin() + 512));
    const Ref function = recording.session.code_map.function_at(recording.code.site_in(7));
    const auto& arena = recording.session.arena;
    const Ref module = arena.at<format::Function>(function)->module;
    return arena.at<format::Module>(module)->build_id != 0;
  };
  using Elf = Elf64_Ehdr*;
  using Headers = Elf64_Phdr*;
  using Note = Elf64_Nhdr*;
  EXPECT_TRUE(has_id([](Elf, Headers, Note) {}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(has_id([i](Elf elf, Headers, Note) { elf->e_ident[i] ^= 1; }));
  }
  EXPECT_FALSE(has_id([](Elf elf, Headers, Note) { elf->e_phentsize = 32; }));
  EXPECT_FALSE(has_id([](Elf, Headers headers, Note) { headers[1].p_type = PT_DYNAMIC; }));
  EXPECT_FALSE(has_id([](Elf, Headers headers, Note) { headers[0].p_type = PT_NULL; }))
      << "the note is in no segment";
  EXPECT_FALSE(has_id([](Elf, Headers headers, Note) { headers[0].p_vaddr = 600; }));
  EXPECT_FALSE(has_id([](Elf, Headers headers, Note) { headers[0].p_filesz = 520; }));
  EXPECT_FALSE(has_id([](Elf, Headers, Note note) { note->n_type = NT_GNU_ABI_TAG; }));
  EXPECT_FALSE(has_id([](Elf, Headers, Note note) { note->n_namesz = 5; }));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(
        has_id([i](Elf, Headers, Note note) { reinterpret_cast<char*>(note + 1)[i] ^= 1; }));
  }
  EXPECT_FALSE(has_id([](Elf, Headers, Note note) { note->n_descsz = 1000; }))
      << "beyond its segment";
  EXPECT_FALSE(has_id([](Elf, Headers headers, Note note) {
    note->n_descsz = 65;  // longer than any
    headers[1].p_memsz = 1000;
  }));
  EXPECT_FALSE(has_id([](Elf, Headers headers, Note) { headers[1].p_memsz = 4; }));
  EXPECT_TRUE(has_id([](Elf, Headers headers, Note) { headers[1].p_align = 8; }));
}

TEST(StandIns, AreMadeOnce) {
  Recording recording;
  auto& code = recording.session.code_map;
  const Ref function = recording.function(3);
  const Ref holder = code.stand_in(function, format::kFunctionHolder);
  const Ref waker = code.stand_in(function, format::kFunctionWaker);
  EXPECT_NE(holder, 0u);
  EXPECT_NE(holder, waker);
  EXPECT_EQ(code.stand_in(function, format::kFunctionHolder), holder);
  const auto* record = recording.session.arena.at<format::Function>(holder);
  EXPECT_EQ(record->address, recording.code.start_of(3));
  EXPECT_EQ(record->flags, format::kFunctionHolder);
  code.retire(record->module, 1);
  EXPECT_EQ(code.stand_in(function, format::kFunctionHolder), holder) << "it is not at an address";
}

}  // namespace
}  // namespace fbleprof
