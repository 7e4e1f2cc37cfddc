// What the server keeps of a profile.
#include "report/web/profiles.h"

#include <gtest/gtest.h>

#include "tests/support/profile_builder.h"

namespace fbleprof::web {
namespace {

using profile::FunctionId;

TEST(Source, FunctionThatListsAddHasNoId) {
  report::Loaded loaded;
  loaded.profile = test::profile_of("a b = 5\n");
  const auto source = make_source(std::move(loaded), 0);
  const std::size_t count = source->loaded.profile.functions().count();
  EXPECT_NE(source->stable_id(FunctionId(count - 1)), 0u);
  EXPECT_EQ(source->stable_id(FunctionId(count)), 0u);
}

}  // namespace
}  // namespace fbleprof::web
