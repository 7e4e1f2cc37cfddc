#include "transform/merge.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "tests/support/profile_builder.h"
#include "transform/baseline.h"
#include "transform/join.h"

namespace fbleprof::transform {
namespace {

using test::profile_of;
using test::text_of;

TEST(Merge, ThreadsBecomeOneTreeByPath) {
  const auto merged =
      merge(profile_of("a b = 1\n"
                       "a b -> 2\n"
                       "thread two\n"
                       "a c = 10\n"
                       "a b = 20\n"
                       "a b -> 4\n"));
  EXPECT_EQ(text_of(merged),
            "[root]\n"
            ".a\n"
            "..b cpu=21 calls=6\n"
            "..c cpu=10\n");
}

TEST(Merge, BackAndTailEdgesOfThreadsAreAddedUp) {
  const auto merged =
      merge(profile_of("a b ~> a : 3\n"
                       "a c => a b : 1\n"
                       "thread two\n"
                       "a b ~> a : 4\n"));
  EXPECT_EQ(text_of(merged),
            "[root]\n"
            ".a calls=7\n"
            "..b calls=1\n"
            "..c\n"
            "a b ~> a : 7\n"
            "a c => a b : 1\n");
}

TEST(Merge, OverflowIsShownOnlyWhereItHappened) {
  profile::ProfileBuilder builder;
  builder.add_metric("cpu", "ns");

  const auto overflow = builder.named_function("[overflow]", profile::FunctionKind::kOverflow);
  const auto f = builder.named_function("f");
  for (const std::uint64_t lost : {0, 3}) {
    const auto root =
        builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot));
    const auto into = builder.child(root, lost == 0 ? overflow : f);
    if (lost != 0) {
      const auto node = builder.child(into, overflow);
      builder.add_edge(into, node, profile::EdgeKind::kTree, lost);
    }
  }
  EXPECT_EQ(text_of(merge(std::move(builder).build())),
            "[root]\n"
            ".f\n"
            "..[overflow] calls=3\n");
}

TEST(Merge, GroupedThreadsAreSeparate) {
  MergeOptions options;
  options.splits = {{profile::Axis::kThread, {}}};
  EXPECT_EQ(text_of(merge(profile_of("a = 1\nthread two\na = 2\n"), options)),
            "[root]\n"
            ".thread \"main\" (1)\n"
            "..a cpu=1\n"
            ".thread \"two\" (2)\n"
            "..a cpu=2\n");
}

// Process 7 of a container, whose only thread is "main" (7).
profile::Profile run_in(std::string_view file, std::string_view identity) {
  profile::ProfileBuilder builder;
  const auto cpu = builder.add_metric("cpu", "ns");
  profile::Process process;
  process.file = builder.string(file);
  process.executable = builder.string("/bin/app");
  process.pid = 7;
  process.identity = builder.string(identity);
  const auto made = builder.add_process(process);
  profile::Thread thread;
  thread.process = made;
  thread.name = builder.string("main");
  thread.tid = 7;
  thread.threads_served = 1;
  const auto root = builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot),
                                     made, builder.add_thread(thread));
  builder.charge(builder.child(root, builder.named_function("f")), cpu, 1);
  return builder.build();
}

TEST(Merge, ProcessesOfOneNumberAreSeparate) {
  // One of the processes has two files.
  const auto joined =
      join({run_in("one", "first"), run_in("two", "second"), run_in("1b", "first")});
  MergeOptions options;
  options.splits = {{profile::Axis::kProcess, {}}};
  EXPECT_EQ(text_of(merge(joined, options)),
            "[root]\n"
            ".app (7)\n..f cpu=2\n"
            ".app (7) of two\n..f cpu=1\n");
  options.splits = {{profile::Axis::kThread, {}}};
  EXPECT_EQ(text_of(merge(joined, options)),
            "[root]\n"
            ".thread \"main\" (7)\n..f cpu=2\n"
            ".thread \"main\" (7) of two\n..f cpu=1\n");
  // Processes that nothing is known of are told apart by their names.
  options.splits = {{profile::Axis::kProcess, {}}};
  EXPECT_EQ(text_of(merge(join({run_in("one", ""), run_in("two", "")}), options)),
            "[root]\n.app (7)\n..f cpu=2\n");
}

// Process `pid` of /bin/app, with two threads "w".
profile::Profile threaded_run(std::uint32_t pid, std::string_view app = "/bin/app") {
  profile::ProfileBuilder builder;
  const auto cpu = builder.add_metric("cpu", "ns");
  profile::Process process;
  process.executable = builder.string(app);
  process.pid = pid;
  const auto made = builder.add_process(process);
  std::uint32_t tid = pid;
  for (const char* const name : {"app", "w", "w"}) {
    profile::Thread thread;
    thread.process = made;
    thread.name = builder.string(name);
    thread.tid = tid++;
    thread.start_ns = thread.tid;
    thread.threads_served = 1;
    const auto root =
        builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot), made,
                         builder.add_thread(thread));
    builder.charge(builder.child(root, builder.named_function("f")), cpu, 1);
  }
  return builder.build();
}

