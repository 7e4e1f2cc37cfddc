// Our walk of the machine stack against libunwind's, from inside signal handlers.
#include "signal_safe/stack_walk.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "signal_safe/loaded_objects.h"
#include "signal_safe/peek.h"
#include "unit/signal_safe/walk_pair.h"
#include "unit/signal_safe/walk_subjects.h"

namespace fbleprof::test {
namespace {

// Walks find objects as they do in profiled programs.
[[maybe_unused]] const bool asked =
    (signal_safe::ask_loader(dlsym(RTLD_DEFAULT, "_dl_find_object")), true);

WalkPair* pair = nullptr;  // of the thread that is under test

constexpr int kSignal = SIGUSR1;
constexpr std::uint64_t kMostSteps = 60'000;  // of one subject
constexpr long kTrapFlag = 0x100;

timer_t timer;
std::uint64_t timer_samples_wanted = 0;

void arm_timer() {
  // One shot at a time, of varying length: the program always advances between two, and they never
  // fall into step with it.
  static unsigned next = 7;
  next = next * 1664525u + 1013904223u;
  itimerspec when{};
  when.it_value.tv_nsec = 20'000 + (next >> 14) % 200'000;
  timer_settime(timer, 0, &when, nullptr);
}

void on_signal(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  pair->compare(*static_cast<ucontext_t*>(context));
  errno = saved_errno;
}

void on_timer(int number, siginfo_t* info, void* context) {
  on_signal(number, info, context);
  if (pair->samples < timer_samples_wanted) arm_timer();
}

void on_step(int, siginfo_t*, void* context) {
  auto& state = *static_cast<ucontext_t*>(context);
  if (pair->samples < kMostSteps) {
    on_signal(0, nullptr, context);
  } else {
    state.uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  }
}

void handle(int number, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
  sigfillset(&action.sa_mask);
  ASSERT_EQ(sigaction(number, &action, nullptr), 0);
}

// Runs `subject` in its own thread, so that a stack is a few frames and the thread's bottom.
// Returns the results of both walks.
std::unique_ptr<WalkPair> on_thread(const std::function<void()>& subject) {
  struct Arguments {
    const std::function<void()>& subject;
    std::unique_ptr<WalkPair> result;
  } arguments{subject, nullptr};
  auto run = [](void* argument) -> void* {
    auto* a = static_cast<Arguments*>(argument);
    a->result = std::make_unique<WalkPair>();
    pair = a->result.get();
    a->subject();
    return nullptr;
  };
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, nullptr, run, &arguments), 0);
  pthread_join(thread, nullptr);
  return std::move(arguments.result);
}

// Both walks after every instruction of `subject`.
template <typename Subject>
std::unique_ptr<WalkPair> single_stepped(Subject subject) {
  handle(SIGTRAP, on_step);
  return on_thread([&] {
    start_stepping();
    subject();
    stop_stepping();
  });
}

// Both walks wherever a timer interrupts `subject`, which is repeated.
template <typename Subject>
std::unique_ptr<WalkPair> interrupted(std::uint64_t samples, Subject subject, int flags = 0) {
  handle(kSignal, on_timer, flags);
  return on_thread([&] {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kSignal;
    event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
    ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    timer_samples_wanted = samples;
    arm_timer();
    while (*const_cast<volatile std::uint64_t*>(&pair->samples) < samples) subject();
    timer_delete(timer);
  });
}

void expect_equal(const WalkPair& walks, std::uint64_t least_samples,
                  std::uint64_t most_stopped_short = 0) {
  EXPECT_EQ(walks.mismatches, 0u) << walks.mismatch_text();
  EXPECT_EQ(walks.outside_code, 0u);
  EXPECT_LE(walks.leaving * 10, walks.samples);
  EXPECT_LE(walks.leaving_short * 100, walks.samples);
  EXPECT_LE(walks.stopped_short, most_stopped_short) << walks.mismatch_text();
  EXPECT_GE(walks.samples, least_samples);
  EXPECT_LE(walks.without_table * 50, walks.samples);
  EXPECT_LE(walks.both_stopped * 16, walks.samples);
  EXPECT_LE(walks.fp_differs * 100, walks.frames);
  std::printf(
      "%lu samples, %lu frames, at most %lu deep; %lu ended at code without a table, at %lu "
      "both stopped, %lu stopped short; %lu left for a landing pad (%lu short); %lu frame pointers "
      "differ\n",
      walks.samples, walks.frames, walks.deepest, walks.without_table, walks.both_stopped,
      walks.stopped_short, walks.leaving, walks.leaving_short, walks.fp_differs);
}

TEST(StackWalkSteps, PushesAndPopsLeaveTailCall) {
  const auto walks = single_stepped([] { subject_pushes(3); });
  expect_equal(*walks, 80);
}

TEST(StackWalkSteps, FrameBasedOnRbx) {
  const auto walks = single_stepped([] { subject_rbx_frame(); });
  expect_equal(*walks, 20);
}

