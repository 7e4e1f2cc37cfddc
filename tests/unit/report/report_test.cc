// From command line and files to text.
#include "report/cli/report.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <filesystem>
#include <fstream>

#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::report {
namespace {

class Silent : public Progress {
  void update(std::string_view, std::uint64_t, std::uint64_t) override {}
};

class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    test::FileBuilder file;
    file.charge("main work", {.cpu_ns = 3000, .wall_ns = 5000, .samples = 3, .overhead_ns = 10});
    file.calls("main work", 12);
    file.charge("main", {.cpu_ns = 1000});
    file.note("a remark");
    file.label("release", "7");
    file.write(path("one"));
    file.header().pid = 99;
    file.charge("main other", {.cpu_ns = 4000});
    file.write(path("two"));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const char* name) const { return (directory_ / name).string(); }

  // Runs with these arguments; %1 and %2 stand for the files.
  Result<Report> run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fble-prof-report");
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      if (argument == "%1") argument = path("one");
      if (argument == "%2") argument = path("two");
      argv.push_back(argument.data());
    }
    auto options = parse_options(static_cast<int>(argv.size()), argv.data());
    if (!options) return options.error();
    Silent progress;
    return make_report(*options, progress);
  }
  std::string text(const std::vector<std::string>& arguments) {
    auto report = run(arguments);
    return report ? report->text : report.error().line();
  }

  std::filesystem::path directory_;
};

TEST_F(ReportTest, TreeIsTheDefault) {
  const std::string out = text({"--width", "80", "%1"});
  EXPECT_TRUE(test::holds(out, "./prog --fast  [4711, ended]"));
  EXPECT_TRUE(test::holds(out, " 75.0%   75.0%    3.00 us             12  └─ work"));
  EXPECT_TRUE(test::holds(out, "profiling cost 10 ns"));
}

TEST_F(ReportTest, TimesWithoutMuchOfTheRunAreDoubted) {
  const std::string doubt =
      "times of often called functions may be too small: --exact --runs 2, --times-from\n";
  test::FileBuilder file;
  file.charge("main work", {.cpu_ns = 300'000, .overhead_ns = 250'000});
  file.write(path("sampled"));
  EXPECT_FALSE(test::holds(text({"--width", "80", path("sampled")}), doubt)) << "nothing counted";
  file.calls("main work", 12);
  file.write(path("counted"));
  EXPECT_TRUE(test::holds(text({"--width", "80", path("counted")}), doubt));
  EXPECT_TRUE(test::holds(text({"--overview", "--width", "80", path("counted")}), doubt));
  EXPECT_FALSE(test::holds(text({"--times-from", path("sampled"), path("counted")}), doubt));
  test::FileBuilder cheap;
  cheap.charge("main work", {.cpu_ns = 300'000, .overhead_ns = 150'000});
  cheap.calls("main work", 12);
  cheap.write(path("cheap"));
  EXPECT_FALSE(test::holds(text({"--width", "80", path("cheap")}), doubt));
}

// An export holds the time of the program alone, and the cost that was taken off it.
TEST_F(ReportTest, RateAndCostOfAnImportAreNotToldAsShares) {
  test::FileBuilder file;
  file.charge("main work", {.cpu_ns = 300'000, .samples = 200, .overhead_ns = 600'000});
  file.calls("main work", 12);
  file.write(path("recorded"));
  const std::string recorded = text({path("recorded")});
  EXPECT_TRUE(test::holds(recorded, "per second of CPU time")) << recorded;
  EXPECT_TRUE(test::holds(recorded, "profiling cost 600 us (66.7%), taken off"));
  for (const char* format : {"pprof", "speedscope"}) {
    std::ofstream(path(format), std::ios::binary)
        << text({"--export", format, "-o", "", path("recorded")});
    const std::string out = text({path(format)});
    EXPECT_TRUE(test::holds(out, "[imported from ")) << out;
    EXPECT_FALSE(test::holds(out, "per second")) << out;
    EXPECT_FALSE(test::holds(out, "profiling cost")) << out;
    EXPECT_FALSE(test::holds(text({"--summary", path(format)}), "%")) << format;
    EXPECT_TRUE(test::holds(text({"--summary", "--format", "json", path(format)}),
                            "\"rate_reached_hz\":0"));
  }
}

