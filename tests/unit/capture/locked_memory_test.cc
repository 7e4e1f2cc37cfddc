// mlockall: the program's own memory is locked as it asks for, and its limits hold.
#include "capture/locked_memory.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "capture/profile.h"
#include "tests/support/no_resources.h"
#include "tests/support/refused_calls.h"
#include "tests/unit/capture/started_session.h"

namespace fbleprof::capture {
namespace {

int asked = 0;  // the flags with which libc's function was called
int answer = 0;
int real(int flags) {
  asked = flags;
  return answer;
}

class LockedMemoryDeathTest : public test::StartedSession {
 protected:
  // In a process of its own, because it cannot be taken back. Nothing is really locked, and nobody
  // has the right to lock any amount.
  static void in_a_process(const std::function<void()>& test) {
    const auto run = [&] {
      profile.pid = static_cast<std::uint32_t>(getpid());
      asked = answer = 0;
      (void)test::without_calls({{SYS_mlock2, EAGAIN}, {SYS_capget, EPERM}}, test);
      return testing::Test::HasFailure() ? 1 : 0;
    };
    EXPECT_EXIT(std::exit(run()), testing::ExitedWithCode(0), "");
  }
};

TEST_F(LockedMemoryDeathTest, WhatIsNotForUsIsLibcs) {
  in_a_process([] {
    for (const int flags : {0, 64, MCL_CURRENT | 64, int{MCL_ONFAULT}}) {
      answer = flags + 1;
      EXPECT_EQ(lock_program(flags, real), flags + 1);
      EXPECT_EQ(asked, flags);
    }
    profile.pid += 1;
    EXPECT_EQ(lock_program(MCL_FUTURE, real), answer) << "a copy of the process";
    EXPECT_EQ(asked, MCL_FUTURE);
  });
}

TEST_F(LockedMemoryDeathTest, IsLimitedAsTheSystemSays) {
  in_a_process([] {
    {
      const test::Limited none(RLIMIT_MEMLOCK, 0);
      EXPECT_EQ(lock_program(MCL_CURRENT, real), -1);
      EXPECT_EQ(errno, EPERM);
    }
    {
      const test::Limited little(RLIMIT_MEMLOCK, 4096);
      EXPECT_EQ(lock_program(MCL_CURRENT | MCL_FUTURE, real), -1);
      EXPECT_EQ(errno, ENOMEM);
    }
    EXPECT_EQ(asked, 0) << "nothing was locked";
  });
}

TEST_F(LockedMemoryDeathTest, FutureMappingsAreLibcsMatter) {
  in_a_process([] {
    EXPECT_EQ(lock_program(MCL_FUTURE | MCL_ONFAULT, real), 0);
    EXPECT_EQ(asked, MCL_FUTURE | MCL_ONFAULT);
    answer = -1;
    EXPECT_EQ(lock_program(MCL_FUTURE, real), -1);
  });
}

TEST_F(LockedMemoryDeathTest, PresentMappingsAreLockedOneByOne) {
  in_a_process([] {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
    for (const int on_fault : {0, int{MCL_ONFAULT}}) {
      EXPECT_EQ(lock_program(MCL_CURRENT | on_fault, real), 0) << "what cannot be locked is not";
      EXPECT_EQ(asked, 0);
      EXPECT_EQ(lock_program(MCL_CURRENT | MCL_FUTURE | on_fault, real), 0);
      EXPECT_EQ(asked, MCL_FUTURE | on_fault);
      asked = 0;
    }
  });
}

}  // namespace
}  // namespace fbleprof::capture
