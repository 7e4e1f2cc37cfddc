#include "symbolize/namesakes.h"

#include <gtest/gtest.h>

namespace fbleprof::symbolize {
namespace {

using profile::Namesakes;

// Symbols in the order of a symbol table.
class TellApart : public testing::Test {
 protected:
  void file(std::string_view name) {
    ++file_;
    unit_ = name;
  }
  std::size_t local(std::string_view name) { return add(name, true); }
  std::size_t global(std::string_view name) { return add(name, false); }

  // Unit and kind of each symbol, as "a.c unit".
  std::vector<std::string> told() const {
    const ToldApart result = tell_apart(symbols_);
    std::vector<std::string> texts;
    for (const ToldApart::Symbol& symbol : result.symbols) {
      constexpr const char* kKinds[] = {"unknown", "none", "unit", "place"};
      texts.push_back(result.units[symbol.unit] + " " +
                      kKinds[static_cast<std::size_t>(symbol.namesakes)]);
    }
    return texts;
  }

 private:
  std::size_t add(std::string_view name, bool is_local) {
    const std::uint64_t begin = 0x100 * (symbols_.size() + 1);
    symbols_.push_back({.begin = begin,
                        .size = 0x10,
                        .limit = 0x10000,
                        .name = name,
                        .origin = NameOrigin::kSymtab,
                        .is_function = true,
                        .is_local = is_local,
                        .is_weak = false,
                        .file = is_local ? file_ : 0,
                        .unit = is_local ? unit_ : std::string_view()});
    return symbols_.size() - 1;
  }

  std::vector<RawSymbol> symbols_;
  std::uint32_t file_ = 0;
  std::string_view unit_;
};

using Texts = std::vector<std::string>;

TEST_F(TellApart, StaticFunctionsOfOneNameByTheirFiles) {
  file("a.c");
  local("parse");
  local("draw");
  file("b.c");
  local("parse");
  global("main");
  EXPECT_EQ(told(), (Texts{"a.c unit", "a.c none", "b.c unit", " none"}));
}

TEST_F(TellApart, FilesOfOneNameByTheirOrder) {
  file("util.c");
  local("parse");
  file("util.c");
  local("draw");
  file("util.c");
  local("parse");
  EXPECT_EQ(told(), (Texts{"util.c (1 of 2) unit", "util.c none", "util.c (2 of 2) unit"}));
}

TEST_F(TellApart, PartsBelongToTheFunctionOfTheirFile) {
  file("a.c");
  local("parse");
  local("parse.part.0");
  file("b.c");
  local("parse.constprop.0");
  local("parse.constprop.0.cold");
  EXPECT_EQ(told(), (Texts{"a.c unit", "a.c unit", "b.c unit", "b.c unit"}));
}

TEST_F(TellApart, PartsOfAGlobalFunctionBelongToIt) {
  file("a.c");
  local("parse.cold");
  local("parse.part.0");
  global("parse");
  EXPECT_EQ(told(), (Texts{" none", " none", " none"}));
}

TEST_F(TellApart, PartsInTwoFilesMayBeOfAStaticFunction) {
  file("a.c");
  local("parse.cold");
  file("b.c");
  local("parse.cold");
  global("parse");
  EXPECT_EQ(told(), (Texts{"a.c unit", "b.c unit", " unit"}));
}

TEST_F(TellApart, PartsOfAnInlineFunctionAreOfOneFunctionInAllFiles) {
  file("a.cc");
  local("_ZN1A5parseEi.isra.0");
  file("b.cc");
  local("_ZN1A5parseEi.isra.0");
  EXPECT_EQ(told(), (Texts{" none", " none"}));
}

TEST_F(TellApart, FunctionsOfAnonymousNamespacesByTheirFiles) {
  for (const char* name :
       {"_ZN12_GLOBAL__N_11P5parseEli.constprop.0", "_ZL5parsei.isra.0", "_ZNKUlvE_clEv.isra.0"}) {
    file("a.cc");
    local(name);
    file("b.cc");
    local(name);
  }
  EXPECT_EQ(told(),
            (Texts{"a.cc unit", "b.cc unit", "a.cc unit", "b.cc unit", "a.cc unit", "b.cc unit"}));
}

TEST_F(TellApart, AGlobalFunctionFromStaticOnes) {
  file("a.c");
  local("parse");
  file("");  // the linker's own: a global symbol that became local
  local("parse");
  EXPECT_EQ(told(), (Texts{"a.c unit", " unit"}));
}

TEST_F(TellApart, FunctionsOfUnknownFilesInThisBuildOnly) {
  file("<artificial>");
  local("parse");
  local("parse.lto_priv.0");
  local("parse.lto_priv.0.cold");
  local("draw");
  EXPECT_EQ(told(), (Texts{"0x100 place", "0x200 place", "0x200 place", " none"}));
}

TEST_F(TellApart, PartsOfUnknownFilesStayAloneIfTheyMayBeOfSeveralFunctions) {
  local("parse");
  local("parse");
  local("parse.cold");
  local("draw.part.0");
  local("draw.part.0");
  EXPECT_EQ(told(),
            (Texts{"0x100 place", "0x200 place", "0x300 place", "0x400 place", "0x500 place"}));
}

TEST_F(TellApart, VersionsOfAFunctionByTheirOrder) {
  global("memcpy");
  global("memcpy");
  EXPECT_EQ(told(), (Texts{" (1 of 2) unit", " (2 of 2) unit"}));
}

}  // namespace
}  // namespace fbleprof::symbolize