TEST_F(ReportTest, AFatalSignalIsNamed) {
  test::FileBuilder file;
  file.charge("main", {.cpu_ns = 10});
  file.header().state = format::State::kFatal;
  file.header().end_code = 15;
  file.write(path("killed"));
  EXPECT_TRUE(test::holds(text({path("killed")}), ", ended by SIGTERM]"));
  file.header().end_code = 40;
  file.write(path("killed"));
  EXPECT_TRUE(test::holds(text({path("killed")}), ", ended by signal 40]"));
  EXPECT_TRUE(
      test::holds(text({"--summary", "--format", "json", path("killed")}), "\"state\":\"fatal\""));
}

TEST_F(ReportTest, FewSamplesBesideCallsAreTold) {
  const std::string advice = "Few samples: --metric calls or --all";
  EXPECT_TRUE(test::holds(text({"%1"}), advice));
  EXPECT_FALSE(test::holds(text({"--all", "%1"}), advice));
  EXPECT_FALSE(test::holds(text({"--metric", "calls", "%1"}), advice));
  test::FileBuilder file;
  file.charge("main", {.cpu_ns = 10});
  file.write(path("sampled"));
  EXPECT_FALSE(test::holds(text({path("sampled")}), advice)) << "nothing was counted";
  file.charge("main", {.cpu_ns = 10, .samples = 9});
  file.calls("main", 1);
  file.write(path("longer"));
  EXPECT_FALSE(test::holds(text({path("longer")}), advice));
}

TEST_F(ReportTest, AComparisonOfCallsDoesNotPointToCalls) {
  const std::string advice = "(--metric calls)";
  for (const auto& [name, calls] : {std::pair("less", 100), std::pair("more", 101)}) {
    test::FileBuilder file;
    file.charge("main", {.cpu_ns = 1'000'000});
    file.calls("main often", 1'000'000);
    file.calls("main work", static_cast<std::uint64_t>(calls));
    file.write(path(name));
  }
  EXPECT_TRUE(test::holds(text({"--diff", path("less"), path("more")}), advice));
  const std::string of_calls = text({"--metric", "calls", "--diff", path("less"), path("more")});
  EXPECT_TRUE(test::holds(of_calls, "did not change, or less than")) << of_calls;
  EXPECT_FALSE(test::holds(of_calls, advice)) << of_calls;
}

TEST_F(ReportTest, AProgramThatSleptPointsToTheOtherClock) {
  const std::string advice = "cpu 0 in all: it slept; --clock=wall records waits";
  test::FileBuilder file;
  file.thread("main", 1);
  file.write(path("asleep"));
  EXPECT_TRUE(test::holds(text({path("asleep")}), advice)) << text({path("asleep")});
  file.header().clock = format::Clock::kWall;
  file.write(path("asleep"));
  EXPECT_FALSE(test::holds(text({path("asleep")}), "it slept"));
  EXPECT_FALSE(test::holds(text({"--select", "work", "--exclude", "work", "%1"}), "it slept"));
}

TEST_F(ReportTest, TheTreeOfCallsHasNoTwoColumnsOfOneName) {
  EXPECT_TRUE(test::holds(text({"--metric", "calls", "%1"}),
                          " total    self  all calls          calls  context"));
}

TEST_F(ReportTest, TheRestOfATitleIsNotTakenForArguments) {
  test::FileBuilder file;
  const auto heading = [&](std::string_view command) {
    file.header().command_line = file.string(command);
    file.write(path("title"));
    return text({path("title")});
  };
  using namespace std::string_view_literals;
  EXPECT_TRUE(test::holds(heading("server: idle\0\0\0\0"sv), "'server: idle'  ["));
  EXPECT_TRUE(test::holds(heading("./prog\0"sv), "./prog  ["));
  EXPECT_TRUE(test::holds(heading("./prog\0\0"sv), "./prog ''  [")) << "an empty argument";
}

TEST_F(ReportTest, SeveralFilesAreSummedAndSplit) {
  const std::string out = text({"--width", "100", "%1", "%2"});
  EXPECT_TRUE(test::holds(out, "2 profiles"));
  EXPECT_TRUE(test::holds(out, "4.00 us  33.3%  4711"));
  EXPECT_TRUE(test::holds(out, "8.00 us  66.7%    99"));
  EXPECT_TRUE(test::holds(out, "6.00 us             24"));
}

