// Call frame instructions and what they say of a frame.
#include "signal_safe/unwind_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "arch/landing_pad.h"
#include "arch/registers.h"

namespace fbleprof::signal_safe {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Base = FrameRule::Base;
using SavedFp = FrameRule::SavedFp;

constexpr std::uint8_t kSp = arch::kDwarfSp, kFp = arch::kDwarfFp, kOther = arch::kDwarfBase,
                       kReturn = arch::kDwarfReturn;

// An object with one function of 64 bytes and its unwind table.
class Object {
 public:
  static constexpr std::uint64_t kCodeBytes = 64;
  struct How {
    std::string augmentation = "zR";
    Bytes augmentation_data = {0x1b};  // of pointers: relative, 4 bytes, signed
    int pointer_bytes = 4;
    std::uint8_t version = 1, data_alignment = 0x78;  // -8
    // The call frame begins at sp + 8, where the return address is.
    Bytes initial = {0x0c, kSp, 8, 0x80 | kReturn, 1};
  };

  explicit Object(const Bytes& instructions) : Object(instructions, How()) {}
  Object(const Bytes& instructions, const How& how) : bytes_(4096) {
    Bytes cie = {how.version};
    cie.insert(cie.end(), how.augmentation.begin(), how.augmentation.end());
    for (const int byte : {0, 1, int{how.data_alignment}, 16})
      cie.push_back(static_cast<std::uint8_t>(byte));
    if (how.augmentation[0] == 'z') {
      cie.push_back(static_cast<std::uint8_t>(how.augmentation_data.size()));
      append(cie, how.augmentation_data);
    }
    append(cie, how.initial);
    const std::size_t cie_at = 64, fde_at = cie_at + 8 + cie.size();
    put_entry(cie_at, 0, cie);
    Bytes fde(2 * static_cast<std::size_t>(how.pointer_bytes));
    fde[static_cast<std::size_t>(how.pointer_bytes)] = kCodeBytes;
    if (how.augmentation[0] == 'z') fde.push_back(0);
    append(fde, instructions);
    put_entry(fde_at, static_cast<std::uint32_t>(fde_at + 4 - cie_at), fde);
    // Header: version, encodings of the table's address, its length and rows.
    for (std::size_t i = 0; i < 4; ++i) bytes_[i] = Bytes{1, 0x1b, 0x03, 0x3b}[i];
    put(8, 1);
    put(12, kCode);
    put(16, static_cast<std::uint32_t>(fde_at));
    object_.begin = address(0);
    object_.end = address(bytes_.size());
    object_.eh_frame_header = bytes_.data();
  }

  FrameRule rule(std::uint64_t place = kCodeBytes - 1) const {
    return frame_rule_in(object_, address(kCode) + place);
  }
  LoadedObject& loaded() { return object_; }
  std::uint8_t& operator[](std::size_t at) { return bytes_[at]; }
  std::uint64_t address(std::uint64_t at) const {
    return reinterpret_cast<std::uint64_t>(bytes_.data()) + at;
  }
  static constexpr std::uint32_t kCode = 2048;

 private:
  static void append(Bytes& to, const Bytes& more) {
    to.insert(to.end(), more.begin(), more.end());
  }
  void put(std::size_t at, std::uint32_t value) { std::memcpy(&bytes_[at], &value, sizeof value); }
  void put_entry(std::size_t at, std::uint32_t id, const Bytes& rest) {
    put(at, static_cast<std::uint32_t>(4 + rest.size()));
    put(at + 4, id);
    std::copy(rest.begin(), rest.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at + 8));
  }

  Bytes bytes_;
  LoadedObject object_;
};

TEST(UnwindTable, WithoutInstructionsTheFrameIsThatOfTheEntry) {
  const FrameRule rule = Object({}).rule();
  EXPECT_EQ(rule.base, Base::kSp);
  EXPECT_EQ(rule.cfa_offset, 8);
  EXPECT_EQ(rule.saved_fp, SavedFp::kUnchanged);
}

TEST(UnwindTable, InstructionsHoldFromTheirPlaceOn) {
  // Each way to advance: by 1, 2, 3 and 4; then the offset grows by 8.
  const Object object(
      {0x41, 0x0e, 16, 0x02, 2, 0x0e, 24, 0x03, 3, 0, 0x0e, 32, 0x04, 4, 0, 0, 0, 0x0e, 40});
  const int expected[] = {8, 16, 16, 24, 24, 24, 32, 32, 32, 32, 40, 40};
  for (std::uint64_t place = 0; place < std::size(expected); ++place) {
    EXPECT_EQ(object.rule(place).cfa_offset, expected[place]) << place;
  }
}

