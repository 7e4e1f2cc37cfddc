#include "symbolize/symbolize_profile.h"

#include <gtest/gtest.h>

#include "base/hex.h"
#include "build_sample.h"
#include "profile/builder.h"
#include "symbolize/elf_object.h"
#include "tests/support/text.h"

namespace fbleprof::symbolize {
namespace {

using profile::EdgeKind;
using profile::FunctionId;
using profile::FunctionKind;
using profile::NodeId;
using profile::Profile;

constexpr char kArea[] = "_ZN6shapes4areaIiEET_S1_";

class SymbolizeProfile : public testing::Test {
 protected:
  void SetUp() override {
    file_ = workshop_.compile("g++", "-O2 -g", "sample");
    options_.debug_roots.clear();
    profile::Process process;
    process.flags = format::kHeaderCallSites;
    process_ = builder_.add_process(process);
    module_ =
        builder_.add_module({builder_.string(file_), builder_.string(hex(build_id_of(file_))), 0});
    root_ = builder_.add_tree(builder_.named_function("[root]", FunctionKind::kRoot), process_);
    cpu_ = builder_.add_metric("cpu", "ns");
  }

  FunctionId add(std::uint64_t address, FunctionKind kind = FunctionKind::kNative) {
    profile::FunctionKey key;
    key.kind = kind;
    key.module = module_;
    key.address = address;
    return builder_.add_function(key);
  }

  // An address in area() where leaf() is inlined.
  std::uint64_t inlined_leaf() const {
    std::vector<std::uint64_t> addresses;
    const std::uint64_t start = address_of(file_, kArea);
    for (std::uint64_t i = 0; i < 24; ++i) addresses.push_back(start + i);
    Options options = options_;
    options.inlines = true;
    const ModuleSymbols symbols = symbolize_module({file_, ""}, addresses, options);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (symbols.addresses[i].inlined.size() == 2) return addresses[i];
    }
    ADD_FAILURE() << "leaf() is not inlined";
    return 0;
  }

  static std::string name(const Profile& profile, NodeId node) {
    return display_name(profile, profile.nodes().function[node.index()]);
  }
  static std::string path(const Profile& profile, NodeId node) {
    std::string text;
    for (; node; node = profile.nodes().parent[node.index()]) {
      text = name(profile, node) + (text.empty() ? "" : " > ") + text;
    }
    return text;
  }
  static NodeId charged(const Profile& profile) {
    for (std::size_t n = 0; n < profile.nodes().count(); ++n) {
      if (profile.metrics()[0].value(NodeId(n)) != 0) return NodeId(n);
    }
    return {};
  }

  Workshop workshop_;
  std::string file_;
  Options options_;
  profile::ProfileBuilder builder_;
  profile::ProcessId process_;
  profile::ModuleId module_;
  NodeId root_;
  profile::MetricId cpu_;
};

TEST_F(SymbolizeProfile, FunctionsAreNamedAndOtherDataIsShared) {
  const std::uint64_t start = address_of(file_, kArea);
  const FunctionId area = add(start);
  const FunctionId middle_of_area = add(start + 3);
  const FunctionId nowhere = add(0x10);
  builder_.charge(builder_.child(root_, area), cpu_, 5);
  const Profile before = builder_.build();
  const Profile after = symbolize(before, options_);
  const profile::Functions& functions = after.functions();
  EXPECT_EQ(after.text(functions.name[area.index()]), "int shapes::area<int>(int)");
  EXPECT_EQ(after.text(functions.linkage_name[area.index()]), kArea);
  EXPECT_GT(functions.size[area.index()], 0U);
  EXPECT_FALSE(functions.file[area.index()]);
  EXPECT_EQ(functions.address[middle_of_area.index()], start);
  EXPECT_EQ(display_name(after, nowhere), "sample+0x10");
  EXPECT_EQ(&after.nodes(), &before.nodes());
  EXPECT_EQ(&after.edges(), &before.edges());
  EXPECT_EQ(after.metrics()[0].values, before.metrics()[0].values);
  EXPECT_TRUE(after.warnings().empty());
  EXPECT_EQ(
      display_name(before, area), "sample+0x" + [&] {
        char text[32];
        std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(start));
        return std::string(text);
      }());
}

