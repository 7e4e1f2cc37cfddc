// What a wait charges, and to which context, on a recorder without a program and with clocks that
// the test sets.
#include "signal_safe/waits.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "signal_safe/blocks.h"
#include "signal_safe/enter.h"
#include "signal_safe/preemption.h"
#include "signal_safe/sample.h"
#include "signal_safe/wait_calls.h"
#include "signal_safe/wait_words.h"
#include "signal_safe/wakers.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using signal_safe::Sampled;
using test::Recording;

std::uint64_t cpu_now = 0, wall_now = 0;

signal_safe::Options with_waits() {
  signal_safe::Options options;
  options.waits = true;
  options.wait_words = signal_safe::kValueWords;
  options.row_bytes = 256;
  return options;
}

class Waits : public testing::Test, protected test::CallsOnStack {
 protected:
  static constexpr std::uint32_t kCallee = 90;  // the function that blocks

  Waits() : CallsOnStack(with_waits()) {
    cpu_now = wall_now = 1'000'000;
    recording.session.clocks = {[] { return cpu_now; }, [] { return wall_now; }};
    recording.thread.last_cpu_ns = cpu_now;
    recording.thread.last_wall_ns = wall_now;
    recording.thread.tid = static_cast<std::uint32_t>(gettid());
    recording.thread.waits = &own;
    signal_safe::start_thread(own);
    recording.attach();
  }

  std::uint64_t* words_at(std::uint64_t depth) {
    return reinterpret_cast<std::uint64_t*>(frame_at(depth) - 32);
  }

  // `function`, entered at `depth`, makes a call that blocks for so long.
  void wait(
      std::uint32_t function, std::uint64_t depth, std::uint64_t wall, std::uint64_t cpu = 0,
      const std::function<void()>& meanwhile = [] {}, std::uint64_t bytes_read = 0) {
    std::uint64_t* frame = words_at(depth);
    frame[0] = 0;
    frame[1] = recording.code.site_in(function);
    fbleprof_wait wait{};
    wait.frame = reinterpret_cast<std::uint64_t>(frame);
    wait.callee = reinterpret_cast<const void*>(recording.code.start_of(kCallee));
    fbleprof_wait_begins(&wait);
    wall_now += wall, cpu_now += cpu;
    meanwhile();
    fbleprof_wait_ends(&wait, bytes_read, 0);
  }
  // The same, but the call never ends: a handler leaves it, or its thread is cancelled.
  void begin(std::uint32_t function, std::uint64_t* frame) {
    frame[0] = 0;
    frame[1] = recording.code.site_in(function);
    fbleprof_wait wait{};
    wait.frame = reinterpret_cast<std::uint64_t>(frame);
    wait.callee = reinterpret_cast<const void*>(recording.code.start_of(kCallee));
    fbleprof_wait_begins(&wait);
  }
  void compute(std::uint64_t ns) { cpu_now += ns, wall_now += ns; }
  void sample(std::uint32_t function, std::uint64_t depth) {
    arch::MachineState at;
    at.pc = recording.code.site_in(function);
    at.sp = frame_at(depth) - 16;
    signal_safe::charge_sample(recording.thread, at, Sampled::kAll);
  }

  // A word for waits of the call made by `function`; of all contexts if it is 0.
  std::uint64_t charged(std::uint32_t function, std::uint32_t word) {
    std::uint64_t sum = 0;
    std::map<format::Ref, std::uint32_t> functions;
    for (const auto& node : recording.nodes()) {
      functions[node.ref] = node.function;
      const format::Ref row = recording.tree().node_at(node.ref)->values;
      if (row == 0) continue;
      const bool is_wanted =
          function == 0 || (node.function == kCallee && functions[node.parent] == function);
      if (is_wanted) {
        sum += recording.session.arena.at<std::uint64_t>(row)[signal_safe::kValueWords + word];
      }
    }
    return sum;
  }
  void expect_identity() {
    std::uint64_t wall = 0, cpu = 0;
    for (const auto& node : recording.nodes()) {
      const format::Ref row = recording.tree().node_at(node.ref)->values;
      if (row == 0) continue;
      const auto* values = recording.session.arena.at<std::uint64_t>(row);
      wall += values[signal_safe::kWallNs];
      cpu += values[signal_safe::kCpuNs];
    }
    EXPECT_EQ(cpu + charged(0, signal_safe::kWaitNs) + charged(0, signal_safe::kUnseenNs), wall);
    EXPECT_EQ(recording.thread.record->wall_ns, wall);
  }

  signal_safe::WaitThread own{};
};

