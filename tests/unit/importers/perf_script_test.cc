#include "report/importers/perf_script.h"

#include <gtest/gtest.h>

#include "analysis/costs.h"
#include "report/importers/file_kind.h"
#include "tests/support/profile_builder.h"

namespace fbleprof::importers {
namespace {

using namespace profile;

constexpr const char* kTwoSamples =
    "# a comment of --header\n"
    "my prog 2  6738/6740 [001]  5799.127143:    1001001 cpu-clock:u: \n"
    "\tffffffff81591f22 entry+0x92 ([kernel.kallsyms])\n"
    "\t            e2bc std::map<int, char>::operator[](int const&)+0x69c (/usr/bin/my prog "
    "(deleted))\n"
    "\t            1111 [unknown] (/usr/lib/libfoo.so.1)\n"
    "\n"
    "my prog 2  6738/6740 [001]  5799.227143:    1001001 cpu-clock:u: \n"
    "\t            e2bc (anonymous namespace)::run()+0x1 (/usr/bin/my prog (deleted))\n"
    "\t            e2bc main (inlined)\n"
    "\t            1111 [unknown] ([unknown])\n"
    "\n";

Result<Profile> parse(std::string_view text) {
  PerfScriptParser parser("ps.txt");
  return parse_text(parser, text);
}

std::uint64_t total(const Profile& profile, std::string_view metric) {
  const Metric* found = profile.find_metric(metric);
  return found != nullptr ? analysis::total(profile, *found) : 0;
}

TEST(PerfScript, NamesKeepBlanksTemplatesAndParentheses) {
  const auto profile = parse(kTwoSamples);
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  std::vector<std::string> names;
  for (const FunctionId f : profile->nodes().function) names.push_back(display_name(*profile, f));
  EXPECT_EQ(names, (std::vector<std::string>{"[root]", "[libfoo.so.1]",
                                             "std::map<int, char>::operator[](int const&)", "entry",
                                             "[unknown]", "main", "(anonymous namespace)::run()"}));
}

TEST(PerfScript, WeightsArePeriodsAndModulesAreKept) {
  const auto profile = parse(kTwoSamples);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(total(*profile, "cpu-clock:u"), 2002002u);
  EXPECT_EQ(profile->find_metric("cpu-clock:u")->unit, "ns");
  EXPECT_EQ(total(*profile, "samples"), 2u);
  const FunctionId f =
      test::function_called(*profile, "std::map<int, char>::operator[](int const&)");
  EXPECT_EQ(profile->text(profile->modules()[profile->functions().module[f.index()].index()].path),
            "/usr/bin/my prog (deleted)");
  const FunctionId inlined = test::function_called(*profile, "main");
  EXPECT_NE(profile->functions().flags[inlined.index()] & kFunctionInlined, 0);
}

TEST(PerfScript, ProcessAndThreadAreRead) {
  const auto profile = parse(kTwoSamples);
  ASSERT_TRUE(profile.ok());
  ASSERT_EQ(profile->processes().size(), 1u);
  EXPECT_EQ(profile->processes()[0].pid, 6738u);
  EXPECT_EQ(profile->processes()[0].duration_ns, 100'000'000u);
  EXPECT_TRUE(profile->processes()[0].notes.empty());
  ASSERT_EQ(profile->threads().size(), 1u);
  EXPECT_EQ(profile->threads()[0].tid, 6740u);
  EXPECT_EQ(profile->text(profile->threads()[0].name), "my prog 2");
  EXPECT_EQ(profile->threads()[0].samples, 2u);
}

TEST(PerfScript, EachEventIsAMetric) {
  const auto profile = parse(
      "a 1 5.0: 100 cycles:\n\t1 f+0x1 (/a)\n\n"
      "a 1 5.1: 7 instructions:u:\n\t1 f+0x1 (/a)\n\n"
      "a 1 [000] d..1. 5.2: sched:sched_switch: prev_comm=a ==> next_comm=b\n\t1 g+0x1 (/a)\n\n");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_EQ(profile->metrics()[0].name, "cycles");
  EXPECT_EQ(total(*profile, "cycles"), 100u);
  EXPECT_EQ(total(*profile, "instructions:u"), 7u);
  EXPECT_EQ(total(*profile, "sched:sched_switch"), 1u);
  EXPECT_EQ(total(*profile, "samples"), 3u);
}

TEST(PerfScript, WithoutStacksTheFunctionIsInTheHeader) {
  const auto profile = parse(
      "               w  6738  5799.127143:    1001001 cpu-clock:  e2bc f(int)+0x3 (/bin/w)\n"
      "               w  6738  5799.127144:    1001001 cpu-clock:  e2bc g+0x3 (/bin/w)\n");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_TRUE(test::function_called(*profile, "f(int)").valid());
  EXPECT_TRUE(test::function_called(*profile, "g").valid());
}

// Tracepoints have no function in their line, so a stack may follow.
TEST(PerfScript, ProcessesWithHexadecimalNamesAreNotFrames) {
  const auto profile = parse(
      "              ed     1 [000]     5.000: sched:sched_switch: prev_comm=ed ==> next_comm=cc1\n"
      "             cc1     2 [000]     5.100: sched:sched_switch: prev_comm=cc1 ==> next_comm=dd\n"
      "              dd   3/4 [001]     5.200:        100 cycles:              e2bc f+0x3 "
      "(/bin/dd)\n"
      "              bc     5 [001]     5.300: sched:sched_switch:\n"
      "\t            e2bc std::map<int, a: b>::at 1 2.5:+0x3 (/bin/bc)\n"
      "\n"
      "              bc     5 [001]     5.400: sched:sched_switch: \n"
      "              bc     5 [001]     5.500: PERF_RECORD_EXIT(5:5):(1:1)\n");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_EQ(total(*profile, "samples"), 5u);
  EXPECT_EQ(total(*profile, "sched:sched_switch"), 4u);
  EXPECT_EQ(total(*profile, "cycles"), 100u);
  std::vector<std::string_view> threads;
  for (const Thread& thread : profile->threads()) threads.push_back(profile->text(thread.name));
  EXPECT_EQ(threads, (std::vector<std::string_view>{"ed", "cc1", "dd", "bc"}));
  EXPECT_TRUE(test::function_called(*profile, "f").valid());
  EXPECT_TRUE(test::function_called(*profile, "std::map<int, a: b>::at 1 2.5:").valid());
  EXPECT_EQ(profile->functions().count(), 4u);  // with [root] and [no stack]
}

// As perf script -F comm,tid,time,event,ip,sym prints them.
TEST(PerfScript, ClockEventsWithoutPeriodsAreCounted) {
  const auto profile = parse(
      "a 1 5.0: cpu-clock:u:\n\t1 f+0x1 (/a)\n\n"
      "a 1 5.1: cpu-clock:u:\n\t1 f+0x1 (/a)\n\n");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_EQ(profile->find_metric("cpu-clock:u"), nullptr);
  ASSERT_NE(profile->find_metric("cpu-clock:u samples"), nullptr);
  EXPECT_EQ(profile->find_metric("cpu-clock:u samples")->unit, "count");
  EXPECT_EQ(total(*profile, "cpu-clock:u samples"), 2u);
  EXPECT_EQ(profile->threads()[0].cpu_ns, 0u);
}

TEST(PerfScript, EventNamedCallsKeepsItsValues) {
  const auto profile = parse("a 1 5.0: 3 calls:\n\t1 f+0x1 (/a)\n\n");
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(total(*profile, "event calls"), 3u);
}

TEST(PerfScript, DamageGivesOneLineWithItsPlace) {
  for (const char* text : {"w  6738  5799.1: 1 cpu-clock:\n\t1 f+0x1 (/a)\n\nwhat is this\n"}) {
    const auto profile = parse(text);
    ASSERT_FALSE(profile.ok());
    EXPECT_EQ(profile.error().line().substr(0, 60),
              std::string("ps.txt: line 4: neither a sample nor a frame of one: this importer")
                  .substr(0, 60));
  }
  EXPECT_FALSE(parse("").ok());
}

TEST(FileKindTest, FileKindIsFoundByContent) {
  EXPECT_EQ(detect(kTwoSamples), FileKind::kPerfScript);
  EXPECT_EQ(detect("main;f(int, char);g 12\n"), FileKind::kFolded);
  EXPECT_EQ(detect("main 12"), FileKind::kFolded);
  EXPECT_EQ(detect("{\"json\": 1}\n"), FileKind::kUnknown);
  EXPECT_EQ(detect(""), FileKind::kEmpty);
  EXPECT_EQ(detect("FBLEPROF\x01"), FileKind::kNative);
  EXPECT_EQ(detect("\x1f\x8b\x08"), FileKind::kGzip);
  EXPECT_EQ(detect("PERFILE2"), FileKind::kPerfData);
  EXPECT_EQ(detect(std::string_view("gmon\x01\0\0\0", 8)), FileKind::kGmon);
  EXPECT_EQ(detect(std::string_view("\x0a\x04\x08\x01\x10\x02", 6)), FileKind::kPprof);
  EXPECT_EQ(detect(std::string_view("\0\0\0\0", 4)), FileKind::kUnknown);
}

}  // namespace
}  // namespace fbleprof::importers