TEST_F(SymbolizeProfile, LinesCanBeAddedLater) {
  const FunctionId area = add(address_of(file_, kArea));
  builder_.child(root_, area);
  const Profile named = symbolize(builder_.build(), options_);
  options_.lines = true;
  const Profile lined = symbolize(named, options_);
  EXPECT_TRUE(lined.text(lined.functions().file[area.index()]).ends_with("/sample.cc"));
  EXPECT_EQ(lined.functions().line[area.index()], kAreaLine - 2);
  EXPECT_EQ(lined.text(lined.functions().name[area.index()]), "int shapes::area<int>(int)");
}

TEST_F(SymbolizeProfile, ExistingNamesAreKept) {
  profile::FunctionKey key;
  key.module = module_;
  key.address = address_of(file_, kArea);
  key.name = builder_.string("imported");
  const FunctionId imported = builder_.add_function(key);
  builder_.child(root_, imported);
  const Profile after = symbolize(builder_.build(), options_);
  EXPECT_EQ(display_name(after, imported), "imported");
}

TEST_F(SymbolizeProfile, InstructionsAreNamedByTheirOffset) {
  const std::uint64_t start = address_of(file_, kArea);
  const NodeId area = builder_.child(root_, add(start));
  const FunctionId first = add(start, FunctionKind::kInstruction);
  const FunctionId other = add(start + 3, FunctionKind::kInstruction);
  const FunctionId inner = add(inlined_leaf(), FunctionKind::kInstruction);
  for (const FunctionId place : {first, other, inner}) {
    builder_.charge(builder_.child(area, place), cpu_, 1);
  }
  const Profile before = builder_.build();
  options_.offsets = true;
  const Profile after = symbolize(before, options_);
  EXPECT_EQ(display_name(after, first), "int shapes::area<int>(int)+0x0");
  EXPECT_EQ(display_name(after, other), "int shapes::area<int>(int)+0x3");
  options_.inlines = true;
  const std::string inlined = display_name(symbolize(before, options_), inner);
  EXPECT_TRUE(inlined.starts_with("shapes::leaf(int) (int shapes::area<int>(int)+0x")) << inlined;
}

TEST_F(SymbolizeProfile, InstructionsKeepTheirAddressAndGetTheirOwnLine) {
  const std::uint64_t address = inlined_leaf();
  const FunctionId instruction = add(address, FunctionKind::kInstruction);
  builder_.child(root_, instruction);
  options_.lines = true;
  const Profile after = symbolize(builder_.build(), options_);
  EXPECT_EQ(after.functions().address[instruction.index()], address);
  EXPECT_EQ(display_name(after, instruction), "int shapes::area<int>(int)");
  EXPECT_GT(after.functions().line[instruction.index()], 0U);
}

TEST_F(SymbolizeProfile, PltStubsThatShareOneUnwindEntryAreNamedPlt) {
  profile::FunctionKey key;
  key.module = module_;
  key.address = addresses_in(file_, ".plt", 16).at(0);
  key.size = 4096;
  const FunctionId whole = builder_.add_function(key);
  key.address += 16;
  key.size = 16;
  const FunctionId stub = builder_.add_function(key);
  const Profile after = symbolize(builder_.build(), options_);
  EXPECT_EQ(display_name(after, whole), "[plt]");
  EXPECT_TRUE(display_name(after, stub).ends_with("@plt"));
}

TEST_F(SymbolizeProfile, ARebuiltProgramGivesAWarning) {
  const FunctionId area = add(address_of(file_, kArea));
  builder_.child(root_, area);
  workshop_.compile("g++", "-O1", "sample");
  const Profile after = symbolize(builder_.build(), options_);
  ASSERT_EQ(after.warnings().size(), 1U);
  EXPECT_TRUE(test::holds(after.warnings()[0], "rebuilt"));
  EXPECT_TRUE(display_name(after, area).starts_with("sample+0x"));
}

