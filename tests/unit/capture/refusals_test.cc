// What reaches the recorder when it must not act: its profile has ended, the process is a copy of
// the profiled one, the program has confined itself, or fble-prof sends orders that cannot be
// obeyed now.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "capture/adapters.h"
#include "capture/api.h"
#include "capture/attached_calls.h"
#include "capture/attached_orders.h"
#include "capture/confinement.h"
#include "capture/control.h"
#include "capture/found_threads.h"
#include "capture/kept_snapshots.h"
#include "capture/loading.h"
#include "capture/profile.h"
#include "capture/switching.h"
#include "capture/text_changes.h"
#include "capture/text_memory.h"
#include "capture/threads.h"
#include "capture/throttling.h"
#include "signal_safe/session.h"
#include "tests/support/refused_calls.h"
#include "tests/unit/capture/started_session.h"

namespace fbleprof::capture {

extern "C" void fbleprof_modules_changed();
extern "C" void fbleprof_meet_thread(std::uint64_t sp);

namespace {

using format::OrderAnswer;
using format::OrderStep;
using format::RecorderOrder;
using signal_safe::session;

class Refusals : public test::StartedSession {
 protected:
  Refusals() {
    profile.pid = static_cast<std::uint32_t>(getpid());
    session.start_monotonic_ns = 1;
    // The program's copy of the loader's state is from the time before it was relocated.
    _r_debug.r_state = r_debug::RT_CONSISTENT;
  }
  ~Refusals() override {
    profile.finished = profile.confined = code_is_fixed = false;
    profile.settings = Settings();
    session.recording.store(false);
    session.due_ns.store(signal_safe::kNever);
    end_turn();
  }