TEST(StackWalkSteps, CallersStackPointerKeptInARegisterAndOnTheStack) {
  const auto walks = single_stepped([] { subject_saved_sp(); });
  expect_equal(*walks, 20);
}

// libunwind cannot leave such code.
TEST(StackWalkSteps, CodeWithoutATableInAnInterpretersFrame) {
  constexpr std::uint64_t kOfEntryAndExit = 12;  // instructions at which the table is wrong
  const auto walks = single_stepped([] { subject_generated(); });
  EXPECT_GE(walks->samples, 100u);
  EXPECT_LE(walks->samples - walks->ours_complete, kOfEntryAndExit);
  EXPECT_EQ(walks->outside_code, 0u);
}

TEST(StackWalkSteps, FramePointersThatLeadToAnotherStack) {
  constexpr std::uint64_t kOfEntryAndExit = 10;  // instructions that have no frame
  const auto walks = single_stepped([] { subject_other_stack(); });
  EXPECT_GE(walks->samples, 80u);
  EXPECT_LE(walks->samples - walks->ours_complete, kOfEntryAndExit);
  EXPECT_EQ(walks->outside_code, 0u);
}

TEST(StackWalkSteps, LazyBindingOfACallThroughThePlt) {
  // The first call: the loader's trampoline and the look-up of the symbol.
  const auto walks = single_stepped([] { read_clock(); });
  expect_equal(*walks, 500);
}

TEST(StackWalkSteps, BoundCallThroughThePlt) {
  read_clock();
  const auto walks = single_stepped([] { read_clock(); });
  expect_equal(*walks, 20);
}

TEST(StackWalkSteps, RealignedFrame) {
  const auto walks = single_stepped([] { aligned_frame(1, 2, 3, 4, 5, 6, 70, 8); });
  expect_equal(*walks, 100);
}

TEST(StackWalkSteps, FramesOfVariableSize) {
  const auto walks = single_stepped([] { recurse_with_alloca(5); });
  expect_equal(*walks, 300);
}

TEST(StackWalkSteps, Recursion) {
  const auto walks = single_stepped([] { recurse(30); });
  expect_equal(*walks, 300);
  EXPECT_GE(walks->deepest, 32u);
}

TEST(StackWalkSteps, VirtualTailCalls) {
  const auto walks = single_stepped([] { virtual_tail_call(1); });
  expect_equal(*walks, 10);
}

TEST(StackWalkSteps, LongJump) {
  const auto walks = single_stepped([] { jump_over_frames(4); });
  expect_equal(*walks, 50, 10);
}

TEST(StackWalkSteps, SortWithCallbacks) {
  const auto walks = single_stepped([] { sort_with_callbacks(20); });
  expect_equal(*walks, 2000);
}

TEST(StackWalkSteps, FormattedNumbers) {
  const auto walks = single_stepped([] { format_numbers(2); });
  expect_equal(*walks, 2000);
}

TEST(StackWalkSteps, VectorisedStringFunctions) {
  const auto walks = single_stepped([] { vector_strings(4); });
  expect_equal(*walks, 300);
}

TEST(StackWalkSteps, Allocator) {
  const auto walks = single_stepped([] { allocate(2); });
  expect_equal(*walks, 2000);
}

TEST(StackWalkSteps, ExceptionBeingThrown) {
  throw_and_catch(0);
  const auto walks = single_stepped([] { throw_and_catch(1); });
  expect_equal(*walks, 5000, 8);  // the jump to a landing pad, by a register
}

// The unwinder overwrites its saved registers with those of the landing pad's function, before it
// leaves for it.
TEST(StackWalkSteps, ExceptionThrownThroughFramesBasedOnRbp) {
  throw_through_variable_frames(0);
  const auto walks = single_stepped([] { throw_through_variable_frames(2); });
  expect_equal(*walks, 5000);
}

TEST(StackWalkInterrupted, SortWithCallbacks) {
  expect_equal(*interrupted(400, [] { sort_with_callbacks(3000); }), 400);
}

TEST(StackWalkInterrupted, FormattedNumbers) {
  expect_equal(*interrupted(400, [] { format_numbers(100); }), 400);
}

TEST(StackWalkInterrupted, RegularExpressions) {
  expect_equal(*interrupted(400, [] { match_regex(20); }), 400);
}

TEST(StackWalkInterrupted, ExceptionsBeingThrown) {
  expect_equal(*interrupted(800, [] { throw_and_catch(6); }), 800, 8);
}

TEST(StackWalkInterrupted, DeepRecursion) {
  const auto walks = interrupted(400, [] { recurse(400); });
  expect_equal(*walks, 400);
  EXPECT_GE(walks->deepest, 150u);
}

