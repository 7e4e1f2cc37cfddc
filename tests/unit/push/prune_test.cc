#include "report/push/prune.h"

#include <gtest/gtest.h>

#include "tests/support/profile_builder.h"

namespace fbleprof::push {
namespace {

TEST(Prune, CheapestContextsAreChargedToTheirCallers) {
  const auto profile = test::profile_of("a = 1\na b = 100\na c = 2\na c d = 3\ne = 50\n");
  EXPECT_EQ(test::text_of(prune(profile, *profile.find_metric("cpu"), 4)),
            "[root]\n.a cpu=6\n..b cpu=100\n.e cpu=50\n");
}

TEST(Prune, WhatFitsIsLeftAlone) {
  const auto profile = test::profile_of("a = 1\na b = 100\n");
  EXPECT_EQ(test::text_of(prune(profile, *profile.find_metric("cpu"), 3)), test::text_of(profile));
}

TEST(Prune, EvenOneNodeHoldsTheSum) {
  const auto profile = test::profile_of("a = 1\na b = 100\n");
  EXPECT_EQ(test::text_of(prune(profile, *profile.find_metric("cpu"), 1)), "[root] cpu=101\n");
}

}  // namespace
}  // namespace fbleprof::push
