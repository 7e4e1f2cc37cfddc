// Views of one function whose pattern names many functions of a large program.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>

#include "profile/builder.h"
#include "report/views/view.h"
#include "symbolize/code.h"

namespace fbleprof::report {
namespace {

using namespace profile;

// Functions that main calls, each with a sample in its code: "f1" and so on, and others, "g1".
Profile program_of(std::size_t functions, std::size_t others) {
  constexpr std::uint32_t kBytes = 64;
  ProfileBuilder builder;
  const ModuleId module = builder.add_module({builder.string("/no/such/program"), {}, 0});
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId main = builder.child(root, builder.named_function("main"));
  for (std::size_t i = 1; i <= functions + others; ++i) {
    const StringId name = builder.string(i <= functions ? "f" + std::to_string(i)
                                                        : "g" + std::to_string(i - functions));
    const auto add = [&](FunctionKind kind, std::uint32_t offset, std::uint32_t size) {
      return builder.add_function({.kind = kind,
                                   .module = module,
                                   .address = i * kBytes + offset,
                                   .name = name,
                                   .size = size});
    };
    const NodeId f = builder.child(main, add(FunctionKind::kNative, 0, kBytes));
    builder.add_edge(main, f, EdgeKind::kTree, i);
    builder.charge(builder.child(f, add(FunctionKind::kInstruction, 8, 0)), cpu, i);
  }
  return builder.build();
}

// CPU time, so that other work of the machine does not count; the least of three.
double seconds(std::string_view view, const Profile& profile, const char* pattern) {
  const analysis::Costs costs(profile, *profile.find_metric("cpu"));
  const symbolize::ModuleCode code(profile);
  Request request{.costs = costs, .runs = profile};
  request.total = costs.total();
  request.look.format = Format::kCsv;
  request.look.top = 1;
  request.value = pattern;
  request.code = &code;
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    const auto document = find_view(view)->show(request);
    EXPECT_TRUE(document.ok()) << document.error().line();
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

class ManyFunctions : public testing::TestWithParam<const char*> {};

// A walk through the profile for each of them takes ten times as long.
TEST_P(ManyFunctions, ALargeProfileIsWalkedOnceForAllOfThem) {
  constexpr std::size_t kFunctions = 1000, kOthers = 200000;
  const Profile large = program_of(kFunctions, kOthers);
  const double nine = seconds(GetParam(), large, "f?");
  const double many = seconds(GetParam(), large, "f*");
  const double alone = seconds(GetParam(), program_of(kFunctions, 0), "f*");
  EXPECT_LT(many, 3 * (nine + alone))
      << nine << " s for nine of them, " << alone << " s for all of a small profile";
}

INSTANTIATE_TEST_SUITE_P(Views, ManyFunctions, testing::Values("block", "annotate"));

}  // namespace
}  // namespace fbleprof::report