// Time charged by an older recorder under the ticks clock is not shown.
TEST_F(ReportTest, TicksClockShowsTicksOrElseCalls) {
  test::FileBuilder file;
  file.header().clock = format::Clock::kTicks;
  file.charge("main work", {.cpu_ns = 3000, .samples = 1});
  file.write(path("one"));
  EXPECT_TRUE(test::holds(text({"%1"}), "clock ticks, not time: nothing with hooks ran"));
  file.calls("main work", 12);
  file.write(path("one"));
  std::string out = text({"%1"});
  EXPECT_TRUE(test::holds(out, "clock ticks, not time"));
  EXPECT_FALSE(test::holds(out, "nothing with hooks"));
  EXPECT_TRUE(test::holds(out, "calls 12 in all"));
  file.charge("main", {.samples = 0, .ticks = 70});
  file.write(path("one"));
  out = text({"%1"});
  EXPECT_TRUE(test::holds(out, "70 ticks"));
  EXPECT_TRUE(test::holds(out, "ticks 70 in all"));
}

TEST_F(ReportTest, AllMetricsCanBeShown) {
  EXPECT_TRUE(test::holds(text({"--self", "--format", "csv", "--metric", "wall", "%1"}),
                          "work,5000,5000,12"));
  EXPECT_TRUE(
      test::holds(text({"--self", "--format", "csv", "--metric", "calls", "%1"}), "work,12,12,12"));
  EXPECT_EQ(text({"--metric", "beer", "%1"}),
            "no metric \"beer\" in this profile: there are cpu, wall, samples, overhead, "
            "calls; --metrics shows those without a value, too");
}

TEST_F(ReportTest, RunsAreDistinguishedByTheirProfiles) {
  EXPECT_TRUE(
      test::holds(text({"--by", "label:release", "--format", "csv", "%1", "%2"}), "7,12000,12000"));
  EXPECT_TRUE(
      test::holds(text({"--by", "rank", "--format", "csv", "%1"}), "[no mpi_rank],4000,4000"));
  EXPECT_TRUE(
      test::holds(text({"--by", "process", "--format", "csv", "%1", "%2"}), "(99),8000,8000"));
}

TEST_F(ReportTest, OptionWithoutItsValueDoesNotTakeTheFile) {
  EXPECT_TRUE(test::holds(text({"--call-sites", "%1"}), "main → work"));
  EXPECT_TRUE(test::holds(text({"--call-sites=work", "%1"}), "main → work"));
}

TEST_F(ReportTest, SelectionIsReported) {
  const std::string out = text({"--select", "other", "%2"});
  EXPECT_TRUE(test::holds(out, "kept 4.00 us of 8.00 us cpu (50.0%)"));
}

TEST_F(ReportTest, EveryViewAppliesFiltersAndReportsWhatIsKept) {
  const std::string kept = "kept 4.00 us of 8.00 us cpu (50.0%)";
  for (const std::vector<std::string>& view :
       std::vector<std::vector<std::string>>{{},
                                             {"--self"},
                                             {"--dominated"},
                                             {"--edges"},
                                             {"--block", "other"},
                                             {"--path", "main,other"},
                                             {"--cliques"},
                                             {"--cliques=context"},
                                             {"--hot"},
                                             {"--overview"},
                                             {"--hot"}}) {
    std::vector<std::string> arguments = view;
    arguments.insert(arguments.end(), {"--keep", "at(other)", "%2"});
    EXPECT_TRUE(test::holds(text(arguments), kept))
        << (view.empty() ? "tree" : view[0]) << text(arguments);
  }
  for (const char* view : {"--summary", "--threads", "--raw", "--verify"}) {
    EXPECT_TRUE(test::holds(text({view, "--keep", "other", "%2"}), "shows whole runs"));
  }
  EXPECT_EQ(text({"--keep", "(other", "%2"}),
            "query: at character 1: \"(\" is never closed: add a \")\"");
}

