#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "control/process.h"
#include "format/format.h"
#include "launch/attach_command.h"
#include "launch/attached_exact.h"
#include "launch/ctl.h"
#include "launch/filter.h"
#include "launch/library.h"
#include "launch/names.h"
#include "launch/program_run.h"
#include "launch/report_tool.h"

namespace fbleprof::launch {
namespace {

using Words = std::vector<std::string>;

// A command's exit status, and what it printed.
struct Said {
  int status = -1;
  std::string out, err;
};
Said run(int (*command)(const Words&), const Words& words) {
  Said said;
  sigset_t before;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  said.status = command(words);
  fflush(stdout);
  said.err = testing::internal::GetCapturedStderr();
  said.out = testing::internal::GetCapturedStdout();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return said;
}
void expect_refused(int (*command)(const Words&), const Words& words, int status,
                    const std::string& text) {
  const Said said = run(command, words);
  EXPECT_EQ(said.status, status) << testing::PrintToString(words);
  EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
  EXPECT_NE(said.err.find(text), std::string::npos) << said.err;
  EXPECT_EQ(said.out, "");
}

TEST(Attach, HelpThatCannotBePrintedIsAnError) {
  const int kept = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  fflush(stdout);
  setvbuf(stdout, nullptr, _IONBF, 0);
  dup2(full, STDOUT_FILENO);
  for (int (*command)(const Words&) : {attach, detach, control}) {
    EXPECT_EQ(command({"--help"}), kWrongUse);
  }
  dup2(kept, STDOUT_FILENO);
  clearerr(stdout);
  close(kept);
  close(full);
}

TEST(Attach, HelpIsPrinted) {
  for (int (*command)(const Words&) : {attach, detach, control}) {
    for (const char* word : {"--help", "-h"}) {
      const Said said = run(command, {word});
      EXPECT_EQ(said.status, 0);
      EXPECT_NE(said.out.find("Exit status: "), std::string::npos);
      EXPECT_EQ(said.err, "");
    }
  }
}

TEST(Attach, HelpAndVersionComeBeforeTheProcess) {
  const std::string self = std::to_string(getpid());
  const std::vector<std::pair<int (*)(const Words&), Words>> cases = {
      {attach, {"--rate=100", "--help", self}},
      {attach, {"-h", self}},
      {detach, {self, "--help"}},
      {control, {"/nowhere/f", "--help"}},
  };
  for (auto [command, words] : cases) {
    const Said helped = run(command, words);
    EXPECT_EQ(helped.status, 0) << testing::PrintToString(words);
    EXPECT_NE(helped.out.find("Exit status: "), std::string::npos);
    EXPECT_EQ(helped.err, "");
    for (std::string& word : words) {
      if (word == "--help" || word == "-h") word = "--version";
    }
    const Said versioned = run(command, words);
    EXPECT_EQ(versioned.status, 0) << testing::PrintToString(words);
    EXPECT_TRUE(versioned.out.starts_with("fble-prof ")) << versioned.out;
    EXPECT_EQ(versioned.err, "");
  }
}

TEST(Attach, ExpectsOneProcess) {
  for (const Words& words :
       {Words{}, Words{"x"}, Words{"0"}, Words{"-5"}, Words{"12x"}, Words{""}, Words{"1", "2"}}) {
    expect_refused(attach, words, kWrongUse, "expected [options] PID");
    expect_refused(detach, words, kWrongUse, "expected PID");
  }
  expect_refused(attach, {"--rate=0", "1"}, kWrongUse, "--rate=0: expected 1 to 20000");
}

TEST(Attach, RefusesWhatARunningProgramCannotHave) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--names"}, "--names, --runs and --window are for programs that fble-prof starts"},
      {{"--exact", "--runs=2"}, "--names, --runs and --window"},
      {{"--runs=2"}, "--names, --runs and --window"},
      {{"--runs=2", "--window=1s"}, "--names, --runs and --window"},
      {{"--window=1s"}, "--names, --runs and --window"},
      {{"--duration=0"}, "--duration: expected a time above 0"},
      {{"--memory-profile"}, "--memory-profile and --waits"},
      {{"--waits"}, "--memory-profile and --waits"},
      {{"--throttle=5"}, "--throttle needs --exact"},
      {{"--clock=ticks"}, "--clock=ticks is for programs"},
      {{"--only=re:("}, "--only, --not: "},
  };
  for (const auto& [options, text] : cases) {
    Words words = options;
    words.push_back(std::to_string(getpid()));
    expect_refused(attach, words, kWrongUse, text);
  }
}