TEST(Merge, RunsThatAreComparedShareTheirGroups) {
  const std::string threads =
      "[root]\n"
      ".thread \"app\" (10)\n..f cpu=2\n"
      ".thread \"w\" (11)\n..f cpu=2\n"
      ".thread \"w\" (12)\n..f cpu=2\n";
  for (const char* const other : {"/old/app", "/old/renamed"}) {
    const auto both = join({threaded_run(10), threaded_run(20, other)});
    MergeOptions options;
    options.counterparts = find_counterparts(both, {0, 1});
    options.splits = {{profile::Axis::kThread, {}}};
    EXPECT_EQ(text_of(merge(both, options)), threads) << other;
    options.splits = {{profile::Axis::kProcess, {}}};
    EXPECT_EQ(text_of(merge(both, options)), "[root]\n.app (10)\n..f cpu=6\n") << other;
  }
}

TEST(Merge, ProcessesWithoutCounterpartKeepTheirGroups) {
  const auto both = join({threaded_run(10), threaded_run(11), threaded_run(20),
                          threaded_run(30, "/bin/b"), threaded_run(31, "/bin/c")});
  MergeOptions options;
  options.counterparts = find_counterparts(both, {0, 2});
  options.splits = {{profile::Axis::kProcess, {}}};
  EXPECT_EQ(text_of(merge(both, options)),
            "[root]\n.app (10)\n..f cpu=6\n.app (11)\n..f cpu=3\n"
            ".b (30)\n..f cpu=3\n.c (31)\n..f cpu=3\n");
}

TEST(Merge, SampledAddressesBecomeSelfCostOfTheirFunction) {
  profile::ProfileBuilder builder;
  const auto cpu = builder.add_metric("cpu", "ns");
  const auto root =
      builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot));
  const auto f = builder.child(root, builder.named_function("f"));
  const auto leaf = builder.child(
      f, builder.add_function({.kind = profile::FunctionKind::kInstruction, .address = 0x10}));
  builder.charge(f, cpu, 1);
  builder.charge(leaf, cpu, 2);
  const auto profile = builder.build();
  EXPECT_EQ(text_of(merge(profile)), "[root]\n.f cpu=3\n");
  MergeOptions options;
  options.keep_leaves = true;
  EXPECT_EQ(text_of(merge(profile, options)), "[root]\n.f cpu=1\n..0x10 cpu=2\n");
}

TEST(Merge, FunctionsOfOneNameAreMergedAcrossBuildsAndParts) {
  profile::ProfileBuilder builder;
  const auto cpu = builder.add_metric("cpu", "ns");
  const auto module = builder.add_module({builder.string("/bin/x"), builder.string("aa"), 0});
  const auto rebuilt = builder.add_module({builder.string("/bin/x"), builder.string("bb"), 0});
  const auto other = builder.add_module({builder.string("/bin/y"), {}, 0});
  const auto root =
      builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot));
  const auto add = [&](profile::ModuleId where, std::uint64_t address, std::string_view name,
                       std::string_view linkage = {}, std::string_view unit = {}) {
    const auto id = name.empty() ? profile::StringId() : builder.string(name);
    const auto linkage_id = linkage.empty() ? profile::StringId() : builder.string(linkage);
    const auto unit_id = unit.empty() ? profile::StringId() : builder.string(unit);
    const auto function = builder.add_function(
        {.module = where,
         .address = address,
         .name = id,
         .linkage_name = linkage_id,
         .unit = unit_id,
         .namesakes = unit.empty() ? profile::Namesakes::kNotKnown : profile::Namesakes::kByUnit});
    builder.charge(builder.child(root, function), cpu, 1);
  };
  add(module, 0x10, "f", {}, "a.c");
  add(module, 0x10, "f", {}, "a.c");        // the same, seen twice
  add(module, 0x90, "f", "f.cold", "a.c");  // a part of it
  add(rebuilt, 0x30, "f", {}, "a.c");       // and its like in another build
  add(module, 0x20, "f", {}, "b.c");        // a static function that shares the name
  add(other, 0x10, "f");
  add(module, 0x40, "");
  add(module, 0x50, "");
  EXPECT_EQ(text_of(merge(builder.build())),
            "[root]\n.f cpu=4\n.f cpu=1\n.f cpu=1\n.x+0x40 cpu=1\n.x+0x50 cpu=1\n");
}

// A run of a program: each function is charged 1.
struct Ran {
  std::string path, build;
  // Name ("" = none), address. "f@a.c": as the symbol table tells it from others of its name.
  std::vector<std::pair<std::string, std::uint64_t>> functions;
  std::uint32_t flags = 0;
};

