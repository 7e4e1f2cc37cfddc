#include "symbolize/disassembly.h"

#include <gtest/gtest.h>

#include "build_sample.h"
#include "symbolize/elf_object.h"
#include "tests/support/text.h"

namespace fbleprof::symbolize {
namespace {

// Code of known bytes: a call, a byte that begins no instruction in 64-bit code, a return.
constexpr const char* kCode =
    ".globl first, second\n"
    ".type first, @function\n.type second, @function\n"
    "first: nop\n call second\n .byte 0x06\n ret\n"
    "second: ret\n";

class DisassemblyTest : public testing::Test {
 protected:
  void SetUp() override {
    shop_.write("code.s", kCode);
    ASSERT_TRUE(shop_.run("gcc -shared -nostdlib -Wl,-Bsymbolic,--build-id code.s -o code.so"));
    module_.path = shop_.path("code.so");
    module_.build_id = build_id_of(module_.path);
    first_ = address_of(module_.path, "first");
    second_ = address_of(module_.path, "second");
  }

  Workshop shop_;
  ModuleFile module_;
  std::uint64_t first_ = 0, second_ = 0;
};

#ifdef __x86_64__
TEST_F(DisassemblyTest, EachInstructionHasAddressBytesAndText) {
  const auto code = disassemble(module_, first_, second_, {});
  ASSERT_TRUE(code.ok()) << code.error().line();
  ASSERT_EQ(code->size(), 4u);
  EXPECT_EQ((*code)[0].text, "nop");
  EXPECT_EQ((*code)[0].bytes, "\x90");
  EXPECT_EQ((*code)[1].address, first_ + 1);
  EXPECT_EQ((*code)[1].bytes.size(), 5u);
  EXPECT_EQ((*code)[3].address, second_ - 1);
}

TEST_F(DisassemblyTest, DirectCallsHaveATarget) {
  const auto code = disassemble(module_, first_, second_, {});
  ASSERT_TRUE(code.ok());
  EXPECT_FALSE((*code)[0].target);
  EXPECT_TRUE((*code)[1].target.has_value());
}

TEST_F(DisassemblyTest, InvalidCodeIsShownAsBytesAndDecodingContinues) {
  const auto code = disassemble(module_, first_, second_, {});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ((*code)[2].text, ".byte 0x06");
  EXPECT_EQ((*code)[3].text.substr(0, 3), "ret");
}
#endif

TEST_F(DisassemblyTest, RangeBeyondTheCodeIsCut) {
  const auto code = disassemble(module_, second_, second_ + (1u << 30), {});
  ASSERT_TRUE(code.ok());
  EXPECT_FALSE(code->empty());
}

TEST_F(DisassemblyTest, AddressWithoutCodeIsAnError) {
  EXPECT_FALSE(disassemble(module_, 1u << 30, (1u << 30) + 8, {}).ok());
}

TEST_F(DisassemblyTest, FileThatWasReplacedIsAnError) {
  module_.build_id = "another";
  const auto code = disassemble(module_, first_, second_, {});
  ASSERT_FALSE(code.ok());
  EXPECT_TRUE(test::holds(code.error().line(), "replaced"));
  module_.path = shop_.path("nothing");
  EXPECT_FALSE(disassemble(module_, first_, second_, {}).ok());
}

}  // namespace
}  // namespace fbleprof::symbolize
