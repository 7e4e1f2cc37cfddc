#include "launch/options.h"
#include "tests/support/text.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "launch/time_text.h"

namespace fbleprof::launch {
namespace {

using Words = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

TEST(Request, OptionsBecomeVariables) {
  const Request request =
      read_request({"-o", "x.out", "--rate=5000", "-cwall", "--compact", "none", "-m", "64M",
                    "--callsites", "--leaves", "--no-native-below", "--start-off", "-v", "prog"});
  EXPECT_EQ(request.error, "");
  EXPECT_EQ(request.environment, (Environment{{"FBLEPROF_OUT", "x.out"},
                                              {"FBLEPROF_RATE", "5000"},
                                              {"FBLEPROF_CLOCK", "wall"},
                                              {"FBLEPROF_COMPACT", "none"},
                                              {"FBLEPROF_MEMORY", "64M"},
                                              {"FBLEPROF_CALLSITES", "1"},
                                              {"FBLEPROF_LEAVES", "1"},
                                              {"FBLEPROF_NATIVE_BELOW", "off"},
                                              {"FBLEPROF_START", "off"},
                                              {"FBLEPROF_VERBOSE", "1"}}));
  EXPECT_EQ(request.command, Words{"prog"});
}

TEST(Request, OutputNamesHaveOnlyPlaceholdersThatAreKnown) {
  for (const char* name : {"x", "/tmp/%e.%p", "%h%t%r", "100%%", "%%q"}) {
    EXPECT_EQ(read_request({"-o", name, "prog"}).error, "") << name;
  }
  for (const char* name : {"%q.out", "a.%p.%d", "%%%q", "100%", ""}) {
    EXPECT_TRUE(test::holds(read_request({"-o", name, "prog"}).error, ": expected the name of a "))
        << name;
  }
}

TEST(Request, TheModeOfAMemoryProfileStandsBehindAnEqualsSign) {
  const auto mode = [](const char* option) {
    const Request request = read_request({option, "prog"});
    EXPECT_EQ(request.command, Words{"prog"});
    return request.error.empty() ? request.environment.at(0).second : "error";
  };
  EXPECT_EQ(mode("--memory-profile"), "hooks");
  EXPECT_EQ(mode("--memory-profile=exact"), "exact");
  EXPECT_EQ(mode("--memory-profile=64K"), "64K");
  EXPECT_EQ(mode("--memory-profile=sample,mmap"), "sample,mmap");
  EXPECT_EQ(mode("--memory-profile=much"), "error");
  EXPECT_EQ(mode("--memory-profile=exact,all"), "error");
}

TEST(Request, WaitsAreAskedForOrRefusedNotBoth) {
  using Environment = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(read_request({"--waits", "prog"}).environment, (Environment{{"FBLEPROF_WAITS", "1"}}));
  EXPECT_EQ(read_request({"--no-waits", "prog"}).environment,
            (Environment{{"FBLEPROF_WAITS", "off"}}));
  EXPECT_NE(read_request({"--waits", "--no-waits", "prog"}).error, "");
}

TEST(Request, WhatIsNotAskedForIsLeftToTheEnvironment) {
  EXPECT_TRUE(read_request({"prog"}).environment.empty());
}

TEST(Request, OptionsAfterTheProgramAreTheProgramsOwn) {
  const Request request = read_request({"-v", "prog", "--rate", "x", "-o", "--", "--help"});
  EXPECT_EQ(request.action, Action::kRun);
  EXPECT_EQ(request.error, "");
  EXPECT_EQ(request.command, (Words{"prog", "--rate", "x", "-o", "--", "--help"}));
}

TEST(Request, AProgramMayBeginWithADashBehindTwoDashes) {
  EXPECT_EQ(read_request({"-r", "5", "--", "-odd", "--", "x"}).command, (Words{"-odd", "--", "x"}));
  EXPECT_EQ(read_request({"-"}).command, Words{"-"});
}

TEST(Request, ValuesAreNotTakenForThePrograms) {
  EXPECT_EQ(read_request({"--out", "file", "prog"}).command, Words{"prog"});
  EXPECT_EQ(read_request({"-vr", "5", "prog"}).command, Words{"prog"});
  EXPECT_EQ(read_request({"-r5", "prog"}).command, Words{"prog"});
}

TEST(Request, WrongUseGivesOneLine) {
  for (const Words& words : std::vector<Words>{{},
                                               {"--"},
                                               {"-v"},
                                               {"--rate", "0", "p"},
                                               {"--rate", "20001", "p"},
                                               {"--rate", "1k", "p"},
                                               {"--rate=", "p"},
                                               {"--rate"},
                                               {"-r"},
                                               {"--rate", "99999999999999999999999", "p"},
                                               {"--clock", "utc", "p"},
                                               {"--compact=pairs", "p"},
                                               {"--memory", "1023K", "p"},
                                               {"--memory", "65G", "p"},
                                               {"--memory", "64MB", "p"},
                                               {"--memory", "M", "p"},
                                               {"--memory", "18446744073709551615G", "p"},
                                               {"--bogus", "p"},
                                               {"-x", "p"},
                                               {"--ra", "5", "p"},
                                               {"--leaves=1", "p"},
                                               {"--rate", "5", "--rate", "6", "p"},
                                               {"--out", "", "p"}}) {
    const Request request = read_request(words);
    EXPECT_NE(request.error, "") << testing::PrintToString(words);
    EXPECT_EQ(request.error.find('\n'), std::string::npos);
  }
}

TEST(Request, EachValueIsChecked) {
  struct Case {
    const char* option;
    Words right, wrong;
  };
  const std::string long_pattern(1001, 'x');
  for (const Case& each : std::vector<Case>{
           {"--depth", {"1", "60000"}, {"0", "60001", "x", "1.5"}},
           {"--tick-period", {"1", "1000000000"}, {"0", "1000000001", "x"}},
           {"--throttle", {"1", "123456789"}, {"0", "x"}},
           {"--clock", {"cpu", "wall", "ticks"}, {"CPU", "cycle"}},
           {"--memory-profile", {"2", "1M", "off", "hooks,mmap"}, {"1", "", ",mmap"}},
           {"--delay", {"0", "5", "500ms", "10s", "5m", "1h", "1000h"}, {"1d", "x", "", "1001h"}},
           {"--control-signal",
            {"USR1", "SIGUSR2", "RTMIN", "SIGRTMIN+30"},
            {"TERM", "RTMIN+31", "RTMIN+x", "RTMIN-1", "SIG"}},
           {"--children", {"all", "cc1*,as"}, {"", std::string(1024, 'c')}},
           {"--exact", {"on", "all", "libz"}, {"", std::string(1024, 'c')}},
           {"--runs", {"1"}, {"0", "3", "2"}},
           {"--window",
            {"1s", "500ms,1", "5m,1000"},
            {"0s", "x", "1s,", "1s,0", "1s,1001", "1s,2x"}},
           {"--only-thread", {"worker*"}, {"", "!worker", "a;b", long_pattern}},
           {"--not", {"parse*"}, {"", "!parse", "a;b", std::string(4001, 'x')}}}) {
    for (const std::string& value : each.right) {
      EXPECT_EQ(read_request({each.option + ("=" + value), "p"}).error, "") << each.option;
    }
    for (const std::string& value : each.wrong) {
      const std::string error = read_request({each.option + ("=" + value), "p"}).error;
      EXPECT_NE(error, "") << each.option << "=" << value;
      EXPECT_EQ(error.find('\n'), std::string::npos);
    }
  }
}

TEST(Request, PatternsKeepTheirOrder) {
  const Request request =
      read_request({"--only", "a", "--not=b", "--only", "c", "--not-thread", "w*", "p"});
  EXPECT_EQ(request.environment,
            (Environment{{"FBLEPROF_FILTER", "a;!b;c"}, {"FBLEPROF_THREADS", "!w*"}}));
}

TEST(Request, TwoRunsNeedACountedOne) {
  unsetenv("FBLEPROF_EXACT");
  EXPECT_TRUE(read_request({"--exact", "--runs", "2", "p"}).twice);
  EXPECT_FALSE(read_request({"--exact", "--runs", "1", "p"}).twice);
  EXPECT_NE(read_request({"--runs", "2", "p"}).error.find("needs --exact"), std::string::npos);
  setenv("FBLEPROF_EXACT", "on", 1);
  EXPECT_EQ(read_request({"--runs", "2", "p"}).error, "");
  setenv("FBLEPROF_EXACT", "", 1);
  EXPECT_NE(read_request({"--runs", "2", "p"}).error, "");
  unsetenv("FBLEPROF_EXACT");
  for (const char* other : {"--start-off", "--window=1s"}) {
    const std::string error = read_request({"--exact", "--runs", "2", other, "p"}).error;
    EXPECT_NE(error.find("cannot be used with --runs=2"), std::string::npos) << error;
  }
}

TEST(Request, TimesNeedAClockOfTime) {
  for (const char* option : {"--delay", "--duration"}) {
    const std::string error = read_request({"--clock", "ticks", option, "1s", "p"}).error;
    EXPECT_TRUE(error.starts_with(std::string(option) + " needs a clock of time")) << error;
    EXPECT_EQ(read_request({"--clock", "wall", option, "1s", "p"}).error, "");
  }
}

TEST(Request, TheFirstMistakeIsTheOneThatIsSaid) {
  const std::string error =
      read_request({"--rate=0", "--runs=3", "--window=x", "--waits", "--no-waits", "p"}).error;
  EXPECT_TRUE(error.starts_with("--rate=0: ")) << error;
  EXPECT_TRUE(read_request({"--only=!", "--rate=0", "p"}).error.starts_with("--only=!: "));
}

// What this machine can sample is not the same everywhere.
TEST(Request, AnEventThatCannotBeSampledIsRefusedInOneLine) {
  for (const char* event : {"cycles", "page-faults", "task-clock"}) {
    const Request request = read_request({"--clock", event, "p"});
    if (request.error.empty()) {
      EXPECT_EQ(request.environment, (Environment{{"FBLEPROF_CLOCK", event}}));
    } else {
      EXPECT_TRUE(request.error.starts_with(std::string("--clock=") + event)) << request.error;
    }
  }
}

TEST(TimeText, IsShort) {
  using std::chrono::seconds;
  EXPECT_EQ(time_text(std::chrono::milliseconds(1500)), "1.5s");
  EXPECT_EQ(time_text(seconds(61)), "1m 1s");
  EXPECT_EQ(time_text(seconds(3600 + 120)), "1h 2m");
}

TEST(Request, TheEndsOfTheRangesAreValid) {
  for (const char* word : {"--rate=1", "--rate=20000", "--memory=1M", "--memory=64g",
                           "--memory=1048576", "--memory=1024k"}) {
    EXPECT_EQ(read_request({word, "p"}).error, "") << word;
  }
}

TEST(Request, WhenToRecordBecomesVariables) {
  const Request request = read_request({"--delay=500ms", "--duration", "10s", "--control-signal",
                                        "RTMIN+3", "--window=1m,5", "prog"});
  EXPECT_EQ(request.error, "");
  EXPECT_EQ(request.environment, (Environment{{"FBLEPROF_DELAY", "500ms"},
                                              {"FBLEPROF_DURATION", "10s"},
                                              {"FBLEPROF_CONTROL_SIGNAL", "RTMIN+3"}}));
  EXPECT_EQ(request.windows.every, std::chrono::minutes(1));
  EXPECT_EQ(request.windows.most, 5u);
}

TEST(Request, BadTimesAreRefused) {
  for (const char* word : {"--delay=", "--delay=-1s", "--delay=5 s", "--duration=5x",
                           "--duration=1001h", "--window=0", "--window=1s,0", "--window=1s,1001",
                           "--window=1s,", "--control-signal=INT", "--control-signal=RTMIN+31"}) {
    EXPECT_NE(read_request({word, "p"}).error, "") << word;
  }
}

TEST(Request, HelpExplainsEveryOption) {
  EXPECT_EQ(read_request({"--help"}).action, Action::kHelp);
  EXPECT_EQ(read_request({"-h", "prog"}).action, Action::kHelp);
  EXPECT_EQ(read_request({"--version"}).action, Action::kVersion);
  const std::string text = help();
  for (const char* word : {"--out", "--rate", "--clock", "--compact", "--memory", "--callsites",
                           "--leaves", "--no-native-below", "--start-off", "--verbose", "--help",
                           "--version", "Examples", "20000"}) {
    EXPECT_TRUE(test::holds(text, word)) << word;
  }
}

}  // namespace
}  // namespace fbleprof::launch
