// What a program is told of its own tree, whatever stands in the tree.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "capture/api.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"
#include "tests/support/refused_calls.h"
#include "tests/unit/capture/started_session.h"

namespace fbleprof {
namespace {

using format::FunctionKind;
using format::Ref;
using signal_safe::session;

class Query : public test::StartedSession {
 protected:
  Query() { EXPECT_TRUE(tree.start(session.trees, 0, 0, links)); }

  Ref enter(Ref node, std::uint64_t key, FunctionKind kind) {
    const Ref function = session.code_map.function_with_key(key, kind);
    const auto step = tree.enter(guard, node, function, 0, 0);
    *step.calls += 1;
    return step.to;
  }
  // Names of all contexts, in the order in which they are shown.
  static std::vector<std::string> names() {
    std::vector<std::string> found;
    const int result = fbleprof_query(
        [](const fbleprof_visit* visit, void* list) {
          static_cast<std::vector<std::string>*>(list)->push_back(
              visit->name
                  ? std::string(visit->name, visit->name_length)
                  : "at " + std::to_string(reinterpret_cast<std::uint64_t>(visit->address)));
          return 0;
        },
        &found);
    EXPECT_EQ(result, 0);
    return found;
  }
  static bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  signal_safe::LinkTable::Item links[signal_safe::LinkTable::kFirstItems] = {};
  signal_safe::CallTree tree;
  signal_safe::ThreadState nobody;
  signal_safe::BusyGuard guard{nobody};
};

TEST_F(Query, ContextsThatAreNoFunctionsHaveNamesInBrackets) {
  const Ref root = tree.root();
  EXPECT_FALSE(has(names(), "[overflow]")) << "nothing overflowed";
  enter(root, 1, FunctionKind::kUnwound);
  enter(root, 2, FunctionKind::kTruncated);
  enter(root, 3, FunctionKind::kDeeper);
  enter(root, 0x5000, FunctionKind::kInstruction);
  enter(root, 7, FunctionKind::kBlock);  // a block that nobody named
  const auto found = names();
  for (const char* name : {"[root]", "[unwound]", "[truncated]", "[deeper]", "at 20480", ""}) {
    EXPECT_TRUE(has(found, name)) << name;
  }
}

TEST_F(Query, TheOverflowIsShownIfAnythingIsInIt) {
  Ref overflow = 0;
  session.arena.for_each(format::Kind::kNodes, [&](Ref chunk) {
    const Ref end = chunk + session.arena.at<format::Head>(chunk)->units;
    for (Ref ref = chunk + format::kItemsOffset / format::kUnitBytes; ref < end;
         ref += signal_safe::kUnitsOfNode) {
      const auto* node = session.arena.at<format::Node>(ref);
      if (node->function != 0 && node->parent == tree.root() &&
          node->function == session.trees.overflow) {
        overflow = ref;
      }
    }
    return true;
  });
  ASSERT_NE(overflow, 0u);
  enter(overflow, 8, FunctionKind::kBlock);
  EXPECT_TRUE(has(names(), "[overflow]")) << "something is below it";
  session.arena.at<format::Node>(overflow)->calls += 1;
  EXPECT_TRUE(has(names(), "[overflow]"));
}

TEST_F(Query, CallsOfAPairDoNotCountTheRootsOwn) {
  for (const std::uint32_t number : {21u, 22u}) {
    session.code_map.name_block(number,
                                session.code_map.function_with_key(number, FunctionKind::kBlock));
  }
  const Ref caller = enter(tree.root(), 21, FunctionKind::kBlock);
  enter(caller, 22, FunctionKind::kBlock);
  enter(tree.root(), 22, FunctionKind::kBlock);
  fbleprof_visit sum{};
  EXPECT_EQ(fbleprof_query_pair(21, 22, &sum), 0);
  EXPECT_EQ(sum.calls, 1u);
  EXPECT_EQ(fbleprof_query_pair(0, 22, &sum), 0);
  EXPECT_EQ(sum.calls, 2u);
  EXPECT_EQ(fbleprof_query_pair(22, 21, &sum), 0);
  EXPECT_EQ(sum.calls, 0u);
  EXPECT_EQ(fbleprof_query_pair(21, 99, &sum), -1) << "an unknown block";
  EXPECT_EQ(fbleprof_query_pair(99, 21, &sum), -1);
  EXPECT_EQ(fbleprof_query_pair(21, 22, nullptr), -1);
}

TEST_F(Query, WithoutMemoryFails) {
  const bool has_run = test::without_calls({{SYS_mmap, ENOMEM, 3, MAP_NORESERVE}}, [] {
    EXPECT_EQ(fbleprof_query([](const fbleprof_visit*, void*) { return 0; }, nullptr), -1);
  });
  if (!has_run) GTEST_SKIP() << "no filters of system calls";
  EXPECT_EQ(fbleprof_query(nullptr, nullptr), 0);
}

}  // namespace
}  // namespace fbleprof
