#include "capture/options.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "format/events.h"

namespace fbleprof::capture {
namespace {

Settings settings_of(std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (std::string& each : variables) environment.push_back(each.data());
  environment.push_back(nullptr);
  return read_settings(environment.data());
}

// What is wrong with the variable's value; empty if nothing is.
std::string complaint(const std::string& variable) {
  return settings_of({variable}).complaints.c_str();
}

TEST(Options, WithoutVariablesTheDefaultsAreUsed) {
  for (const Settings& settings : {read_settings(nullptr), settings_of({}), settings_of({"A=b"})}) {
    EXPECT_STREQ(settings.out.c_str(), "mlmon.out");
    EXPECT_EQ(settings.rate_hz, 1000u);
    EXPECT_EQ(settings.memory_bytes, 256u << 20);
    EXPECT_TRUE(settings.start);
    EXPECT_TRUE(settings.complaints.empty());
  }
  EXPECT_STREQ(settings_of({"FBLEPROF_OUT="}).out.c_str(), "mlmon.out");
}

TEST(Options, ABadValueIsNamedWithWhatIsExpected) {
  EXPECT_EQ(complaint("FBLEPROF_RATE=fast"),
            "FBLEPROF_RATE=fast: expected 1 to 20000 (Hz); the default is used\n");
  EXPECT_EQ(settings_of({"FBLEPROF_RATE=fast"}).rate_hz, 1000u);
}

TEST(Options, ValuesBesideTheirBoundsAreBad) {
  for (const char* good :
       {"FBLEPROF_RATE=1", "FBLEPROF_RATE=20000", "FBLEPROF_DEPTH=1", "FBLEPROF_DEPTH=60000",
        "FBLEPROF_THROTTLE=1", "FBLEPROF_TICK_PERIOD=1000000000", "FBLEPROF_MEMORY=1M",
        "FBLEPROF_MEMORY=1048576", "FBLEPROF_MEMORY=64G", "FBLEPROF_ALLOCS=1",
        "FBLEPROF_ALLOCS=64K", "FBLEPROF_ALLOCS=exact,mmap", "FBLEPROF_ALLOCS=", "FBLEPROF_DELAY=0",
        "FBLEPROF_DELAY=1000h", "FBLEPROF_PROGRAM=12", "FBLEPROF_RUN=17",
        "FBLEPROF_CONTROL_SIGNAL=", "FBLEPROF_CONTROL_SIGNAL=RTMIN+30"}) {
    EXPECT_EQ(complaint(good), "");
  }
  for (const char* bad : {"FBLEPROF_RATE=",
                          "FBLEPROF_RATE=0",
                          "FBLEPROF_RATE=20001",
                          "FBLEPROF_RATE=5x",
                          "FBLEPROF_RATE=99999999999999999999",
                          "FBLEPROF_DEPTH=0",
                          "FBLEPROF_DEPTH=60001",
                          "FBLEPROF_DEPTH=1.",
                          "FBLEPROF_DEPTH=",
                          "FBLEPROF_THROTTLE=0",
                          "FBLEPROF_THROTTLE=often",
                          "FBLEPROF_THROTTLE=1/s",
                          "FBLEPROF_TICK_PERIOD=0",
                          "FBLEPROF_TICK_PERIOD=1000000001",
                          "FBLEPROF_TICK_PERIOD=t",
                          "FBLEPROF_TICK_PERIOD=1t",
                          "FBLEPROF_MEMORY=1048575",
                          "FBLEPROF_MEMORY=65G",
                          "FBLEPROF_MEMORY=2X",
                          "FBLEPROF_MEMORY=2MB",
                          "FBLEPROF_MEMORY=big",
                          "FBLEPROF_ALLOCS=0K",
                          "FBLEPROF_ALLOCS=some",
                          "FBLEPROF_ALLOCS=exact,all",
                          "FBLEPROF_ALLOCS=65G",
                          "FBLEPROF_DELAY=s",
                          "FBLEPROF_DELAY=5d",
                          "FBLEPROF_DELAY=1001h",
                          "FBLEPROF_DELAY=60001m",
                          "FBLEPROF_DURATION=3600000001ms",
                          "FBLEPROF_PROGRAM=12a",
                          "FBLEPROF_PROGRAM=",
                          "FBLEPROF_RUN=now",
                          "FBLEPROF_RUN=5s",
                          "FBLEPROF_CONTROL_SIGNAL=RTMIN+31",
                          "FBLEPROF_CONTROL_SIGNAL=RTMIN+",
                          "FBLEPROF_CONTROL_SIGNAL=RTMIN+1x",
                          "FBLEPROF_CONTROL_SIGNAL=RTMAX",
                          "FBLEPROF_CONTROL_SIGNAL=SIGKILL",
                          "FBLEPROF_CLOCK=sun",
                          "FBLEPROF_COMPACT=most",
                          "FBLEPROF_START=maybe",
                          "FBLEPROF_VERBOSE=2",
                          "FBLEPROF_CALLSITES=y",
                          "FBLEPROF_LEAVES=y",
                          "FBLEPROF_FAULTS=y",
                          "FBLEPROF_WAITS=y",
                          "FBLEPROF_NATIVE_BELOW=y",
                          "FBLEPROF_PYTHON=y",
                          "FBLEPROF_NATIVE=y"}) {
    const std::string variable(bad);
    EXPECT_EQ(complaint(bad).rfind(variable + ": expected ", 0), 0u) << bad;
  }
}

TEST(Options, DurationsHaveUnits) {
  const auto delay_ms = [](const std::string& value) {
    return settings_of({"FBLEPROF_DELAY=" + value}).delay_ns / 1'000'000;
  };
  EXPECT_EQ(delay_ms("7ms"), 7u);
  EXPECT_EQ(delay_ms("7"), 7'000u);
  EXPECT_EQ(delay_ms("7s"), 7'000u);
  EXPECT_EQ(delay_ms("7m"), 420'000u);
  EXPECT_EQ(delay_ms("7h"), 25'200'000u);
}

TEST(Options, SignalsThatProgramsCanSpareHaveNames) {
  const auto signal = [](const std::string& name) {
    return settings_of({"FBLEPROF_CONTROL_SIGNAL=" + name}).control_signal;
  };
  EXPECT_EQ(signal("USR1"), SIGUSR1);
  EXPECT_EQ(signal("SIGUSR2"), SIGUSR2);
  EXPECT_EQ(signal("RTMIN"), SIGRTMIN);
  EXPECT_EQ(signal("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(signal("SIX"), 0);
}

TEST(Options, SwitchesHaveSeveralWords) {
  for (const char* on : {"1", "on", "yes", "true"}) {
    EXPECT_TRUE(settings_of({std::string("FBLEPROF_LEAVES=") + on}).recording.leaves);
  }
  for (const char* off : {"0", "off", "no", "false", ""}) {
    EXPECT_FALSE(settings_of({std::string("FBLEPROF_START=") + off}).start);
  }
  EXPECT_EQ(settings_of({"FBLEPROF_WAITS=off"}).waits, Settings::Waits::kOff);
  EXPECT_EQ(settings_of({"FBLEPROF_WAITS=on"}).waits, Settings::Waits::kOn);
}

TEST(Options, AnEventIsSampledBesidesTheCpuClock) {
  const auto ticks = settings_of({"FBLEPROF_CLOCK=ticks"}).recording;
  EXPECT_EQ(ticks.clock, format::Clock::kTicks);
  EXPECT_EQ(ticks.event, 0);
  for (std::uint32_t i = 0; i < format::kEventCount; ++i) {
    const std::string variable = std::string("FBLEPROF_CLOCK=") + format::kEvents[i].name;
    const auto event = settings_of({"FBLEPROF_CLOCK=wall", variable}).recording;
    EXPECT_EQ(event.clock, format::Clock::kCpu);
    EXPECT_EQ(event.event, i + 1);
  }
}

TEST(Options, AllocationsHaveAModeAndAPeriod) {
  using Mode = signal_safe::AllocationMode;
  const auto read = [](const std::string& value) {
    return settings_of({"FBLEPROF_ALLOCS=" + value}).recording;
  };
  EXPECT_EQ(read("exact").allocations, Mode::kExact);
  EXPECT_EQ(read("1").allocations, Mode::kByHooks);
  EXPECT_EQ(read("0").allocations, Mode::kOff);
  EXPECT_EQ(read("4K").allocations, Mode::kSampled);
  EXPECT_EQ(read("4K").bytes_per_sample, 4096u);
  EXPECT_TRUE(read("hooks,mmap").mappings);
  EXPECT_FALSE(read("hooks").mappings);
}

TEST(Options, TimesNeedAClockOfTime) {
  const Settings settings =
      settings_of({"FBLEPROF_CLOCK=ticks", "FBLEPROF_DELAY=5s", "FBLEPROF_DURATION=5s"});
  EXPECT_EQ(settings.delay_ns, 0u);
  EXPECT_EQ(settings.duration_ns, 0u);
  EXPECT_FALSE(settings.complaints.empty());
  EXPECT_TRUE(settings_of({"FBLEPROF_CLOCK=ticks"}).complaints.empty());
}

TEST(Options, ListsThatAreTooLongAreRefusedWhole) {
  for (const char* name :
       {"FBLEPROF_FILTER=", "FBLEPROF_THREADS=", "FBLEPROF_CHILDREN=", "FBLEPROF_EXACT="}) {
    EXPECT_EQ(complaint(name + std::string(1000, 'f')), "") << name;
    const std::string line = complaint(name + std::string(5000, 'f'));
    EXPECT_TRUE(line.starts_with(name)) << line;
    EXPECT_NE(line.find("...: expected less than"), std::string::npos) << line;
  }
  EXPECT_TRUE(settings_of({"FBLEPROF_FILTER=" + std::string(5000, 'f')}).filter.empty());
  EXPECT_TRUE(settings_of({"FBLEPROF_CHILDREN=" + std::string(5000, 'f')}).children.empty());
}

TEST(Options, CountingCallsCanBeOff) {
  for (const char* off : {"", "0", "off", "no", "false"}) {
    const Settings settings = settings_of({std::string("FBLEPROF_EXACT=") + off});
    EXPECT_TRUE(settings.exact.empty()) << off;
    EXPECT_TRUE(settings.complaints.empty()) << off;
  }
  EXPECT_STREQ(settings_of({"FBLEPROF_EXACT=offset"}).exact.c_str(), "offset");
}

TEST(Options, TheRankOfTheFirstKindCountsInAnyOrder) {
  const std::vector<std::string> ranks{"SLURM_PROCID=0", "PMI_RANK=1", "PMIX_RANK=2",
                                       "OMPI_COMM_WORLD_RANK=3"};
  for (std::size_t first = 0; first < ranks.size(); ++first) {
    std::vector<std::string> some(ranks.begin(), ranks.begin() + static_cast<long>(first) + 1);
    EXPECT_EQ(settings_of(some).mpi_rank.c_str(), std::to_string(first));
    std::reverse(some.begin(), some.end());
    EXPECT_EQ(settings_of(some).mpi_rank.c_str(), std::to_string(first));
  }
}

TEST(Options, TheRankIsThatOfAnyMpi) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    EXPECT_STREQ(settings_of({std::string(name) + "=12"}).mpi_rank.c_str(), "12") << name;
  }
}

}  // namespace
}  // namespace fbleprof::capture
