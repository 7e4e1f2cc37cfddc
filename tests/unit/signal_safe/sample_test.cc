// What a sample charges, and to which context, on a recorder without a program and with a clock
// that the test sets.
#include "signal_safe/sample.h"

#include <gtest/gtest.h>

#include "signal_safe/enter.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using signal_safe::Sampled;
using test::Recording;

std::uint64_t cpu_now = 0, wall_now = 0;
std::uint64_t cpu_per_look = 0;  // passes between two looks at the clock

class Samples : public testing::Test {
 protected:
  Samples() {
    cpu_now = wall_now = 1000;
    cpu_per_look = 0;
    recording.session.clocks = {[] { return cpu_now += cpu_per_look; }, [] { return wall_now; }};
    recording.thread.last_cpu_ns = cpu_now;
    recording.thread.last_wall_ns = wall_now;
    recording.attach();
  }

  void call(std::uint32_t caller, std::uint32_t callee, std::uint64_t depth) {
    const signal_safe::HookState at{recording.code.hook_of(callee), frame_at(depth) + 8, 0};
    fbleprof_enter_slow(fbleprof_hot.top, frame_at(depth), recording.code.site_in(caller),
                        recording.code.hook_of(callee), HOOK_NATIVE, &at);
  }
  static std::uint64_t frame_at(std::uint64_t depth) {
    return (std::uint64_t{1} << 46) - depth * 64;
  }

  // `cpu` ns later a signal meets the thread in `function`, at stack depth `depth`.
  void sample(std::uint32_t function, std::uint64_t depth, std::uint64_t cpu) {
    cpu_now += cpu, wall_now += cpu + 5;
    arch::MachineState at;
    at.pc = recording.code.site_in(function);
    at.sp = frame_at(depth) - 16;
    signal_safe::charge_sample(recording.thread, at, Sampled::kAll);
  }

  // By function: cpu, wall, samples and own cost, over all contexts.
  struct Charged {
    std::uint64_t cpu = 0, wall = 0, samples = 0, own_cost = 0;
    bool operator==(const Charged&) const = default;
  };
  std::map<std::uint32_t, Charged> charged() {
    std::map<std::uint32_t, Charged> result;
    for (const auto& node : recording.nodes()) {
      const format::Ref block = recording.tree().node_at(node.ref)->values;
      if (block == 0) continue;
      const auto* values = recording.session.arena.at<std::uint64_t>(block);
      if (values[signal_safe::kSamples] == 0) continue;
      Charged& to = result[node.function];
      to.cpu += values[signal_safe::kCpuNs];
      to.wall += values[signal_safe::kWallNs];
      to.samples += values[signal_safe::kSamples];
      to.own_cost += values[signal_safe::kOwnCostNs];
    }
    return result;
  }

  Recording recording;
};

TEST_F(Samples, ElapsedTimeGoesToTheFunctionThatRuns) {
  call(0, 1, 1), call(1, 2, 2);
  sample(2, 2, 100);
  sample(2, 2, 200);
  sample(1, 1, 40);  // 2 has returned
  EXPECT_EQ(charged(),
            (std::map<std::uint32_t, Charged>{{1, {40, 45, 1, 0}}, {2, {300, 310, 2, 0}}}));
  EXPECT_EQ(recording.thread.record->cpu_ns, 340u);
}

TEST_F(Samples, StaleEntryIsNotCharged) {
  call(0, 1, 1), call(1, 2, 2);
  // 1 runs, with its stack pointer still below the frame of 2, which has returned.
  sample(1, 5, 70);
  EXPECT_EQ(charged().count(2), 0u);
  EXPECT_EQ(charged().at(1).cpu, 70u);
}

TEST_F(Samples, OwnTextIsOwnCost) {
  call(0, 1, 1);
  recording.session.text_begin = recording.code.start_of(50);
  recording.session.text_end = recording.code.start_of(60);
  sample(55, 1, 30);
  EXPECT_EQ(charged(), (std::map<std::uint32_t, Charged>{{1, {0, 5, 1, 30}}}));
}