TEST_F(SymbolizeProfile, SampledInstructionsMoveBelowInlinedFunctions) {
  const FunctionId area = add(address_of(file_, kArea));
  const FunctionId instruction = add(inlined_leaf(), FunctionKind::kInstruction);
  builder_.charge(builder_.child(builder_.child(root_, area), instruction), cpu_, 7);
  options_.inlines = true;
  const Profile after = symbolize(builder_.build(), options_);
  const NodeId node = charged(after);
  EXPECT_EQ(path(after, node),
            "[root] > int shapes::area<int>(int) > shapes::middle(int) > shapes::leaf(int) > "
            "shapes::leaf(int)");
  EXPECT_EQ(after.metrics()[0].value(node), 7U);
  const NodeId leaf = after.nodes().parent[node.index()];
  const FunctionId inlined = after.nodes().function[leaf.index()];
  EXPECT_EQ(after.functions().flags[inlined.index()], profile::kFunctionInlined);
  EXPECT_EQ(after.functions().line[inlined.index()], kLeafLine - 2);
}

TEST_F(SymbolizeProfile, CallsMoveBelowTheFunctionsInlinedAtTheirSite) {
  const FunctionId area = add(address_of(file_, kArea));
  const FunctionId callee = builder_.named_function("callee");
  const NodeId caller = builder_.child(root_, area);
  const NodeId called = builder_.child(caller, callee);
  const auto site = builder_.site(module_, inlined_leaf() + 1);
  builder_.add_edge(caller, called, EdgeKind::kTree, 3, 0, site);
  builder_.add_edge(caller, caller, EdgeKind::kBack, 2, 0, site);
  builder_.charge(called, cpu_, 7);
  const Profile before = builder_.build();
  options_.inlines = true;
  const Profile after = symbolize(before, options_);
  const NodeId node = charged(after);
  EXPECT_EQ(path(after, node),
            "[root] > int shapes::area<int>(int) > shapes::middle(int) > shapes::leaf(int) > "
            "callee");
  const NodeId leaf = after.nodes().parent[node.index()];
  std::uint64_t calls_from_leaf = 0;
  for (std::size_t e = 0; e < after.edges().count(); ++e) {
    if (after.edges().from[e] == leaf) calls_from_leaf += after.edges().calls[e];
  }
  EXPECT_EQ(calls_from_leaf, 5U);
  EXPECT_GE(after.sites().line[site.index()], kLeafLine - 1);
  EXPECT_LE(after.sites().line[site.index()], kLeafLine + 1);
}

TEST_F(SymbolizeProfile, WithoutCallSitesCallsStayWhereTheyAre) {
  profile::ProfileBuilder builder(builder_.build());
  const auto process = builder.add_process({});
  profile::FunctionKey key;
  key.module = module_;
  key.address = address_of(file_, kArea);
  const NodeId root =
      builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot), process);
  const NodeId caller = builder.child(root, builder.add_function(key));
  const NodeId called = builder.child(caller, builder.named_function("callee"));
  builder.add_edge(caller, called, EdgeKind::kTree, 3, 0,
                   builder.site(module_, inlined_leaf() + 1));
  options_.inlines = true;
  const Profile after = symbolize(builder.build(), options_);
  EXPECT_EQ(after.nodes().count(), 3U);
}

TEST_F(SymbolizeProfile, VdsoIsKnownByItsName) {
  const auto vdso = builder_.add_module({builder_.string("linux-vdso.so.1"), {}, 0});
  const auto file = builder_.add_module({builder_.string("/tmp/linux-vdso.so.1"), {}, 0});
  const Profile profile = builder_.build();
  EXPECT_TRUE(module_file(profile, vdso).is_vdso);
  EXPECT_FALSE(module_file(profile, file).is_vdso);
}

TEST_F(SymbolizeProfile, TheVdsoOfAnotherKernelHasOneNameAndNoWarning) {
  module_ = builder_.add_module({builder_.string("linux-vdso.so.1"), builder_.string("12"), 0});
  for (const std::uint64_t address : {0xaf0, 0xb40}) {
    builder_.charge(builder_.child(root_, add(address)), cpu_, 1);
  }
  const Profile after = symbolize(builder_.build(), options_);
  EXPECT_TRUE(after.warnings().empty());
  EXPECT_EQ(name(after, NodeId(1)), "[vdso]");
  EXPECT_EQ(name(after, NodeId(2)), "[vdso]");
}

}  // namespace
}  // namespace fbleprof::symbolize