TEST_F(ReportTest, SummaryForProgramsIsFlat) {
  rapidjson::Document json;
  json.Parse(text({"--summary", "--format", "json", "%1"}).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_EQ(json["pid"].GetInt(), 4711);
  EXPECT_STREQ(json["state"].GetString(), "ended");
  EXPECT_EQ(json["samples"].GetInt(), 4);
  EXPECT_EQ(json["node_count"].GetInt(), 3);
  EXPECT_STREQ(json["labels"]["release"].GetString(), "7");
  EXPECT_STREQ(json["notes"][0].GetString(), "a remark");
}

TEST_F(ReportTest, SummaryListsSeveralProfiles) {
  rapidjson::Document json;
  json.Parse(text({"--summary", "--format", "json", "%1", "%2"}).c_str());
  ASSERT_FALSE(json.HasParseError());
  ASSERT_EQ(json["processes"].Size(), 2u);
  EXPECT_EQ(json["processes"][1]["pid"].GetInt(), 99);
  EXPECT_EQ(json["samples"].GetInt(), 9);
}

TEST_F(ReportTest, EveryViewWritesJson) {
  for (const char* view :
       {"--self", "--dominated", "--edges", "--threads", "--verify", "--summary", "--call-sites"}) {
    rapidjson::Document json;
    json.Parse(text({view, "--format", "json", "%1"}).c_str());
    EXPECT_FALSE(json.HasParseError()) << view;
    EXPECT_TRUE(json.IsObject()) << view;
  }
  for (const std::vector<std::string>& view :
       std::vector<std::vector<std::string>>{{"--path", "main,work"},
                                             {"--cliques", "--all"},
                                             {"--cliques=context"},
                                             {"--hot"},
                                             {"--overview"},
                                             {"--keep", "self > 1%", "--hot"}}) {
    std::vector<std::string> arguments = view;
    arguments.insert(arguments.end(), {"--format", "json", "%1"});
    rapidjson::Document document;
    document.Parse(text(arguments).c_str());
    ASSERT_FALSE(document.HasParseError()) << view[0];
    EXPECT_TRUE(document["rows"].IsArray()) << view[0];
    EXPECT_TRUE(document["kept"].IsUint64()) << view[0];
  }
  rapidjson::Document json;
  json.Parse(text({"--block", "*", "--format", "json", "%1"}).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_EQ(json["blocks"].Size(), 3u);
}

TEST_F(ReportTest, VerifySetsTheExitStatus) {
  auto good = run({"--verify", "%1"});
  ASSERT_TRUE(good.ok());
  EXPECT_FALSE(good->broken) << good->text;
  std::filesystem::resize_file(path("one"), std::filesystem::file_size(path("one")) - 64);
  auto bad = run({"--verify", "%1"});
  ASSERT_TRUE(bad.ok());
  EXPECT_TRUE(bad->broken);
}

TEST_F(ReportTest, CountedCallsOfScriptsAreNoReasonToRecordExactly) {
  const std::string advice = "or record with --exact\n";
  for (const auto kind : {format::FunctionKind::kBlock, format::FunctionKind::kScript}) {
    test::FileBuilder file;
    file.function("leaf", kind, "s.py", 3, 0, "Python");
    file.charge("leaf", {.cpu_ns = 1000});
    file.write(path("script"));
    EXPECT_TRUE(test::holds(text({"--coverage", path("script")}), advice)) << "only sampled";
    file.calls("leaf", 12);
    file.function("len", kind, "", 0, 0, "C");
    file.calls("leaf len", 12);
    file.write(path("script"));
    for (const char* view : {"--coverage", "--coverage=leaf"}) {
      EXPECT_EQ(text({view, path("script")}),
                "the calls of Python functions were counted by the interpreter; no function of "
                "machine code has a hook\n");
    }
  }
  EXPECT_TRUE(test::holds(text({"--coverage", "%1"}), advice)) << "a block of the program's own";
}

TEST_F(ReportTest, ViewsOfWholeRunsFollowAChainOfExecs) {
  test::FileBuilder first;
  first.header().state = format::State::kExeced;
  first.header().start_monotonic_ns = 1000;
  first.charge("sh", {.cpu_ns = 1000});
  first.write(path("run"));
  test::FileBuilder second;
  second.header().start_monotonic_ns = 2000;
  second.thread("runner", 4711);
  second.charge("script", {.cpu_ns = 5000});
  second.write(path("run.4711"));
  EXPECT_TRUE(test::holds(text({"--threads", path("run")}), "runner"));
  EXPECT_TRUE(test::holds(text({"--verify", path("run")}), "run.4711: all"));
  EXPECT_FALSE(test::holds(text({"--summary", path("run")}), "runner")) << "it names the next file";
  std::filesystem::resize_file(path("run.4711"), std::filesystem::file_size(path("run.4711")) - 64);
  const auto bad = run({"--verify", path("run")});
  ASSERT_TRUE(bad.ok());
  EXPECT_TRUE(bad->broken);
}

// A profile whose name and start are given.
void write_run(const std::string& path, std::uint32_t pid, std::uint32_t parent,
               std::uint64_t start_ns, std::uint64_t end_ns, std::string_view function) {
  test::FileBuilder file;
  file.header().pid = pid;
  file.header().parent_pid = parent;
  file.header().start_realtime_ns = start_ns;
  file.header().start_monotonic_ns = start_ns;
  file.header().end_monotonic_ns = end_ns;
  file.charge(function, {.cpu_ns = 1000});
  file.write(path);
}

TEST_F(ReportTest, TheProfilesOfChildProcessesAreReadIfAsked) {
  write_run(path("run"), 10, 1, 1000, 2000, "parent");
  write_run(path("run.11"), 11, 10, 1500, 1800, "child");
  write_run(path("run.12"), 12, 11, 1600, 1700, "grandchild");
  write_run(path("run.5"), 5, 4, 100, 200, "of_another_run");
  write_run(path("run.old"), 4, 1, 100, 200, "of_the_run_before");
  write_run(path("other"), 20, 1, 3000, 4000, "unrelated");
  auto alone = run({path("run")});
  ASSERT_TRUE(alone.ok());
  ASSERT_EQ(alone->warnings.size(), 1u);
  EXPECT_EQ(alone->warnings[0],
            path("run") + ": child processes have 2 profiles: fble-prof-report --children " +
                path("run") + " shows all of them");
  auto all = run({"--children", path("run")});
  ASSERT_TRUE(all.ok()) << all.error().line();
  EXPECT_TRUE(all->warnings.empty()) << all->warnings[0];
  for (const char* there : {"parent", "child", "grandchild"}) {
    EXPECT_TRUE(test::holds(all->text, there));
  }
  for (const char* absent : {"of_another_run", "of_the_run_before", "unrelated"}) {
    EXPECT_FALSE(test::holds(all->text, absent));
  }
  EXPECT_TRUE(test::holds(text({"--children", "--diff", path("other"), path("run")}),
                          "--children: not with --diff"));
}

TEST_F(ReportTest, PeaksOfSeveralProfilesAreCalledASum) {
  const auto write = [&](const char* name, std::uint32_t pid, std::uint64_t held) {
    test::FileBuilder file;
    file.header().pid = pid;
    file.metric("allocations", "count", format::Role::kEvent, format::MetricPlace::kValues,
                test::kFirstFreeWord);
    file.metric("live", "bytes", format::Role::kLevel, format::MetricPlace::kValues,
                test::kFirstFreeWord + 1);
    file.charge("main", {.cpu_ns = 1000});
    file.value("main", test::kFirstFreeWord) = 1;
    file.value("main", test::kFirstFreeWord + 1) = held;
    file.snapshot("peak", 100, format::SnapshotReason::kPeak);
    file.value("main", test::kFirstFreeWord + 1) = 0;
    file.write(path(name));
  };
  write("early", 10, 3u << 20);
  write("late", 11, 2u << 20);
  write("idle", 12, 0);
  const std::string sum = "the sum of 2 profiles' peaks, each at its own moment";
  const std::vector<std::string> all = {path("early"), path("late"), path("idle")};
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& files) {
    arguments.insert(arguments.end(), files.begin(), files.end());
    return arguments;
  };
  const std::string view = text(with({"--allocations"}, all));
  EXPECT_TRUE(test::holds(view, "at peak: " + sum +
                                    ": at no moment was more in use, and at one "
                                    "at least 3.00 MiB (" +
                                    path("early") + ")"))
      << view;
  EXPECT_TRUE(test::holds(text(with({"--metric", "peak"}, all)), "peak 5.00 MiB in all: " + sum));
  EXPECT_FALSE(test::holds(text(with({"--metric", "allocations"}, all)), "the sum of"));
  const std::vector<std::string> one = {path("early"), path("idle")};
  EXPECT_FALSE(test::holds(text(with({"--allocations"}, one)), "the sum of"));
  EXPECT_FALSE(test::holds(text(with({"--metric", "peak"}, one)), "the sum of"));
}

TEST_F(ReportTest, ADirectoryOfSeveralRunsSaysSo) {
  const std::string many = path("many");
  std::filesystem::create_directory(many);
  const auto remarks = [&] {
    auto report = run({many});
    return report && !report->warnings.empty() ? report->warnings[0] : std::string();
  };
  write_run(many + "/run", 10, 1, 1000, 2000, "f");
  write_run(many + "/run.11", 11, 10, 1500, 1800, "f");
  write_run(many + "/run.12", 12, 1, 2500, 2600, "f");   // named after it: it outlived its parent
  write_run(many + "/by_pid", 13, 12, 3000, 3100, "f");  // a child of its process
  write_run(many + "/beside", 14, 1, 1900, 1950, "f");   // at the same time
  EXPECT_EQ(remarks(), "");
  write_run(many + "/second", 20, 1, 4000, 5000, "f");
  write_run(many + "/second.21", 21, 20, 4100, 4200, "f");
  write_run(many + "/run.9", 9, 1, 10, 20, "f");  // left behind by an earlier run of that name
  EXPECT_EQ(remarks(), many + ": its profiles are of 3 runs, one after the other; all are summed");
}

TEST_F(ReportTest, AComparisonOfCountedWithSampledContextsWarns) {
  test::FileBuilder sampled;
  sampled.charge("_start main work", {.cpu_ns = 3000});
  sampled.write(path("sampled"));
  const auto remarks = [&](const std::vector<std::string>& arguments) {
    auto report = run(arguments);
    std::string all;
    if (!report) return report.error().line();
    for (const std::string& warning : report->warnings) all += warning + "\n";
    return all;
  };
  const char* warning = "calls of one side were counted, and the other was only sampled";
  EXPECT_TRUE(test::holds(remarks({"--diff", path("sampled"), "%1"}), warning));
  EXPECT_TRUE(test::holds(remarks({"--diff", "%1", path("sampled")}), warning));
  EXPECT_FALSE(test::holds(remarks({"--self", "--diff", path("sampled"), "%1"}), warning));
  EXPECT_FALSE(test::holds(remarks({"--diff", "%2", "%1"}), warning)) << "both were counted";
  EXPECT_FALSE(test::holds(remarks({"--diff", path("sampled"), path("sampled")}), warning));
}

TEST_F(ReportTest, TruncatedFileIsShownWithOneWarning) {
  std::filesystem::resize_file(path("one"), std::filesystem::file_size(path("one")) - 64);
  auto report = run({"%1"});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->warnings.size(), 1u);
  EXPECT_TRUE(test::holds(report->warnings[0], "truncated"));
  EXPECT_TRUE(test::holds(report->text, "work"));
}

