#include "report/push/last_push.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/profile_builder.h"

namespace fbleprof::push {
namespace {

using test::profile_of;
using test::text_of;

class LastPushTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(LastPushTest, DifferenceHoldsWhatWasAdded) {
  const LastPush before = snapshot(profile_of("a = 10\na b = 5\na b -> 2\n"), 7);
  const auto later = since(profile_of("a = 10\na b = 8\na b -> 3\na c = 1\n"), before);
  EXPECT_EQ(text_of(later), "[root]\n.a\n..b cpu=3 calls=1\n..c cpu=1\n");
}

TEST_F(LastPushTest, FirstPushIsAll) {
  EXPECT_EQ(text_of(since(profile_of("a = 10\n"), LastPush())), "[root]\n.a cpu=10\n");
}

TEST_F(LastPushTest, StateSurvivesItsFile) {
  const std::string path = (directory_ / "deep" / "state").string();
  const auto profile = profile_of("a = 10\na b = 5\n");
  ASSERT_FALSE(write_state(path, snapshot(profile, 7)));
  const LastPush state = read_state(path);
  EXPECT_EQ(state.until_ns, 7u);
  EXPECT_EQ(text_of(since(profile, state)), "[root]\n.a\n..b\n");
}

TEST_F(LastPushTest, DamagedStateIsAsIfNothingWasPushed) {
  const std::string path = (directory_ / "state").string();
  ASSERT_FALSE(write_state(path, snapshot(profile_of("a = 10\na b = 5\n"), 7)));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8);
  EXPECT_EQ(read_state(path).run, 0u);
  std::ofstream(path) << "something else\n";
  EXPECT_EQ(read_state(path).run, 0u);
  EXPECT_EQ(read_state((directory_ / "none").string()).run, 0u);
}

TEST_F(LastPushTest, EachProfileAndServerHasItsOwn) {
  setenv("XDG_STATE_HOME", directory_.c_str(), 1);
  const auto one = state_path("a", "http://x");
  ASSERT_TRUE(one.ok());
  EXPECT_TRUE(one->starts_with(directory_.string()));
  EXPECT_EQ(*one, *state_path("./a", "http://x"));
  EXPECT_NE(*one, *state_path("b", "http://x"));
  EXPECT_NE(*one, *state_path("a", "http://y"));
  unsetenv("XDG_STATE_HOME");
}

}  // namespace
}  // namespace fbleprof::push
