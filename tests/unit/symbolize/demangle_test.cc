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

TEST(Demangle, OtherWordsBehindADotNameOtherFunctions) {
  EXPECT_EQ(demangle("_Z7numbersi.resume"), "numbers(int) [resume]");
  EXPECT_EQ(demangle("_Z7numbersi.destroy"), "numbers(int) [destroy]");
  EXPECT_EQ(demangle("_Z7numbersi.cleanup.cold"), "numbers(int) [cleanup]");
  EXPECT_EQ(demangle("_Z7numbersi.resume.0"), "numbers(int) [resume.0]");
  EXPECT_EQ(demangle("_Z4workv._omp_fn.1"), "work() [_omp_fn.1]");
  EXPECT_EQ(demangle("_ZL4workv.17"), "work() [17]");  // another static work(), renamed
  EXPECT_EQ(demangle("_Z4workv.cold.resume"), "work() [cold.resume]");
  EXPECT_EQ(demangle("___Z4workv_block_invoke.3"), "___Z4workv_block_invoke.3");
  EXPECT_EQ(demangle("numbers.resume"), "numbers.resume");
  EXPECT_EQ(demangle("main._omp_fn.0"), "main._omp_fn.0");
}

TEST(Demangle, FunctionsThatGccMakesOfACoroutineAreNamedAfterIt) {
  EXPECT_EQ(demangle("_Z7numbersPZ7numbersiE17_Z7numbersi.Frame.actor"), "numbers(int) [actor]");
  EXPECT_EQ(demangle("_Z7numbersPZ7numbersiE17_Z7numbersi.Frame.actor.cold"),
            "numbers(int) [actor]");
  EXPECT_EQ(demangle("_Z7numbersPZ7numbersiE17_Z7numbersi.Frame.destroy.part.0"),
            "numbers(int) [destroy]");
  EXPECT_EQ(demangle("_Z4tmplPZ4tmplIdE3GenT_E22_Z4tmplIdE3GenT_.Frame.actor"),
            "Gen tmpl<double>(double) [actor]");
  EXPECT_EQ(demangle("_ZN1a1S6memberEPZNKS0_6memberEiE23_ZNK1a1S6memberEi.Frame.destroy"),
            "a::S::member(int) const [destroy]");
  EXPECT_EQ(
      demangle("_ZZZ4mainENKUliE_clEiENUliE_clEPZZZ4mainENKS_clEiENKS0_clEiE39_ZZZ4mainENKUliE"
               "_clEiENKUliE_clEi.Frame.actor"),
      "main::{lambda(int)#1}::operator()(int) const::{lambda(int)#1}::operator()(int) const "
      "[actor]");
}

TEST(Demangle, ACoroutineThatItsFrameDoesNotTellIsNotGuessed) {
  // Not a mangled name, not the parameter, and not one of gcc's two functions.
  EXPECT_EQ(demangle("_Z7numbersPZ7numbersiE14_Z??????.Frame.actor"),
            "numbers(numbers(int)::_Z??????.Frame*) [actor]");
  EXPECT_EQ(demangle("_Z1fP17_Z7numbersi.Framei.actor"), "f(_Z7numbersi.Frame*, int) [actor]");
  EXPECT_EQ(demangle("_Z7numbersPZ7numbersiE17_Z7numbersi.Frame.other"),
            "numbers(numbers(int)::_Z7numbersi.Frame*) [other]");
  EXPECT_EQ(demangle("_Z7numbersPZ7numbersiE99_Z7numbersi.Frame.actor"),
            "_Z7numbersPZ7numbersiE99_Z7numbersi.Frame.actor");
}

TEST(Demangle, ReadsRust) {
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar.llvm.123"), "123foo::bar");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar.resume"), "123foo::bar [resume]");
}

TEST(Demangle, RustNamesHoldDots) {
  const std::string write =
      "_ZN71_$LT$core..hash..sip..Hasher$LT$S$GT$$u20$as$u20$core..hash..Hasher$GT$5write"
      "17h0123456789abcdefE";
  EXPECT_EQ(demangle(write), "<core::hash::sip::Hasher<S> as core::hash::Hasher>::write");
  EXPECT_EQ(demangle(write + ".llvm.1234.cold"), demangle(write));
  EXPECT_EQ(demangle(write + ".resume"), demangle(write) + " [resume]");
  EXPECT_EQ(demangle("_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$"
                     "17h554be9983b3a8478E"),
            "core::ops::function::FnOnce::call_once{{vtable.shim}}");
  std::string many = "_ZN";
  for (int i = 0; i < 100; ++i) many += "4a..b";
  EXPECT_EQ(demangle(many + "17h0123456789abcdefE").substr(0, 12), "a::b::a::b::");
}

TEST(Demangle, ANameOfManyDotsCostsFewRuns) {
  std::string dots = "_ZN";
  while (dots.size() < kMaxMangledBytes - 10) dots += "2..";
  EXPECT_EQ(demangle(dots), dots);
  EXPECT_EQ(demangle("_Z1f" + dots), "_Z1f" + dots);
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
