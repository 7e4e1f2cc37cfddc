#include "symbolize/demangle.h"

#include <gtest/gtest.h>

namespace fbleprof::symbolize {
namespace {

TEST(Demangle, NamesCxxFunctionsWithTheirParameters) {
  EXPECT_EQ(demangle("_ZN2ns3FooIiE3barEiPKc"), "ns::Foo<int>::bar(int, char const*)");
  EXPECT_EQ(demangle("_ZNKSt6vectorIiSaIiEE4sizeEv"),
            "std::vector<int, std::allocator<int> >::size() const");
}

TEST(Demangle, DoesNotChangeCNames) {
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle(""), "");
  EXPECT_EQ(demangle("_start"), "_start");
  EXPECT_EQ(demangle("_Zebra"), "_Zebra");
  EXPECT_EQ(demangle("i"), "i");  // not the mangling of "int"
}

TEST(Demangle, RemovesCloneSuffixes) {
  EXPECT_EQ(demangle("_Z3foov.cold"), "foo()");
  EXPECT_EQ(demangle("_Z3foov.constprop.0.isra.1.cold"), "foo()");
  EXPECT_EQ(demangle("parse.part.0"), "parse");
  EXPECT_EQ(demangle("parse.llvm.1234567"), "parse");
}

TEST(Demangle, KeepsDotsThatBelongToNames) {
  EXPECT_EQ(demangle("main.main"), "main.main");
  EXPECT_EQ(demangle("runtime.goexit.abi0"), "runtime.goexit.abi0");
  EXPECT_EQ(demangle("counter.0"), "counter.0");
  EXPECT_EQ(demangle(".hidden"), ".hidden");
}

TEST(SplitCloneSuffix, GivesBothParts) {
  const SplitName split = split_clone_suffix("_Z3foov.part.0.cold");
  EXPECT_EQ(split.base, "_Z3foov");
  EXPECT_EQ(split.suffix, ".part.0.cold");
  EXPECT_EQ(split_clone_suffix("plain").suffix, "");
  EXPECT_EQ(split_clone_suffix("").base, "");
}

TEST(Demangle, ReadsRust) {
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE").substr(0, 16), "core::fmt::write");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar"), "123foo::bar");
}

TEST(Demangle, LimitsExponentialExpansion) {
  // Each step doubles the previous text: in full it would take 2^60 bytes.
  std::string bomb = "_Z1f1AIiiE";
  for (int i = 0; i < 60; ++i) {
    constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const std::string number =
        i < 36 ? std::string(1, kDigits[i]) : std::string("1") + kDigits[i - 36];
    bomb += "S_IS" + number + "_S" + number + "_E";
  }
  EXPECT_EQ(demangle(bomb), bomb);
}

TEST(Demangle, RefusesWhatIsTooLong) {
  const std::string endless = "_Z" + std::string(kMaxMangledBytes, 'P');
  EXPECT_EQ(demangle(endless), endless);
  const std::string deep = "_Z1f" + std::string(30000, 'P') + "i";
  EXPECT_EQ(demangle(deep), deep);
}

TEST(Demangle, ReplacesControlCharacters) {
  EXPECT_EQ(demangle("evil\x1b[31m\n"), "evil?[31m?");
  EXPECT_EQ(demangle(std::string_view("_Z1f\0v", 6)), "_Z1f?v");
}

}  // namespace
}  // namespace fbleprof::symbolize