TEST_F(ReportTest, CommandLineErrorsAreOneClearLine) {
  EXPECT_EQ(text({"--self", "--edges", "%1"}),
            "fble-prof-report: --self and --edges are two views: take one: see fble-prof-report "
            "--help");
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--sort", "luck", "%1"},
                                             {"--self", "--sort", "cost", "%1"},
                                             {"--format", "xml", "%1"},
                                             {"--unit", "ell", "%1"},
                                             {"--min", "200", "%1"},
                                             {"--top", "-1x", "%1"},
                                             {"--by", "colour", "%1"},
                                             {"--split-by", "colour", "%1"},
                                             {"--by", "label:", "%1"},
                                             {"--asm", "%1"},
                                             {"--annotate", "work", "%1"},
                                             {"--call-sites=nothing-so-called", "%1"},
                                             {"--no-such-option", "%1"},
                                             {"--select", "nothing-so-called", "%1"},
                                             {"/nonexistent"}}) {
    auto report = run(wrong);
    ASSERT_FALSE(report.ok()) << wrong[0];
    EXPECT_EQ(report.error().line().find('\n'), std::string::npos);
  }
}

TEST_F(ReportTest, HelpHasExamples) { EXPECT_TRUE(test::holds(help_text(), "Examples:")); }

}  // namespace
}  // namespace fbleprof::report
