#include "transform/accumulate.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "tests/support/profile_builder.h"
#include "tests/support/text.h"
#include "transform/join.h"
#include "transform/merge.h"

namespace fbleprof::transform {
namespace {

using namespace profile;
using test::profile_of;
using test::text_of;

std::vector<Profile> some_profiles() {
  std::vector<Profile> profiles;
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i % 3);
    profiles.push_back(profile_of("a b" + n + " = 5\na b" + n + " -> 2\na b" + n + " ~> a : 1\n" +
                                  "a = 1\nthread worker\nw x = 3\na => w : 4\n"));
  }
  return profiles;
}

Profile accumulated(AccumulateOptions options) {
  Accumulator all(std::move(options));
  for (Profile& profile : some_profiles()) all.add(std::move(profile));
  return all.take();
}

TEST(Accumulator, ManyProfilesGiveTheSameTreeAsAllAtOnce) {
  const Profile at_once = merge(join(some_profiles()));
  for (const std::size_t most : {1, 2, 5, 100}) {
    const Profile bit_by_bit = accumulated({.most_profiles = most});
    EXPECT_EQ(text_of(merge(bit_by_bit)), text_of(at_once)) << most;
    EXPECT_EQ(bit_by_bit.processes().size(), 20u);
    EXPECT_EQ(bit_by_bit.threads().size(), 40u);
  }
  EXPECT_LT(accumulated({.most_profiles = 2}).nodes().count(), 30u);
}

TEST(Accumulator, ProcessesKeepTheirTotals) {
  const Profile profile = accumulated({.most_profiles = 19});
  std::uint64_t cpu = 0;
  for (const MetricTotal& total : profile.processes()[0].totals) {
    if (total.metric == "cpu") cpu = total.value;
  }
  EXPECT_EQ(cpu, 9u);
}

TEST(Accumulator, SplitProfilesStayApart) {
  const std::vector<Split> splits = {{Axis::kThread, {}}};
  const Profile at_once = merge(join(some_profiles()), {.splits = splits});
  const Profile bit_by_bit =
      merge(accumulated({.splits = splits, .most_profiles = 3}), {.splits = splits});
  EXPECT_EQ(text_of(bit_by_bit), text_of(at_once));
  EXPECT_TRUE(test::holds(text_of(bit_by_bit), ".thread \"worker\""));
}

TEST(Grouping, ThreadLabelsComeBeforeProcessLabels) {
  ProfileBuilder builder;
  builder.add_metric("cpu", "ns");
  Process process;
  process.labels.push_back({builder.string("job"), builder.string("of process")});
  process.host = builder.string("box");
  const ProcessId id = builder.add_process(process);
  Thread thread;
  thread.labels.push_back({builder.string("job"), builder.string("of thread")});
  const ThreadId labelled = builder.add_thread(thread), plain = builder.add_thread({});
  const FunctionId root = builder.named_function("[root]", FunctionKind::kRoot);
  builder.add_tree(root, id, labelled);
  builder.add_tree(root, id, plain);
  const Profile profile = builder.build();
  const std::vector<Split> splits = {*parse_split("host"), *parse_split("label:job"),
                                     *parse_split("label:none")};
  const Profile merged = merge(profile, {.splits = splits, .aliases = {}});
  EXPECT_EQ(text_of(merged),
            "[root]\n"
            ".box\n"
            "..job=of thread\n"
            "...[no none]\n"
            "..job=of process\n"
            "...[no none]\n");
  const GroupId box = merged.functions().group[merged.nodes().function[1].index()];
  ASSERT_TRUE(box);
  EXPECT_EQ(merged.groups()[box.index()].axis, Axis::kHost);
  EXPECT_FALSE(parse_split("colour").ok());
  EXPECT_FALSE(parse_split("label:").ok());
}

}  // namespace
}  // namespace fbleprof::transform
