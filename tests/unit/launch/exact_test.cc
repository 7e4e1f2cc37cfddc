#include "launch/exact.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launch/say.h"
#include "plan/file_stamp.h"
#include "plan/plan.h"

namespace fbleprof::launch {
namespace {

namespace fs = std::filesystem;

constexpr char kModule[] = "/proc/self/exe";

class PlansTest : public testing::Test {
 protected:
  PlansTest() { setenv("XDG_CACHE_HOME", directory_.c_str(), 1); }
  ~PlansTest() override {
    unsetenv("XDG_CACHE_HOME");
    fs::remove_all(directory_);
  }

  std::string path_of(const char* name) const { return directory_ + "/" + name; }
  static std::string path_of_plan(const std::string& stem) {
    struct stat status {};
    EXPECT_EQ(stat(kModule, &status), 0);
    return stem + plan::FileMark(status, true).text + ".plan";
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-plans.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
};

TEST_F(PlansTest, AFolderForPlansIsTheUsersAlone) {
  EXPECT_EQ(plan_folder(), path_of("fbleprof"));
  EXPECT_EQ(mode_of(path_of("fbleprof")), 0700u);
  EXPECT_EQ(plan_folder("/part"), path_of("fbleprof/part"));
  EXPECT_EQ(mode_of(path_of("fbleprof/part")), 0700u);
}

TEST_F(PlansTest, AFolderThatOthersMayChangeIsNotUsed) {
  const std::string folder = path_of("fbleprof");
  fs::create_directory(folder);
  for (const mode_t mode : {0777u, 0720u, 0702u}) {
    chmod(folder.c_str(), mode);
    EXPECT_FALSE(plan_folder().starts_with(directory_)) << std::oct << mode;
  }
  fs::remove(folder);
  fs::create_directory(path_of("elsewhere"));
  fs::create_directory_symlink(path_of("elsewhere"), folder);
  EXPECT_FALSE(plan_folder().starts_with(directory_)) << "a link";
  fs::remove(folder);
  std::ofstream(folder) << "a file";
  EXPECT_FALSE(plan_folder().starts_with(directory_)) << "a file";
  if (geteuid() == 0) {
    fs::remove(folder);
    fs::create_directory(folder);
    ASSERT_EQ(chown(folder.c_str(), 1, 1), 0);
    EXPECT_FALSE(plan_folder().starts_with(directory_)) << "another user's";
  }
}

TEST_F(PlansTest, AFolderIsNotLookedForInARelativePath) {
  setenv("XDG_CACHE_HOME", "here", 1);
  const char* home = getenv("HOME");
  const std::string before = home ? home : "";
  setenv("HOME", directory_.c_str(), 1);
  EXPECT_EQ(plan_folder(), path_of(".cache/fbleprof"));
  setenv("HOME", "nor here", 1);
  EXPECT_EQ(plan_folder(), "/tmp/fbleprof-" + std::to_string(geteuid()));
  home ? setenv("HOME", before.c_str(), 1) : unsetenv("HOME");
}

TEST_F(PlansTest, OldPlansAreRemovedWhenThereAreTooMany) {
  const auto now = fs::file_time_type::clock::now();
  const auto add = [&](const char* name, std::uintmax_t bytes, int hours) {
    std::ofstream(path_of(name)) << "";
    fs::resize_file(path_of(name), bytes);
    fs::last_write_time(path_of(name), now - std::chrono::hours(hours));
  };
  add("oldest.plan", 1, 3);
  add("old.plan", std::uintmax_t{511} << 20, 2);
  add("young.plan", std::uintmax_t{100} << 20, 1);
  add("half.plan.x2Ab3f", 1, 2);
  add("being-written.plan.x2Ab3f", 1, 0);
  add("another.symbols", std::uintmax_t{600} << 20, 3);
  ASSERT_FALSE(plan_of(path_of("new"), kModule).empty());
  EXPECT_TRUE(fs::exists(path_of_plan(path_of("new"))));
  EXPECT_FALSE(fs::exists(path_of("oldest.plan")));
  EXPECT_FALSE(fs::exists(path_of("old.plan")));
  EXPECT_TRUE(fs::exists(path_of("young.plan")));
  EXPECT_FALSE(fs::exists(path_of("half.plan.x2Ab3f")));
  EXPECT_TRUE(fs::exists(path_of("being-written.plan.x2Ab3f")));
  EXPECT_TRUE(fs::exists(path_of("another.symbols"))) << "not a plan";
}

TEST_F(PlansTest, APlanThatOthersMayHaveWrittenIsMadeAnew) {
  const std::string stem = path_of("plan"), path = path_of_plan(stem), other = path_of("other");
  const std::string plan = plan_of(stem, kModule);
  ASSERT_FALSE(plan.empty());
  EXPECT_EQ(mode_of(path), 0600u);
  const auto spoil = [&](const std::string& file) {
    std::string bytes = plan;
    bytes[offsetof(plan::Header, instructions)] ^= 1;  // whole all the same
    std::ofstream(file, std::ios::binary) << bytes;
  };
  spoil(path);
  EXPECT_NE(plan_of(stem, kModule), plan) << "the user's own is used as it is";
  for (const mode_t mode : {0602u, 0620u}) {
    spoil(path);
    chmod(path.c_str(), mode);
    EXPECT_EQ(plan_of(stem, kModule), plan) << std::oct << mode;
    EXPECT_EQ(mode_of(path), 0600u);
  }
  spoil(other);
  fs::remove(path);
  fs::create_symlink(other, path);
  EXPECT_EQ(plan_of(stem, kModule), plan) << "a link";
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(plan_of(stem, kModule), plan) << "a FIFO";
  if (geteuid() == 0) {
    spoil(path);
    ASSERT_EQ(chown(path.c_str(), 1, 1), 0);
    EXPECT_EQ(plan_of(stem, kModule), plan) << "another user's";
  }
}

TEST_F(PlansTest, AnotherVersionsPlanOrAPartIsMadeAnew) {
  const std::string stem = path_of("plan"), path = path_of_plan(stem);
  const std::string plan = plan_of(stem, kModule);
  for (const std::string& bytes : {std::string("short"), std::string(plan.size(), 'x'),
                                   plan.substr(0, plan.size() - 1), plan + 'x'}) {
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(plan_of(stem, kModule), plan);
  }
}

TEST_F(PlansTest, FilesWithOneBuildIdHavePlansOfTheirOwn) {
  const std::string file = path_of("file");
  fs::copy_file(fs::canonical(kModule), file);
  const std::string plan = plan_of(path_of("plan"), file);
  ASSERT_FALSE(plan.empty());
  fs::resize_file(file, 100);  // a copy that nothing can be made of
  const std::string short_plan = plan_of(path_of("plan"), file);
  ASSERT_FALSE(short_plan.empty());
  EXPECT_NE(short_plan, plan);
  fs::copy_file(fs::canonical(kModule), file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(plan_of(path_of("plan"), file), plan);
}

TEST_F(PlansTest, AFileThatCannotBeReadIsTriedAgain) {
  const std::string file = path_of("file");
  fs::copy_file(fs::canonical(kModule), file);
  const bool is_root = geteuid() == 0;  // who reads all files
  if (is_root) {
    for (const std::string& path : {directory_, file}) ASSERT_EQ(chown(path.c_str(), 1, 1), 0);
    ASSERT_EQ(seteuid(1), 0);
  }
  chmod(file.c_str(), 0100);
  EXPECT_EQ(plan_of(path_of("plan"), file), "");
  chmod(file.c_str(), 0500);
  EXPECT_FALSE(plan_of(path_of("plan"), file).empty());
  if (is_root) {
    EXPECT_EQ(seteuid(0), 0);
  }
}

TEST_F(PlansTest, WhereNoPlanCanBeMadeThereIsNone) {
  EXPECT_EQ(plan_of(path_of("no folder/plan"), kModule), "");
  std::string path = path_of("no folder/plan"), module = kModule;
  char* words[] = {path.data(), module.data()};
  EXPECT_EQ(make_plans(2, words), 1);
}

TEST_F(PlansTest, APlanThatCannotBeKeptLeavesNothingBehind) {
  EXPECT_NE(plan_of(path_of("plan"), kModule), "");
  const fs::path kept = fs::directory_iterator(directory_)->path();
  fs::remove(kept);
  fs::create_directory(kept);
  EXPECT_EQ(plan_of(path_of("plan"), kModule), "");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = 16;
  setrlimit(RLIMIT_FSIZE, &little);
  EXPECT_EQ(plan_of(path_of("full"), kModule), "");
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
}

TEST_F(PlansTest, WithoutAHomeThereIsAFolderNevertheless) {
  const char* home = getenv("HOME");
  const std::string before = home ? home : "";
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(plan_folder(), "/tmp/fbleprof-" + std::to_string(geteuid()));
  if (home) setenv("HOME", before.c_str(), 1);
}

TEST_F(PlansTest, ATerminalSeesHowFarTheReadingIs) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  const int other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(other, 0);
  const int kept = dup(2);
  dup2(other, 2);
  const std::string plan = plan_of(path_of("plan"), kModule);
  dup2(kept, 2);
  EXPECT_FALSE(plan.empty());
  char bytes[4096];
  const ssize_t got = read(terminal, bytes, sizeof bytes);
  ASSERT_GT(got, 0);
  const std::string seen(bytes, static_cast<std::size_t>(got));
  EXPECT_TRUE(seen.starts_with("\rfble-prof: reading exe: 0 % ")) << seen;
  for (const int fd : {kept, other, terminal}) close(fd);
}

TEST(Printable, ATerminalGetsNoStrangersControls) {
  EXPECT_EQ(printable("plain, \u00e4\u20ac\U0001f600"), "plain, \u00e4\u20ac\U0001f600");
  EXPECT_EQ(printable("\x1b[31m\n\t\x7f"), "?[31m???");
  EXPECT_EQ(printable("\u009b31m"), "?31m") << "C1";
  EXPECT_EQ(printable("\x9b"
                      "31m \xff\xc3"),
            "?31m ??")
      << "no UTF-8";
  EXPECT_EQ(printable("\u202egnp.exe\u200b"), "?gnp.exe?") << "overrides, invisible";
}

}  // namespace
}  // namespace fbleprof::launch
