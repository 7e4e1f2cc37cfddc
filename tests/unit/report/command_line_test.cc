// What odd command lines and odd files get: an answer, or one line that says what is wrong.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "profile/plain_run.h"
#include "report/cli/left_out.h"
#include "report/cli/report.h"
#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::report {
namespace {

using test::FileBuilder;
using Words = std::vector<std::string>;

class Silent : public Progress {
  void update(std::string_view, std::uint64_t, std::uint64_t) override {}
};

FileBuilder simple() {
  FileBuilder file;
  file.charge("main work", {.cpu_ns = 3000, .wall_ns = 5000, .samples = 3});
  file.calls("main work", 12);
  file.charge("main", {.cpu_ns = 1000});
  return file;
}

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    FileBuilder file = simple();
    file.write(path("one"));
    file.header().pid = 99;
    file.charge("main other", {.cpu_ns = 4000});
    file.write(path("two"));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  // $NAME stands for a file of the directory.
  Result<Report> run(Words arguments) {
    arguments.insert(arguments.begin(), "fble-prof-report");
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      for (std::size_t at; (at = argument.find('$')) != std::string::npos;) {
        argument.replace(at, 1, directory_.string() + "/");
      }
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    auto options = parse_options(static_cast<int>(argv.size() - 1), argv.data());
    if (!options) return options.error();
    Silent progress;
    return make_report(*options, progress);
  }
  // With the warnings, without the directory's name.
  std::string text(const Words& arguments) {
    auto report = run(arguments);
    std::string all = report ? report->text : report.error().line();
    if (report) {
      for (const std::string& warning : report->warnings) all += "\n" + warning;
    }
    const std::string directory = directory_.string() + "/";
    for (std::size_t at; (at = all.find(directory)) != std::string::npos;) {
      all.replace(at, directory.size(), "$");
    }
    return all;
  }

  struct Case {
    Words arguments;
    std::string_view part;
  };
  void expect(const std::vector<Case>& cases) {
    for (const Case& each : cases) {
      std::string line;
      for (const std::string& argument : each.arguments) line += argument + " ";
      EXPECT_TRUE(test::holds(text(each.arguments), each.part)) << line;
    }
  }

  std::filesystem::path directory_;
};

TEST_F(CommandLine, OptionsThatDoNotGoTogetherAreRefused) {
  expect({
      {{"--serve", "--self", "$one"}, "--serve has all views: not with --self"},
      {{"--serve=:0", "--select", "main", "$one"}, "--serve takes files and --diff BASE"},
      {{"--serve", "--keep", "main", "$one"}, "--serve takes files and --diff BASE"},
      {{"--serve", "--times-from", "$two", "$one"}, "--serve takes files and --diff BASE"},
      {{"--serve", "--fail-if", "5% cpu", "$one"}, "--serve takes files and --diff BASE"},
      {{"--serve", "--window", "a..b", "$one"}, "--serve takes files and --diff BASE"},
      {{"--serve", "--diff", "@a..b", "$one"}, "--serve takes files and --diff BASE"},
      {{"--export", "folded", "--self", "$one"}, "--self and --export are two views"},
      {{"--export", "nosuch", "$one"}, "nosuch"},
      {{"--export", "folded", "--diff", "$two", "$one"},
       "--diff compares in a view: not with --export"},
      {{"--raw", "--format", "json", "$one"}, "--raw is text, one record per line"},
      {{"--coverage", "--no-symbols", "$one"}, "--coverage knows functions by their symbols"},
      {{"--summary", "--window", "a..b", "$one"}, "--summary shows whole runs"},
      {{"--threads", "--select", "main", "$one"}, "--threads shows whole runs"},
      {{"--times-from", "$two", "--diff", "$two", "$one"}, "--times-from is for views"},
      {{"--times-from", "$two", "--summary", "$one"}, "--times-from is for views"},
      {{"--hot", "--diff", "$two", "$one"}, "--diff shows one of --"},
      {{"--metrics", "--sort", "self", "$one"}, "--sort self: --metrics has one order only"},
      {{"--summary", "--sort", "self", "$one"}, "--summary has one order only: leave --sort out"},
      {{"--hot", "--sort", "name", "$one"}, "--sort name: --hot has one order only"},
      {{"--verify", "--sort", "self", "$one"}, "--sort self: --verify has one order only"},
      {{"--sort", "per-call", "$one"}, "--sort per-call: --tree takes self dominated calls name"},
      {{"--edges", "--sort", "self", "$one"}, "--sort self: --edges takes"},
      {{"--sort", "self", "--diff", "$two", "$one"}, "--sort self: --tree with --diff has one"},
      {{"--self", "--sort", "per-call", "--diff", "$two", "$one"},
       "--sort per-call: --self with --diff takes self dominated calls name"},
      {{"--tree", "--top", "3", "$one"}, "--top: --tree takes --depth --min"},
      {{"--self", "--min", "5", "$one"}, "--min: --self takes --top"},
      {{"--self", "--depth", "5", "--diff", "$two", "$one"}, "--depth: --self takes --top"},
      {{"--verify", "--min", "2", "$one"}, "--min: --verify has no such limit: leave it out"},
      {{"--unit", "B", "$one"}, "--unit B: cpu takes ns us ms s"},
      {{"--self", "--metric", "calls", "--unit", "ms", "$one"},
       "--unit ms: calls has no other units: leave it out"},
      {{"--wid=-1", "$one"}, "unrecognised option '--wid=-1'"},
      {{"--sinc", "-10s", "$one"}, "unrecognised option '--sinc'"},
      {{"--pack", "--trim", "$one"}, "--pack and --trim"},
      {{"--pack", "--self", "$one"}, "--pack changes whole files: not with --self"},
      {{"--trim", "--select", "main", "$one"}, "--trim changes whole files: not with --select"},
      {{"--pack", "--export", "folded", "$one"}, "--pack changes whole files: not with --export"},
      {{"--pack", "--serve", "$one"}, "--pack changes whole files: not with --serve"},
      {{"--export", "folded", "--sort", "name", "$one"}, "--sort is for views: --export folded"},
      {{"--export", "folded", "--format", "json", "$one"}, "--format is for views"},
      {{"--export", "folded", "--min", "5", "$one"}, "--min is for views: --export folded"},
      {{"--export", "folded", "--all", "$one"}, "--all is for views"},
      {{"--export", "dot", "--sort", "name", "$one"}, "--export dot takes --min --all"},
      {{"--export", "dot", "--min", "101", "$one"}, "--min is a share: 0 to 100"},
      {{"--pack", "--lines", "$one"}, "--pack changes whole files: not with --lines"},
      {{"--serve", "--metric", "cpu", "$one"}, "--metric: --serve takes files"},
      {{"--summary", "--metric", "cpu", "$one"}, "--metric chooses what contexts cost; --summary"},
      {{"--summary", "--split-by", "thread", "$one"},
       "--split-by puts groups into trees; --summary"},
      {{"--waits", "--metric", "cpu", "$one"}, "--metric: --waits has figures of its own"},
      {{"--normalize", "$one"}, "--normalize and --fail-if compare"},
      {{"--fail-if", "5% cpu", "$one"}, "--normalize and --fail-if compare"},
      {{"--window", "a..b", "--since", "a", "$one"}, "--window or --since: take one"},
  });
}

