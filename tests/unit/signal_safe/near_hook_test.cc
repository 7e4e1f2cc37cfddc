// Copies of the hooks' hot paths, run on a stack, a shadow stack and a cache that the test fills:
// what hits is counted in the right place, and any doubt goes to the slow path.
#include "arch/near_hook.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>

#include "arch/word.h"
#include "signal_safe/shadow_stack.h"

// What a copy jumps to for the slow path: these count that, and return as the hook would.
asm(".pushsection .text\n"
    ".macro NEAR_HOOK_TEST_SLOW name\n"
    "\\name:\n"
    "  incq  \\name\\()_count(%rip)\n"
    "  mov   -8(%rsp), %rax\n"
    "  mov   -16(%rsp), %rcx\n"
    "  mov   -24(%rsp), %rdx\n"
    "  ret\n"
    ".endm\n"
    "NEAR_HOOK_TEST_SLOW near_hook_test_missed\n"
    "NEAR_HOOK_TEST_SLOW near_hook_test_tail_missed\n"
    ".popsection\n");
// Calls `hook` with `site` as the return address of the function that was entered, on a stack that
// ends at `stack`. 0: the hook kept the registers.
asm(".pushsection .text\n"
    "near_hook_test_call:\n"
    "  push  %rbx\n"
    "  mov   %rsp, %rbx\n"
    "  mov   %rsi, %rsp\n"
    "  push  %rdx\n"
    "  mov   %rdi, %rax\n"
    "  mov   %rdi, %rcx\n"
    "  call  *%rdi\n"
    "near_hook_test_return:\n"
    "  xor   %rdi, %rax\n"
    "  xor   %rdi, %rcx\n"
    "  xor   (%rsp), %rdx\n"
    "  or    %rcx, %rax\n"
    "  or    %rdx, %rax\n"
    "  mov   %rbx, %rsp\n"
    "  pop   %rbx\n"
    "  ret\n"
    ".popsection\n");
extern "C" {
std::uint64_t near_hook_test_call(const char* hook, const std::uint64_t* stack, std::uint64_t site);
extern const char near_hook_test_return[], near_hook_test_missed[], near_hook_test_tail_missed[];
__attribute__((used)) std::uint64_t near_hook_test_missed_count, near_hook_test_tail_missed_count;
}

