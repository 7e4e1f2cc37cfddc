// Combines script and machine stack; reads unmapped memory.
#include "signal_safe/runtime_stack.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "arch/peek.h"
#include "signal_safe/peek.h"

namespace fbleprof::signal_safe {
namespace {

std::vector<RuntimeFrame> frames;  // newest first

int read_test_frame(void* state, RuntimeFrame* frame) {
  auto* next = static_cast<std::size_t*>(state);
  if (*next == frames.size()) return 0;
  *frame = frames[(*next)++];
  return 1;
}

// A runtime whose loop is at 100 to 200, in a module at 0 to 1000.
void add_runtime(Runtimes& runtimes) {
  runtimes.all[0].loop_begin = 100;
  runtimes.all[0].loop_end = 200;
  runtimes.all[0].text_begin = 1;
  runtimes.all[0].text_end = 1000;
  runtimes.all[0].read.store(read_test_frame);
  runtimes.count.store(1);
}

std::vector<std::uint32_t> blocks_of(RuntimeWalk& walk) {
  std::vector<std::uint32_t> blocks;
  while (const std::uint32_t block = walk.next_block()) blocks.push_back(block);
  return blocks;
}

using Blocks = std::vector<std::uint32_t>;

TEST(RuntimeStack, FunctionsBelongToTheFrameThatHoldsTheirMark) {
  frames = {{1, 0, 5010}, {2, 0, 5010}, {3, 0, 5110}};
  Runtimes runtimes;
  add_runtime(runtimes);
  RuntimeWalk walk(runtimes);
  ASSERT_TRUE(walk.is_active());
  walk.visit(500, 4900, 5000);  // a C function of the runtime, which the script calls
  EXPECT_EQ(blocks_of(walk), Blocks());
  EXPECT_FALSE(walk.hides());
  walk.visit(150, 5000, 5100);
  EXPECT_EQ(blocks_of(walk), (Blocks{1, 2}));
  EXPECT_TRUE(walk.hides());
  walk.visit(500, 5100, 5105);  // the runtime's, between two functions of scripts
  EXPECT_EQ(blocks_of(walk), Blocks());
  EXPECT_TRUE(walk.hides());
  walk.visit(2000, 5105, 5108);  // not the runtime's
  EXPECT_FALSE(walk.hides());
  walk.visit(150, 5108, 5200);
  EXPECT_EQ(blocks_of(walk), Blocks{3});
  EXPECT_TRUE(walk.hides());
  walk.visit(500, 5200, 5300);  // what called the outermost function
  EXPECT_FALSE(walk.hides());
  EXPECT_EQ(walk.rest(), 0u);
}

TEST(RuntimeStack, WithoutMarksEachFrameOfTheLoopRunsOneFunction) {
  frames = {{1, 0, 0}, {2, 0, 0}};
  Runtimes runtimes;
  add_runtime(runtimes);
  RuntimeWalk walk(runtimes);
  walk.visit(300, 5000, 5100);
  EXPECT_EQ(blocks_of(walk), Blocks());
  walk.visit(150, 5100, 5200);
  EXPECT_EQ(blocks_of(walk), Blocks{1});
  EXPECT_TRUE(walk.is_loop(150));
  EXPECT_FALSE(walk.is_loop(300));
  walk.visit(150, 5200, 5300);
  EXPECT_EQ(blocks_of(walk), Blocks{2});
}

int read_cut_frame(void* state, RuntimeFrame* frame) {
  return read_test_frame(state, frame) != 0 ? 1 : -1;
}

TEST(RuntimeStack, AReaderTellsThatItCannotReadOlderFunctions) {
  frames = {{1, 0, 0}, {2, 0, 0}};
  Runtimes runtimes;
  add_runtime(runtimes);
  RuntimeWalk whole(runtimes);
  EXPECT_EQ(whole.rest(), 1u);
  EXPECT_EQ(whole.rest(), 2u);
  EXPECT_EQ(whole.rest(), 0u);
  EXPECT_FALSE(whole.is_cut());
  runtimes.all[0].read.store(read_cut_frame);
  RuntimeWalk cut(runtimes);
  EXPECT_FALSE(cut.is_cut());
  EXPECT_EQ(cut.rest(), 1u);
  EXPECT_EQ(cut.rest(), 2u);
  EXPECT_EQ(cut.rest(), 0u);
  EXPECT_TRUE(cut.is_cut());
}

TEST(RuntimeStack, FunctionsWhoseFrameWasNotMetComeLast) {
  frames = {{1, 0, 5010}, {0, 0, 6010}, {2, 0, 6010}};
  Runtimes runtimes;
  add_runtime(runtimes);
  RuntimeWalk walk(runtimes);
  walk.visit(150, 5000, 5100);
  EXPECT_EQ(blocks_of(walk), Blocks{1});
  EXPECT_EQ(walk.rest(), 2u);
  EXPECT_EQ(walk.rest(), 0u);
}

TEST(RuntimeStack, AThreadWithoutScriptsIsNotActive) {
  frames = {};
  Runtimes runtimes;
  add_runtime(runtimes);
  RuntimeWalk walk(runtimes);
  EXPECT_FALSE(walk.is_active());
  walk.visit(150, 5000, 5100);
  EXPECT_EQ(blocks_of(walk), Blocks());
  EXPECT_FALSE(walk.hides());
}

void on_fault(int, siginfo_t*, void* context) {
  if (!arch::resume_failed_copy(context)) _exit(3);
}

// Copies memory up to the end of a page, and fails one byte further.
void expect_peeks() {
  constexpr std::size_t kPage = 4096;
  auto* pages = static_cast<char*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  munmap(pages + kPage, kPage);
  for (std::size_t i = 0; i < kPage; ++i) pages[i] = static_cast<char>(i * 7);
  char copy[64];
  for (std::size_t bytes = 0; bytes <= 40; ++bytes) {
    const char* from = pages + kPage - bytes;
    EXPECT_TRUE(peek(from, copy, bytes));
    EXPECT_EQ(std::memcmp(from, copy, bytes), 0);
    if (bytes != 0) {
      EXPECT_FALSE(peek(from + 1, copy, bytes)) << bytes;
    }
  }
  EXPECT_FALSE(peek(nullptr, copy, 8));
  EXPECT_FALSE(peek(reinterpret_cast<const void*>(0x8000000000000000u), copy, 8));
  munmap(pages, kPage);
}

// Faults are caught while this lives.
class FaultsCaught {
 public:
  FaultsCaught() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_segv_);
    sigaction(SIGBUS, &action, &before_bus_);
    expect_caught_faults(true);
  }
  ~FaultsCaught() {
    sigaction(SIGSEGV, &before_segv_, nullptr);
    sigaction(SIGBUS, &before_bus_, nullptr);
  }
  FaultsCaught(const FaultsCaught&) = delete;
  FaultsCaught& operator=(const FaultsCaught&) = delete;