TEST(StackWalkInterrupted, FramesOfVariableSize) {
  const auto walks = interrupted(400, [] { recurse_with_alloca(150); });
  expect_equal(*walks, 400);
  EXPECT_GE(walks->deepest, 100u);
}

TEST(StackWalkInterrupted, LeafFunctions) {
  expect_equal(*interrupted(400, [] { leaves(1000); }), 400);
}

TEST(StackWalkInterrupted, Allocator) {
  expect_equal(*interrupted(400, [] { allocate(20); }), 400);
}

TEST(StackWalkInterrupted, HandlerOnAnAlternateStack) {
  static std::vector<char> memory(256 * 1024);
  const auto walks = interrupted(
      300,
      [] {
        stack_t stack{};
        stack.ss_sp = memory.data();
        stack.ss_size = memory.size();
        sigaltstack(&stack, nullptr);
        sort_with_callbacks(500);
      },
      SA_ONSTACK);
  expect_equal(*walks, 300);
}

// A handler's own frames, the kernel's trampoline, and what was interrupted below it.
void walk_from_handler(int) { pair->compare_here(); }

int raise_from_callback(const void* a, const void* b) {
  raise(kSignal);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void raise_from_sort() {
  int values[] = {5, 3, 9, 1, 7, 2, 8};
  qsort(values, 7, sizeof values[0], raise_from_callback);
}

TEST(StackWalkRaised, ThroughTheKernelsFrame) {
  struct sigaction action {};
  action.sa_handler = walk_from_handler;
  ASSERT_EQ(sigaction(kSignal, &action, nullptr), 0);
  const auto walks = on_thread([] { raise_from_sort(); });
  expect_equal(*walks, 10);
}

TEST(StackWalkRaised, FromAnAlternateStackBackToTheThreads) {
  static std::vector<char> memory(256 * 1024);
  struct sigaction action {};
  action.sa_handler = walk_from_handler;
  action.sa_flags = SA_ONSTACK;
  ASSERT_EQ(sigaction(kSignal, &action, nullptr), 0);
  const auto walks = on_thread([] {
    stack_t stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, nullptr);
    pair->set_signal_stack(memory.data(), memory.size());
    raise_from_sort();
  });
  expect_equal(*walks, 10);
}

TEST(StackWalkRaised, OnStacksWhoseBoundsNobodyTold) {
  struct sigaction action {};
  action.sa_handler = walk_from_handler;
  ASSERT_EQ(sigaction(kSignal, &action, nullptr), 0);
  const auto walks = on_thread([] {
    pair->forget_bounds();
    raise_from_sort();
  });
  expect_equal(*walks, 10);
}

TEST(StackWalkRaised, OnTheMainThread) {
  handle(kSignal, on_signal);
  WalkPair walks;
  pair = &walks;
  raise_from_sort();
  expect_equal(walks, 10);
}

// Registers of a corrupted stack: any code, any values. Every read is checked, and the walk ends.
// Walks from states that make no sense. Returns the number of frames of the longest one.
int walk_garbage(int walks) {
  int most = 0;
  on_thread([&] {
    std::mt19937_64 random(1);
    std::uint64_t room[512];
    const auto here = reinterpret_cast<std::uint64_t>(room);
    const std::uint64_t code[] = {reinterpret_cast<std::uint64_t>(&qsort),
                                  reinterpret_cast<std::uint64_t>(&subject_pushes),
                                  reinterpret_cast<std::uint64_t>(&throw_and_catch),
                                  reinterpret_cast<std::uint64_t>(&longjmp)};
    auto value = [&]() -> std::uint64_t {
      switch (random() % 5) {
        case 0:
          return random();
        case 1:
          return code[random() % 4] + random() % 4096;
        case 2:
          return random() % 64 - 32;
        default:
          return here + random() % (sizeof room + 512) / 8 * 8;
      }
    };
    std::uint64_t registers[32];
    for (int i = 0; i < walks; ++i) {
      for (int j = 0; j < 16; ++j) room[random() % 512] = value();
      for (std::uint64_t& r : registers) r = value();
      const std::uint64_t sp = random() % 8 ? here + random() % sizeof room / 8 * 8 : value();
      most = std::max(most, pair->walk_any({code[random() % 4] + random() % 40'000, sp, value(),
                                            value(), random() % 4 ? registers : nullptr}));
    }
  });
  return most;
}

TEST(StackWalk, GarbageStateEndsTheWalk) {
  const int most = walk_garbage(200'000);
  EXPECT_GT(most, 3);
  EXPECT_LT(most, 1100);
}

// Where a system call may end the program, only stacks that are known are read.
TEST(StackWalkDeathTest, GarbageStateEndsTheWalkWithoutSystemCallsThatMayBeForbidden) {
  const auto walks = [] {
    signal_safe::expect_forbidden_calls();
    const int most = walk_garbage(20'000);
    return most > 3 && most < 1100 ? 0 : 1;
  };
  EXPECT_EXIT(std::exit(walks()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fbleprof::test
