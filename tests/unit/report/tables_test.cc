#include "report/views/phrases.h"

#include <gtest/gtest.h>

#include <sstream>

#include "analysis/costs.h"
#include "profile/builder.h"
#include "report/text/escape.h"
#include "report/text/table.h"
#include "tests/support/shown.h"
#include "tests/support/text.h"

namespace fbleprof::report {
namespace {

using namespace profile;
using test::csv;
using test::profile_of;

constexpr std::string_view kText =
    "main a = 300\nmain a -> 3\nmain a b = 100\nmain a b -> 10\nmain b = 600\nmain b -> 5\n"
    "main a => main b : 2\n";

std::string shown(std::string_view view, const Look& look, std::string value = {}) {
  return test::shown(view, kText, look, std::move(value));
}

TEST(FunctionView, CsvHasRawNumbers) {
  EXPECT_EQ(shown("self", csv()),
            "name,self,dominated,calls,dominated_is_bound,sampled,module,file,line\n"
            "b,700,700,17,0,0,,,0\n"
            "a,300,400,3,0,0,,,0\n"
            "main,0,1000,0,0,0,,,0\n");
}

TEST(FunctionView, SortAndTopAreApplied) {
  Look look = csv();
  look.sort = "name";
  look.top = 1;
  EXPECT_EQ(shown("self", look),
            "name,self,dominated,calls,dominated_is_bound,sampled,module,file,line\n"
            "a,300,400,3,0,0,,,0\n");
}

TEST(FunctionView, TextNamesTheBasisOfPercentages) {
  Look look;
  look.top = 2;
  EXPECT_EQ(shown("self", look),
            "  self      %  dominated      %  calls  per call  name\n"
            "700 ns  70.0%     700 ns  70.0%     17     41 ns  b\n"
            "300 ns  30.0%     400 ns  40.0%      3    133 ns  a\n"
            "cpu 1.00 us in all\n"
            "… 1 more row (--top N, --all)\n");
}

TEST(FunctionView, FilteredProfileSaysHowMuchWasKept) {
  const auto profile = profile_of("a = 250\n");
  const analysis::Costs costs(profile, *profile.find_metric("cpu"));
  const Request request{.costs = costs, .total = 1000, .runs = profile};
  EXPECT_EQ(kept_line(request),
            "kept 250 ns of 1.00 us cpu (25.0%); percentages are of what is kept");
}

// The greatest of many estimates is above what it estimates.
TEST(AllocationView, SaysWhatThePeakIsWorth) {
  const auto shown = [](std::uint64_t samples) {
    ProfileBuilder builder;
    const auto allocated = builder.add_metric("allocated", "bytes");
    builder.add_metric("allocations", "count");
    const auto peak = builder.add_metric("peak", "bytes");
    const auto drawn = builder.add_metric("allocation-samples", "count");
    const auto root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
    const auto a = builder.child(root, builder.named_function("a"));
    builder.charge(a, allocated, 80'000'000);
    builder.charge(a, peak, 400'000);
    builder.charge(a, drawn, samples);
    const Profile profile = builder.build();
    const analysis::Costs costs(profile, *profile.find_metric("allocated"));
    const Request request{.costs = costs, .runs = profile};
    return render(*find_view("allocations")->show(request), Look());
  };
  EXPECT_TRUE(test::holds(
      shown(0), "at peak: within 5 % of the most that was in use, but for peaks too short"));
  const std::string few = shown(800);
  EXPECT_FALSE(test::holds(few, "within 5 %"));
  EXPECT_TRUE(test::holds(few,
                          "at peak: the highest estimate, from some 4 samples: off by 50 % by "
                          "chance at any moment, so it is too high"))
      << few;
  EXPECT_TRUE(test::holds(shown(80'000), "from some 400 samples: off by 5 % by chance"));
}

// The size of a block decides how likely a sample is, so one sample can stand for half a megabyte.
TEST(AllocationView, FewSamplesAreTold) {
  const auto with = [](std::uint64_t samples, std::uint64_t counted, auto use) {
    ProfileBuilder builder;
    const auto allocated = builder.add_metric("allocated", "bytes");
    const auto allocations = builder.add_metric("allocations", "count");
    const auto drawn = builder.add_metric("allocation-samples", "count");
    const auto root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
    const auto a = builder.child(root, builder.named_function("a"));
    const auto b = builder.child(root, builder.named_function("b"));
    builder.charge(a, allocated, 524'288);
    builder.charge(a, allocations, 58);
    builder.charge(a, drawn, samples);
    builder.charge(b, allocated, counted * 9000);
    builder.charge(b, allocations, counted);
    const Profile profile = builder.build();
    const analysis::Costs costs(profile, *profile.find_metric("allocated"));
    return use(Request{.costs = costs, .total = costs.total(), .runs = profile});
  };
  const auto view = [](const Request& request) {
    return render(*find_view("allocations")->show(request), Look());
  };
  const std::string doubt = "1 sample, too few for reliable figures (--memory-profile=exact";
  EXPECT_TRUE(test::holds(with(1, 0, view), "~: estimated from " + doubt));
  EXPECT_TRUE(test::holds(with(1, 0, kept_line), "allocated 512 KiB in all; from " + doubt));
  EXPECT_TRUE(test::holds(with(9, 0, kept_line), "from 9 samples, too few"));
  // Enough samples, none, or most was counted.
  EXPECT_TRUE(test::holds(with(10, 0, view), "~: estimated from 10 samples where code"));
  for (const auto& [samples, counted] : {std::pair(10, 0), std::pair(0, 100), std::pair(1, 100)}) {
    const auto line =
        with(static_cast<std::uint64_t>(samples), static_cast<std::uint64_t>(counted), kept_line);
    EXPECT_FALSE(test::holds(line, "too few")) << line;
  }
}

TEST(Tables, ColumnsOfNamesShareTheWidth) {
  Table table;
  table.title = "Names";
  table.columns = {{"", "first", Column::Kind::kName},
                   {"", "second", Column::Kind::kName},
                   {"", "place", Column::Kind::kText},
                   {"", "number", Column::Kind::kCount}};
  Look look;
  look.width = 60;
  const Profile profile = profile_of("main = 1\n");
  const Names names(profile);
  EXPECT_EQ(text_of(table, look, names, {}), "") << "no rows, no titles";
  table.add({text_cell(std::string(40, 'a')), text_cell(std::string(200, 'b')),
             text_cell("short.c:1"), number_cell(7)});
  table.add({text_cell("x"), text_cell("y"), text_cell("other.c:2"), number_cell(8)});
  const std::string out = text_of(table, look, names, {});
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), 60u) << out;
  EXPECT_TRUE(test::holds(out, "aaaaaaaaaaaaa")) << out;
  EXPECT_TRUE(test::holds(out, "bbbbbbbbbbbbb")) << out;
  EXPECT_TRUE(test::holds(out, "short.c:1\n")) << out;
  look.width = 0;
  EXPECT_TRUE(test::holds(text_of(table, look, names, {}), std::string(200, 'b')));
}

TEST(PairView, CsvDistinguishesCallsFromTailCalls) {
  EXPECT_EQ(shown("edges", csv()),
            "caller,callee,calls,cost,kind,cost_is_bound,by_tail_call,sampled\n"
            "[root],main,0,1000,call,0,0,0\n"
            "main,b,5,600,call,0,0,0\n"
            "main,a,3,400,call,0,0,0\n"
            "a,b,10,100,call,0,0,0\n"
            "a,b,2,0,tail,0,0,0\n");
}

TEST(PairView, TextShowsBothNames) {
  const std::string text = shown("edges", Look());
  EXPECT_TRUE(test::holds(text, "main → b"));
  EXPECT_TRUE(test::holds(text, "a ⇒ b"));
}

TEST(BlockView, ShowsCallersCalleesAndSelf) {
  EXPECT_EQ(shown("block", Look(), "a"),
            "a\n"
            "self 300 ns (30.0%)   dominated 400 ns (40.0%)   calls 3   per call 133 ns\n"
            "\n"
            "going in\n"
            "  cost      %  calls  per call     name\n"
            "400 ns  40.0%      3    133 ns  →  main\n"
            "\n"
            "going out\n"
            "  cost      %  calls  per call     name\n"
            "300 ns  30.0%                   →  [self]\n"
            "100 ns  10.0%     10     10 ns  →  b\n"
            "                   2            ⇒  b\n"
            "\n"
            "hottest full paths\n"
            "  cost      %  calls  per call     name\n"
            "400 ns  40.0%      3    133 ns     main → a\n"
            "\n"
            "cpu 1.00 us in all\n");
  EXPECT_EQ(shown("block", csv(), "a"),
            "name,side,other,calls,cost,kind,cost_is_bound,sampled\n"
            "a,in,main,3,400,call,0,0\n"
            "a,out,[self],0,300,call,0,0\n"
            "a,out,b,10,100,call,0,0\n"
            "a,out,b,2,0,tail,0,0\n"
            "a,path,main → a,3,400,context,0,0\n");
}

TEST(BlockView, ShowsAFunctionOnceHoweverManyContextsItHas) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "g" + std::to_string(i) + " f = 1\n";
  const std::string page = test::shown("block", text, {}, "f");
  const std::size_t first = page.find("\ngoing in\n");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(page.find("\ngoing in\n", first + 1), std::string::npos);
}

TEST(BlockView, UnknownNameIsAnError) {
  EXPECT_TRUE(test::holds(shown("block", Look(), "nope"), "names no function"));
}

// Text that a spreadsheet takes for a formula must not run.
TEST(Csv, NamesThatLookLikeFormulasAreQuoted) {
  EXPECT_EQ(csv_field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(csv_field("+a,b"), "\"'+a,b\"");
  EXPECT_EQ(csv_field("a=b"), "a=b");
}

}  // namespace
}  // namespace fbleprof::report