TEST_F(CommandLine, ValuesThatAreNoneAreRefused) {
  expect({
      {{"--depth", "-3", "$one"}, "--depth -3: 0 or more"},
      {{"--depth=-3", "$one"}, "--depth -3: 0 or more"},
      {{"--width", "-1", "$one"}, "--width -1: 0 or more"},
      {{"--top=-1", "--self", "$one"}, "--top -1: 1 or more"},
      {{"--top", "0", "--self", "$one"}, "--top 0: 1 or more"},
      {{"--top", "many", "$one"}, "fble-prof-report: "},
      {{"--depth"}, "fble-prof-report: "},
      {{"--min", "-1", "$one"}, "--min is a share: 0 to 100"},
      {{"--min", "nan", "$one"}, "--min is a share: 0 to 100"},
      {{"--colour", "blue", "$one"}, "--colour blue: auto, always or never"},
      {{"--color", "blue", "$one"}, "--colour blue: auto, always or never"},
      {{"--format", "xml", "$one"}, "--format xml: text, json or csv"},
      {{"--unit", "ell", "$one"}, "--unit ell: no such unit"},
      {{"--fail-if", "much", "--diff", "$two", "$one"}, "does not begin with a number"},
      {{"--split-by", "colour", "$one"}, "colour"},
      {{"--window", "a", "$one"}, "--window: "},
      {{"--since", "nosuch", "$one"}, "nosuch"},
      {{"--since", "-1s", "$one"}, "no snapshot \"-1s\": it has no snapshots"},
      {{"--window", "-1s..", "$one"}, "no snapshot \"-1s\": it has no snapshots"},
      {{"--window", "x..", "$one"}, "x"},
      {{"--diff", "$two@a..", "$one"}, "no snapshot \"a\""},
      {{"--diff", "@a", "$one"}, "--diff @a: "},
      {{"--diff", ",", "$one"}, "--diff: a list of runs that names no file"},
      {{"--diff", "$one", ",,"}, "--diff: a list of runs that names no file"},
      {{"--diff", "@a..", "$one"}, "no snapshot \"a\""},
      {{"--diff", "$nosuch@x", "$one"}, "cannot open"},
      {{"--", "--depth", "-3"}, "cannot open"},
  });
}

TEST_F(CommandLine, LooksAreTakenFromOptionsAndTheEnvironment) {
  const auto wide = [&](const char* columns) {
    setenv("COLUMNS", columns, 1);
    const std::string all = text({"--self", "$one"});
    unsetenv("COLUMNS");
    return all;
  };
  const std::string usual = wide("120");
  EXPECT_EQ(wide("7"), usual);
  EXPECT_EQ(wide("99999"), usual);
  EXPECT_NE(text({"--colour", "always", "--self", "$one"}).find("\x1b["), std::string::npos);
  EXPECT_EQ(text({"--color=never", "--self", "$one"}).find("\x1b["), std::string::npos);
  expect({
      {{"--width", "5", "$one"}, "Hidden: 1 further\ndown (--depth)"},
      {{"--width", "0", "$one"}, "work"},
      {{"--min", "0", "--depth", "1", "$one"}, "main"},
      {{"--min", "100", "--all", "--lines", "--unit", "ns", "$one"}, "work"},
      {{"--self", "--format", "text", "--top", "1", "--sort", "name", "$one"}, "main"},
      {{"--by", "process", "--sort", "self", "$one", "$two"}, "(99)"},
      {{"--split-by", "process", "$one", "$two"}, "(99)"},
      {{"--self", "--export-nothing", "$one"}, "fble-prof-report: "},
  });
}

TEST_F(CommandLine, FilesOfOtherKindsAreReadOrNamed) {
  write("folded", "main;work 3\nmain 1");
  write("empty", "");
  write("perf.data", "PERFILE2 and more");
  write("gmon.out", std::string("gmon\1\0\0\0", 8) + std::string(12, '\0'));
  write("program",
        "\x7f"
        "ELF and more");
  write("graph", "digraph x {}\n");
  write("noise", std::string("\x01\x02\x03\x04", 4));
  write("text", "hello world\n");
  write("damaged.gz", "\x1f\x8b\x08 nothing");
  write("damaged.json", "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\", ");
  write("damaged.pb", "\x0a\x04\x08\x01\x10\x02\x12\x7f");
  std::filesystem::create_directory(path("folder"));
  mkfifo(path("fifo").c_str(), 0600);
  ASSERT_EQ(std::system(("gzip -c " + path("folded") + " > " + path("folded.gz") + "; gzip -c " +
                         path("folded.gz") + " > " + path("twice.gz") + "; gzip -c " + path("one") +
                         " > " + path("one.gz"))
                            .c_str()),
            0);
  expect({
      {{"--self", "$folded"}, "work"},
      {{"--self", "$folded.gz"}, "work"},
      {{"--self", "$one.gz"}, "work"},
      {{"$twice.gz"}, "not a profile in any known format"},
      {{"$empty"}, "empty file"},
      {{"$perf.data"}, "this is perf.data"},
      {{"$program"}, "this is a program or library"},
      {{"$gmon.out"}, "gmon.out has addresses only"},
      {{"$gmon.out", "$fifo", "$program"}, "$fifo: empty file"},
      {{"$graph"}, "a graph in DOT, which is written but not read"},
      {{"$noise"}, "not a profile in any known format"},
      {{"$text"}, "not a profile in any known format"},
      {{"$damaged.gz"}, "$damaged.gz"},
      {{"$damaged.json"}, "$damaged.json"},
      {{"$damaged.pb"}, "$damaged.pb"},
      {{"$folder"}, "is a directory without profiles"},
      {{"--diff", "$folder", "$one"}, "is a directory without profiles"},
      {{"--diff", "$", "$one"}, "name the mlmon.out in it"},
      {{"$fifo"}, "empty file"},
      {{"/dev/null"}, "is neither a file nor a pipe"},
      {{"$nosuch"}, "run the program first: fble-prof ./prog; if --out or attach named"},
      {{"--tolerant", "--self", "$nosuch", "$one", "$two"}, "(skipped)"},
      {{"--tolerant", "$nosuch", "$empty"}, "none of these files could be read: $empty"},
      {{"--verify", "$nosuch"}, "cannot open"},
      {{"--verify", "--tolerant", "$nosuch", "$one"}, "(skipped)"},
      {{"--verify", "--tolerant", "$nosuch"}, "none of these files could be read: $nosuch"},
      {{"--raw", "-o", "$none/out", "$one"}, "cannot write"},
      {{"--raw", "-o", "/dev/full", "$one"}, "cannot write: No space left on device"},
  });
  // A native file that ends before its first context, as a file and through a pipe's reader.
  FileBuilder().write(path("cut"));
  std::filesystem::resize_file(path("cut"), std::filesystem::file_size(path("cut")) - 64);
  ASSERT_EQ(std::system(("gzip -kf " + path("cut")).c_str()), 0);
  expect({{{"$cut"}, "the file ends before its first context"},
          {{"$cut.gz"}, "the file ends before its first context"}});
  std::string other = read(path("one"));
  other[8] = '\x7f';  // the version, or the byte order
  write("other", other);
  ASSERT_EQ(std::system(("gzip -kf " + path("other")).c_str()), 0);
  expect({{{"$other"}, "$other"}, {{"$other.gz"}, "$other.gz"}});
}