 private:
  struct sigaction before_segv_ {
  }, before_bus_{};
};

TEST(Peek, FailsWhereNothingIsMapped) {
  expect_peeks();  // by the kernel
  const FaultsCaught caught;
  expect_peeks();
}

TEST(Peek, DoesNotFaultWhereThatWouldEndTheProgram) {
  const FaultsCaught caught;
  sigset_t faults, before;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  sigprocmask(SIG_BLOCK, &faults, &before);
  char copy[8];
  EXPECT_FALSE(peek_anywhere(nullptr, copy, sizeof copy));  // in a hook
  {
    const FaultsOfSample sample(true);
    EXPECT_FALSE(peek(nullptr, copy, sizeof copy));
    EXPECT_FALSE(peek_anywhere(nullptr, copy, sizeof copy));
  }
  EXPECT_FALSE(peek_anywhere(nullptr, copy, sizeof copy));
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(Peek, IsHarmlessWhereItTakesNoSystemCall) {
  EXPECT_TRUE(is_peek_harmless());
  expect_forbidden_calls();
  EXPECT_FALSE(is_peek_harmless());
  const FaultsCaught caught;
  EXPECT_FALSE(is_peek_harmless());
  {
    const FaultsOfSample sample(false);
    EXPECT_TRUE(is_peek_harmless());
  }
  {
    const FaultsOfSample sample(true);
    EXPECT_FALSE(is_peek_harmless());
  }
  EXPECT_FALSE(is_peek_harmless());
}

}  // namespace
}  // namespace fbleprof::signal_safe
