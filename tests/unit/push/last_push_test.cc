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

TEST_F(LastPushTest, AStateOfAnotherRunOrOtherMetricsIsNotSubtracted) {
  const auto profile = profile_of("a = 10\n");
  const std::string all = "[root]\n.a cpu=10\n";
  LastPush last = snapshot(profile, 7);
  EXPECT_EQ(text_of(since(profile, last)), "[root]\n.a\n");
  LastPush other = last;
  other.run += 1;
  EXPECT_EQ(text_of(since(profile, other)), all);
  other = last;
  other.metrics.back() = "renamed";
  EXPECT_EQ(text_of(since(profile, other)), all);
  other.metrics.pop_back();
  EXPECT_EQ(text_of(since(profile, other)), all);
}

TEST_F(LastPushTest, EveryDamageToAStateIsFound) {
  const std::string path = (directory_ / "state").string();
  ASSERT_FALSE(write_state(path, snapshot(profile_of("a = 10\na b = 5\n"), 7)));
  std::string first;
  std::getline(std::ifstream(path) >> std::ws, first);
  for (const char* rest : {"", "1\n", "1 2\n", "1 2 x\n", "1 2 1 cpu\n", "1 2 1 cpu\nx 1\n",
                           "1 2 1 cpu\n5\n", "1 2 1 cpu\n5 x\n", "1 2 0 cpu\n5 1\n"}) {
    std::ofstream(path) << first << '\n' << rest;
    EXPECT_EQ(read_state(path).run, 0u) << rest;
  }
  std::ofstream(path) << first << "\n1 2 1 cpu\n5 1\n";
  EXPECT_EQ(read_state(path).run, 1u);
}

TEST_F(LastPushTest, AStateThatCannotBeWrittenSaysWhatFollows) {
  const auto outcome = [](const std::filesystem::path& path) {
    const Status bad = write_state(path.string(), LastPush());
    return bad ? bad->line() : "written";
  };
  std::ofstream(directory_ / "file") << "no directory";
  std::filesystem::create_directory(directory_ / "folder");
  for (const auto& place : {directory_ / "file" / "state", directory_ / "folder",
                            std::filesystem::path("/proc/self/state")}) {
    EXPECT_NE(outcome(place).find("the next push with --since-last sends it again"),
              std::string::npos)
        << place;
  }
}

TEST_F(LastPushTest, AStateIsKeptInTheHomeDirectoryOrNowhere) {
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  const auto path = [] {
    const auto found = state_path("a", "http://x");
    return found ? *found : found.error().line();
  };
  setenv("HOME", "/home/me", 1);
  for (const char* state : {"relative", ""}) {
    setenv("XDG_STATE_HOME", state, 1);
    EXPECT_TRUE(path().starts_with("/home/me/.local/state/fbleprof/push-")) << path();
  }
  unsetenv("XDG_STATE_HOME");
  EXPECT_TRUE(path().starts_with("/home/me/.local/state/fbleprof/push-")) << path();
  for (const char* none : {"relative", ""}) {
    setenv("HOME", none, 1);
    EXPECT_NE(path().find("set XDG_STATE_HOME or HOME"), std::string::npos) << path();
  }
  unsetenv("HOME");
  EXPECT_NE(path().find("set XDG_STATE_HOME or HOME"), std::string::npos) << path();
  if (home != nullptr) setenv("HOME", before.c_str(), 1);
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