TEST_F(CommandLine, LinesOfTextWithAMistakeAreNamedWithTheirPlace) {
  write("lines", "main;work 3\nmain;work x\n");
  write("last", "main;work 3\nmain;work x");
  write("perf", "prog 1 1.0: 1 cpu-clock:\n\tabc\n");
  for (const char* name : {"$lines", "$last", "$perf"}) {
    EXPECT_TRUE(test::holds(text({name}), name)) << name;
  }
}

TEST_F(CommandLine, ProcessesAreToldByMoreThanTheirNumbers) {
  FileBuilder first = simple(), second = simple();
  first.header().pid = second.header().pid = 99;
  first.header().process_start_ticks = 1;
  second.header().process_start_ticks = 2;
  first.write(path("first"));
  first.write(path("again"));  // another profile of the same process
  second.write(path("second"));
  expect({{{"--by", "process", "$first", "$second"}, "(99) of $second"},
          {{"--by", "thread", "$first", "$second"}, ") of $second"}});
  EXPECT_FALSE(test::holds(text({"--by", "process", "$first", "$again"}), " of $again"));
}

TEST_F(CommandLine, ComparedProcessesAreCounterparts) {
  FileBuilder first = simple(), later = simple();
  first.header().pid = 99;
  later.header().pid = 100;
  first.write(path("first"));
  later.write(path("later"));
  const std::string both = text({"--diff", "$first", "--split-by", "process", "--all", "$later"});
  EXPECT_TRUE(test::holds(both, "(100)"));
  EXPECT_FALSE(test::holds(both, "(99)"));
}

TEST_F(CommandLine, AMaximumHasNoCostPerCall) {
  FileBuilder file = simple();
  file.metric("longest", "ns", format::Role::kLongestWait, format::MetricPlace::kValues,
              test::kFirstFreeWord, format::Aggregation::kMax);
  file.value("main work", test::kFirstFreeWord) = 60;
  file.write(path("longest"));
  expect({{{"--block", "work", "$longest"}, "per call 250 ns"},
          {{"--block", "work", "--metric", "longest", "$longest"}, "60 ns"}});
  for (const char* view : {"--block=work", "--self", "--edges", "--by=module", "--cliques"}) {
    EXPECT_FALSE(test::holds(text({view, "--metric", "longest", "$longest"}), " 5 ns")) << view;
  }
}

TEST_F(CommandLine, AThreadOfTwoProfilesCountsOnce) {
  FileBuilder first = simple(), second = simple();
  first.header().pid = second.header().pid = 99;
  first.header().process_start_ticks = 1;
  second.header().process_start_ticks = 2;
  first.write(path("first"));
  first.write(path("again"));  // another profile of the same process
  second.write(path("second"));
  EXPECT_TRUE(test::holds(text({"$first", "$second"}), "2 threads"));
  EXPECT_FALSE(test::holds(text({"$first", "$again"}), " threads"));
}

TEST_F(CommandLine, OverviewNamesAllThatRan) {
  FileBuilder threads = simple();
  threads.thread("helper", 7);
  threads.charge("main work", {.cpu_ns = 50});
  threads.write(path("threads"));
  std::vector<std::string> many(20, "$threads");
  many.emplace_back("--overview");
  expect({{{"--overview", "$threads"}, "helper"},
          {{"--overview", "--select", "work", "$threads"}, "(unfiltered)"},
          {many, "17 processes"}});
  EXPECT_FALSE(test::holds(text({"--overview", "$threads"}), "(unfiltered)"));
}

TEST_F(CommandLine, ComparisonsNeedTheSameMetricInBothProfiles) {
  FileBuilder ticks;
  ticks.header().clock = format::Clock::kTicks;
  ticks.charge("main work", {.samples = 0, .ticks = 5});
  ticks.calls("main work", 2);
  ticks.write(path("ticks"));
  FileBuilder faults = simple();
  faults.metric("faults", "count", format::Role::kAmount, format::MetricPlace::kValues,
                test::kFirstFreeWord);
  faults.value("main work", test::kFirstFreeWord) = 9;
  faults.write(path("faults"));
  write("folded", "main;work 3\nmain 1\n");
  write("again", "main;work 5\nmain 1\n");
  FileBuilder more = simple();
  more.calls("main work", 6);
  more.write(path("more"));
  FileBuilder shallow = simple(), deep = simple();
  shallow.header().depth_limit = 2;
  shallow.write(path("shallow"));
  deep.header().depth_limit = 9;
  deep.charge("main work a b c", {.cpu_ns = 10});
  deep.write(path("deep"));
  expect({
      {{"--metric", "faults", "--diff", "$one", "$faults"}, "no metric \"faults\" in it"},
      {{"--metric", "beer", "--diff", "$one", "$two"}, "no metric \"beer\""},
      {{"--self", "--diff", "$folded", "$again"}, "samples 4 → 6"},
      {{"--self", "--diff", "$folded", "$one"}, "$folded: does not say what it counts"},
      {{"--self", "--diff", "$one", "$folded"}, "$folded: does not say what it counts"},
      {{"--self", "--metric", "beer", "--diff", "$one", "$folded"}, "no metric \"beer\""},
      {{"--metric", "faults", "--self", "$faults", "$one"},
       "holds no faults but calls, cpu, overhead and 3 more:"},
      {{"--diff", "$shallow", "$deep"}, "one side was recorded with --depth 2"},
      {{"--diff", "$deep", "$shallow"}, "one side was recorded with --depth 2"},
      {{"--diff", "$one", "$shallow"}, "one side was recorded with --depth 2"},
      {{"--diff", "$shallow", "$one"}, "one side was recorded with --depth 2"},
      {{"--diff", "$one,$two", "$one,$two"}, "means of 2 and 2 runs"},
      {{"--diff", "$one,$nosuch", "$one"}, "cannot open"},
      // The second run has no such metric.
      {{"--diff", "$faults,$one,$faults", "--metric", "faults", "$faults"}, "means of 2 and 1 run"},
      {{"--diff", "$one", "--fail-if", "+5% calls", "$more"}, "failed: +5% calls: calls 12 -> 18"},
      {{"--diff", "$one", "--fail-if", "-5% calls", "$more"}, "chance alone makes"},
      {{"--diff", "$one", "--fail-if", "+5% cpu", "$two"}, "chance alone makes"},
      {{"--diff", "$one", "--fail-if", "5% beer", "$two"}, "no metric \"beer\" in the profile"},
      {{"--diff", "$one", "--fail-if", "5% faults", "$faults"},
       "no metric \"faults\" in the baseline"},
      {{"--diff", "$one", "--fail-if", "5% ticks", "$two"}, "ticks was not measured in either"},
      {{"--diff", "$one", "--fail-if", "5% ticks", "$ticks"}, "failed: 5% ticks"},
      {{"--diff", "$one", "--fail-if", "5% cpu", "$ticks"}, "cpu was not measured in the profile"},
      {{"--diff", "$ticks", "--fail-if", "5% cpu", "$one"}, "cpu was not measured in the baseline"},
      {{"--diff", "$one", "--self", "--normalize", "--select", "work", "$two"}, "kept"},
  });
}

