// Trampolines are written for the code that their plan describes, and lead only where code may
// lead.
#include "capture/rewriting.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "arch/call_instruction.h"
#include "capture/slots.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {
namespace {

constexpr plan::Address kJumper = 0x100, kCallee = 0x200, kCall = 0x300, kEnd = 4096;

// A module of one page, with a function that begins with a jump to another, and a call of the
// first. The plan counts the first, by its start and by the call, and the jump as a tail call.
class Rewriting : public testing::Test {
 protected:
  // A profile that knows no modules.
  static void SetUpTestSuite() {
    constexpr std::uint64_t kBytes = 1 << 20;
    void* file = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static_cast<format::Header*>(file)->used_bytes = format::kHeaderBytes;
    ASSERT_TRUE(signal_safe::session.start(static_cast<char*>(file), kBytes, kBytes, {}, {}));
  }
  Rewriting()
      : text_(static_cast<std::uint8_t*>(
            mmap(nullptr, kEnd, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::memset(text_, 0xcc, kEnd);
    write(kJumper, 0xe9, kCallee);
    write(kCall, 0xe8, kJumper);
    module_.begin = module_.load_bias = reinterpret_cast<std::uint64_t>(text_);
    module_.end = module_.begin + kEnd;

    plan::Trampoline jumper{}, tail_call{};
    jumper.function = jumper.window = kJumper;
    std::memcpy(jumper.expected, text_ + kJumper, sizeof jumper.expected);
    jumper.code_bytes = plan::kJumpBytes;
    jumper.code[0] = 0xe9;
    jumper.fixup_count = 1;
    jumper.fixups[0] = {kTailCall, 1, 0, plan::FixupKind::kTrampoline, 0};
    tail_call.function = kCallee;
    tail_call.jumps_from = kJumper;
    tail_call.pushes_return = 1;
    add(header());
    add(jumper);
    add(tail_call);
    add(plan::Site{kCall, kFirst});
    EXPECT_TRUE(plan_.adopt(bytes_.data(), bytes_.size()));
  }
  ~Rewriting() override { munmap(text_, kEnd); }

  // Where the displaced jump of the first function leads.
  std::uint64_t target_of_jump(bool no_pushes, Region** region) {
    EXPECT_EQ(write_trampolines({module_, plan_, no_pushes}, region), nullptr);
    return arch::target_of_direct(slot_of(**region, kFirst) + arch::kTrampolineCode);
  }

  // A direct call or jump.
  void write(plan::Address at, std::uint8_t operation, plan::Address target) {
    const std::int32_t distance = target - at - plan::kJumpBytes;
    text_[at] = operation;
    std::memcpy(text_ + at + 1, &distance, sizeof distance);
  }

  // What happens with a plan that was changed.
  struct Parts {
    plan::Header& header;
    plan::Trampoline *first, *tail_call;
    plan::Site& site;
  };
  template <typename Change>
  const char* obstacle(Change change) {
    std::vector<char> bytes = bytes_;
    auto* header = reinterpret_cast<plan::Header*>(bytes.data());
    auto* first = reinterpret_cast<plan::Trampoline*>(header + 1);
    change(Parts{*header, first, first + 1, *reinterpret_cast<plan::Site*>(first + kCount)});
    Plan plan;
    if (!plan.adopt(bytes.data(), bytes.size())) return "it is no plan";
    const Work work{module_, plan, false};
    if (const char* reason = obstacle_to_trampolines(work)) return reason;
    Region* region = nullptr;
    return write_trampolines(work, &region);
  }

  enum : std::uint32_t { kFirst, kTailCall, kCount };
  std::uint8_t* text_;
  format::Module module_{};
  Plan plan_;

  std::vector<char> bytes_;

 private:
  static plan::Header header() {
    plan::Header header{};
    std::memcpy(header.magic, plan::kMagic, sizeof header.magic);
    header.version = plan::kVersion;
    header.trampolines = kCount;
    header.sites = 1;
    header.segment_count = 1;
    header.segments[0] = {0, kEnd};
    return header;
  }
  template <typename Part>
  void add(const Part& part) {
    const auto* begin = reinterpret_cast<const char*>(&part);
    bytes_.insert(bytes_.end(), begin, begin + sizeof part);
  }
};

TEST_F(Rewriting, ATailCallLeadsToItsTrampoline) {
  Region* region = nullptr;
  const std::uint64_t target = target_of_jump(false, &region);
  EXPECT_EQ(target, entry_of(*region, kTailCall));
}

// The trampoline pushes a return address, which this processor would not accept.
TEST_F(Rewriting, ATailCallWhoseTrampolineIsNotUsedLeadsToTheFunction) {
  Region* region = nullptr;
  EXPECT_EQ(target_of_jump(true, &region), module_.begin + kCallee);
}

TEST_F(Rewriting, APlanThatLeadsOutOfTheModuleIsRefused) {
  const char* const kOther = "its code is not what its plan was made for";
  EXPECT_EQ(obstacle([](Parts) {}), nullptr);
  module_.begin += 4096;
  EXPECT_STREQ(obstacle([](Parts) {}), kOther) << "a segment before it";
  module_.begin -= 4096;
  EXPECT_STREQ(obstacle([](Parts plan) { plan.header.segments[0].end += 1; }), kOther);
  EXPECT_STREQ(obstacle([](Parts plan) { plan.first->function = kEnd; }), kOther);
  EXPECT_STREQ(obstacle([](Parts plan) { plan.tail_call->jumps_from = kEnd; }), kOther);
  EXPECT_STREQ(obstacle([](Parts plan) { plan.first->code_bytes = plan::kMostCode + 1; }), kOther);
  EXPECT_STREQ(obstacle([](Parts plan) { plan.first->fixup_count = plan::kMostFixups + 1; }),
               kOther);
  EXPECT_STREQ(obstacle([](Parts plan) { plan.first->window = kEnd - 4; }), kOther);
  EXPECT_STREQ(obstacle([](Parts plan) { plan.site.at = kEnd - 4; }), kOther);
  EXPECT_STREQ(obstacle([](Parts plan) { plan.site.trampoline = kCount; }), kOther);
}

TEST_F(Rewriting, APlanWithoutFunctionsSaysWhy) {
  const auto none = [this](const char* error) {
    plan::Header header{};
    std::memcpy(&header, bytes_.data(), sizeof header);
    header.trampolines = header.sites = 0;
    std::strcpy(header.error, error);
    Plan plan;
    EXPECT_TRUE(plan.adopt(reinterpret_cast<const char*>(&header), sizeof header));
    return std::string(obstacle_to_trampolines({module_, plan, false}));
  };
  EXPECT_EQ(none(""), "no function that its unwind table lists can be counted");
  EXPECT_EQ(none("it is a text"), "it is a text");
}

TEST_F(Rewriting, ADistanceThatCannotBeIsRefused) {
  const char* const kTooLarge = "it is too large";
  const auto with_fixup = [&](plan::Fixup fixup) {
    return obstacle([&](Parts plan) { plan.first->fixups[0] = fixup; });
  };
  EXPECT_STREQ(with_fixup({kTailCall, plan::kMostCode - 3, 0, plan::FixupKind::kTrampoline, 0}),
               kTooLarge);
  EXPECT_STREQ(with_fixup({kCount, 1, 0, plan::FixupKind::kTrampoline, 0}), kTooLarge);
  EXPECT_STREQ(with_fixup({kCount, 1, 0, plan::FixupKind::kBehindHook, 0}), kTooLarge);
  EXPECT_STREQ(with_fixup({0xf0000000u, 1, 0, plan::FixupKind::kAddress, 0}), kTooLarge);
  EXPECT_EQ(with_fixup({kTailCall, 1, 0, plan::FixupKind::kBehindHook, 0}), nullptr);
  EXPECT_EQ(with_fixup({kCallee, 1, 0, plan::FixupKind::kAddress, 0}), nullptr);
  EXPECT_EQ(with_fixup({kCallee, 1, 0, plan::FixupKind::kReturnAddress, 0}), nullptr);
}

// Its branch is longer than it was: code behind it has moved.
TEST_F(Rewriting, ALongBranchIsRemembered) {
  Region* region = nullptr;
  std::vector<char> bytes = bytes_;
  auto* first = reinterpret_cast<plan::Trampoline*>(bytes.data() + sizeof(plan::Header));
  first->code[0] = 0x0f;
  first->code[1] = 0x84;
  first->code_bytes = 6;
  first->fixups[0] = {kCallee, 2, 0, plan::FixupKind::kAddress, 0};
  Plan plan;
  ASSERT_TRUE(plan.adopt(bytes.data(), bytes.size()));
  ASSERT_EQ(write_trampolines({module_, plan, false}, &region), nullptr);
  const auto* function = functions_of(*region) + kFirst;
  EXPECT_EQ(function->branch_ends[0], 6u);
  EXPECT_EQ(function->branch_ends[1], 0u);
}

TEST_F(Rewriting, FunctionsThatAreNotCountedSayWhy) {
  const auto reason_of = [this](plan::Address address) {
    std::uint16_t flags = 0;
    const auto& arena = signal_safe::session.arena;
    arena.for_each(format::Kind::kFunction, [&](format::Ref ref) {
      const auto* function = arena.at<format::Function>(ref);
      if (function->address == module_.begin + address) flags = function->flags;
      return true;
    });
    return static_cast<plan::Reason>(flags >> format::kFunctionReasonShift);
  };
  std::vector<char> bytes = bytes_;
  reinterpret_cast<plan::Header*>(bytes.data())->refusals = 1;
  plan::Refusal refusal{};
  refusal.function = 0x500;
  refusal.size = 16;
  refusal.reason = plan::Reason::kLoop;
  const auto* begin = reinterpret_cast<const char*>(&refusal);
  bytes.insert(bytes.end(), begin, begin + sizeof refusal);
  Plan plan;
  ASSERT_TRUE(plan.adopt(bytes.data(), bytes.size()));
  note_refusals({module_, plan, true});
  EXPECT_EQ(reason_of(kCallee), plan::Reason::kShadowStack) << "it pushes a return address";
  EXPECT_EQ(reason_of(kJumper), plan::Reason::kNone);
  EXPECT_EQ(reason_of(0x500), plan::Reason::kLoop);
}

TEST_F(Rewriting, OtherCodeThanThePlansIsLeftAlone) {
  text_[kJumper + plan::kJumpBytes] ^= 1;
  EXPECT_STREQ(obstacle_to_trampolines({module_, plan_, false}),
               "its code is not what its plan was made for");
}

// The call leads elsewhere: somebody else has changed it, and expects it to stay so.
TEST_F(Rewriting, AnotherCallThanThePlansIsLeftAlone) {
  EXPECT_EQ(obstacle_to_trampolines({module_, plan_, false}), nullptr);
  write(kCall, 0xe8, kCallee);
  EXPECT_STREQ(obstacle_to_trampolines({module_, plan_, false}),
               "its code is not what its plan was made for");
}

// The tail call would appear below a function that is not in the tree.
TEST_F(Rewriting, ATailCallOfAFunctionThatIsLeftOutIsNotCounted) {
  const Work work{module_, plan_, false};
  const plan::Trampoline& tail_call = plan_.trampolines()[kTailCall];
  EXPECT_TRUE(is_used(work, tail_call));
  static constexpr signal_safe::LeftOut::Boundary kBoundaries[] = {{kJumper, 1}, {kCallee, 0}};
  signal_safe::LeftOut& left_out = signal_safe::session.code_map.left_out();
  ASSERT_TRUE(left_out.add({module_.begin, module_.end, module_.load_bias, kBoundaries, 2, false}));
  EXPECT_FALSE(is_used(work, tail_call));
  // Another test's module may be at this address.
  ASSERT_TRUE(left_out.add({module_.begin, module_.end, module_.load_bias, nullptr, 0, false}));
}

}  // namespace
}  // namespace fbleprof::capture