TEST(UnwindTable, TheFrameMayBeFoundByAnyRegister) {
  EXPECT_EQ(Object({0x0c, kFp, 16}).rule().base, Base::kFp);
  EXPECT_EQ(Object({0x0d, kFp}).rule().base, Base::kFp);
  EXPECT_EQ(Object({0x0d, kFp}).rule().cfa_offset, 8) << "as before";
  const FrameRule other = Object({0x0c, 10, 24}).rule();
  EXPECT_EQ(other.base, Base::kRegister);
  EXPECT_EQ(other.cfa_register, 10);
  EXPECT_EQ(Object({0x0c, 17, 8}).rule().base, Base::kUnknown) << "a vector register";
}

TEST(UnwindTable, OffsetsMayBeSigned) {
  const FrameRule rule = Object({0x12, kFp, 0x7e}).rule();  // -2 times -8
  EXPECT_EQ(rule.base, Base::kFp);
  EXPECT_EQ(rule.cfa_offset, 16);
  EXPECT_EQ(Object({0x13, 0x7d}).rule().cfa_offset, 24);
  EXPECT_EQ(Object({0x11, kFp, 0x02}).rule().fp_offset, -16);
}

TEST(UnwindTable, NumbersMayBeLongerThanTheyNeedToBe) {
  EXPECT_EQ(Object({0x13, 0xfd, 0x7f}).rule().cfa_offset, 24);
  // As long as a number of 64 bits can be, and longer: its rest is taken for instructions.
  const Bytes many(7, 0x80);
  Bytes number = {0x0e, 0x90};
  number.insert(number.end(), many.begin(), many.end());
  number.insert(number.end(), {0x00, 0x41});
  EXPECT_EQ(Object(number).rule().cfa_offset, 16);
  number[9] = 0x80;
  EXPECT_EQ(Object(number).rule().cfa_offset, 16);
  Bytes negative = {0x13, 0xfd};
  negative.insert(negative.end(), 7, 0xff);
  negative.push_back(0x7f);
  EXPECT_EQ(Object(negative).rule().cfa_offset, 24);
  negative[9] = 0xff;
  EXPECT_EQ(Object(negative).rule().cfa_offset, 24);
}

TEST(UnwindTable, TheFramePointerIsSavedRestoredAndForgotten) {
  const auto saved = [](const Bytes& instructions) { return Object(instructions).rule(); };
  EXPECT_EQ(saved({0x80 | kFp, 2}).saved_fp, SavedFp::kAtCfa);
  EXPECT_EQ(saved({0x80 | kFp, 2}).fp_offset, -16);
  EXPECT_EQ(saved({0x05, kFp, 3}).fp_offset, -24);
  EXPECT_EQ(saved({0x80 | kFp, 2, 0xc0 | kFp}).saved_fp, SavedFp::kUnchanged);
  EXPECT_EQ(saved({0x80 | kFp, 2, 0x06, kFp}).saved_fp, SavedFp::kUnchanged);
  EXPECT_EQ(saved({0x80 | kFp, 2, 0x08, kFp}).saved_fp, SavedFp::kUnchanged);
  // At a place that the frame pointer tells: breg6 -8.
  const FrameRule by_itself = saved({0x10, kFp, 2, 0x76, 0x78});
  EXPECT_EQ(by_itself.saved_fp, SavedFp::kAtFp);
  EXPECT_EQ(by_itself.fp_offset, -8);
  EXPECT_EQ(saved({0x10, kFp, 2, 0x77, 0x78}).base, Base::kUnknown);
}

TEST(UnwindTable, TheBaseRegisterIsAtAWordOfTheFrameOrLost) {
  const auto saved = [](const Bytes& instructions) {
    return Object(instructions).rule().saved_base;
  };
  EXPECT_EQ(saved({}), FrameRule::kBaseUnchanged);
  EXPECT_EQ(saved({0x80 | kOther, 3}), -3);
  EXPECT_EQ(saved({0x80 | kOther, 3, 0xc0 | kOther}), FrameRule::kBaseUnchanged);
  EXPECT_EQ(saved({0x80 | kOther, 3, 0x08, kOther}), FrameRule::kBaseUnchanged);
  EXPECT_EQ(saved({0x11, kOther, 0x7f}), FrameRule::kBaseLost) << "above the frame";
  EXPECT_EQ(saved({0x05, kOther, 0x81, 1}), FrameRule::kBaseLost) << "too far for a byte";
  EXPECT_EQ(saved({0x09, kOther, 12}), FrameRule::kBaseLost) << "in another register";
  EXPECT_EQ(saved({0x10, kOther, 1, 0x30}), FrameRule::kBaseLost);
  EXPECT_EQ(saved({0x14, kOther, 1}), FrameRule::kBaseLost);
  EXPECT_EQ(saved({0x15, kOther, 1}), FrameRule::kBaseLost);
  EXPECT_EQ(saved({0x16, kOther, 1, 0x30}), FrameRule::kBaseLost);
  Object::How halves;
  halves.data_alignment = 0x7c;  // -4
  halves.initial.back() = 2;
  EXPECT_EQ(Object({0x80 | kOther, 3}, halves).rule().saved_base, FrameRule::kBaseLost)
      << "between two words";
  EXPECT_EQ(Object({0x80 | kOther, 6}, halves).rule().saved_base, -3);
}

