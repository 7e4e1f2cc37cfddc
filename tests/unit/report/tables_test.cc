#include "report/views/tables.h"

#include <gtest/gtest.h>

#include "analysis/costs.h"
#include "tests/support/shown.h"

namespace fbleprof::report {
namespace {

using test::csv;
using test::profile_of;

constexpr std::string_view kText =
    "main a = 300\nmain a -> 3\nmain a b = 100\nmain a b -> 10\nmain b = 600\nmain b -> 5\n"
    "main a => main b : 2\n";

template <class View>
std::string shown(View view, Look look) {
  return test::shown(view, look, kText);
}

std::string self_view(const Input& input) { return function_view(input, FunctionOrder::kSelf); }

TEST(FunctionView, CsvHasRawNumbers) {
  EXPECT_EQ(shown(self_view, csv()),
            "name,self,dominated,calls,dominated_is_bound,module,file,line\n"
            "b,700,700,17,0,,,0\n"
            "a,300,400,3,0,,,0\n"
            "main,0,1000,0,0,,,0\n");
}

TEST(FunctionView, SortAndTopAreObeyed) {
  Look look = csv();
  look.sort = "name";
  look.top = 1;
  EXPECT_EQ(shown(self_view, look),
            "name,self,dominated,calls,dominated_is_bound,module,file,line\n"
            "a,300,400,3,0,,,0\n");
}

TEST(FunctionView, TextSaysWhatPercentagesAreOf) {
  Look look;
  look.top = 2;
  EXPECT_EQ(shown(self_view, look),
            "  self      %  dominated      %  calls  per call  name\n"
            "700 ns  70.0%     700 ns  70.0%     17     41 ns  b\n"
            "300 ns  30.0%     400 ns  40.0%      3    133 ns  a\n"
            "cpu 1.00 us in all\n"
            "… 1 more rows (--top N, --all)\n");
}

TEST(FunctionView, FilteredProfileSaysHowMuchWasKept) {
  const auto profile = profile_of(kText);
  Input input{profile, *profile.find_metric("cpu")};
  input.kept = 250;
  input.total = 1000;
  EXPECT_EQ(kept_line(input),
            "kept 250 ns of 1.00 us cpu (25.0%); percentages are of what is kept");
}

TEST(PairView, CsvTellsCallsFromTailCalls) {
  EXPECT_EQ(shown(pair_view, csv()),
            "caller,callee,calls,cost,kind,cost_is_bound,by_tail_call\n"
            "[root],main,0,1000,call,0,0\n"
            "main,b,5,600,call,0,0\n"
            "main,a,3,400,call,0,0\n"
            "a,b,10,100,call,0,0\n"
            "a,b,2,0,tail,0,0\n");
}

TEST(PairView, TextShowsBothNames) {
  const std::string text = shown(pair_view, Look());
  EXPECT_NE(text.find("main → b"), std::string::npos);
  EXPECT_NE(text.find("a ⇒ b"), std::string::npos);
}

TEST(BlockView, BothSidesWithSelf) {
  const auto view = [](const Input& input) { return *block_view(input, "a"); };
  EXPECT_EQ(shown(view, Look()),
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
  EXPECT_EQ(shown(view, csv()),
            "name,side,other,calls,cost,kind,cost_is_bound\n"
            "a,in,main,3,400,call,0\n"
            "a,out,[self],0,300,call,0\n"
            "a,out,b,10,100,call,0\n"
            "a,out,b,2,0,tail,0\n"
            "a,path,main → a,3,400,context,0\n");
}

TEST(BlockView, NameThatIsNotThereIsAnError) {
  const auto profile = profile_of(kText);
  const Input input{profile, *profile.find_metric("cpu")};
  EXPECT_FALSE(block_view(input, "nope").ok());
}

}  // namespace
}  // namespace fbleprof::report
