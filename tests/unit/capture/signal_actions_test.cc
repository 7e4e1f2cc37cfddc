// Actions of signals, where the kernel refuses to change them or the program has changed them
// meanwhile.
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "capture/fatal_signals.h"
#include "capture/found_threads.h"
#include "capture/profile.h"
#include "signal_safe/peek.h"
#include "tests/support/refused_calls.h"
#include "tests/unit/capture/started_session.h"

namespace fbleprof::capture {
namespace {

void handler_of_program(int) {}

using Handler = void (*)(int);

class ActionsDeathTest : public test::StartedSession {
 protected:
  // In a process of its own, because actions are the process's.
  static void in_a_process(const std::function<void()>& test) {
    EXPECT_EXIT(
        {
          profile.pid = static_cast<std::uint32_t>(getpid());
          test();
          std::exit(testing::Test::HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
  }
  // As the kernel has it.
  static struct sigaction now(int number) {
    struct sigaction action {};
    EXPECT_EQ(sigaction(number, nullptr, &action), 0);
    return action;
  }
  static bool is_ours(int number) { return (now(number).sa_flags & SA_SIGINFO) != 0; }
  static struct sigaction action_of_program() {
    struct sigaction action {};
    action.sa_handler = handler_of_program;
    return action;
  }
  static bool without_changes(const std::function<void()>& test) {
    return test::without_calls({{SYS_rt_sigaction, EINVAL}}, test);
  }
};

TEST_F(ActionsDeathTest, OfTheControlSignalAreKeptAndNeverSet) {
  in_a_process([] {
    profile.settings.control_signal = SIGUSR2;
    const struct sigaction given = action_of_program();
    struct sigaction before {};
    EXPECT_EQ(set_watched_action(SIGUSR2, &given, &before), 0);
    EXPECT_EQ(before.sa_handler, Handler{SIG_DFL});
    EXPECT_EQ(set_watched_action(SIGUSR2, nullptr, &before), 0);
    EXPECT_EQ(before.sa_handler, Handler{handler_of_program}) << "the program sees its own";
    EXPECT_EQ(set_watched_action(SIGUSR2, nullptr, nullptr), 0);
    EXPECT_EQ(now(SIGUSR2).sa_handler, Handler{SIG_DFL});
  });
}

TEST_F(ActionsDeathTest, ThatTheKernelRefusesAreRefused) {
  in_a_process([] {
    const struct sigaction given = action_of_program();
    struct sigaction before {};
    const bool has_run = without_changes([&] {
      EXPECT_EQ(set_watched_action(SIGTERM, &given, &before), -1);
      EXPECT_EQ(set_watched_action(SIGTERM, nullptr, &before), -1);
      watch_fatal_signals(1ull << (SIGTERM - 1));
      watch_cleared_signals();
      catch_faults_of_peeks();
      profile.settings.exact = Text<1024>{"all"};
      catch_faults();
    });
    if (!has_run) return;
    for (const int number : {SIGTERM, SIGSEGV, SIGBUS, SIGILL}) {
      EXPECT_EQ(now(number).sa_handler, Handler{SIG_DFL}) << number;
    }
    catch_faults_of_peeks();
    EXPECT_EQ(now(SIGSEGV).sa_handler, Handler{SIG_DFL}) << "it is not tried again";
  });
}

TEST_F(ActionsDeathTest, OfFaultsAreGivenBackUnlessTheProgramChangedThem) {
  in_a_process([] {
    profile.settings.exact = Text<1024>{"all"};
    catch_faults();
    EXPECT_TRUE(is_ours(SIGSEGV));
    catch_faults();  // ours is not put in front of ours
    EXPECT_TRUE(is_watched(SIGSEGV));
    EXPECT_FALSE(is_watched(SIGTERM));
    EXPECT_FALSE(is_watched(-1));
    (void)without_changes([] { stop_catching_faults(); });
    EXPECT_TRUE(is_ours(SIGSEGV)) << "the kernel refused";
    const struct sigaction given = action_of_program();
    EXPECT_EQ(sigaction(SIGBUS, &given, nullptr), 0);  // by a system call that we do not see
    stop_catching_faults();
    EXPECT_EQ(now(SIGSEGV).sa_handler, Handler{SIG_DFL});
    EXPECT_EQ(now(SIGBUS).sa_handler, Handler{handler_of_program});
    stop_catching_faults();
    EXPECT_EQ(now(SIGSEGV).sa_handler, Handler{SIG_DFL});
  });
}

TEST_F(ActionsDeathTest, OfAttachedProgramsAreTakenWhereARuntimesStackIsRead) {
  in_a_process([] {
    expect_found_threads(nullptr);
    catch_faults();
    EXPECT_FALSE(is_ours(SIGSEGV)) << "nothing reads what may not exist";
    catch_faults_of_peeks();
    EXPECT_FALSE(is_ours(SIGSEGV)) << "the program's actions may not be watched yet";
    catch_faults();
    EXPECT_TRUE(is_ours(SIGSEGV));
    trust_caught_faults();
    char word[8];
    EXPECT_FALSE(signal_safe::peek(reinterpret_cast<const void*>(8), word, sizeof word));
    stop_catching_faults();
    EXPECT_EQ(now(SIGSEGV).sa_handler, Handler{SIG_DFL});
    EXPECT_FALSE(signal_safe::peek(reinterpret_cast<const void*>(8), word, sizeof word))
        << "by a system call again";
  });
}

TEST_F(ActionsDeathTest, AHandlerForOneSignalOnlyIsCalledOnce) {
  in_a_process([] {
    static int calls = 0;
    struct sigaction given {};
    given.sa_handler = [](int) { ++calls; };
    given.sa_flags = static_cast<int>(SA_RESETHAND);
    EXPECT_EQ(set_watched_action(SIGUSR1, &given, nullptr), 0);
    raise(SIGUSR1);
    EXPECT_EQ(calls, 1);
    struct sigaction after {};
    EXPECT_EQ(set_watched_action(SIGUSR1, nullptr, &after), 0);
    EXPECT_EQ(after.sa_handler, Handler{SIG_DFL});
    given.sa_flags |= SA_SIGINFO;
    given.sa_sigaction = [](int, siginfo_t* info, void*) { calls += info->si_signo == SIGUSR1; };
    EXPECT_EQ(set_watched_action(SIGUSR1, &given, nullptr), 0);
    raise(SIGUSR1);
    EXPECT_EQ(calls, 2);
  });
}

}  // namespace
}  // namespace fbleprof::capture