TEST(UnwindTable, WhatIsSaidOfOtherRegistersDoesNotMatter) {
  for (const Bytes& instructions :
       {Bytes{0x14, 12, 1}, Bytes{0x15, 12, 1}, Bytes{0x16, 12, 1, 0x30}, Bytes{0x80 | 12, 2},
        Bytes{0x09, 12, 13}}) {
    const FrameRule rule = Object(instructions).rule();
    EXPECT_EQ(rule.base, Base::kSp) << int{instructions[0]};
    EXPECT_EQ(rule.cfa_offset, 8);
    EXPECT_EQ(rule.saved_base, FrameRule::kBaseUnchanged);
  }
}

TEST(UnwindTable, AFunctionThatLeavesForALandingPadMayHideItsReturnAddress) {
  constexpr std::uint8_t kArgument = arch::kDwarfLandingArgument;
  EXPECT_EQ(Object({0x80 | kArgument, 2}).rule(8).base, Base::kSp) << "it has not left yet";
  EXPECT_EQ(Object({0x80 | kArgument, 2, 0x80 | kReturn, 3}).rule(8).base, Base::kUnknown);
}

TEST(UnwindTable, ExpressionsThatOnlyBeginLikeKnownOnesAreUnknown) {
  const Bytes stub = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  for (const std::size_t at : {0u, 1u, 2u, 4u}) {
    Bytes instructions = {0x0f, 11};
    instructions.insert(instructions.end(), stub.begin(), stub.end());
    instructions[2 + at] ^= 1;
    EXPECT_EQ(Object(instructions).rule().base, Base::kUnknown) << at;
  }
  EXPECT_EQ(Object({0x0f, 5, 0x75, 0x10, 0x06, 0x23, 8}).rule().base, Base::kUnknown);
  EXPECT_EQ(Object({0x0f, 6, 0x77, 0x10, 0x06, 0x23, 8, 0x22}).rule().base, Base::kUnknown);
  EXPECT_EQ(Object({0x10, kFp, 1, 0x76}).rule().base, Base::kUnknown) << "without its offset";
}

TEST(UnwindTable, AReturnAddressElsewhereIsNotFollowed) {
  EXPECT_EQ(Object({0x07, kReturn}).rule().base, Base::kEnd);
  EXPECT_EQ(Object({0x07, kFp}).rule().base, Base::kSp);
  EXPECT_EQ(Object({0x80 | kReturn, 2}).rule().base, Base::kUnknown);
  EXPECT_EQ(Object({0x09, kReturn, 12}).rule().base, Base::kUnknown);
  EXPECT_EQ(Object({0x10, kReturn, 1, 0x30}).rule().base, Base::kUnknown);
}

TEST(UnwindTable, StatesAreRememberedUpToABound) {
  EXPECT_EQ(Object({0x0a, 0x0e, 64, 0x0b}).rule().cfa_offset, 8);
  EXPECT_EQ(Object({0x0b}).rule().base, Base::kUnknown);
  EXPECT_EQ(Object(Bytes(8, 0x0a)).rule().base, Base::kSp);
  EXPECT_EQ(Object(Bytes(9, 0x0a)).rule().base, Base::kUnknown);
}

TEST(UnwindTable, WhatIsNotHandledIsUnknown) {
  for (const Bytes& instructions :
       {Bytes{0x3f}, Bytes{0x09, kFp, 12}, Bytes{0x14, kFp, 1}, Bytes{0x15, kReturn, 1},
        Bytes{0x16, kFp, 1, 0x30}, Bytes{0x16, kReturn, 1, 0x30}, Bytes{0x0f, 1, 0x30},
        Bytes{0x0f, 4, 0x76, 0x70, 0x06, 0x06}, Bytes{0x0f, 3, 0x76, 0x70, 0x30},
        Bytes{0x0f, 5, 0x77, 0x10, 0x06, 0x23, 16}, Bytes{0x0f, 5, 0x77, 0x10, 0x06, 0x22, 8},
        Bytes{0x0f, 5, 0x77, 0x10, 0x12, 0x23, 8}}) {
    EXPECT_EQ(Object(instructions).rule().base, Base::kUnknown) << int{instructions[0]};
  }
  EXPECT_EQ(Object({0x2e, 16, 0x00}).rule().base, Base::kSp) << "no matter for the frame";
}