namespace fbleprof::signal_safe {
namespace {

thread_local Hot hot;

constexpr std::uint64_t kSite = 0x555500001234, kOtherCallee = 0x555500009000;
constexpr std::size_t kCopyBytes = 8192, kStackWords = 1024;

class NearHooks : public testing::Test {
 protected:
  NearHooks()
      : memory_(static_cast<char*>(mmap(nullptr, kCopyBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        copy_(memory_ + 128) {
    arch::copy_near_hook(copy_,
                         {near_hook_test_missed, near_hook_test_missed, near_hook_test_tail_missed,
                          near_hook_test_tail_missed},
                         &hot);
    entries_[0] = {kNoFrame, kRootGateWord};
    hot = {entries_, cache_.get(), nullptr, entries_ + 8, arch::kFirstCacheMask};
    near_hook_test_missed_count = near_hook_test_tail_missed_count = 0;
  }
  ~NearHooks() override { munmap(memory_, kCopyBytes); }

  const char* hook() const { return copy_; }
  const char* tail_hook() const { return copy_ + arch::near_tail_hook_offset(); }
  const char* leaf_hook() const { return copy_ + arch::near_leaf_hook_offset(); }

  static std::uint64_t hook_return() {
    return reinterpret_cast<std::uint64_t>(near_hook_test_return);
  }
  // Of the function that is entered: the stack pointer in its hook.
  Frame frame() const { return reinterpret_cast<Frame>(stack_ + kStackWords - 2); }

  // The thread is in a function whose context is `context`, called `above` bytes above the function
  // that is entered.
  void be_in(std::uint32_t context, std::uint64_t above) {
    hot.top[1] = {frame() + above, arch::make_word(context, arch::kNoBlock)};
    ++hot.top;
  }
  // Makes a call in the newest context known, with the content of one slot in both of its pair's.
  void know(std::uint64_t site, std::uint64_t callee, std::uint64_t callee_in_slot) {
    const Word word = hot.top->word;
    const auto place = arch::slot_offset(word, word ^ site, callee, hot.cache_mask) / SLOT_BYTES;
    cache_[place] = cache_[place ^ 1] = {word ^ site, callee_in_slot, &calls_, kTo};
  }
  void call(const char* hook) {
    EXPECT_EQ(near_hook_test_call(hook, stack_ + kStackWords, kSite), 0u);
  }

  static constexpr Word kTo = arch::make_word(77, arch::kNoBlock);
  std::uint64_t calls_ = 1;  // a count of 0 asks for the slow path

 private:
  char *memory_, *copy_;
  Entry entries_[16] = {};
  std::unique_ptr<Slot[]> cache_{new Slot[kFirstCacheSlots]()};
  std::uint64_t stack_[kStackWords] = {};
};

TEST_F(NearHooks, AKnownCallIsCountedAndEntered) {
  be_in(5, 64);
  Entry* caller = hot.top;
  know(kSite, hook_return(), hook_return());
  call(hook());
  EXPECT_EQ(calls_, 2u);
  EXPECT_EQ(near_hook_test_missed_count, 0u);
  ASSERT_EQ(hot.top, caller + 1);
  EXPECT_EQ(hot.top->word, kTo);
  EXPECT_EQ(hot.top->frame, frame());
}

TEST_F(NearHooks, AnotherCalleeWithTheSameTagAndSlotMisses) {
  be_in(5, 64);
  know(kSite, hook_return(), kOtherCallee);
  for (const char* each : {hook(), leaf_hook()}) {
    near_hook_test_missed_count = 0;
    call(each);
    EXPECT_EQ(calls_, 1u);
    EXPECT_EQ(near_hook_test_missed_count, 1u);
  }
}

TEST_F(NearHooks, ALeafIsCountedButHasNoEntry) {
  be_in(5, 64);
  Entry* caller = hot.top;
  know(kSite, hook_return(), hook_return());
  be_in(6, 0);  // returned
  call(leaf_hook());
  EXPECT_EQ(calls_, 2u);
  EXPECT_EQ(hot.top, caller);
  EXPECT_EQ(near_hook_test_missed_count, 0u);
}

TEST_F(NearHooks, TheEndOfTheShadowStackGoesToTheSlowPath) {
  be_in(5, 64);
  Entry* caller = hot.top;
  know(kSite, hook_return(), hook_return());
  hot.limit = caller;
  call(hook());
  EXPECT_EQ(calls_, 1u);
  EXPECT_EQ(hot.top, caller);
  EXPECT_EQ(near_hook_test_missed_count, 1u);
}

TEST_F(NearHooks, ATailCallTakesOverTheEntryOfItsFrame) {
  be_in(4, 64);
  const Word below = hot.top->word;
  be_in(5, 0);
  Entry* jumper = hot.top;
  know(hook_return(), below, below);
  call(tail_hook());
  EXPECT_EQ(calls_, 2u);
  EXPECT_EQ(near_hook_test_tail_missed_count, 0u);
  EXPECT_EQ(hot.top, jumper);
  EXPECT_EQ(jumper->word, kTo);
}

// The function that jumped has no entry: its hook was taken back while an outer call of it still
// runs.
TEST_F(NearHooks, ATailCallLeavesTheEntryOfAnotherFrame) {
  be_in(4, 64);
  const Word below = hot.top->word;
  be_in(5, 32);
  Entry* outer = hot.top;
  const Word word = outer->word;
  know(hook_return(), below, below);
  call(tail_hook());
  EXPECT_EQ(calls_, 1u);
  EXPECT_EQ(near_hook_test_tail_missed_count, 1u);
  EXPECT_EQ(outer->word, word);
}

TEST_F(NearHooks, ATailCallInAnotherCallersContextMisses) {
  be_in(4, 64);
  const Word below = hot.top->word;
  be_in(5, 0);
  know(hook_return(), below, arch::make_word(9, arch::kNoBlock));
  call(tail_hook());
  EXPECT_EQ(calls_, 1u);
  EXPECT_EQ(near_hook_test_tail_missed_count, 1u);
}

}  // namespace
}  // namespace fbleprof::signal_safe