profile::Profile run_of(const std::vector<Ran>& modules) {
  profile::ProfileBuilder builder;
  const auto cpu = builder.add_metric("cpu", "ns");
  builder.add_process({});
  const auto root =
      builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot));
  for (const Ran& module : modules) {
    const auto id = module.path.empty()
                        ? profile::ModuleId()
                        : builder.add_module({builder.string(module.path),
                                              builder.string(module.build), module.flags});
    for (const auto& [text, address] : module.functions) {
      const std::string name = text.substr(0, text.find('@'));
      profile::FunctionKey key{.module = id, .address = address};
      if (!name.empty()) key.name = builder.string(name);
      if (name != text) {
        key.unit = builder.string(text.substr(name.size() + 1));
        key.namesakes = profile::Namesakes::kByUnit;
      }
      const auto function = builder.add_function(key);
      builder.charge(builder.child(root, function), cpu, 1);
    }
  }
  return mark_twins(builder.build());
}

TEST(Merge, BuildsInDifferentDirectoriesAreMerged) {
  const auto first = run_of({{"/v1/app", "aa", {{"f@a.c", 0x10}, {"f@b.c", 0x20}, {"", 0x90}}}});
  const auto second = run_of({{"/v2/app", "bb", {{"f@a.c", 0x30}, {"f@b.c", 0x40}, {"", 0x90}}}});
  // Namesakes and places without a name stay apart.
  EXPECT_EQ(text_of(merge(join({first, second}))),
            "[root]\n.f cpu=2\n.f cpu=2\n.app+0x90 cpu=1\n.app+0x90 cpu=1\n");
}

TEST(Merge, NamesakesOfTwoBuildsWithoutSymbolTablesAreNotGuessed) {
  const auto first = run_of({{"/v1/app", "aa", {{"f", 0x10}, {"f", 0x20}, {"g", 0x30}}}});
  const auto second = run_of({{"/v2/app", "bb", {{"f", 0x30}, {"g", 0x40}}}});
  const auto merged = merge(join({first, second}));
  EXPECT_EQ(text_of(merged), "[root]\n.f cpu=1\n.f cpu=1\n.g cpu=2\n.f cpu=1\n");
  ASSERT_EQ(merged.warnings().size(), 1U);
  EXPECT_TRUE(merged.warnings()[0].starts_with("app: ") && merged.warnings()[0].ends_with(": f"))
      << merged.warnings()[0];
  EXPECT_TRUE(merge(first).warnings().empty());
}

TEST(Merge, CopiesOfABinaryAreMergedWhateverTheirNames) {
  const auto first = run_of({{"/v1/app", "aa", {{"f", 0x20}, {"", 0x90}}}});
  const auto second = run_of({{"/v2/copy", "aa", {{"f", 0x10}, {"f", 0x20}, {"", 0x90}}}});
  EXPECT_EQ(text_of(merge(join({first, second}))), "[root]\n.f cpu=2\n.app+0x90 cpu=2\n.f cpu=1\n");
}

TEST(Merge, PluginsOfOneNameLoadedTogetherAreNotMerged) {
  const auto run = [] {
    return run_of({{"/a/core.so", "aa", {{"f", 0x10}}}, {"/b/core.so", "bb", {{"f", 0x10}}}});
  };
  EXPECT_EQ(text_of(merge(join({run(), run()}))), "[root]\n.f cpu=2\n.f cpu=2\n");
}

TEST(Merge, FunctionOfAnUnknownModuleMatchesAUniqueName) {
  const auto known =
      run_of({{"/a/app", "aa", {{"f", 0x10}, {"g", 0x20}}}, {"/a/lib.so", "bb", {{"g", 0x10}}}});
  const auto unknown = run_of({{"", "", {{"f", 0}, {"g", 0}}}});
  EXPECT_EQ(text_of(merge(join({known, unknown}))),
            "[root]\n.f cpu=2\n.g cpu=1\n.g cpu=1\n.g cpu=1\n");
}

TEST(Merge, RenamedProgramIsShownUnderItsNewName) {
  const auto base = run_of({{"/a/app-1", "aa", {{"f", 0x10}}, format::kModuleIsMain}});
  const auto now = run_of({{"/a/app-2", "bb", {{"f", 0x20}}, format::kModuleIsMain}});
  MergeOptions options;
  EXPECT_EQ(text_of(merge(join({base, now}), options)), "[root]\n.f cpu=1\n.f cpu=1\n");
  options.aliases = renamed_program(base, now);
  EXPECT_EQ(text_of(merge(join({base, now}), options)), "[root]\n.f cpu=2\n");
  EXPECT_TRUE(renamed_program(base, join({base, now})).empty());
}

TEST(Merge, ImportedFunctionsMatchRecordedOnesByName) {
  const auto recorded = run_of({{"/a/app", "aa", {{"f", 0x10}}}});
  profile::ProfileBuilder builder;
  profile::Process process;
  process.is_imported = true;
  builder.add_process(process);
  const auto root =
      builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot));
  builder.charge(builder.child(root, builder.named_function("f", profile::FunctionKind::kImported)),
                 builder.add_metric("cpu", "ns"), 1);
  const auto imported = builder.build();
  EXPECT_EQ(text_of(merge(join({recorded, imported}))), "[root]\n.f cpu=2\n");
}

TEST(Merge, ProfileWithoutTreesHasARoot) {
  EXPECT_EQ(merge(profile::Profile()).nodes().count(), 1u);
}

}  // namespace
}  // namespace fbleprof::transform
