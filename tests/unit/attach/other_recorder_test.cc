// A recorder that is not ours, or lies: it is only believed as far as it can be checked.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstring>
#include <memory>

#include "attach/attach.h"
#include "attach/exact.h"
#include "attach/filter.h"
#include "attach/memory.h"
#include "attach/orders.h"
#include "attach/text_changes.h"
#include "format/recorder_order.h"
#include "tests/unit/attach/traced_child.h"

namespace fbleprof::attach {
namespace {

using format::OrderAnswer;
using format::OrderStep;
using format::RecorderOrder;
using format::TextChange;
using format::TextChanges;
using format::TextState;
using test::sleep_until_told;
using test::TracedChild;

constexpr char kLibrary[] = OTHER_RECORDER;

void* library = nullptr;

template <typename Type>
Type& in_recorder(const char* name) {
  return *static_cast<Type*>(dlsym(library, name));
}

TextState& state() { return in_recorder<TextState>("other_state"); }
RecorderOrder& answer() { return in_recorder<RecorderOrder>("other_answer"); }

// Each test sets what the recorder in the child will say, before there is a child.
class OtherRecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::may_trace()) GTEST_SKIP() << "the system forbids tracing";
    library = dlopen(kLibrary, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    std::memset(&state(), 0, sizeof state());
    std::memset(&answer(), 0, sizeof answer());
  }
  // Other tests have no recorder in their processes.
  void TearDown() override {
    if (library) dlclose(library);
  }
  pid_t begin() {
    child_ = std::make_unique<TracedChild>(sleep_until_told);
    EXPECT_TRUE(child_->waits_in(SYS_clock_nanosleep));
    return child_->pid();
  }
  void expect_unharmed() { EXPECT_EQ(child_->end(), 0); }

 private:
  std::unique_ptr<TracedChild> child_;
};

TEST_F(OtherRecorderTest, IsFoundWithItsProfile) {
  const pid_t pid = begin();
  const auto recorder = find_recorder(pid, kLibrary);
  ASSERT_TRUE(recorder.ok());
  EXPECT_TRUE(recorder->is_loaded);
  EXPECT_EQ(recorder->profile, "/nowhere/mlmon.out");
}

TEST_F(OtherRecorderTest, ThatLacksAFunctionIsAnothersVersions) {
  const pid_t pid = begin();
  EXPECT_EQ(load_recorder(pid, kLibrary, {})->what, "its recorder is that of another fble-prof");
  EXPECT_EQ(make_recorder_obey(pid, kLibrary)->what, "its recorder cannot be read");
  expect_unharmed();
}

TEST_F(OtherRecorderTest, SaysWhyItRefuses) {
  answer().answer = OrderAnswer::kRefused;
  std::memset(answer().reason, 'x', sizeof answer().reason);  // without an end
  const pid_t pid = begin();
  const auto done = obey_in_any_thread(pid, kLibrary, *order_for(OrderStep::kWatch));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().what, std::string(sizeof answer().reason - 1, 'x'));
  EXPECT_TRUE(watch_program(pid, kLibrary));
  EXPECT_TRUE(unwatch_signals(pid, kLibrary));
  expect_unharmed();
}

TEST_F(OtherRecorderTest, ThatIsNeverReadyIsGivenUp) {
  answer().answer = OrderAnswer::kNotNow;
  const pid_t pid = begin();
  EXPECT_EQ(unwatch_signals(pid, kLibrary)->what, "it loads or unloads libraries all the time");
  const auto tables = [](const std::vector<std::string>& modules) { return modules; };
  EXPECT_EQ(leave_functions_out(pid, kLibrary, "", tables)->what,
            "it loads or unloads libraries all the time");
  expect_unharmed();
}

TEST_F(OtherRecorderTest, HasNoMoreModulesThanAnOrderHolds) {
  answer().answer = OrderAnswer::kDone;
  answer().count = 1'000'000;
  const pid_t pid = begin();
  const OrderPointer order = order_for(OrderStep::kChooseModules);
  const auto done = obey_in_any_thread(pid, kLibrary, *order);
  ASSERT_TRUE(done.ok());
  EXPECT_TRUE(*done);
  EXPECT_EQ(order->count, format::kMostOrderModules);
}

// It always names as many modules again as an order holds.
TEST_F(OtherRecorderTest, IsGivenTablesABoundedNumberOfTimes) {
  answer().answer = OrderAnswer::kDone;
  answer().count = format::kMostOrderModules;
  const pid_t pid = begin();
  int rounds = 0;
  const Status bad =
      leave_functions_out(pid, kLibrary, "", [&rounds](const std::vector<std::string>& modules) {
        ++rounds;
        EXPECT_EQ(modules.size(), format::kMostOrderModules);
        return std::vector<std::string>(modules.size(), rounds % 2 == 0 ? "table" : "");
      });
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->what, "it has more than 8192 libraries");
  EXPECT_EQ(rounds, 64);
  expect_unharmed();
}