TEST_F(Samples, SampleOfTheSlowPathChangesNoTreeAndLosesNoTime) {
  call(0, 1, 1);
  sample(1, 1, 10);
  const auto before = recording.ways();
  {
    signal_safe::BusyGuard guard(recording.thread);
    sample(1, 1, 90);
  }
  EXPECT_EQ(recording.ways(), before);
  EXPECT_EQ(charged(), (std::map<std::uint32_t, Charged>{{1, {10, 20, 2, 90}}}));
}

TEST_F(Samples, AfterALongWalkTheProgramRunsOnAndAStallDoesNotMakeItLonger) {
  constexpr std::uint64_t kMs = 1'000'000;
  for (std::uint32_t i = 0; i < 5000; ++i) call(i == 0 ? 0 : 1, 1, i + 1);
  const auto samples = [this] { return charged().at(1).samples; };
  cpu_per_look = 10 * kMs;  // the walk takes 10 ms
  sample(1, 5000, kMs);
  cpu_per_look = 0;
  EXPECT_EQ(samples(), 1u);
  sample(1, 5000, 39 * kMs);
  EXPECT_EQ(samples(), 1u) << "four times the walk";
  sample(1, 5000, 2 * kMs);
  EXPECT_EQ(samples(), 2u);
  cpu_per_look = 3000 * kMs;
  sample(1, 5000, kMs);
  cpu_per_look = 0;
  EXPECT_EQ(samples(), 3u);
  sample(1, 5000, 399 * kMs);
  EXPECT_EQ(samples(), 3u);
  sample(1, 5000, 2 * kMs);
  EXPECT_EQ(samples(), 4u);
  EXPECT_EQ(charged().at(1).cpu, cpu_now - 1000);
}

TEST_F(Samples, RestGoesToTheLastSampledContext) {
  call(0, 1, 1), call(1, 2, 2);
  sample(2, 2, 100);
  cpu_now += 25;
  signal_safe::charge_rest(recording.thread);
  EXPECT_EQ(charged().at(2).cpu, 125u);
}

TEST_F(Samples, RestOfAThreadNeverSampledGoesToTheRoot) {
  call(0, 1, 1);
  cpu_now += 25;
  signal_safe::charge_rest(recording.thread);
  EXPECT_EQ(charged().at(Recording::kSpecial + 2).cpu, 25u);
}

TEST_F(Samples, StoppedRecordingChargesNothing) {
  call(0, 1, 1);
  recording.session.recording.store(false);
  sample(1, 1, 100);
  EXPECT_TRUE(charged().empty());
}

TEST_F(Samples, EventsGoToTheFunctionThatRunsWithoutTime) {
  call(0, 1, 1), call(1, 2, 2);
  recording.session.options.event = 1;
  recording.session.text_begin = recording.code.start_of(9);
  recording.session.text_end = recording.code.start_of(10);
  const auto events_in = [&](std::uint32_t function, std::uint64_t depth, std::uint64_t events) {
    arch::MachineState at;
    at.pc = recording.code.site_in(function);
    at.sp = frame_at(depth) - 16;
    signal_safe::charge_events(recording.thread, at, events);
  };
  const auto events = [&] {
    std::map<std::uint32_t, std::uint64_t> result;
    for (const auto& node : recording.nodes()) {
      const format::Ref row = recording.tree().node_at(node.ref)->values;
      if (row == 0) continue;
      const auto* values = recording.session.arena.at<std::uint64_t>(row);
      EXPECT_EQ(values[signal_safe::kCpuNs], 0u);
      if (values[signal_safe::kEvents] != 0) result[node.function] += values[signal_safe::kEvents];
    }
    return result;
  };
  events_in(2, 2, 100);
  events_in(1, 1, 10);
  events_in(1, 1, 10);
  const std::map<std::uint32_t, std::uint64_t> charged = {{1, 20}, {2, 100}};
  EXPECT_EQ(events(), charged);
  EXPECT_EQ(recording.thread.record->samples, 3u);
  events_in(9, 1, 1000);
  EXPECT_EQ(events(), charged) << "the recorder's own are left out";
  {
    const signal_safe::BusyGuard guard(recording.thread);
    events_in(1, 1, 1000);
  }
  EXPECT_EQ(events(), charged) << "the tree was just being changed";
  recording.session.recording.store(false);
  events_in(1, 1, 1000);
  EXPECT_EQ(events(), charged) << "recording is off";
}

}  // namespace
}  // namespace fbleprof
