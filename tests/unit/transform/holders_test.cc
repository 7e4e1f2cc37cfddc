#include "transform/holders.h"

#include <gtest/gtest.h>

#include "profile/builder.h"

namespace fbleprof::transform {
namespace {

using namespace profile;

TEST(Holders, HaveNamesOfTheirOwn) {
  ProfileBuilder builder;
  const ProcessId process = builder.add_process({});
  const ThreadId thread = builder.add_thread({.process = process, .tid = 7});
  const MetricId wait = builder.add_metric("wait", "ns", Role::kWaitTime);
  const NodeId root =
      builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot), process, thread);
  const FunctionId work = builder.named_function("work");
  const NodeId main = builder.child(root, work);
  const FunctionId holder = builder.add_function({.kind = FunctionKind::kNative,
                                                  .name = builder.string("work"),
                                                  .flags = format::kFunctionHolder});
  const FunctionId waker = builder.add_function({.kind = FunctionKind::kNative,
                                                 .name = builder.string("work"),
                                                 .flags = format::kFunctionWaker});
  builder.charge(builder.child(main, holder), wait, 5);
  builder.charge(builder.child(main, waker), wait, 7);
  const Profile named = with_holders_named(builder.build());
  EXPECT_EQ(named.text(named.functions().name[work.index()]), "work");
  EXPECT_EQ(named.text(named.functions().name[holder.index()]), "[held by work]");
  EXPECT_EQ(named.functions().kind[holder.index()], FunctionKind::kBlock);
  EXPECT_EQ(named.text(named.functions().name[waker.index()]), "[woken by work]");
  EXPECT_EQ(named.functions().kind[waker.index()], FunctionKind::kBlock);
  EXPECT_EQ(holder_in("[held by work]"), "work");
  EXPECT_EQ(holder_in("[woken by work]"), "");
  EXPECT_EQ(waker_in("[woken by work]"), "work");
  EXPECT_EQ(holder_in("work"), "");
}

}  // namespace
}  // namespace fbleprof::transform
