#include "control/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "control/nudge.h"

namespace fbleprof::control {
namespace {

constexpr pid_t kNobody = 1 << 30;  // larger than any pid

TEST(Process, ANameWithParenthesesAndBlanksHidesNoField) {
  std::string name;
  std::ifstream("/proc/self/comm") >> name;
  const std::uint64_t before = start_ticks(getpid());
  std::ofstream("/proc/self/comm") << "a) R 1 (b";
  EXPECT_EQ(start_ticks(getpid()), before);
  EXPECT_NE(before, 0u);
  std::ofstream("/proc/self/comm") << name;
}

TEST(Process, OneThatDoesNotExistHasNothing) {
  EXPECT_EQ(start_ticks(kNobody), 0u);
  EXPECT_TRUE(threads_of(kNobody).empty());
  EXPECT_FALSE(handles(kNobody, SIGPROF));
  EXPECT_EQ(status_field(kNobody, "State"), "");
}

TEST(Process, AnotherProgramHasAnotherImage) {
  const std::string own = image_of(getpid());
  EXPECT_NE(own, "");
  EXPECT_EQ(image_of(getpid()), own);
  EXPECT_EQ(image_of(kNobody), "");
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "60", nullptr);
    _exit(1);
  }
  // Until exec it is the parent's.
  for (int i = 0; i < 5000 && image_of(child) == own; ++i) usleep(1000);
  EXPECT_NE(image_of(child), own);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(Process, IsFoundByItsPidAndStartOnly) {
  const std::uint64_t ticks = start_ticks(getpid());
  EXPECT_EQ(find_process(getpid(), ticks), getpid());
  EXPECT_EQ(find_process(getpid(), ticks + 1), 0);
  EXPECT_EQ(find_process(kNobody, ticks), 0);
}

TEST(Process, HasAPidInItsOwnNamespace) {
  EXPECT_EQ(inner_pid(getpid()), getpid());
  EXPECT_EQ(inner_pid(kNobody), 0);
}

TEST(Process, AFieldIsFoundByItsWholeName) {
  EXPECT_EQ(status_field(getpid(), "Pid"), std::to_string(getpid()));
  EXPECT_EQ(status_field(getpid(), "Pi"), "");
}

TEST(Nudge, AProcessWithoutTheRecordersHandlerGetsNoSignal) {
  signal(SIGPROF, SIG_DFL);
  EXPECT_EQ(Nudge(getpid()).refusal(), ENOTSUP);
  EXPECT_EQ(Nudge(kNobody).refusal(), ENOTSUP);
}

}  // namespace
}  // namespace fbleprof::control