TEST(Attach, ThereMustBeSuchAProcess) {
  const std::string none = "99999999999";
  expect_refused(attach, {none}, find_library().empty() ? kWrongUse : kRefused,
                 find_library().empty() ? "libfbleprof.so was not found" : "there is none");
}

TEST(Attach, TheEndOfAWaitIsKnown) {
  const sigset_t ending = ending_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &ending, &before);
  using std::chrono::milliseconds;
  EXPECT_EQ(wait_for_end(getpid(), milliseconds(1)), Waited::kToTheEnd);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(wait_for_end(getpid(), milliseconds(60'000)), Waited::kUntilSignal);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  EXPECT_EQ(wait_for_end(child, milliseconds(60'000)), Waited::kUntilProcessEnded);
  waitpid(child, nullptr, 0);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(Ctl, ExpectsAFileAndACommand) {
  for (const Words& words : {Words{}, Words{"f"}, Words{"f", "begin"}, Words{"f", "start", "now"},
                             Words{"f", "snapshot"}, Words{"f", "windows"}}) {
    expect_refused(control, words, 2, "expected FILE and one of start, stop");
  }
  for (const std::string& name : {std::string(), std::string("a..b"), std::string(256, 'n')}) {
    expect_refused(control, {"f", "snapshot", name}, 2, "a name has 1 to 255 bytes");
  }
  expect_refused(control, {"f", "windows", "soon"}, 2, "expected a time such as 500ms");
  for (const Words& words : {Words{"/nowhere/f", "start"}, Words{"/nowhere/f", "snapshot", "n"},
                             Words{"/nowhere/f", "windows", "1s,3"}}) {
    expect_refused(control, words, 2, "No such file or directory");
  }
}

class ProfilesTest : public testing::Test {
 protected:
  ~ProfilesTest() override { std::filesystem::remove_all(directory_); }
  std::string write(const std::string& name, format::State state, std::uint64_t start_ns,
                    std::size_t bytes = sizeof(format::Header), bool is_killed = false) const {
    format::Header header{};
    header.pid = static_cast<std::uint32_t>(getpid());
    header.process_start_ticks = control::start_ticks(getpid()) + (is_killed ? 1 : 0);
    std::memcpy(header.magic, format::kMagic, sizeof header.magic);
    header.state = state;
    header.start_realtime_ns = start_ns;
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(&header), static_cast<std::streamsize>(bytes));
    return path;
  }
  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-run.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
};

TEST_F(ProfilesTest, OfARunAreThoseThatItBegan) {
  using format::State;
  const std::string first = write("m.1", State::kEnded, 100),
                    second = write("m.2", State::kFatal, 101);
  const std::string live = write("m.3", State::kLive, 100);
  const std::string killed = write("k.1", State::kLive, 100, sizeof(format::Header), true),
                    killed_early =
                        write("k.2", State::kStarting, 100, sizeof(format::Header), true);
  write("k.3", State::kStarting, 100);
  write("m.4", State::kEnded, 99);       // an earlier run's
  write("m.5.old", State::kEnded, 100);  // moved away
  write("other.1", State::kEnded, 100);  // another name
  write("m.6", State::kEnded, 100, 50);  // not whole
  std::ofstream(directory_ + "/m.7") << std::string(sizeof(format::Header), 'x');
  std::filesystem::create_symlink(first, directory_ + "/m.8");
  std::filesystem::create_directory(directory_ + "/m.9");
  EXPECT_EQ(profiles_of_run(directory_ + "/m.%p", 100), (Words{first, second}));
  EXPECT_EQ(profiles_of_run(directory_ + "/m.%p", 100, OfRun::kLive), (Words{live}));
  EXPECT_EQ(profiles_of_run(directory_ + "/k.%p", 100), (Words{killed, killed_early}));
  EXPECT_EQ(profiles_of_run(directory_ + "/m.1", 100), (Words{first}));
  EXPECT_TRUE(profiles_of_run("/nowhere/m", 0).empty());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  EXPECT_EQ(profiles_of_run("m.2", 100), (Words{"./m.2"}));
  std::filesystem::current_path(before);
}