TEST_F(Waits, ALongWaitIsItsContexts) {
  call(0, 1, 1), call(1, 2, 2);
  wait(2, 2, 5'000'000);
  wait(1, 1, 30'000);  // 2 has returned
  EXPECT_EQ(charged(2, signal_safe::kWaitNs), 5'000'000u);
  EXPECT_EQ(charged(2, signal_safe::kWaits), 1u);
  EXPECT_EQ(charged(2, signal_safe::kLongestWaitNs), 5'000'000u);
  EXPECT_EQ(charged(2, signal_safe::kWaitClass + 2), 1u) << "below 10 ms";
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 30'000u);
  expect_identity();
}

TEST_F(Waits, ACallThatComputesIsNoWait) {
  call(0, 1, 1);
  wait(1, 1, 5'000'000, 4'999'900);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 0u);
  wait(1, 1, 5'000'000, 2'000'000);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 3'000'100u) << "with what the first left";
  sample(1, 1);
  expect_identity();
}

TEST_F(Waits, WhatIsLeftIsUnseen) {
  call(0, 1, 1);
  compute(100'000);
  wall_now += 40'000;  // no processor
  sample(1, 1);
  wait(1, 1, 50'000);
  EXPECT_EQ(charged(0, signal_safe::kUnseenNs), 40'000u);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 50'000u);
  expect_identity();
}

TEST_F(Waits, ShortWaitsGather) {
  call(0, 1, 1), call(1, 2, 2);
  for (int i = 0; i < 10'000; ++i) {
    wait(2, 2, 3'000);
    wait(1, 1, 1'000);
  }
  const std::uint64_t of_2 = charged(2, signal_safe::kWaitNs),
                      of_1 = charged(1, signal_safe::kWaitNs);
  EXPECT_NEAR(static_cast<double>(of_1 + of_2), 4e7, 1e5) << "all but the last few";
  EXPECT_NEAR(static_cast<double>(of_2), 3e7, 2e6) << "by lot";
  EXPECT_LT(charged(0, signal_safe::kWaits), 2'500u);
}

TEST_F(Waits, TheRecordTellsAnOpenWait) {
  call(0, 1, 1);
  const auto* record = recording.thread.record;
  wait(1, 1, 70'000, 0, [&] {
    EXPECT_EQ(record->wait_since_ns, wall_now - 70'000);
    EXPECT_EQ(recording.tree().function_of(record->wait_context), recording.function(kCallee));
    signal_safe::charge_open_wait(recording.thread, cpu_now, wall_now);
    EXPECT_EQ(charged(1, signal_safe::kWaitNs), 70'000u);
    EXPECT_EQ(record->wait_since_ns, wall_now) << "the rest goes on";
    wall_now += 25'000;
  });
  EXPECT_EQ(record->wait_since_ns, 0u);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 95'000u) << "nothing twice";
  expect_identity();
}

TEST_F(Waits, APartThatASampleChargedIsNotChargedAgainAsUnseenTimeBeforeIt) {
  call(0, 1, 1);
  wall_now += 15'000'000;  // no processor
  wait(1, 1, 10'000'000, 0, [&] {
    signal_safe::charge_open_wait(recording.thread, cpu_now, wall_now);
    wall_now += 5'000'000;
  });
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 15'000'000u);
  sample(1, 1);
  EXPECT_EQ(charged(0, signal_safe::kUnseenNs), 15'000'000u);
  expect_identity();
}

TEST_F(Waits, AHandlersWaitIsNotTheInterruptedOnes) {
  call(0, 1, 1);
  const auto* record = recording.thread.record;
  wait(1, 1, 40'000, 0, [&] {
    const auto since = record->wait_since_ns;
    call(1, 3, 8);  // the handler
    wait(3, 8, 100'000);
    EXPECT_EQ(record->wait_since_ns, since) << "the outer one goes on";
  });
  EXPECT_EQ(charged(3, signal_safe::kWaitNs), 100'000u);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 40'000u);
  EXPECT_EQ(record->wait_since_ns, 0u);
  expect_identity();
}

TEST_F(Waits, AJumpOverAWaitEndsIt) {
  know_the_stack();
  call(0, 1, 1), call(1, 2, 8);
  begin(2, words_at(8));
  wall_now += 40'000;
  fbleprof_jumps(frame_at(1) - 16);
  EXPECT_EQ(recording.thread.record->wait_since_ns, 0u);
  wall_now += 1'000'000;  // no processor
  sample(1, 1);
  EXPECT_EQ(charged(2, signal_safe::kWaitNs), 40'000u);
  EXPECT_EQ(charged(0, signal_safe::kUnseenNs), 1'000'000u);
  expect_identity();
}

TEST_F(Waits, AJumpInsideAHandlerEndsNoWait) {
  know_the_stack();
  call(0, 1, 1);
  wait(1, 1, 40'000, 0, [&] {
    fbleprof_jumps(frame_at(8) - 16);
    EXPECT_NE(recording.thread.record->wait_since_ns, 0u);
  });
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 40'000u);
}

TEST_F(Waits, AWaitLeftUnnoticedEndsWithTheNextCall) {
  know_the_stack();
  call(0, 1, 1), call(1, 2, 8);
  begin(2, words_at(8));
  wall_now += 40'000;
  call(0, 1, 1);
  wait(1, 1, 30'000);
  EXPECT_EQ(charged(2, signal_safe::kWaitNs), 40'000u);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 30'000u);
  wall_now += 1'000'000;
  sample(1, 1);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 70'000u);
  EXPECT_EQ(charged(0, signal_safe::kUnseenNs), 1'000'000u);
  expect_identity();
}

TEST_F(Waits, AWaitLeftOnAStackThatIsGoneIsNotRead) {
  know_the_stack();
  call(0, 1, 1);
  constexpr std::size_t kBytes = 4096;
  // Above the thread's own stack, so that its frame could be an outer one.
  void* fiber =
      mmap(reinterpret_cast<void*>(0x7fff'ffff'0000 - kBytes), kBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (fiber == MAP_FAILED) GTEST_SKIP() << "the addresses above the stack are taken";
  begin(1, static_cast<std::uint64_t*>(fiber) + 100);
  wall_now += 40'000;
  munmap(fiber, kBytes);
  wait(1, 1, 30'000);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 70'000u);
  sample(1, 1);
  expect_identity();
}

TEST_F(Waits, UnloadedCodeIsNoLongerKnown) {
  know_the_stack();
  call(0, 1, 1);
  wait(1, 1, 30'000);
  signal_safe::KnownWait* known = nullptr;
  for (auto& one : own.known) {
    if (one.frame != 0) known = &one;
  }
  ASSERT_NE(known, nullptr);
  const auto before = known->epoch;
  recording.session.code_map.retire(recording.session.arena.header()->newest_module, 1);
  wait(1, 1, 30'000);
  EXPECT_NE(known->epoch, before) << "looked up again";
}

TEST_F(Waits, WhatAnotherCallLeftInItsPlaceIsNotTaken) {
  know_the_stack();
  call(0, 1, 1);
  wait(1, 1, 30'000);
  signal_safe::KnownWait* known = nullptr;
  for (auto& one : own.known) {
    if (one.frame != 0) known = &one;
  }
  ASSERT_NE(known, nullptr);
  const format::Ref node = known->node;
  const auto found_again = [&](auto change) {
    change();
    known->node = 0;
    wait(1, 1, 30'000);
    return known->node == node;
  };
  EXPECT_TRUE(found_again([&] { known->site += 1; })) << "another call of the same frame";
  EXPECT_TRUE(found_again([&] { known->callee = &known; }));
  EXPECT_TRUE(found_again([&] { known->entry_frame -= 8; }));
  EXPECT_TRUE(found_again([&] { known->word ^= 1; }));
  EXPECT_TRUE(found_again([&] { known->root ^= 1; })) << "of another profile";
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 6u * 30'000);
}

TEST_F(Waits, WithoutCodeBelowCountedFunctionsTheyAreTheFunctionsOwn) {
  recording.session.options.native_below = false;
  call(0, 1, 1);
  const format::Ref node = signal_safe::node_of(recording.thread, fbleprof_hot.top);
  const void* lock = &cpu_now;
  std::uint64_t* frame = words_at(1);
  frame[0] = 0;
  frame[1] = recording.code.site_in(1);
  fbleprof_wait waiting{};
  waiting.frame = reinterpret_cast<std::uint64_t>(frame);
  waiting.callee = reinterpret_cast<const void*>(recording.code.start_of(kCallee));
  waiting.kind = format::WaitKind::kForOther;
  waiting.object = lock;
  fbleprof_wait_begins(&waiting);
  wall_now += 300'000;
  fbleprof_letting_go(waiting.frame, lock);
  fbleprof_wait_ends(&waiting, 0, 0);
  const auto* row =
      recording.session.arena.at<std::uint64_t>(recording.tree().node_at(node)->values);
  EXPECT_EQ(row[signal_safe::kValueWords + std::uint32_t{signal_safe::kWaitNs}], 300'000u);
  for (const auto& each : recording.nodes()) EXPECT_NE(each.function, kCallee);
}

TEST_F(Waits, WithoutCodeBelowCountedFunctionsThoseOfUncountedOnesHaveTheirCall) {
  recording.session.options.native_below = false;
  wait(1, 1, 300'000);  // nothing was counted yet
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 300'000u);
  expect_identity();
}

// Waits of a block of the C API are the block's.
TEST_F(Waits, OfABlockAreTheBlocks) {
  recording.session.options.native_below = false;
  recording.session.code_map.name_block(
      1, recording.session.code_map.function_with_key(1, format::FunctionKind::kBlock));
  call(0, 2, 1);
  fbleprof_enter(1);
  wait(2, 1, 300'000);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 300'000u);
}

TEST_F(Waits, ASampleBetweenTwoLooksAtTheClocksIsNoticed) {
  call(0, 1, 1);
  static signal_safe::ThreadState* thread;
  static int samples;
  thread = &recording.thread;
  recording.session.clocks.cpu_ns = [] {
    // The sample charges 10 us of the wait.
    if (samples > 0) --samples, thread->last_wall_ns += 10'000;
    return cpu_now;
  };
  samples = 0;
  wait(1, 1, 100'000, 0, [] { samples = 1; });
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 90'000u);
  samples = 0;
  wait(1, 1, 1'000'000, 0, [] { samples = 1000; });
  EXPECT_LT(samples, 1000);
  EXPECT_GT(samples, 900) << "it does not try for ever";
}

TEST_F(Waits, WhatChangesMeanwhileDecidesAtTheirEnd) {
  call(0, 1, 1);
  wait(1, 1, 100'000, 0, [&] { recording.session.options.waits = false; });
  recording.session.options.waits = true;
  EXPECT_EQ(charged(0, signal_safe::kWaits), 0u) << "the program has confined itself";
  wait(1, 1, 100'000, 0, [&] { recording.thread.canary->alive = 0; });
  EXPECT_EQ(charged(0, signal_safe::kWaits), 0u) << "a forked child";
  fbleprof_letting_go(reinterpret_cast<std::uint64_t>(words_at(1)), this);
  begin(1, words_at(1));
  fbleprof_jumps(frame_at(0));
  recording.thread.canary->alive = 1;
  recording.thread.tid += 1;  // a vfork child in our memory
  fbleprof_letting_go(reinterpret_cast<std::uint64_t>(words_at(1)), this);
  fbleprof_jumps(frame_at(0));
  recording.thread.tid -= 1;
  EXPECT_EQ(charged(0, signal_safe::kWaits), 0u);
  const void* lock = &cpu_now;
  const std::uint16_t& wanted = fbleprof_wanted[signal_safe::wanted_place(lock)];
  const std::uint16_t before = wanted;
  fbleprof_wait waiting{};
  waiting.frame = reinterpret_cast<std::uint64_t>(words_at(1));
  waiting.object = lock;
  fbleprof_wait_begins(&waiting);
  EXPECT_EQ(wanted, before + 1);
  recording.thread.waits = nullptr;
  fbleprof_wait_ends(&waiting, 0, 0);
  EXPECT_EQ(wanted, before) << "whatever happens";
}

TEST_F(Waits, BytesOfACallWhoseContextIsNotKnownAreTheRoots) {
  call(0, 1, 1);
  {
    const signal_safe::BusyGuard guard(recording.thread);
    wait(
        1, 1, 100, 100, [] {}, 4096);
  }
  EXPECT_EQ(charged(0, signal_safe::kBytesRead), 4096u);
  EXPECT_EQ(charged(1, signal_safe::kBytesRead), 0u);
  // A handler's wait takes the place of the interrupted one.
  wait(
      1, 1, 100, 100,
      [&] {
        for (auto& one : own.known) one.callee = &own;
      },
      1000);
  wait(
      1, 1, 100, 100,
      [&] {
        for (auto& one : own.known) one.frame = 8;
      },
      1000);
  EXPECT_EQ(charged(0, signal_safe::kBytesRead), 6096u);
  EXPECT_EQ(charged(1, signal_safe::kBytesRead), 0u);
}

TEST_F(Waits, OneJumpEndsAllThatItLeaves) {
  know_the_stack();
  call(0, 1, 1);
  begin(1, words_at(1));
  call(1, 2, 8);  // a handler
  begin(2, words_at(8));
  call(2, 3, 16);  // and another one
  begin(3, words_at(16));
  EXPECT_EQ(own.open_count, 3u);
  wall_now += 40'000;
  fbleprof_jumps(frame_at(12));
  EXPECT_EQ(own.open_count, 2u);
  fbleprof_jumps(frame_at(1) - 16);
  EXPECT_EQ(own.open_count, 0u);
  fbleprof_jumps(frame_at(1) - 16);
  signal_safe::settle_wait_at_sample(recording.thread, frame_at(1));
  EXPECT_EQ(charged(3, signal_safe::kWaitNs), 40'000u);
  EXPECT_EQ(recording.thread.record->wait_since_ns, 0u);
}

TEST_F(Waits, AFrameThatHoldsAnotherReturnAddressWasLeft) {
  know_the_stack();
  call(0, 1, 1);
  std::uint64_t* frame = words_at(1);
  begin(1, frame);
  wall_now += 40'000;
  fbleprof_jumps(frame_at(8));
  EXPECT_EQ(own.open_count, 1u) << "a jump in a handler";
  frame[1] += 8;  // the program's own, by now
  fbleprof_jumps(frame_at(8));
  EXPECT_EQ(own.open_count, 0u);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 40'000u);
}

TEST_F(Waits, OnAnotherStackAreLeftByJumpsUpThatStackOnly) {
  know_the_stack();
  call(0, 1, 1);
  static std::uint64_t other[100];
  begin(1, other + 50);
  fbleprof_jumps(reinterpret_cast<std::uint64_t>(other + 20));
  EXPECT_EQ(own.open_count, 1u);
  fbleprof_jumps(reinterpret_cast<std::uint64_t>(other + 60));
  EXPECT_EQ(own.open_count, 0u);
}

TEST_F(Waits, TheEndOfOneThatWasTakenForLeftIsNoSecondEnd) {
  know_the_stack();
  call(0, 1, 1);
  wait(1, 1, 40'000, 0, [&] {
    // A handler on another stack jumps about on it.
    own.open_count = 0;
    recording.thread.record->wait_since_ns = 0;
  });
  EXPECT_EQ(own.open_count, 0u);
  wait(1, 1, 40'000, 0, [&] {
    own.open_count = 0;
    call(1, 2, 8);
    begin(2, words_at(8));  // in the place of the first
  });
  EXPECT_EQ(own.open_count, 0u);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 80'000u);
  EXPECT_EQ(recording.thread.record->wait_since_ns, 0u);
}

TEST_F(Waits, AnOpenOneWithoutAContextIsNotCharged) {
  call(0, 1, 1);
  auto* record = recording.thread.record;
  record->wait_since_ns = wall_now;
  record->wait_context = 0;
  wall_now += 50'000;
  signal_safe::charge_open_wait(recording.thread, cpu_now, wall_now);
  signal_safe::settle_wait_at_sample(recording.thread, frame_at(1));
  record->wait_context = recording.tree().root();
  recording.thread.waits = nullptr;
  signal_safe::charge_open_wait(recording.thread, cpu_now, wall_now);
  signal_safe::charge_switches(recording.thread, nullptr, rusage{});
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 0u);
  EXPECT_EQ(record->wait_since_ns, wall_now - 50'000);
}

TEST_F(Waits, AForkedChildGoesOnInItsOwnProfile) {
  call(0, 1, 1);
  static signal_safe::WaitThread* waits;
  for (signal_safe::WaitThread* each : {&own, static_cast<signal_safe::WaitThread*>(nullptr)}) {
    waits = each;
    recording.session.adopt_forked_child = [](signal_safe::ThreadState* thread) {
      thread->canary->alive = 1;
      thread->waits = waits;
    };
    recording.thread.canary->alive = 0;
    recording.thread.waits = &own;
    for (auto& one : own.known) one = {};
    wait(1, 1, 40'000);
    EXPECT_EQ(charged(1, signal_safe::kWaitNs), 40'000u) << "if the child records waits";
  }
}

TEST_F(Waits, AForeignThreadsClockIsNotRead) {
  call(0, 1, 1);
  recording.thread.tid += 1;  // a vfork child in our memory
  wait(1, 1, 40'000);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 0u);
}

TEST_F(Waits, BytesAreCountedWithoutAWait) {
  call(0, 1, 1);
  for (int i = 0; i < 3; ++i)
    wait(
        1, 1, 100, 100, [] {}, 4096);
  EXPECT_EQ(charged(1, signal_safe::kBytesRead), 3u * 4096);
}

TEST_F(Waits, WithoutAThreadNothingHappens) {
  fbleprof_hot = {};
  fbleprof_wait wait{};
  wait.frame = reinterpret_cast<std::uint64_t>(words_at(1));
  fbleprof_wait_begins(&wait);
  EXPECT_EQ(wait.since_ns, 0u);
  fbleprof_wait_ends(&wait, 5, 5);
  fbleprof_jumps(frame_at(8));
  fbleprof_letting_go(wait.frame, this);
  recording.attach();
  recording.thread.waits = nullptr;
  fbleprof_wait_begins(&wait);
  EXPECT_EQ(wait.since_ns, 0u);
  fbleprof_jumps(frame_at(8));
  fbleprof_letting_go(wait.frame, this);
  arch::MachineState at;
  at.sp = frame_at(8);
  EXPECT_FALSE(signal_safe::is_wait_ending(recording.thread, at.sp));
  EXPECT_EQ(charged(0, signal_safe::kWaits), 0u);
}

TEST_F(Waits, WhileRecordingIsOffNothingIsCharged) {
  call(0, 1, 1);
  recording.session.recording.store(false);
  wait(1, 1, 5'000'000);
  fbleprof_letting_go(reinterpret_cast<std::uint64_t>(words_at(1)), this);
  recording.session.recording.store(true);
  recording.session.options.waits = false;
  wait(1, 1, 5'000'000);
  recording.session.options.waits = true;
  EXPECT_EQ(charged(0, signal_safe::kWaits), 0u);
}

TEST_F(Waits, OfAThreadThatEndedMeanwhileWantsNothingMore) {
  call(0, 1, 1);
  const void* lock = &cpu_now;
  const std::uint16_t& wanted = fbleprof_wanted[signal_safe::wanted_place(lock)];
  const std::uint16_t before = wanted;
  std::uint64_t* frame = words_at(1);
  frame[1] = recording.code.site_in(1);
  fbleprof_wait wait{};
  wait.frame = reinterpret_cast<std::uint64_t>(frame);
  wait.object = lock;
  fbleprof_wait_begins(&wait);
  EXPECT_EQ(wanted, before + 1);
  // It was cancelled, and ends. The next thread takes over its memory.
  signal_safe::end_thread(own);
  EXPECT_EQ(wanted, before);
  signal_safe::start_thread(own);
  EXPECT_EQ(wanted, before);
  EXPECT_EQ(own.open_count, 0u);
  fbleprof_wait_begins(&wait);
  EXPECT_EQ(wanted, before + 1);
  fbleprof_hot = {};
  fbleprof_wait_ends(&wait, 0, 0);
  EXPECT_EQ(wanted, before);
}

TEST_F(Waits, OfMoreHandlersThanAreKeptApartNothingIsChargedTwice) {
  constexpr std::uint32_t kDeep = signal_safe::WaitThread::kOpen + 2;
  std::function<void(std::uint32_t)> nest = [&](std::uint32_t i) {
    call(i - 1, i, 1 + 8 * (i - 1));
    wait(i, 1 + 8 * (i - 1), 30'000, 0, [&, i] {
      if (i < kDeep) nest(i + 1);
    });
  };
  nest(1);
  EXPECT_EQ(charged(kDeep, signal_safe::kWaitNs), 30'000u);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), kDeep * 30'000u) << "all of it, once";
  EXPECT_EQ(recording.thread.record->wait_since_ns, 0u);
  expect_identity();
}

TEST_F(Waits, AnInterruptedWaitOfTheSlowPathIsNotCharged) {
  call(0, 1, 1);
  {
    const signal_safe::BusyGuard guard(recording.thread);
    wait(1, 1, 40'000);
    fbleprof_letting_go(reinterpret_cast<std::uint64_t>(words_at(1)), this);
  }
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 0u);
  sample(1, 1);
  EXPECT_EQ(charged(0, signal_safe::kUnseenNs), 40'000u);
  expect_identity();
}

int adoptions = 0;

TEST_F(Waits, AForkedChildAsksForItsOwnProfile) {
  call(0, 1, 1);
  wait(1, 1, 40'000);
  adoptions = 0;
  recording.session.adopt_forked_child = [](signal_safe::ThreadState*) {
    ++adoptions;
    fbleprof_hot = {};
  };
  recording.thread.canary->alive = 0;
  signal_safe::start_thread(own);  // as the kernel wipes it: no context is known
  for (auto& one : own.known) one = {};
  wait(1, 1, 40'000);
  EXPECT_EQ(adoptions, 1);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 40'000u) << "the parent's";
}

// What another thread does to turn recording off and on.
void turn_off(Recording& recording) {
  recording.session.recording = false;
  signal_safe::pause_open_waits(recording.thread, cpu_now, wall_now);
}
void turn_on(Recording& recording) {
  recording.thread.last_cpu_ns = cpu_now;
  recording.thread.last_wall_ns = wall_now;
  recording.session.recording = true;
  signal_safe::resume_open_waits(recording.thread, wall_now);
}

TEST_F(Waits, OnlyWhatIsRecordedOfAWaitIsCharged) {
  call(0, 1, 1);
  const auto* record = recording.thread.record;
  const auto off_and_on = [&] {
    turn_off(recording);
    EXPECT_EQ(record->wait_since_ns, 0u) << "a live reader shows none";
    EXPECT_EQ(charged(1, signal_safe::kWaitNs), 200'000u);
    wall_now += 5'000'000;
    turn_on(recording);
    EXPECT_EQ(record->wait_since_ns, wall_now);
    wall_now += 30'000;
  };
  wait(1, 1, 200'000, 0, off_and_on);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 230'000u);
  EXPECT_EQ(record->wait_since_ns, 0u);
  expect_identity();
}

TEST_F(Waits, AWaitThatEndsWhileRecordingIsOffIsChargedUpToThere) {
  call(0, 1, 1);
  wait(
      1, 1, 200'000, 0,
      [&] {
        turn_off(recording);
        wall_now += 5'000'000;
      },
      100);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 200'000u);
  EXPECT_EQ(charged(0, signal_safe::kBytesRead), 0u) << "it was read while recording was off";
  expect_identity();
}

TEST_F(Waits, AWaitThatEndsBeforeItsTurnAtTheEndOfRecordingChargesItself) {
  call(0, 1, 1);
  wait(1, 1, 200'000, 0, [&] {
    recording.session.recording = false;
    recording.session.arena.header()->off_since_ns = wall_now;
    wall_now += 3'000'000;
  });
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 200'000u);
  signal_safe::pause_open_waits(recording.thread, cpu_now, wall_now);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 200'000u) << "and nobody else does";
  recording.session.arena.header()->off_since_ns = 0;
  expect_identity();
}

TEST_F(Waits, AWaitWithoutAContextIsTheRootsWhenRecordingIsTurnedOff) {
  call(0, 1, 1);
  wait(1, 1, 200'000, 0, [&] {
    recording.thread.record->wait_context = 0;
    turn_off(recording);
    wall_now += 5'000'000;
  });
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 200'000u);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 0u);
}

TEST_F(Waits, AWaitThatBeganWhileRecordingWasOffIsChargedFromThere) {
  call(0, 1, 1);
  recording.session.recording = false;
  const void* object = &own;
  const std::uint16_t wanted = fbleprof_wanted[signal_safe::wanted_place(object)];
  std::uint64_t* frame = words_at(1);
  frame[1] = recording.code.site_in(1);
  fbleprof_wait wait{};
  wait.frame = reinterpret_cast<std::uint64_t>(frame);
  wait.callee = reinterpret_cast<const void*>(recording.code.start_of(kCallee));
  wait.object = object;
  fbleprof_wait_begins(&wait);
  EXPECT_EQ(recording.thread.record->wait_since_ns, 0u);
  wall_now += 5'000'000;
  turn_on(recording);
  wall_now += 70'000;
  EXPECT_EQ(recording.thread.record->wait_since_ns, wall_now - 70'000);
  EXPECT_EQ(recording.thread.record->wait_context, recording.tree().root());
  fbleprof_wait_ends(&wait, 0, 0);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 70'000u) << "its end finds its context";
  EXPECT_EQ(fbleprof_wanted[signal_safe::wanted_place(object)], wanted);
  expect_identity();
}

TEST_F(Waits, AWaitThatNeverEndsIsTheRootsIfItBeganWhileRecordingWasOff) {
  call(0, 1, 1);
  recording.session.recording = false;
  begin(1, words_at(1));
  wall_now += 5'000'000;
  turn_on(recording);
  wall_now += 70'000;
  signal_safe::charge_open_wait(recording.thread, cpu_now, wall_now);
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 0u);
  EXPECT_EQ(charged(0, signal_safe::kWaitNs), 70'000u);
  expect_identity();
}

TEST_F(Waits, AWaitThatIsEndingWhenRecordingIsTurnedOffIsLeftToTheThread) {
  call(0, 1, 1);
  wait(1, 1, 200'000, 0, [&] {
    own.ending_frame = 1;
    signal_safe::pause_open_waits(recording.thread, cpu_now, wall_now);
    EXPECT_EQ(charged(0, signal_safe::kWaitNs), 0u);
  });
  EXPECT_EQ(charged(1, signal_safe::kWaitNs), 200'000u);
}

TEST_F(Waits, AForkedChildOpensNoWaitInItsParentsRecord) {
  recording.session.recording = false;
  recording.thread.canary->alive = 0;
  wait(1, 1, 40'000, 0, [&] { EXPECT_EQ(own.open_count, 0u); });
}

TEST_F(Waits, ASampleInTheEndOfAWaitLeavesItsTime) {
  call(0, 1, 1);
  const std::uint64_t frame = frame_at(1);
  own.ending_frame = frame;
  own.left_out = 0;
  EXPECT_FALSE(signal_safe::is_wait_ending(recording.thread, frame)) << "it is above";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(signal_safe::is_wait_ending(recording.thread, frame - 64));
  }
  EXPECT_FALSE(signal_safe::is_wait_ending(recording.thread, frame - 64)) << "it was left";
  own.ending_frame = 0;
  EXPECT_FALSE(signal_safe::is_wait_ending(recording.thread, frame - 64));
}

TEST_F(Waits, ThatOthersEndAreTheirs) {
  call(0, 1, 1), call(1, 2, 2);
  const void* lock = &cpu_now;
  struct {
    format::WaitKind kind;
    std::uint32_t word, count;
    std::uint16_t flag;
  } const cases[] = {
      {format::WaitKind::kForOther, signal_safe::kHeldNs, signal_safe::kHolds,
       format::kFunctionHolder},
      {format::WaitKind::kForPeers, signal_safe::kWokeNs, signal_safe::kWakes,
       format::kFunctionWaker},
  };
  for (const auto& each : cases) {
    std::uint64_t* frame = words_at(2);
    frame[0] = 0;
    frame[1] = recording.code.site_in(2);
    fbleprof_wait waiting{};
    waiting.frame = reinterpret_cast<std::uint64_t>(frame);
    waiting.callee = reinterpret_cast<const void*>(recording.code.start_of(kCallee));
    waiting.kind = each.kind;
    waiting.object = lock;
    fbleprof_wait_begins(&waiting);
    wall_now += 300'000;
    // Another thread, in 1.
    fbleprof_letting_go(reinterpret_cast<std::uint64_t>(frame), lock);
    wall_now += 100'000;
    fbleprof_wait_ends(&waiting, 0, 0);
    EXPECT_EQ(charged(0, each.word), 400'000u);
    EXPECT_EQ(charged(0, each.count), 1u);
    bool has_stand_in = false;
    for (const auto& node : recording.nodes()) {
      const format::Ref function = recording.tree().function_of(node.ref);
      const auto* record = recording.session.arena.at<format::Function>(function);
      has_stand_in |= (record->flags & format::kFunctionStandIn) == each.flag;
    }
    EXPECT_TRUE(has_stand_in);
  }
  EXPECT_EQ(charged(0, signal_safe::kPeerWaitNs), 400'000u);
}

class Wakers : public Waits {
 protected:
  // A note of now for an object, charged with a wait that began `since` ns ago.
  format::Ref charged_to(const void* object, std::uint64_t since) {
    return signal_safe::charge_waker(recording.session, object, false, wall_now - since, 5);
  }
};

TEST_F(Wakers, ANoteIsUsedIfItsObjectAndTimeMatch) {
  call(0, 1, 1);
  const format::Ref node = signal_safe::node_of(recording.thread, fbleprof_hot.top);
  const void* object = &cpu_now;
  EXPECT_EQ(charged_to(object, 10), 0u) << "nobody noted anything";
  signal_safe::note_waker(recording.session, object, node);
  EXPECT_EQ(charged_to(object, 10), node);
  EXPECT_EQ(charged_to(object, 0), node);
  wall_now += 1000;
  EXPECT_EQ(charged_to(object, 10), 0u) << "it was before this wait";
  EXPECT_EQ(charged_to(object, 1000), node);
  const auto* other = reinterpret_cast<const char*>(object) + 8;
  for (int i = 0; i < 10'000; ++i) {
    if (signal_safe::wanted_place(other) == signal_safe::wanted_place(object)) break;
    other += 8;
  }
  ASSERT_EQ(signal_safe::wanted_place(other), signal_safe::wanted_place(object));
  EXPECT_EQ(charged_to(other, 1000), 0u) << "another object's";
  wall_now += 100'000'000;
  EXPECT_EQ(charged_to(object, 200'000'000), 0u) << "too long ago";
  signal_safe::note_waker(recording.session, object, node);
  recording.session.start_monotonic_ns += 1;
  EXPECT_EQ(charged_to(object, 10), 0u) << "of the parent's profile";
  signal_safe::note_waker(recording.session, object, 0);
  EXPECT_EQ(charged_to(object, 10), 0u) << "the context is not known";
}

// The kernel's ring of notes when a thread left its processor and came back.
class Preemption : public Waits {
 protected:
  Preemption() {
    ring = static_cast<char*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    recording.thread.switches.page = ring;
  }
  ~Preemption() override { munmap(ring, 8192); }

  __u64& head() { return reinterpret_cast<perf_event_mmap_page*>(ring)->data_head; }
  void note(std::uint16_t misc, std::uint64_t at_ns, std::uint32_t type = PERF_RECORD_SWITCH) {
    struct {
      perf_event_header header;
      std::uint64_t at_ns;
    } one = {{type, misc, 16}, at_ns};
    std::memcpy(ring + 4096 + head() % 4096, &one, sizeof one);
    head() += sizeof one;
  }
  static constexpr std::uint16_t kOut = PERF_RECORD_MISC_SWITCH_OUT,
                                 kPreempted = kOut | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  std::uint64_t taken() { return signal_safe::take_preempted(recording.thread); }

  char* ring;
};

TEST_F(Preemption, IsFromLeavingToComingBack) {
  EXPECT_EQ(taken(), 0u) << "nothing is noted";
  note(kPreempted, 1000), note(0, 1500);
  note(kOut, 2000), note(0, 9000);  // a wait
  note(kPreempted, 10'000), note(0, 10'020);
  EXPECT_EQ(taken(), 520u);
  EXPECT_EQ(taken(), 0u) << "nothing twice";
  note(0, 11'000);  // without having left
  note(kPreempted, 13'000), note(0, 12'000);
  EXPECT_EQ(taken(), 0u);
  recording.thread.switches.left_ns = 20'000;
  note(0, 20'300);
  EXPECT_EQ(taken(), 300u) << "it left before the last look";
}

TEST_F(Preemption, WhatTheKernelWroteOverIsNotKnown) {
  for (int i = 0; i < 200; ++i) note(kPreempted, 1000), note(0, 1500);
  EXPECT_EQ(taken(), 0u);
  note(kPreempted, 1000), note(0, 1500);
  EXPECT_EQ(taken(), 500u) << "what follows is";
  recording.thread.switches.is_old = true;
  note(kPreempted, 1000), note(0, 1500);
  EXPECT_EQ(taken(), 0u);
  note(kPreempted, 1000), note(0, 1500, PERF_RECORD_LOST);
  EXPECT_EQ(taken(), 0u) << "another kind of note";
  recording.thread.switches.page = nullptr;
  EXPECT_EQ(taken(), 0u);
}

TEST_F(Preemption, IsChargedToTheContextOfASample) {
  call(0, 1, 1);
  note(kPreempted, 1000), note(0, 1500);
  compute(1000);
  sample(1, 1);
  std::uint64_t sum = 0;
  for (const auto& node : recording.nodes()) {
    const format::Ref row = recording.tree().node_at(node.ref)->values;
    if (row == 0 || node.function != 1) continue;
    sum += recording.session.arena.at<std::uint64_t>(
        row)[signal_safe::kValueWords + std::uint32_t{signal_safe::kPreemptedNs}];
  }
  EXPECT_EQ(sum, 500u);
}

}  // namespace
}  // namespace fbleprof