  // Runs the test in each state in which the recorder must do nothing.
  static void in_each_state(const std::function<void(const char*)>& test) {
    profile.finished = true;
    test("its profile has ended");
    profile.finished = false;
    profile.pid += 1;
    test("a copy of the process");
    profile.pid -= 1;
    profile.confined = true;
    test("confined");
    profile.confined = false;
  }
};

TEST_F(Refusals, RecordingStaysAsItIs) {
  Settings settings;
  settings.start = false;
  begin_recording(settings);
  in_each_state([](const char* state) {
    for (const bool is_on : {false, true}) {
      session.recording.store(is_on);
      start_recording();
      EXPECT_EQ(session.recording.load(), is_on) << state;
      stop_recording();
      EXPECT_EQ(session.recording.load(), is_on) << state;
      session.arena.header()->request = format::Request::kStop;
      session.obey();
      EXPECT_EQ(session.recording.load(), is_on) << state;
      EXPECT_EQ(session.arena.header()->request, format::Request::kStop) << "left for later";
      if (!profile.confined) fbleprof_obey();
      session.arena.header()->request = format::Request::kNone;
    }
  });
}

TEST_F(Refusals, ARequestForWhatIsSoAlreadyChangesNothing) {
  Settings settings;
  settings.start = false;
  begin_recording(settings);
  session.recording.store(true);
  const std::uint64_t due = session.due_ns.load();
  session.arena.header()->request = format::Request::kStart;
  session.obey();
  EXPECT_TRUE(session.recording.load());
  EXPECT_EQ(session.due_ns.load(), due);
  EXPECT_EQ(session.arena.header()->request, format::Request::kNone);
  session.recording.store(false);
  session.arena.header()->request = format::Request::kStop;
  session.obey();
  EXPECT_FALSE(session.recording.load());
  EXPECT_FALSE(is_control_signal(0)) << "no signal is set";
  profile.settings.control_signal = SIGUSR2;
  EXPECT_TRUE(is_control_signal(SIGUSR2));
  EXPECT_FALSE(is_control_signal(SIGUSR1));
}

TEST_F(Refusals, TheControlSignalIsTakenAndIgnored) {
  Settings settings;
  settings.start = false;
  settings.control_signal = SIGUSR2;
  begin_recording(settings);
  in_each_state([](const char* state) {
    raise(SIGUSR2);
    EXPECT_FALSE(session.recording.load()) << state;
    EXPECT_EQ(session.arena.header()->request, format::Request::kNone) << state;
  });
  signal(SIGUSR2, SIG_DFL);
}

TEST_F(Refusals, ADurationBeginsWithTheProfile) {
  Settings settings;
  settings.start = true;
  settings.duration_ns = 1'000'000'000;
  begin_recording(settings);
  EXPECT_TRUE(session.recording.load());
  EXPECT_EQ(session.due_ns.load(), session.start_monotonic_ns + 1'000'000'000);
  session.recording.store(false);
  settings.delay_ns = 5'000'000'000;
  begin_recording(settings);
  EXPECT_FALSE(session.recording.load());
  EXPECT_EQ(session.due_ns.load(), session.start_monotonic_ns + 5'000'000'000);
  go_on_watching();
  EXPECT_FALSE(session.recording.load());
}

TEST_F(Refusals, NoSnapshotIsTakenAndNoLibraryLookedAt) {
  const std::uint64_t used = session.arena.used_bytes();
  profile.settings.python = true;
  for (const bool is_copy : {false, true}) {
    profile.pid += is_copy;
    profile.finished = !is_copy;
    EXPECT_EQ(take_snapshot("one"), -1);
    EXPECT_EQ(count_anew(), -1);
    fbleprof_modules_changed();
    load_python_adapter();
    before_confinement();
    // Where recording is over, no system calls may follow, either.
    EXPECT_EQ(profile.confined, !is_copy);
    profile.finished = profile.confined = false;
  }
  profile.pid -= 1;
  profile.confined = true;
  fbleprof_modules_changed();
  EXPECT_EQ(session.arena.used_bytes(), used);
  EXPECT_FALSE(is_python_itself());
}

TEST_F(Refusals, AThreadOfAnEndedProfileIsNotAttached) {
  in_each_state([](const char* state) {
    session.recording.store(true);
    fbleprof_meet_thread(reinterpret_cast<std::uint64_t>(&state));
    EXPECT_EQ(fbleprof_hot.self, nullptr) << state;
    session.recording.store(false);
  });
  fbleprof_meet_thread(8);
  EXPECT_EQ(fbleprof_hot.self, nullptr) << "recording is off";
}

TEST_F(Refusals, FrequentFunctionsKeepTheirHooks) {
  session.options.throttle = 1000;
  begin_throttling();
  ASSERT_NE(session.unhook, nullptr);
  // Slots of a module that was unloaded, as if their functions were called too often.
  format::Module module{};
  module.begin = 0x2000'0000'0000;
  module.end = module.begin + 4096;
  const Region* region = take_region(module, RegionUse::kTrampolines, {1, 1}, 4096);
  ASSERT_NE(region, nullptr);
  recognize_throttled();
  const std::uint64_t used = session.arena.used_bytes();
  const std::uint64_t hook = 0x1234;
  const auto ask = [&] { session.unhook(&hook, 1); };
  in_each_state([&](const char*) { ask(); });
  code_is_fixed = true;
  ask();
  code_is_fixed = false;
  {
    const CodeLock lock;  // another thread's
    ask();
  }
  ask();  // it is in no code of ours
  EXPECT_EQ(session.arena.used_bytes(), used) << "nothing is noted";
  session.options.throttle = 0;
}

TEST_F(Refusals, ReadersOfStacksNeedAProfileAndAThread) {
  const auto reader = [](void*, fbleprof_frame*) { return 0; };
  profile.finished = true;
  EXPECT_EQ(fbleprof_read_stack(&profile, reader), -1);
  profile.finished = false;
  int added = 0;
  while (added < 100 && fbleprof_read_stack(&profile, reader) == 0) ++added;
  EXPECT_GT(added, 0);
  EXPECT_LT(added, 100) << "their number is limited";
  const void* functions[4];
  EXPECT_EQ(fbleprof_callers(functions, 4), 0);
  EXPECT_EQ(fbleprof_interrupted_registers(), nullptr);
  session.recording.store(true);
  EXPECT_EQ(fbleprof_is_enabled(), 0) << "this thread is not recorded";
  fbleprof_adapter_code(reinterpret_cast<const void*>(8));  // no code
  EXPECT_FALSE(session.adapters.contains(8));
}

// -- Turns --

TEST_F(Refusals, AnotherTracersTurnEndsWithIt) {
  const auto own = static_cast<std::uint32_t>(getpid());
  EXPECT_TRUE(take_turn(own));
  EXPECT_TRUE(take_turn(own)) << "it is its turn already";
  EXPECT_FALSE(take_turn(1));
  end_turn();
  EXPECT_TRUE(take_turn(0x7fff'fff0));
  EXPECT_TRUE(take_turn(own)) << "no such process runs any more";
  end_turn();
}

TEST_F(Refusals, PlacesAreLimitedInNumber) {
  static Watch watch = {};
  static std::uint8_t code[32 * 16];
  for (int i = 0; i < 20; ++i) {
    add_place(watch, code + 16 * i, reinterpret_cast<std::uint64_t>(code), true);
  }
  EXPECT_EQ(watch.head.count, Watch::kMostPlaces);
  text_state.lists = watch.head.next;
}

// -- Lines for the user --

TEST_F(Refusals, ControlCharactersOfPathsDoNotReachTheTerminal) {
  profile.settings.verbose = true;
  const int pipe_ends = [] {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    return ends[0] << 16 | ends[1];
  }();
  const int from = pipe_ends >> 16, to = pipe_ends & 0xffff, before = dup(2);
  dup2(to, 2);
  say("a\x7f\x1b[2J \xc2\x9b \xc2\xa9 \xc2");
  dup2(before, 2);
  close(to), close(before);
  char text[200] = {};
  EXPECT_GT(read(from, text, sizeof text - 1), 0);
  close(from);
  EXPECT_STREQ(text, "fbleprof: a??[2J ? \xc2\xa9 \xc2\n");
}

// -- Orders of `fble-prof attach` --

class Orders : public Refusals {
 protected:
  Orders() {
    std::memcpy(order->magic, format::kOrderMagic, sizeof order->magic);
    order->version = format::kOrderVersion;
    order->tracer = static_cast<std::uint32_t>(getpid());
    order->step = OrderStep::kNameUnfiltered;
  }
  // In a process of its own, which was attached to: that cannot be taken back.
  void attached(const std::function<void()>& test) {
    EXPECT_EXIT(
        {
          profile.pid = order->tracer = static_cast<std::uint32_t>(getpid());
          expect_found_threads([] {});
          test();
          std::exit(testing::Test::HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
  }
  OrderAnswer answer(OrderStep step) {
    order->step = step;
    order->answer = OrderAnswer::kNotNow;
    order->reason[0] = 0;
    obey_order(*order);
    return order->answer;
  }
  // A module that stays, although the loader does not list it.
  format::Module& add_known(std::uint64_t begin, const char* path, const std::string& id = "") {
    auto& module = add_module(begin, 4096, path, id);
    module.flags |= format::kModuleIsMain;
    return module;
  }
  std::string reason() const { return order->reason; }

  std::unique_ptr<RecorderOrder> order = std::make_unique<RecorderOrder>();
};

using OrdersDeathTest = Orders;

TEST_F(Orders, OfAnotherFbleProfAreRefused) {
  order->version += 1;
  EXPECT_EQ(answer(OrderStep::kWatch), OrderAnswer::kRefused);
  EXPECT_NE(reason().find("another fble-prof"), std::string::npos);
  order->magic[0] ^= 1;
  EXPECT_EQ(answer(OrderStep::kWatch), OrderAnswer::kNotNow) << "it is no order";
}

TEST_F(Orders, AreRefusedIfTheRecorderCannotObey) {
  EXPECT_EQ(answer(OrderStep::kFilter), OrderAnswer::kRefused);
  EXPECT_NE(reason().find("started with the recorder"), std::string::npos);
  EXPECT_EQ(answer(OrderStep::kWatch), OrderAnswer::kDone) << "it watches since its start";
  profile.finished = true;
  EXPECT_EQ(answer(OrderStep::kWatch), OrderAnswer::kRefused);
  EXPECT_NE(reason().find("has ended"), std::string::npos);
  profile.finished = false;
  profile.pid += 1;
  EXPECT_EQ(answer(OrderStep::kWatch), OrderAnswer::kRefused);
  EXPECT_NE(reason().find("has ended"), std::string::npos);
}

TEST_F(OrdersDeathTest, WaitForTheLoaderAndForOtherOrders) {
  attached([&] {
    _r_debug.r_state = r_debug::RT_ADD;
    EXPECT_EQ(answer(OrderStep::kNameUnfiltered), OrderAnswer::kNotNow);
    _r_debug.r_state = r_debug::RT_CONSISTENT;
    EXPECT_TRUE(take_turn(1));
    EXPECT_EQ(answer(OrderStep::kNameUnfiltered), OrderAnswer::kNotNow);
    end_turn();
    EXPECT_EQ(answer(OrderStep::kNameUnfiltered), OrderAnswer::kDone);
    EXPECT_EQ(answer(static_cast<OrderStep>(99)), OrderAnswer::kDone) << "a step of later versions";
  });
}

TEST_F(OrdersDeathTest, ToCountAreRefusedWhereCodeCannotChange) {
  attached([&] {
    profile.confined = true;
    EXPECT_EQ(answer(OrderStep::kChooseModules), OrderAnswer::kRefused);
    EXPECT_NE(reason().find("confined"), std::string::npos);
    profile.confined = false;
    code_is_fixed = true;
    EXPECT_EQ(answer(OrderStep::kPrepareCounting), OrderAnswer::kRefused);
    EXPECT_EQ(reason(), kCodeIsFixed);
    code_is_fixed = false;
    expect_found_threads(nullptr);
    EXPECT_EQ(answer(OrderStep::kFinishCounting), OrderAnswer::kRefused);
    EXPECT_NE(reason().find("ends of threads"), std::string::npos);
  });
}

// -- Threads that ran before --

class FoundThreads : public Orders {};
using FoundThreadsDeathTest = FoundThreads;

TEST_F(FoundThreadsDeathTest, AreForgottenWhenTheyHaveEndedNotWhenALookMissesThem) {
  attached([] {
    expect_found_threads(nullptr);
    const auto attach_here = [] {
      attach_found_thread(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
      find_threads();
      return static_cast<std::uint32_t>(gettid());
    };
    const std::uint32_t own = attach_here();
    std::uint32_t other = 0;
    std::thread([&] { EXPECT_TRUE(is_attached(other = attach_here())); }).join();
    EXPECT_TRUE(is_attached(own));
    // The directory of threads looks empty.
    if (!test::without_calls({{SYS_getdents64, 0}}, find_threads)) return;
    EXPECT_TRUE(is_attached(own));
    EXPECT_FALSE(is_attached(other));
  });
}

TEST_F(OrdersDeathTest, NameModulesWhosePathsHaveRoom) {
  attached([&] {
    profile.settings.filter = Text<4096>{"parse*"};
    const std::string long_path = "/" + std::string(3000, 'p');
    add_known(0x3000'0000'0000, long_path.c_str());
    EXPECT_EQ(answer(OrderStep::kNameUnfiltered), OrderAnswer::kDone);
    EXPECT_STREQ(order->filter, "parse*");
    const std::uint32_t before = order->count;
    for (std::uint64_t i = 1; i < 200; ++i) {
      add_known(0x3000'0000'0000 + 4096 * i, "/nowhere/one.so");
    }
    EXPECT_EQ(answer(OrderStep::kNameUnfiltered), OrderAnswer::kDone);
    EXPECT_EQ(order->count, format::kMostOrderModules);
    EXPECT_LT(before, order->count);
    // Tables for modules that are gone, that have one, and damaged ones.
    order->count = 2;
    order->modules[0].begin = 8;
    order->modules[1].begin = 0x3000'0000'1000;
    order->modules[1].given = reinterpret_cast<std::uint64_t>(long_path.data());
    order->modules[1].given_bytes = long_path.size();
    EXPECT_EQ(answer(OrderStep::kFilter), OrderAnswer::kDone);
    profile.settings.filter = Text<4096>{};
    EXPECT_EQ(answer(OrderStep::kFilter), OrderAnswer::kDone) << "nothing lacks a table";
  });
}

TEST_F(OrdersDeathTest, ToCountNeedPlans) {
  attached([&] {
    const std::string folder = "/" + std::string(1018, 'f');
    const std::string long_path = "/" + std::string(3000, 'p');
    std::strcpy(order->choice, "all");
    std::strcpy(order->plan_folder, "/nowhere");
    add_known(0x3100'0000'0000, long_path.c_str(), "id");
    for (int i = 0; i < 2; ++i) {  // what cannot be counted is said once
      EXPECT_EQ(answer(OrderStep::kChooseModules), OrderAnswer::kDone);
      for (std::uint32_t k = 0; k < order->count; ++k) {
        EXPECT_NE(order->modules[k].begin, 0x3100'0000'0000u) << "no room for its path";
      }
    }
    for (std::uint64_t i = 0; i < 150; ++i) {
      add_known(0x3200'0000'0000 + 4096 * i, "/nowhere/two.so", "id");
    }
    EXPECT_EQ(answer(OrderStep::kChooseModules), OrderAnswer::kDone);
    EXPECT_EQ(order->count, format::kMostOrderModules);
    std::strcpy(order->plan_folder, folder.c_str());
    EXPECT_EQ(answer(OrderStep::kChooseModules), OrderAnswer::kDone);
    EXPECT_LT(order->count, format::kMostOrderModules) << "no room for the plans' paths";
    // Plans that fble-prof could not make, or that are damaged; modules that are gone or counted.
    order->count = 4;
    order->modules[0].begin = 8;
    order->modules[1].begin = 0x3200'0000'0000;
    order->modules[1].given = 0;
    order->modules[2].begin = 0x3200'0000'1000;
    order->modules[2].given = reinterpret_cast<std::uint64_t>(long_path.data());
    order->modules[2].given_bytes = long_path.size();
    auto& counted = add_known(0x3300'0000'0000, "/nowhere/three.so");
    counted.flags |= format::kModuleIsExact;
    order->modules[3].begin = counted.begin;
    EXPECT_EQ(answer(OrderStep::kPrepareCounting), OrderAnswer::kDone);
    EXPECT_EQ(answer(OrderStep::kFinishCounting), OrderAnswer::kDone);
    EXPECT_EQ(answer(OrderStep::kUnwatch), OrderAnswer::kDone);
    session.recording.store(true);
    EXPECT_EQ(answer(OrderStep::kUnwatch), OrderAnswer::kDone) << "the handler is needed";
    session.recording.store(false);
  });
}

// The loader calls us when libraries come and go, through a slot near it.
TEST_F(OrdersDeathTest, TheLoadersCallsAreHeardAtTheirTime) {
  attached([&] {
    std::strcpy(order->choice, "none");
    std::strcpy(order->tool, "/nowhere/fble-prof");
    profile.settings.filter = Text<4096>{"parse*"};
    EXPECT_EQ(answer(OrderStep::kWatch), OrderAnswer::kDone);
    EXPECT_EQ(answer(OrderStep::kPrepareCounting), OrderAnswer::kDone);
    void (*changed)() = nullptr;
    for_each_code_region([&](const Region& region) {
      if (region.use == RegionUse::kWatch) std::memcpy(&changed, region.base, sizeof changed);
    });
    ASSERT_NE(changed, nullptr);
    text_state.is_counting = 1;
    EXPECT_EQ(answer(OrderStep::kWatch), OrderAnswer::kDone);
    in_each_state([&](const char*) { changed(); });
    for (const auto state :
         {r_debug::RT_ADD, r_debug::RT_CONSISTENT, r_debug::RT_DELETE, r_debug::RT_CONSISTENT}) {
      _r_debug.r_state = state;
      changed();
    }
    EXPECT_TRUE(take_turn(1));
    changed();  // another order is obeyed: this library is only sampled
    EXPECT_FALSE(take_turn(static_cast<std::uint32_t>(getpid())));
    end_turn();
    EXPECT_EQ(text_state.is_changing, 0u);
  });
}

}  // namespace
}  // namespace fbleprof::capture