TEST(UnwindTable, ExpressionsOfRealignedStacksAndStubsAreKnown) {
  const FrameRule by_fp = Object({0x0f, 3, 0x76, 0x70, 0x06}).rule();
  EXPECT_EQ(by_fp.base, Base::kDerefFp);
  EXPECT_EQ(by_fp.cfa_offset, -16);
  const FrameRule by_sp = Object({0x0f, 5, 0x77, 0x10, 0x06, 0x23, 8}).rule();
  EXPECT_EQ(by_sp.base, Base::kDerefSp);
  EXPECT_EQ(by_sp.cfa_offset, 16);
  const FrameRule stub =
      Object({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}).rule();
  EXPECT_EQ(stub.base, Base::kPltEntry);
  EXPECT_EQ(stub.cfa_offset, 11);
}

TEST(UnwindTable, EntriesMayDescribeThemselvesInOtherWays) {
  Object::How plain;
  plain.augmentation = "";
  plain.pointer_bytes = 8;
  EXPECT_EQ(Object({0x0e, 16}, plain).rule().cfa_offset, 16);
  Object::How newer;
  newer.version = 3;
  EXPECT_EQ(Object({0x0e, 16}, newer).rule().cfa_offset, 16);
  Object::How wide;
  wide.augmentation_data = {0x1c};  // 8 bytes, signed
  wide.pointer_bytes = 8;
  EXPECT_EQ(Object({0x0e, 16}, wide).rule().cfa_offset, 16);
  Object::How handled;  // with a personality of 4 bytes, and a table of landing pads
  handled.augmentation = "zPLR";
  handled.augmentation_data = {0x9b, 0, 0, 0, 0, 0x1b, 0x1b};
  EXPECT_EQ(Object({0x0e, 16}, handled).rule().cfa_offset, 16);
  handled.augmentation_data = {0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0x1b, 0x1b};
  EXPECT_EQ(Object({0x0e, 16}, handled).rule().cfa_offset, 16);
  Object::How signal;
  signal.augmentation = "zRS";
  EXPECT_EQ(Object({}, signal).rule().base, Base::kSignalFrame);
  Object::How later;  // a letter that says nothing of its own data
  later.augmentation = "zRB";
  EXPECT_EQ(Object({0x0e, 16}, later).rule().cfa_offset, 16);
  Object::How odd;
  odd.augmentation = "eh";
  odd.pointer_bytes = 8;
  EXPECT_EQ(Object({}, odd).rule().base, Base::kUnknown);
  Object::How unknown;
  unknown.augmentation_data = {0x11};  // LEB128
  EXPECT_EQ(Object({}, unknown).rule().base, Base::kUnknown);
  Object::How broken;
  broken.initial = {0x3f};
  EXPECT_EQ(Object({}, broken).rule().base, Base::kUnknown);
}

TEST(UnwindTable, CodeWithoutAnEntryIsAGap) {
  Object object({});
  const CodeRange inside = code_range_in(object.loaded(), object.address(Object::kCode + 5));
  EXPECT_TRUE(inside.exact);
  EXPECT_EQ(inside.start, object.address(Object::kCode));
  EXPECT_EQ(inside.size, Object::kCodeBytes);
  const CodeRange before = code_range_in(object.loaded(), object.address(100));
  EXPECT_FALSE(before.exact);
  EXPECT_EQ(before.start, object.address(0));
  EXPECT_EQ(before.size, Object::kCode);
  const CodeRange behind = code_range_in(object.loaded(), object.address(Object::kCode + 64));
  EXPECT_EQ(behind.start, object.address(Object::kCode + 64));
  // Code before the object's first byte is another object's, which lies in a hole.
  object.loaded().begin = object.address(Object::kCode + 200);
  const CodeRange in_hole = code_range_in(object.loaded(), object.address(Object::kCode + 300));
  EXPECT_EQ(in_hole.start, object.loaded().begin);
  EXPECT_EQ(object.rule(64).base, Base::kUnknown);
}

TEST(UnwindTable, AHeaderOfAnotherFormatHasNoEntries) {
  for (const std::size_t at : {0u, 2u, 3u}) {
    Object object({});
    object[at] ^= 1;
    EXPECT_EQ(object.rule().base, Base::kUnknown) << at;
    EXPECT_EQ(entry_count(object.loaded()), 0u) << at;
  }
  Object object({});
  EXPECT_EQ(entry_count(object.loaded()), 1u);
  EXPECT_EQ(entry_start(object.loaded(), 0), object.address(Object::kCode));
  object.loaded().eh_frame_header = nullptr;
  EXPECT_EQ(object.rule().base, Base::kUnknown);
}

}  // namespace
}  // namespace fbleprof::signal_safe