TEST_F(CommandLine, TimesAreTakenOnlyFromProfilesOfTime) {
  FileBuilder wall = simple(), calls;
  wall.header().clock = format::Clock::kWall;
  wall.write(path("wall"));
  calls.header().clock = format::Clock::kTicks;
  calls.charge("main work", {.samples = 0, .ticks = 5});
  calls.write(path("ticks"));
  FileBuilder other;  // another program
  other.charge("start elsewhere", {.cpu_ns = 7000});
  other.charge("main work nowhere", {.cpu_ns = 9000});
  other.charge("main work", {.cpu_ns = 500});
  other.write(path("other"));
  write("folded", "main;work 3\nmain 1\n");
  expect({
      {{"--self", "--times-from", "$two", "$one"}, "work"},
      {{"--self", "--times-from", "$other", "$one"},
       "of the time of $other is in functions that were not called here: it is the root's"},
      {{"--self", "--times-from", "$other", "$one"},
       "of the time of $other is in functions that did not run here: it is their callers'"},
      {{"--self", "--times-from", "$folded", "$one"}, "--times-from takes what is measured in"},
      {{"--self", "--times-from", "$ticks", "$one"}, "holds "},
      {{"--self", "--times-from", "$nosuch", "$one"}, "cannot open"},
      {{"--self", "--times-from", "$one", "$ticks"}, "holds cpu time, the run with hooks ticks"},
  });
}