TEST(Filter, WithoutTheReportNothingIsPrepared) {
  if (access(report_path().c_str(), X_OK) == 0) GTEST_SKIP() << "it is beside this test";
  const auto files = prepare_filter("parse*");
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().what.find("was not found: install it beside fble-prof"),
            std::string::npos);
  const std::vector<std::string> tables = tables_of("parse*", {"/bin/sh", "/bin/true"});
  EXPECT_EQ(tables, (Words{"", ""}));
}

TEST(Preload, WhatIsNotBesideTheLibraryIsNotFound) {
  EXPECT_EQ(find_beside("/nowhere/libfbleprof.so", "libfbleprof_alloc.so"), "");
  EXPECT_EQ(find_beside("/dev/full", "null"), "/dev/null");
}

// In a child: it changes signals.
int status_of(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(ProgramRun, EndsAsTheProgramDid) {
  const auto ends = [](const std::function<int()>& program) {
    return status_of([&] { return leave_like(run_program(program).status); });
  };
  EXPECT_EQ(WEXITSTATUS(ends([] { return 7; })), 7);
  const int status = ends([] { return raise(SIGKILL); });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(WTERMSIG(ends([] { return raise(SIGTERM); })), SIGTERM);
}

// The signal, or the status, that ends a program, after `meanwhile` ran in its parent. Without a
// signal it ends by itself, after this time.
int end_of_program(unsigned milliseconds, const std::function<void(pid_t)>& meanwhile) {
  const int status = status_of([&] {
    const ProgramRun run = run_program(
        [milliseconds] {
          usleep(milliseconds * 1000);
          return 0;
        },
        meanwhile);
    return WIFSIGNALED(run.status) ? WTERMSIG(run.status) : WEXITSTATUS(run.status);
  });
  EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  return WEXITSTATUS(status);
}

// Another process does this, so that no signal is the parent's own.
void in_another_process(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

TEST(ProgramRun, SignalsReachTheProgram) {
  // Only its parent gets them.
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGABRT, SIGPIPE, SIGPROF,
                           SIGVTALRM, SIGXCPU, SIGRTMIN, SIGRTMAX}) {
    EXPECT_EQ(end_of_program(60'000,
                             [signal](pid_t) {
                               const pid_t parent = getpid();
                               in_another_process([=] { kill(parent, signal); });
                             }),
              signal);
  }
  EXPECT_EQ(end_of_program(60'000, [](pid_t) { ualarm(1, 0); }), SIGALRM);
}

TEST(ProgramRun, SignalsThatAreNotTheProgramsStayHere) {
  for (const int signal : {SIGPIPE, SIGTERM}) {
    EXPECT_EQ(end_of_program(100, [signal](pid_t) { raise(signal); }), 0) << "our own";
  }
  const int status = status_of([] {
    const auto program = [] {
      kill(getppid(), SIGUSR1);
      usleep(100'000);
      return 3;
    };
    return WEXITSTATUS(run_program(program).status);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3) << "what the program sends to its parent";
}

TEST(ProgramRun, AQueuedSignalKeepsItsValue) {
  const int status = status_of([] {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_value.sival_int); };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGRTMIN + 1, &action, nullptr);
    const ProgramRun run = run_program(
        [] { return pause(); },
        [](pid_t) {
          const pid_t parent = getpid();
          in_another_process([parent] { sigqueue(parent, SIGRTMIN + 1, {.sival_int = 42}); });
        });
    return WEXITSTATUS(run.status);
  });
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(ProgramRun, ASecondProgramHasTheActionsOfTheFirst) {
  const int status = status_of([] {
    signal(SIGUSR1, SIG_IGN);
    const auto program = [] {
      struct sigaction user {
      }, interrupt{};
      sigaction(SIGUSR1, nullptr, &user);
      sigaction(SIGINT, nullptr, &interrupt);
      return user.sa_handler == SIG_IGN && interrupt.sa_handler == SIG_DFL ? 0 : 1;
    };
    return WEXITSTATUS(run_program(program).status) + WEXITSTATUS(run_program(program).status);
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace fbleprof::launch
