#include "symbolize/disassembly.h"

#include <gtest/gtest.h>

#include "build_sample.h"
#include "elf_bytes.h"
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

// Each instruction as "text", with " to ADDRESS" for a direct call or jump.
std::string code_of(const Workshop& shop, std::uint16_t machine, const std::string& code) {
  const auto image = elf_bytes(
      machine,
      {{.name = ".text", .flags = SHF_ALLOC | SHF_EXECINSTR, .address = 0x1000, .bytes = code}});
  const std::string path = shop.write("other", {image.begin(), image.end()});
  const auto found = disassemble({.path = path}, 0x1000, 0x1000 + code.size(), {});
  if (!found) return found.error().line().substr(path.size());
  std::string text;
  for (const Instruction& each : *found) {
    text += each.text.substr(0, each.text.find(' '));
    if (each.target) text += " to " + std::to_string(*each.target - 0x1000);
    text += "; ";
  }
  return text;
}

TEST_F(DisassemblyTest, OtherProcessorsHaveInstructionsToo) {
  // nop; bl +8; cbz x0, +8; br x17; ret
  EXPECT_EQ(code_of(shop_, EM_AARCH64,
                    raw(0xd503201fU, 0x94000002U, 0xb4000040U, 0xd61f0220U, 0xd65f03c0U)),
            "nop; bl to 12; cbz to 16; br; ret; ");
  // mov r0, r0; bl +8; bx lr
  EXPECT_TRUE(
      code_of(shop_, EM_ARM, raw(0xe1a00000U, 0xeb000000U, 0xe12fff1eU)).ends_with("bl; bx; "));
  // call +0; call *%eax; ret
  EXPECT_EQ(code_of(shop_, EM_386, bytes_of({0xe8, 0, 0, 0, 0, 0xff, 0xd0, 0xc3})),
            "calll to 5; calll; retl; ");
  EXPECT_EQ(code_of(shop_, 0xfffe, "code"),
            ": machine 65534 cannot be disassembled: --source shows the lines");
}

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
