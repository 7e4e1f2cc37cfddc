// Folded stacks, callgrind, DOT, CSV.
#include "profile/builder.h"
#include "tests/support/text.h"
#include "tests/unit/exporters/export_of.h"

namespace fbleprof::report {
namespace {

using namespace profile;

using test::holds;

TEST(Registry, UnknownFormatListsTheKnownOnes) {
  const auto found = find_exporter("xml");
  ASSERT_FALSE(found.ok());
  for (const Exporter& exporter : exporters()) {
    EXPECT_TRUE(holds(found.error().line(), exporter.name)) << exporter.name;
    EXPECT_EQ(find_exporter(exporter.name).value(), &exporter);
  }
}

TEST(Registry, EveryFormatAcceptsAnEmptyProfile) {
  ProfileBuilder builder;
  builder.add_metric("cpu", "ns");
  builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const Profile empty = builder.build();
  for (const Exporter& exporter : exporters()) {
    if (exporter.name == "svg") continue;  // needs graphviz
    const std::string out = export_of(exporter.name, empty);
    EXPECT_TRUE(exporter.name == "folded" || !out.empty()) << exporter.name;
  }
}

TEST(Registry, PeaksAreNotSummed) {
  ProfileBuilder builder;
  const MetricId peak = builder.add_metric("peak", "bytes", Aggregation::kMax);
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  builder.charge(builder.child(root, builder.named_function("a")), peak, 7);
  builder.charge(builder.child(root, builder.named_function("a")), cpu, 5);
  const Profile profile = builder.build();
  for (const char* format :
       {"folded", "speedscope", "firefox", "dot", "pprof", "otlp", "callgrind"}) {
    const std::string out = export_of(format, profile, {}, "peak");
    EXPECT_TRUE(holds(out, "no sums")) << format;
  }
  EXPECT_TRUE(holds(export_of("callgrind", profile), "events: cpu\n"));
  EXPECT_TRUE(holds(export_of("json", profile, {}, "peak"), "\"aggregation\":\"max\""));
}

TEST(Folded, EachStackIsOneLineWithItsOwnValue) {
  EXPECT_EQ(export_of("folded", "a = 1\na b = 2\na b c = 3\na d e = 4\nf = 5\n"),
            "a 1\na;b 2\na;b;c 3\na;d;e 4\nf 5\n");
}

TEST(Folded, RootIsWrittenOnlyForItsOwnValue) {
  EXPECT_EQ(export_of("folded", " = 7\na = 1\n"), "[root] 7\na 1\n");
}

TEST(Folded, NamesDoNotBreakTheFormat) {
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  std::uint64_t value = 1;
  for (const char* name : {"a;b", "line\nend", "ends in 12", "version 1.5", "f(1, 2)", "x2"}) {
    builder.charge(builder.child(root, builder.named_function(name)), cpu, value++);
  }
  EXPECT_EQ(export_of("folded", builder.build()),
            "a:b 1\nline\\nend 2\nends in_12 3\nversion_1.5 4\nf(1, 2) 5\nx2 6\n");
}

TEST(Callgrind, CallsAreExactAndCostsAreInclusive) {
  const std::string out = export_of("callgrind",
                                    "main = 1\nmain -> 1\n"
                                    "main f = 10\nmain f -> 3\n"
                                    "main f g = 20\nmain f g -> 4\n"
                                    "main f g f = 30\nmain f g f -> 5\n"
                                    "main f g f ~> main f g : 6\n");
  EXPECT_TRUE(holds(out, "events: cpu calls\nsummary: 61 19\n")) << out;
  // main calls f: its inclusive cost. g calls f: counted without cost, which is charged already.
  EXPECT_TRUE(holds(out, "fn=(2)\n0 1 1\ncob=(1)\ncfi=(1)\ncfn=(3) f\ncalls=3 0\n0 60 18\n"))
      << out;
  EXPECT_TRUE(holds(out, "fn=(4)\n0 20 10\ncob=(1)\ncfi=(1)\ncfn=(3)\ncalls=5 0\n0 0 0\n")) << out;
  // f calls g: once down the tree, once back up.
  EXPECT_TRUE(holds(out, "fn=(3)\n0 40 8\ncob=(1)\ncfi=(1)\ncfn=(4) g\ncalls=10 0\n0 50 15\n"))
      << out;
}

TEST(Callgrind, TailCallsAreCountedWithoutCost) {
  const std::string out =
      export_of("callgrind", "a = 1\na -> 1\na x = 2\na x -> 7\na y = 4\na x => a y : 7\n");
  EXPECT_TRUE(holds(out, "calls=7 0\n0 0 0\n")) << out;
}

TEST(Callgrind, NumbersAreDenseAndDefinedOnce) {
  const std::string out = export_of("callgrind", "a = 1\nb = 1\na b = 1\n");
  for (const char* name : {"(1) [root]", "(2) ", "(3) "}) {
    const std::size_t first = out.find(std::string("fn=") + name);
    ASSERT_NE(first, std::string::npos) << name << out;
    EXPECT_EQ(out.find(std::string("fn=") + name, first + 1), std::string::npos);
  }
  EXPECT_FALSE(holds(out, "fn=(4)"));
}

TEST(Dot, ShowsExactCallsAndQuotesNames) {
  const std::string out = export_of("dot", "a\"b\\c = 100\na\"b\\c d = 900\na\"b\\c d -> 12345\n");
  EXPECT_TRUE(holds(out, "label=\"a\\\"b\\\\c\\ntotal 1.00 us (100.0%)")) << out;
  EXPECT_TRUE(holds(out, "12,345×")) << out;
  EXPECT_TRUE(holds(out, "(1000)")) << out;
}

TEST(Dot, LabelsMadeEqualByShorteningShowTheirDifference) {
  const std::string head = "std::Table<std::pair<int,int>,std::allocator<std::pair<int,int>>,";
  const std::string out = export_of("dot", head + "Order::Rising>::rehash(int) = 60\n" + head +
                                               "Order::Falling>::rehash(int) = 40\n");
  EXPECT_TRUE(holds(out, "Rising]\\n")) << out;
  EXPECT_TRUE(holds(out, "Falling]\\n")) << out;
}

TEST(Dot, HidesSmallNodesAndReportsThem) {
  const std::string out = export_of("dot", "a = 100000\na b = 1\n");
  EXPECT_FALSE(holds(out, "label=\"b")) << out;
  EXPECT_TRUE(holds(out, "1 function and 1 call below 1% are hidden")) << out;
}

// Graphviz reads no string of more than 16384 bytes.
TEST(Dot, LongNamesAreCut) {
  std::string quotes;
  for (int i = 0; i < 20'000; ++i) quotes += "\"\xf0\x9f\x90\x8c"[i % 5];
  for (const std::string& name : {std::string(20'000, 'f'), quotes}) {
    const std::string out = export_of("dot", name + " = 100000\n");
    std::size_t longest = 0, begin = 0;
    bool is_inside = false;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (is_inside && out[i] == '\\') {
        ++i;
      } else if (out[i] == '"') {
        if (is_inside) longest = std::max(longest, i - begin);
        is_inside = !is_inside;
        begin = i;
      }
    }
    EXPECT_LT(longest, 16384u);
    EXPECT_GT(longest, 2000u);  // the tooltip still says more than the label
    EXPECT_NE(out.find("…\" fillcolor"), std::string::npos);
  }
}

TEST(Graphml, EveryEdgeJoinsExistingNodes) {
  const std::string out = export_of("graphml", "a<b> = 1\na<b> c = 5\na<b> c -> 3\n");
  EXPECT_TRUE(holds(out, "<data key=\"name\">a&lt;b&gt;</data>")) << out;
  EXPECT_TRUE(holds(out, "<data key=\"calls\">3</data><data key=\"cost\">5</data>")) << out;
  for (std::size_t at = 0; (at = out.find("target=\"", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 8, end = out.find('"', begin);
    EXPECT_TRUE(holds(out, "<node id=\"" + out.substr(begin, end - begin) + "\">")) << out;
  }
}

TEST(Csv, HoldsEveryContextWithSelfAndTotal) {
  EXPECT_EQ(export_of("csv", "a b,c = 5\na = 2\na -> 3\n"),
            "id,parent,depth,function,module,file,line,sampled,cpu_self,cpu_total,calls_self,"
            "calls_total\n"
            "0,,0,[root],,,0,0,0,7,0,3\n"
            "1,0,1,a,,,0,0,2,7,3,3\n"
            "2,1,2,\"b,c\",,,0,0,5,5,0,0\n");
}

}  // namespace
}  // namespace fbleprof::report