TEST_F(OtherRecorderTest, KeepsItsFirstFilter) {
  answer().answer = OrderAnswer::kDone;
  std::strcpy(answer().filter, "first");
  const pid_t pid = begin();
  const auto tables = [](const std::vector<std::string>& modules) { return modules; };
  EXPECT_EQ(leave_functions_out(pid, kLibrary, "second", tables)->what,
            "it keeps the --only and --not of its first attach, which were others");
  EXPECT_FALSE(leave_functions_out(pid, kLibrary, "first", tables));
}

TEST_F(OtherRecorderTest, WithoutAModuleCannotCount) {
  answer().answer = OrderAnswer::kDone;
  answer().count = 1;
  answer().modules[0].begin = 4096;  // nothing is mapped there
  const pid_t pid = begin();
  const ExactChoice choice{"on", "/nowhere", "/nowhere/fble-prof",
                           [](const std::string&, const std::string&) { return std::string(); }};
  EXPECT_EQ(prepare_to_count_calls(pid, kLibrary, choice)->what,
            "--exact: no module can be counted");
  const ExactChoice long_choice{std::string(2000, 'x'), "/nowhere", "", choice.plan_of};
  EXPECT_EQ(prepare_to_count_calls(pid, kLibrary, long_choice)->what,
            "--exact: more than 1000 bytes of names");
  const auto changed = count_calls(pid, kLibrary);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->places, 0u);
  ASSERT_TRUE(stop_counting_calls(pid, kLibrary).ok());
  expect_unharmed();
}

TEST_F(OtherRecorderTest, ThatChangesTextForSecondsIsNotHeld) {
  state().is_changing = 1;
  const pid_t pid = begin();
  const auto held = HeldChanges::hold(pid, kLibrary);
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().what, "it is loading a library");
}

// The lists are the program's, which may have written anything there.
TEST_F(OtherRecorderTest, ListsThatLeadAstrayAreNone) {
  static TextChanges list;
  list = {};
  list.next = reinterpret_cast<std::uint64_t>(&list);
  state().lists = list.next;
  EXPECT_TRUE(read_changes(begin(), kLibrary).empty()) << "a circle";
  list.next = 16;
  EXPECT_TRUE(read_changes(begin(), kLibrary).empty()) << "the next one is nowhere";
  list.next = 0;
  list.count = 0xffffffff;
  EXPECT_TRUE(read_changes(begin(), kLibrary).empty()) << "too long";
  list.count = 1 << 22;
  EXPECT_TRUE(read_changes(begin(), kLibrary).empty()) << "longer than the memory";
  list.count = 0;
  EXPECT_EQ(read_changes(begin(), kLibrary).size(), 1u);
  state().lists = 16;
  EXPECT_TRUE(read_changes(begin(), kLibrary).empty());
  in_recorder<TextState*>("fbleprof_text_state") = reinterpret_cast<TextState*>(16);
  EXPECT_TRUE(read_changes(begin(), kLibrary).empty());
  EXPECT_FALSE(HeldChanges::hold(begin(), kLibrary).ok());
  in_recorder<TextState*>("fbleprof_text_state") = &state();
}

// What it says is to be changed is compared with what is there.
TEST_F(OtherRecorderTest, CannotMakeUsWriteOverOtherBytes) {
  static struct {
    TextChanges head;
    TextChange changes[2];
  } list;
  static char text[64] = "not what the recorder says it is";
  list = {};
  list.head.count = 2;
  list.head.is_chosen = 1;
  for (TextChange& each : list.changes) {
    each.address = reinterpret_cast<std::uint64_t>(text);
    std::memset(each.original, 0x90, sizeof each.original);
    std::memset(each.changed, 0xcc, sizeof each.changed);
  }
  list.changes[1].address = 16;
  answer().answer = OrderAnswer::kDone;
  state().lists = reinterpret_cast<std::uint64_t>(&list);
  const pid_t pid = begin();
  ASSERT_EQ(read_changes(pid, kLibrary).size(), 1u);
  const auto changed = count_calls(pid, kLibrary);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->places, 0u);
  char now[sizeof text] = "";
  ASSERT_TRUE(read_memory(pid, reinterpret_cast<std::uint64_t>(text), now, sizeof now));
  EXPECT_STREQ(now, text);
  expect_unharmed();
}

}  // namespace
}  // namespace fbleprof::attach