TEST_F(CommandLine, RunsThatDifferNameBothCauses) {
  FileBuilder counted, sampled;
  counted.charge("main short", {.cpu_ns = 1'000'000'000, .samples = 1000});
  counted.charge("main long", {.cpu_ns = 9'000'000'000, .samples = 9000});
  for (const char* each : {"main", "main short", "main long"}) counted.calls(each, 1);
  sampled.charge("main short", {.cpu_ns = 5'000'000'000, .samples = 5000});
  sampled.charge("main long", {.cpu_ns = 5'000'000'000, .samples = 5000});
  auto both = counted.bytes();
  profile::append_plain_run(both, sampled.bytes());
  write("twice", {reinterpret_cast<const char*>(both.data()), both.size()});
  expect({{{"--self", "$twice"},
           "the two runs differ: 38 % of the time is in other functions. Either the program did "
           "not do the same each time, or much of it is in short functions"}});
}

// Figures of a comparison are those of the views of its sides.
TEST_F(CommandLine, ComparisonsTakeTheTimesOfSampledRuns) {
  const auto twice = [&](const char* name, std::uint64_t factor) {
    FileBuilder counted, sampled;
    counted.charge("main small", {.cpu_ns = 9'000'000'000, .samples = 9000});
    counted.charge("main large", {.cpu_ns = 1'000'000'000, .samples = 1000});
    counted.charge("main large small", {.cpu_ns = 3'000'000'000, .samples = 3000});
    for (const char* each : {"main", "main large", "main small"}) counted.calls(each, 1);
    counted.calls("main large small", 1);
    sampled.charge("main small", {.cpu_ns = 3'000'000'001, .samples = 3000});
    sampled.charge("main large", {.cpu_ns = factor * 1'000'000'000, .samples = factor * 1000});
    auto both = counted.bytes();
    profile::append_plain_run(both, sampled.bytes());
    write(name, {reinterpret_cast<const char*>(both.data()), both.size()});
  };
  twice("a", 1);
  twice("b", 2);
  expect({
      {{"--self", "--format", "csv", "$a"}, "small,3000000001,"},
      {{"--self", "--format", "csv", "--diff", "$a", "$b"}, "small,3000000001,3000000001,"},
      {{"--self", "--format", "csv", "--diff", "$a", "$b"}, "large,1000000000,2000000000,"},
      {{"--self", "--format", "csv", "--diff", "$a,$a", "$b,$b"}, "large,1000000000,2000000000,"},
      {{"--format", "csv", "$a"}, "2,small,2250000001,"},
      {{"--format", "csv", "--diff", "$a", "$b"}, "2,small,2250000001,2250000001,"},
      {{"--self", "--diff", "$a", "$b"}, "(4,000 and 5,000 samples)"},
      {{"--diff", "$a", "--metric", "calls", "--fail-if", "+50% cpu in large", "$b"},
       "cpu dominated in large 1.75 s -> 2.75 s"},
      {{"--diff", "$a", "--fail-if", "+50% cpu self in large", "$b"}, "1.00 s -> 2.00 s"},
      {{"--self", "--diff", "$a", "--metric", "samples", "$b"}, "13,000"},
  });
  // What is told of the run is the counted one's.
  const std::string one = text({"$a"});
  EXPECT_TRUE(test::holds(one, ", counted run]")) << one;
  EXPECT_TRUE(test::holds(text({"$a", "$b", "$one"}), "3 profiles (without 2 sampled runs)"));
  expect({{{"--summary", "$a"}, "figures of      the counted run; "},
          {{"--summary", "--format", "json", "$a"}, "\"run\":\"counted\""},
          {{"--summary", "--format", "json", "$one"}, "\"run\":\"\""}});
  EXPECT_FALSE(test::holds(text({"--summary", "$one"}), "counted run"));
  EXPECT_FALSE(test::holds(text({"--self", "--diff", "$a", "$b"}), "counted run"));
  EXPECT_TRUE(test::holds(text({"--diff", "$a", "--split-by", "thread", "$b"}),
                          "both sides' times are those of the counted run"));
}

TEST_F(CommandLine, SamplesOfAnEventHaveItsName) {
  write("perf", "a 1 5.0: cpu-clock:\n\t1 f+0x1 (/a)\n\na 1 5.1: cpu-clock:\n\t1 f+0x1 (/a)\n");
  expect({
      {{"--self", "--metric", "cpu-clock", "--format", "csv", "$perf"}, "f,2,"},
      {{"--self", "--metric", "cpu-clock samples", "--format", "csv", "$perf"}, "f,2,"},
      {{"--diff", "$perf", "--metric", "cpu-clock", "--fail-if", "0 cpu-clock", "$perf"},
       "cpu-clock samples 2"},
      {{"--self", "--metric", "cpu", "$perf"}, "there are cpu-clock samples"},
  });
}

TEST_F(CommandLine, PatternsOfFilesAreLookedForInEveryOption) {
  for (const char* option : {"--select", "--fold", "--keep"}) {
    expect({{{"--self", option, "file:*.c", "$one"}, "\"file:*.c\" names no function"}});
  }
  expect({{{"--self", "--exclude", "file:*.c", "$one"}, "work"}});
  expect({{{"--block", "file:*.c", "$one"}, "file:*.c"},
          {{"--self", "--leaves", "$one"}, "work"},
          {{"--self", "--leaves", "--inlines", "$one"}, "work"},
          {{"--self", "--no-symbols", "$one"}, "work"},
          {{"--busy", "$one"}, "no thread was idle"},
          {{"--metric", "samples", "$one"}, "samples fall on the program's own code only"}});
}

TEST_F(CommandLine, NamesOnNoPathThatIsKeptAreNotTakenForMistakes) {
  FileBuilder file = simple();
  file.charge("start thread", {.cpu_ns = 500});
  file.write(path("threads"));
  constexpr std::string_view kLeftOut =
      "is on no path that is kept: --select, --exclude, --keep and --fold leave it out";
  expect({
      {{"--block", "thr*", "--select", "main", "$threads"}, kLeftOut},
      {{"--block", "thread", "--keep", "main", "$threads"}, kLeftOut},
      {{"--block", "thread", "--exclude", "start", "$threads"}, kLeftOut},
      {{"--block", "thread", "--fold", "thread", "$threads"}, kLeftOut},
      {{"--annotate", "thread", "--select", "main", "$threads"}, kLeftOut},
      {{"--call-sites=thread", "--select", "main", "$threads"}, kLeftOut},
      {{"--path", "start,thread", "--select", "main", "$threads"},
       "--path: \"start\" is on no path"},
      {{"--block", "thraed", "--select", "start", "$threads"}, "did you mean \"thread\"?"},
      {{"--block", "thraed", "--select", "main", "$threads"}, "names no function"},
  });
}

TEST_F(CommandLine, AddressesThatWereNotRecordedAreMissed) {
  constexpr std::string_view kNone = "no sampled addresses were recorded";
  FileBuilder leaves = simple();
  const auto module = leaves.module("/no/such/library", 0x1000, 0x9000, 0);
  leaves.native("at", 0x1234, 0, module, format::FunctionKind::kInstruction);
  leaves.charge("main work at", {.cpu_ns = 70});
  leaves.write(path("leaves"));
  expect({{{"--self", "--leaves", "$one"}, "--leaves: no sampled addresses were recorded"},
          {{"--inlines", "$one"}, "--inlines: no sampled addresses were recorded"},
          {{"--leaves", "--select", "other", "$leaves", "$two"}, "other"}});
  for (const char* option : {"--leaves", "--inlines"}) {
    EXPECT_FALSE(test::holds(text({option, "$leaves"}), kNone)) << option;
    EXPECT_FALSE(test::holds(text({option, "--select", "other", "$leaves", "$two"}), kNone));
  }
  EXPECT_FALSE(test::holds(text({"--self", "$one"}), kNone));
}

TEST_F(CommandLine, SeveralRunsBesideAMeanAreASum) {
  write("folded", "main;work 3\n");
  const auto run = [&](const char* name, std::uint64_t start) {
    FileBuilder file = simple();
    file.header().start_realtime_ns = start * 1'000'000'000'000;
    file.header().pid += static_cast<std::uint32_t>(start);
    file.write(path(name));
  };
  run("a", 1);
  run("b", 2);
  run("c", 3);
  run("d", 4);
  expect({{{"--diff", "$a,$b", "$c", "$d"},
           "the profiles are summed beside a mean of 2 runs: commas between them make it a mean, "
           "too: $c,$d"}});
  for (const Words& arguments :
       {Words{"--diff", "$a,$b", "$c,$d"}, Words{"--diff", "$a,$b", "$c"},
        Words{"--diff", "$a", "$c", "$d"}, Words{"--diff", "$a,$b", "$c", "$folded"}}) {
    EXPECT_FALSE(test::holds(text(arguments), "commas between them"));
  }
}

// Without records of waits the next sample is charged with them: no function of that tree slept.
TEST_F(CommandLine, WallTimeWithoutWaitsSaysWhereWaitsAre) {
  constexpr std::string_view kNote =
      "no waits were recorded: wall charges each to what its thread computed next "
      "(fble-prof --waits records them)";
  expect({{{"--metric", "wall", "--self", "$one"}, kNote},
          {{"--metric", "wall", "$one"}, kNote},
          {{"--metric", "wall", "--export", "folded", "$one"}, kNote},
          {{"--metrics", "$one"}, kNote}});
  EXPECT_FALSE(test::holds(text({"--self", "$one"}), "no waits"));

  FileBuilder waits = simple(), computes;
  waits.metric("wait", "ns", format::Role::kWaitTime, format::MetricPlace::kValues,
               test::kFirstFreeWord);
  waits.value("main work", test::kFirstFreeWord) = 1900;
  waits.write(path("waits"));
  computes.charge("main work", {.cpu_ns = 3000, .wall_ns = 3010, .samples = 3});
  computes.write(path("computes"));
  write("folded", "main;work 3\n");
  for (const char* file : {"$waits", "$computes"}) {
    EXPECT_FALSE(test::holds(text({"--metric", "wall", "--self", file}), "no waits")) << file;
    EXPECT_FALSE(test::holds(text({"--metrics", file}), "no waits")) << file;
  }
  EXPECT_FALSE(test::holds(text({"--metrics", "$folded"}), "no waits"));
}

TEST_F(CommandLine, PackWritesACopyAndTrimCuts) {
  FileBuilder live = simple();
  const auto module = live.module("/no/such/library", 0x1000, 0x9000, 0);
  live.native("nameless", 0x1230, 64, module);
  live.charge("main nameless", {.cpu_ns = 1});
  live.write(path("native"));
  write("noise", "noise");
  std::filesystem::create_directory(path("folder"));
  expect({
      {{"--pack", "$one"}, "$one: 0 functions named"},
      {{"--pack", "-o", "$copy", "$native"}, "1 has no name"},
      {{"--pack", "-o", "$copy", "$one", "$two"}, "several profiles do not fit into one file"},
      {{"--pack", "$noise"}, "not a profile of fbleprof"},
      {{"--pack", "--tolerant", "$noise", "$one"}, "(skipped)"},
      {{"--pack", "$nosuch"}, "cannot open"},
      {{"--pack", "-o", "$none/copy", "$one"}, "cannot write"},
      {{"--pack", "-o", "$folder", "$one"}, "cannot write"},
      {{"--trim", "$one"}, "$one: nothing to cut off"},
      {{"--trim", "$noise"}, "$noise"},
      {{"--trim", "--tolerant", "$noise", "$one"}, "(skipped)"},
  });
  EXPECT_TRUE(test::holds(text({"--self", "$copy"}), "work"));
  // Without any of the last file's space.
  EXPECT_FALSE(std::filesystem::exists(path("copy.packing")));
  EXPECT_FALSE(std::filesystem::exists(path("folder.packing")));
}

TEST_F(CommandLine, AProgramThatRunsIsPackedOnlyIntoACopy) {
  FileBuilder live = simple();
  live.header().state = format::State::kLive;
  live.header().pid = static_cast<std::uint32_t>(getpid());
  live.write(path("live"));
  // Whether this process is the one that wrote it is not known, or it is gone.
  const std::string line = text({"--pack", "$live"});
  EXPECT_TRUE(line.starts_with("$live: ")) << line;
  EXPECT_TRUE(test::holds(text({"--pack", "-o", "$copy", "$live"}), "$copy: 0 functions named"));
}

TEST_F(CommandLine, RecordsAreWrittenToAFile) {
  FileBuilder file = simple();
  file.note("a remark");
  const auto set = file.label_set();
  file.label("request", "slow", set);
  file.add(format::Kind::kPrivate, 64);
  file.add(format::Kind::kUnfinished, 64);
  file.header().minor_version = format::kMinorVersion + 1;
  file.add(static_cast<format::Kind>(40), 64);
  file.snapshot("loaded", 10);
  file.string("left");
  file.write(path("all"));
  EXPECT_EQ(text({"--raw", "-o", "$out", "$all"}), "");
  const std::string out = read(path("out"));
  for (const char* part :
       {"header version=", "string 0x", "note 0x", "text=\"a remark\"", "labelset 0x",
        "key=\"request\" value=\"slow\"", "private 0x", "unfinished 0x", "kind=40 bytes=64",
        "snapshot 0x", "snapshotnodes 0x", "nodes 0x", "values 0x", "node 0x", "row 0x"}) {
    EXPECT_TRUE(test::holds(out, part));
  }
  // Damaged: items of no size, a text that is longer than its record, a reference to nothing.
  FileBuilder damaged = simple();
  const auto bad = damaged.add(format::Kind::kNodes, 128);
  damaged.record<format::Nodes>(bad)->item_bytes = 3;
  const auto items = damaged.add(format::Kind::kSnapshotNodes, 128);
  damaged.record<format::SnapshotItems>(items)->item_bytes = 5;
  const auto note = damaged.add(format::Kind::kNote, sizeof(format::Note));
  damaged.record<format::Note>(note)->text = 0x77777;
  damaged.add(format::Kind::kNote, sizeof(format::Note));
  const auto zero = damaged.add(format::Kind::kNote, sizeof(format::Note));
  damaged.record<format::Head>(zero)->mark = 0;
  damaged.write(path("damaged"));
  EXPECT_EQ(text({"--raw", "-o", "$out", "$damaged"}), "");
  const std::string found = read(path("out"));
  for (const char* part : {"text=0x77777", "text=\"\"", "damage beyond_end=", "item_bytes=3"}) {
    EXPECT_TRUE(test::holds(found, part));
  }
}

TEST_F(CommandLine, AFileOfRecordsIsReplacedOnlyWhenThereIsAProfile) {
  write("out", "precious");
  write("noise", "noise");
  expect({
      {{"--raw", "-o", "$out", "$nosuch"}, "$nosuch: cannot open"},
      {{"--raw", "-o", "$out", "$noise"}, "$noise: not a profile"},
      {{"--raw", "-o", "$out", "--tolerant", "$nosuch", "$noise"},
       "none of these files could be read: $noise"},
  });
  EXPECT_EQ(read(path("out")), "precious");
  expect({{{"--raw", "-o", "$out", "--tolerant", "$nosuch", "$one"}, "(skipped)"}});
  EXPECT_TRUE(test::holds(read(path("out")), "header version="));
}

TEST_F(CommandLine, SequencesAreSplitAtTheCommasOutsideOfNames) {
  FileBuilder file;
  file.charge("main f<int,long>(char) inner", {.cpu_ns = 3000});
  file.calls("main f<int,long>(char) inner", 3);
  file.charge("main operator< it's", {.cpu_ns = 1000});
  file.charge("main a->b", {.cpu_ns = 500});
  file.tail("main operator<", "main a->b", 2);
  file.write(path("names"));
  std::string long_path = "main";
  for (int i = 0; i < 60; ++i) long_path += ",main";
  expect({
      {{"--path", "main,f<int,long>(char)", "$names"}, "→ f<int,long>(char)"},
      {{"--path", "main , 'f<int,long>(char)' ,inner", "$names"}, "→ inner"},
      {{"--path", "main,\"f<int,long>(char)\"", "$names"}, "→ f<int,long>(char)"},
      {{"--path", "main,operator<", "$names"}, "→ operator<"},
      {{"--path", "operator<,\"it's\"", "$names"}, "→ it's"},
      {{"--path", "main,a->b", "$names"}, "main → a->b"},
      {{"--path", "operator<,a->b", "$names"}, "a tail call: its cost is charged to the caller"},
      {{"--path", "main,nosuch", "$names"}, "--path: \"nosuch\" names no function"},
      {{"--path", long_path, "$names"}, "--path: too long: 60 at most"},
      {{"--path", "main,re:[", "$names"}, "["},
      {{"--path", "main)", "$names"}, "names no function"},
  });
}

TEST_F(CommandLine, RollUpsAreSortedByEachColumn) {
  FileBuilder file;
  const auto a = file.module("/lib/a.so", 0x1000, 0x2000, 0);
  const auto b = file.module("/lib/b.so", 0x3000, 0x4000, 0);
  const auto c = file.module("/lib/c.so", 0x5000, 0x6000, 0);
  file.native("f", 0x1100, 64, a);
  file.native("g", 0x3100, 64, b);
  file.native("h", 0x5100, 64, c);
  file.charge("f", {.cpu_ns = 500});
  file.charge("f g", {.cpu_ns = 900});
  file.charge("h", {.cpu_ns = 700});
  file.calls("f", 10);
  file.calls("f g", 1);
  file.calls("h", 100);
  file.write(path("modules"));
  const auto order = [&](const char* key) {
    const std::string csv = text({"--by", "module", "--sort", key, "--format", "csv", "$modules"});
    std::vector<std::pair<std::size_t, char>> places;
    for (const char* name : {"a.so", "b.so", "c.so"}) places.emplace_back(csv.find(name), *name);
    std::sort(places.begin(), places.end());
    return std::string{places[0].second, places[1].second, places[2].second};
  };
  EXPECT_EQ(order("name"), "abc");
  EXPECT_EQ(order("self"), "bca");
  EXPECT_EQ(order("dominated"), "abc");
  EXPECT_EQ(order("calls"), "cab");
  EXPECT_EQ(order("per-call"), "bac");
  expect({{{"--by", "nothing", "$modules"}, "--by nothing: module, file, namespace"},
          {{"--by", "label:", "$modules"}, "label:"},
          {{"--by", "rank", "$modules"}, "mpi_rank"}});
}

TEST_F(CommandLine, PartsAndTheRootAddUpToTheTotal) {
  FileBuilder file = simple();
  file.charge("", {.cpu_ns = 300});
  file.write(path("rooted"));
  for (const char* what : {"module", "file", "namespace", "class"}) {
    const std::string csv = text({"--by", what, "--format", "csv", "$rooted"});
    EXPECT_TRUE(test::holds(csv, "[root],300,")) << what;
  }
}

TEST_F(CommandLine, CallsThatFoundNoSpaceMakeTheOtherCountsLowerBounds) {
  FileBuilder file = simple();
  file.calls("[overflow]", 5);
  file.header().overflow_contexts = 3;
  file.write(path("full"));
  file.header().overflow_contexts = 0;
  expect({{{"--self", "$full"}, "≥12"},
          {{"$full"}, "≥12  └─ work"},
          {{"--edges", "$full"}, "≥ calls: at least; some were not counted"},
          {{"--self", "$full"}, "5 calls found no space and are counted as calls of [overflow]"},
          {{"--self", "$full", "$one"}, "≥24"}});
  EXPECT_FALSE(test::holds(text({"--self", "$full"}), "≥5"));
  EXPECT_FALSE(test::holds(text({"--self", "$one"}), "≥"));
}

TEST_F(CommandLine, LostCallsMakeTheCountsLowerBounds) {
  FileBuilder file = simple();
  file.record<format::Thread>(file.current_thread())->lost_calls = 5;
  file.write(path("lost"));
  expect({{{"--self", "$lost"}, "≥12"},
          {{"$lost"}, "≥12  └─ work"},
          {{"--edges", "$lost"}, "≥ calls: at least; some were not counted"},
          {{"--self", "$lost", "$one"}, "≥24"},
          {{"--cliques=context", "$lost"}, "≥12"},
          {{"--by", "module", "$lost"}, "≥12"},
          {{"--by", "process", "$lost"}, "≥12"}});
  EXPECT_FALSE(test::holds(text({"--self", "$one"}), "≥"));
}

TEST_F(CommandLine, AFewLostCallsOfManyLeaveCountsAndAverages) {
  FileBuilder file = simple();
  file.calls("main work", 1'000'000);
  file.record<format::Thread>(file.current_thread())->lost_calls = 1;
  file.write(path("few"));
  EXPECT_FALSE(test::holds(text({"--self", "$few"}), "≥"));
  expect({{{"--summary", "$few"}, "lost"}});
  // That it is a few is a matter of the run, not of the part that a filter keeps.
  file.calls("main other", 1'000'000);
  file.record<format::Thread>(file.current_thread())->lost_calls = 500;
  file.write(path("few"));
  for (const char* kept : {"work", "other"}) {
    EXPECT_FALSE(test::holds(text({"--self", "--select", kept, "$few"}), "≥")) << kept;
  }
}

TEST_F(CommandLine, TheTimeAfterAResetIsRecordedUntilRecordingEnds) {
  FileBuilder file = simple();
  file.header().start_monotonic_ns = 100'000;
  file.header().end_monotonic_ns = 1'100'000;
  file.snapshot("", 200'000, format::SnapshotReason::kReset);
  file.charge("main work", {.cpu_ns = 7000});
  file.header().off_since_ns = 600'000;
  file.write(path("detached"));
  expect({{{"--summary", "$detached"}, "elapsed         800 us\nrecorded for    300 us"},
          {{"$detached"}, "recorded for 300 us of 800 us"}});
}

TEST_F(CommandLine, OfAProgramWithoutAnEndOnlyTheRecordedTimeIsKnown) {
  FileBuilder file = simple();
  file.header().start_monotonic_ns = 100'000;
  file.header().end_monotonic_ns = 1'100'000;
  file.write(path("ended"));
  file.header().state = format::State::kLive;
  file.write(path("killed"));
  expect({{{"--summary", "$ended"}, "elapsed         1.00 ms\nrecorded for"},
          {{"--summary", "$killed"}, "elapsed         1.00 ms, up to what was recorded last\n"}});
}

TEST_F(CommandLine, AWindowWithoutCostsShowsTheUsualMetricAndSaysSo) {
  FileBuilder file = simple();
  file.header().clock = format::Clock::kWall;
  file.metric("longest-wait", "ns", format::Role::kLongestWait, format::MetricPlace::kValues,
              test::kFirstFreeWord, format::Aggregation::kMax);
  file.metric("waits", "count", format::Role::kWaits, format::MetricPlace::kValues,
              test::kFirstFreeWord + 1);
  file.value("main work", test::kFirstFreeWord) = 93'200;
  file.value("main work", test::kFirstFreeWord + 1) = 1;
  file.snapshot("a", 10);
  file.snapshot("b", 20);
  file.value("main work", test::kFirstFreeWord + 1) = 2;
  file.snapshot("c", 30);
  file.write(path("idle"));
  expect({{{"--window", "a..b", "--format", "json", "$idle"}, "\"metric\":\"wall\""},
          {{"--window", "a..b", "$idle"}, "nothing was recorded in the window"},
          {{"--window", "b..c", "--format", "json", "$idle"}, "\"metric\":\"wall\""},
          {{"--window", "b..c", "$idle"},
           "no wall was recorded in the window: --metrics lists what was"},
          {{"--window", "a..b", "--metric", "longest-wait", "$idle"},
           "longest-wait is the largest since the start of the profile, not of the window"}});
  EXPECT_FALSE(test::holds(text({"--window", "..b", "$idle"}), "window"));
  EXPECT_FALSE(test::holds(text({"--window", "..b", "--metric", "longest-wait", "$idle"}),
                           "largest since the start"));
}

TEST_F(CommandLine, AfterAResetAMaximumIsNotShownInsteadOfTheClock) {
  FileBuilder file = simple();
  file.metric("longest-wait", "ns", format::Role::kLongestWait, format::MetricPlace::kValues,
              test::kFirstFreeWord, format::Aggregation::kMax);
  file.value("main work", test::kFirstFreeWord) = 93'200;
  file.snapshot("", 10, format::SnapshotReason::kReset);
  file.write(path("reset"));
  expect({{{"--format", "json", "$reset"}, "\"metric\":\"cpu\""}});
}

TEST_F(CommandLine, WaitsThatAreLongerThanTheirWindowAreNoticed) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  FileBuilder file = simple();
  file.header().clock = format::Clock::kWall;
  file.header().start_monotonic_ns = kSecond;
  file.header().end_monotonic_ns = 6 * kSecond;
  file.snapshot("a", 4 * kSecond);
  file.charge("main sleep", {.wall_ns = kSecond * 9 / 10});
  file.write(path("short"));
  file.charge("main sleep", {.wall_ns = 3 * kSecond});
  file.write(path("long"));
  expect(
      {{{"--windows", "--metric", "wall", "$long"}, "a wait is added as a whole where it ends"}});
  EXPECT_FALSE(test::holds(text({"--windows", "--metric", "cpu", "$long"}), "a wait is added"));
  const char* note = "holds longer waits than its window: a wait counts as a whole where it ends";
  expect({{{"--since", "a", "$long"}, note}, {{"--since", "a", "--diff", "@..a", "$long"}, note}});
  for (const Words& arguments :
       {Words{"--since", "a", "$short"}, Words{"$long"}, Words{"--window", "..a", "$long"},
        Words{"--since", "a", "--metric", "cpu", "$long"}}) {
    EXPECT_FALSE(test::holds(text(arguments), note)) << arguments[0];
  }
}

TEST_F(CommandLine, WindowsNameTheReasonOfEachSnapshot) {
  FileBuilder file = simple();
  using format::SnapshotReason;
  file.snapshot("loaded", 10, SnapshotReason::kAsked);
  file.charge("main work", {.cpu_ns = 100});
  file.snapshot("", 20, SnapshotReason::kPeriod);
  file.snapshot("", 30, SnapshotReason::kPeak);
  file.snapshot("", 40, SnapshotReason::kReset);
  file.snapshot("", 50, static_cast<SnapshotReason>(9));
  file.write(path("windows"));
  file.header().pid = 5;
  file.write(path("again"));
  const std::string csv = text({"--windows", "--format", "csv", "$windows"});
  for (const char* part : {",asked,loaded", ",period,", ",peak,", "100,"}) {
    EXPECT_TRUE(test::holds(csv, part));
  }
  expect({{{"--windows", "$windows", "$again"}, "$again"},
          {{"--windows", "--metric", "wall", "$windows"}, "loaded"},
          {{"--windows", "$one"}, "no snapshots: nothing was taken down"},
          {{"--self", "--since", "loaded", "$windows"}, "cpu 100 ns in all"},
          {{"--self", "--window", "..#1", "$windows"}, "cpu 4.00 us in all"}});
}

TEST_F(CommandLine, EachKindOfRecursionIsNamed) {
  FileBuilder file = simple();
  file.calls("main self", 1);
  file.back("main self", "main self", 1);
  file.calls("main many", 1);
  file.back("main many", "main many", 50);
  file.charge("main many", {.cpu_ns = 10});
  std::string circle = "main";
  for (int i = 0; i < 12; ++i) {
    circle += " member" + std::to_string(i);
    file.calls(circle, 1);
    file.charge(circle, {.cpu_ns = 100});
  }
  file.back(circle, "main member0", 900);
  file.write(path("recursion"));
  expect({
      {{"--cliques", "$recursion"}, "mutual: 12 functions"},
      {{"--cliques", "$recursion"}, "… 4 more members (--all)"},
      {{"--cliques", "--all", "$recursion"}, "member11"},
      {{"--cliques=context", "$recursion"}, "member0"},
      {{"--cliques=nothing", "$recursion"}, "--cliques=nothing: expected context, or no value"},
      {{"--cliques", "--format", "csv", "$recursion"}, "member0"},
      {{"--cliques", "--format", "json", "$recursion"}, "\"rows\""},
      {{"--cliques", "$one"}, "no recursion: no function calls itself"},
      {{"--sort", "self", "$recursion"}, "work"},
      {{"--sort", "calls", "$recursion"}, "work"},
      {{"--all", "$recursion"}, "↻ member0  (11 up)"},
      {{"--depth", "3", "--min", "0", "$recursion"}, "further down (--depth)"},
      {{"--width", "40", "--all", "$recursion"}, "member11"},
      {{"--width", "40", "--hot", "$recursion"}, "main"},
      {{"--block", "member11", "--width", "40", "$recursion"}, "member11"},
      {{"--block", "member*", "--width", "0", "$recursion"}, "member11"},
      {{"--block", "many", "$recursion"}, "many"},
  });
}

TEST_F(CommandLine, ALowRateOfSamplesSaysWhy) {
  const auto heading = [&](format::SampleSource source, std::uint64_t samples) {
    FileBuilder file;
    file.header().rate_hz = 1000;
    file.header().source = source;
    file.charge("main", {.cpu_ns = 1'000'000'000, .wall_ns = 1'000'000'000, .samples = samples});
    file.write(path("slow"));
    return text({"$slow"});
  };
  using format::SampleSource;
  EXPECT_TRUE(test::holds(heading(SampleSource::kCpuTimer, 200),
                          "(1000 requested; the kernel's timer gives no more)"));
  EXPECT_TRUE(test::holds(heading(SampleSource::kTaskClock, 200), "(1000 requested; "));
  EXPECT_FALSE(test::holds(heading(SampleSource::kTaskClock, 950), "requested"));
  EXPECT_FALSE(test::holds(heading(SampleSource::kTaskClock, 50), "requested"));
  std::vector<std::string> many;
  for (int i = 0; i < 30; ++i) {
    FileBuilder file = simple();
    file.header().pid = 1000 + static_cast<std::uint32_t>(i);
    file.write(path("run" + std::to_string(i)));
    many.push_back("$run" + std::to_string(i));
  }
  EXPECT_TRUE(test::holds(text(many), "more profiles (--all)"));
  many.push_back("--all");
  EXPECT_FALSE(test::holds(text(many), "more profiles (--all)"));
}

TEST_F(CommandLine, FiltersOfLeftOutFunctionsAreChecked) {
  const auto outcome = [&](const Words& words) {
    const Status bad = write_left_out_tables(words);
    return bad ? bad->line() : "written";
  };
  EXPECT_TRUE(test::holds(outcome({}), "needs a filter"));
  EXPECT_TRUE(test::holds(outcome({";;!"}), "the filter is empty"));
  EXPECT_TRUE(test::holds(outcome({"id:00"}), "bad pattern \"id:00\""));
  EXPECT_TRUE(test::holds(outcome({"re:["}), "["));
  EXPECT_EQ(outcome({"main"}), "written");
  EXPECT_EQ(outcome({"!main;;file:*.c", path("table"), "/no/such/module"}), "written");
  EXPECT_TRUE(std::filesystem::exists(path("table")));
  EXPECT_EQ(outcome({"main;!m*", path("table"), "/proc/self/exe", "alone"}), "written");
  EXPECT_GT(std::filesystem::file_size(path("table")), 40U);
  EXPECT_TRUE(
      test::holds(outcome({"main", path("none/table"), "/no/such/module"}), "cannot write"));
  std::filesystem::create_directory(path("folder"));
  EXPECT_TRUE(test::holds(outcome({"main", path("folder"), "/no/such/module"}), "directory"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 4);
}

}  // namespace
}  // namespace fbleprof::report
