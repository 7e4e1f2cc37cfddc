#include "names/linkage.h"

#include <gtest/gtest.h>

namespace fbleprof::names {
namespace {

std::string suffix_of(std::string_view name) {
  const LinkageName split = split_linkage_name(name);
  EXPECT_EQ(std::string(split.function) + std::string(split.suffix), name);
  return std::string(split.suffix);
}

TEST(LinkageName, EndsBeforeTheWordsOfPartsAndClones) {
  EXPECT_EQ(suffix_of("_Z3foov.part.0.cold"), ".part.0.cold");
  EXPECT_EQ(suffix_of("parse.constprop.0.isra.1"), ".constprop.0.isra.1");
  EXPECT_EQ(suffix_of("_Z3foov.__part.1"), ".__part.1");
  EXPECT_EQ(suffix_of("_Z3foov.lto_priv.3"), ".lto_priv.3");
  EXPECT_EQ(suffix_of("_Z3foov.cold.1"), ".cold.1");
  EXPECT_EQ(suffix_of("dot.avx512f_bmi2"), ".avx512f_bmi2");
}

TEST(LinkageName, HoldsEveryOtherWord) {
  for (const char* name :
       {"", "f", ".", "f.", ".cold", "counter.0", "main.main", "_Z3foov.resume", "_Z3foov.17",
        "_Z3foov._omp_fn.0", "_ZN1a8$u7b$..1fE", "db.coldLoad", "_Z3foov.cold.resume"}) {
    EXPECT_EQ(suffix_of(name), "") << name;
  }
  EXPECT_EQ(suffix_of("_Z3foov.resume.cold"), ".cold");
  EXPECT_EQ(suffix_of("counter.0.part.1"), ".part.1");
}

TEST(LinkageName, TellsParts) {
  EXPECT_TRUE(is_part("_Z3foov.cold"));
  EXPECT_FALSE(is_part("_Z3foov.resume"));
  EXPECT_FALSE(is_part("main.main"));
}

}  // namespace
}  // namespace fbleprof::names
