// Each kind of record, written and read back.
#include "profile/records.h"
#include "analysis/default_metric.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "profile/reader.h"
#include "tests/support/file_builder.h"

namespace fbleprof::profile {
namespace {

using format::Kind;
using format::MetricPlace;
using test::FileBuilder;

ReadResult read(const FileBuilder& file) {
  auto result = read_bytes(file.bytes(), "mlmon.out");
  EXPECT_TRUE(result.ok());
  return std::move(result).value();
}

TEST(Records, PrivateUnfinishedAndZeroRecordsAreSkipped) {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 1});
  file.zeros(5);
  file.add(Kind::kPrivate, 4096);
  file.add(Kind::kUnfinished, 64);
  file.charge("b", {.cpu_ns = 2});
  file.zeros(1);
  const ReadResult result = read(file);
  EXPECT_FALSE(result.damage.any());
  EXPECT_TRUE(result.profile.warnings().empty());
  EXPECT_EQ(result.profile.nodes().count(), 3u);
}

TEST(Records, WhatHasNoMarkIsDamageAndNoRecord) {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 1});
  const auto text = file.string("never written");
  const auto note = file.add(Kind::kNote, sizeof(format::Note));
  file.record<format::Note>(note)->text = text;
  file.record<format::Head>(note)->mark = 0;
  file.charge("b", {.cpu_ns = 2});
  const ReadResult result = read(file);
  EXPECT_TRUE(result.damage.any());
  EXPECT_TRUE(result.profile.processes()[0].notes.empty());
  EXPECT_EQ(result.profile.nodes().count(), 3u);
}

TEST(Records, NewerMinorVersionIsReadAndSkippedRecordsAreReported) {
  FileBuilder file;
  file.header().minor_version = format::kMinorVersion + 1;
  file.add(static_cast<Kind>(40), 64);
  file.charge("a", {.cpu_ns = 1});
  file.add(static_cast<Kind>(40), 32);
  file.add(static_cast<Kind>(41), 32);
  const ReadResult result = read(file);
  EXPECT_EQ(result.profile.nodes().count(), 2u);
  ASSERT_EQ(result.profile.warnings().size(), 1u);
  EXPECT_EQ(result.profile.warnings()[0], "mlmon.out: written by a newer fbleprof (format 2." +
                                              std::to_string(format::kMinorVersion + 1) +
                                              "); records skipped: 2 of kind 40, 1 of kind 41");
}

TEST(Records, KnownPartOfALongerRecordIsRead) {
  FileBuilder file;
  file.header().minor_version = format::kMinorVersion + 1;
  const auto text = file.string("longer");
  const auto note = file.add(Kind::kNote, sizeof(format::Note) + 64);
  file.record<format::Note>(note)->text = text;
  const Profile profile = read(file).profile;
  ASSERT_EQ(profile.processes()[0].notes.size(), 1u);
  EXPECT_EQ(profile.text(profile.processes()[0].notes[0]), "longer");
  EXPECT_TRUE(profile.warnings().empty());
}

TEST(Records, EveryKindOfFunctionHasNameFileLineColumnAndLanguage) {
  FileBuilder file;
  using format::FunctionKind;
  for (const auto& [name, kind] : {std::pair{"script", FunctionKind::kScript},
                                   {"jit", FunctionKind::kJit},
                                   {"imported", FunctionKind::kImported},
                                   {"block", FunctionKind::kBlock}}) {
    file.function(name, kind, "game.lua", 70'000'000, 12, "Lua");
    file.node(name);
  }
  const auto linkage = file.string("_Z3jitv");
  file.record<format::Function>(file.record<format::Node>(file.node("jit"))->function)
      ->linkage_name = linkage;
  const Profile profile = read(file).profile;
  const Functions& functions = profile.functions();
  ASSERT_EQ(functions.count(), 5u);
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (functions.kind[f] == FunctionKind::kRoot) continue;
    EXPECT_EQ(profile.text(functions.file[f]), "game.lua");
    EXPECT_EQ(functions.line[f], 70'000'000u);
    EXPECT_EQ(functions.column[f], 12u);
    EXPECT_EQ(profile.text(functions.language[f]), "Lua");
    EXPECT_EQ(functions.size[f], 0u);
    const bool is_jit = functions.kind[f] == FunctionKind::kJit;
    EXPECT_EQ(profile.text(functions.linkage_name[f]), is_jit ? "_Z3jitv" : "");
    EXPECT_EQ(profile.text(functions.name[f]), display_name(profile, FunctionId(f)));
  }
}

TEST(Records, DeeperContextsHaveTheirOwnName) {
  FileBuilder file;
  file.header().depth_limit = 40;
  file.node("a [deeper] b");
  const Profile profile = read(file).profile;
  EXPECT_EQ(display_name(profile, profile.nodes().function[2]), "[deeper]");
  EXPECT_EQ(profile.processes()[0].depth_limit, 40u);
}

TEST(Records, MetricsHaveRoleDefaultEstimateAndSign) {
  FileBuilder file;
  file.metric("faults", "count", format::Role::kEvent, MetricPlace::kValues, 5,
              format::Aggregation::kSum, format::kMetricDefault);
  file.metric("drift", "ns", format::Role::kAmount, MetricPlace::kValues, 6,
              format::Aggregation::kSum, format::kMetricSigned | format::kMetricEstimated);
  file.charge("a", {.cpu_ns = 1});
  file.value("a", 5) = 3;
  file.value("a", 6) = static_cast<std::uint64_t>(-5);
  file.value("b", 6) = static_cast<std::uint64_t>(-6);
  const Profile profile = read(file).profile;
  EXPECT_EQ(profile.find_metric(Role::kEvent)->name, "faults");
  EXPECT_EQ(analysis::default_metric(profile)->name, "faults");
  const Metric* drift = profile.find_metric("drift");
  EXPECT_TRUE(drift->is_signed && drift->is_estimated && !drift->is_default);
  // Two numbers below 0 are no overflow.
  EXPECT_TRUE(profile.warnings().empty());
  EXPECT_EQ(static_cast<std::int64_t>(drift->value(NodeId(1))), -6);
  EXPECT_EQ(static_cast<std::int64_t>(drift->value(NodeId(2))), -5);
}

TEST(Records, DefaultMetricFollowsTheClock) {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 1, .wall_ns = 2});
  EXPECT_EQ(analysis::default_metric(read(file).profile)->name, "cpu");
  file.header().clock = format::Clock::kWall;
  EXPECT_EQ(analysis::default_metric(read(file).profile)->name, "wall");
  file.header().clock = format::Clock::kTicks;
  file.calls("a", 1);
  EXPECT_EQ(analysis::default_metric(read(file).profile)->name, "calls");
}

TEST(Records, DerivedMetricFollowsItsFormula) {
  FileBuilder file;
  file.metric("allocated", "bytes", format::Role::kAmount, MetricPlace::kValues, 5);
  file.metric("freed", "bytes", format::Role::kAmount, MetricPlace::kValues, 6);
  file.derived("live", "bytes", format::Role::kLevel, "allocated - freed");
  file.derived("traffic", "bytes", format::Role::kAmount, "allocated + freed");
  file.value("a", 5) = 100;
  file.value("a", 6) = 30;
  file.value("b", 6) = 70;  // freed what another allocated
  const Profile profile = read(file).profile;
  const Metric* live = profile.find_metric("live");
  EXPECT_TRUE(live->is_signed);
  EXPECT_EQ(live->formula, "allocated - freed");
  EXPECT_EQ(live->value(NodeId(2)), 70u);
  EXPECT_EQ(static_cast<std::int64_t>(live->value(NodeId(1))), -70);
  EXPECT_EQ(profile.find_metric("traffic")->value(NodeId(2)), 130u);
  EXPECT_FALSE(profile.find_metric("traffic")->is_signed);
}

TEST(Records, MoreMetricsThanTheUsualRowHoldsAreRead) {
  FileBuilder file;
  file.header().row_bytes = 32 * 8;
  for (std::uint16_t word = test::kFirstFreeWord; word < 32; ++word) {
    file.metric("m" + std::to_string(word), "count", format::Role::kEvent, MetricPlace::kValues,
                word);
  }
  for (std::uint16_t word = test::kFirstFreeWord; word < 32; ++word) file.value("a", word) = word;
  const Profile profile = read(file).profile;
  ASSERT_EQ(profile.metrics().size(), 33u);
  EXPECT_EQ(profile.find_metric("m31")->value(NodeId(1)), 31u);
}

TEST(Records, LabelSetsOwnTrees) {
  FileBuilder file;
  file.label("version", "1.2");
  const auto set = file.label_set();
  file.label("request", "7", set);
  file.label("phase", "load", set);
  file.charge("a", {.cpu_ns = 1});
  file.tree(set);
  file.charge("a", {.cpu_ns = 2});
  const Profile profile = read(file).profile;
  ASSERT_EQ(profile.trees().size(), 2u);
  EXPECT_EQ(profile.threads().size(), 1u);
  EXPECT_FALSE(profile.trees()[0].labels);
  ASSERT_TRUE(profile.trees()[1].labels);
  const LabelSet& labels = profile.label_sets()[profile.trees()[1].labels.index()];
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(profile.text(labels[0].key), "request");
  EXPECT_EQ(profile.text(labels[1].value), "load");
  EXPECT_EQ(profile.processes()[0].labels.size(), 1u);
}

TEST(Records, ArchitectureOfTheAddressesIsKept) {
  FileBuilder file;
  file.header().machine = 183;
  EXPECT_EQ(read(file).profile.processes()[0].machine, 183u);
}

TEST(Records, TreeEdgesAreStoredInTheirCallees) {
  FileBuilder file;
  file.calls("a b", 7, 0x4010);
  file.record<format::Node>(file.node("a b"))->flags = format::kEdgeByTailCall;
  file.calls("a c", std::uint64_t{5} << 32);
  const Profile profile = read(file).profile;
  const Edges& edges = profile.edges();
  ASSERT_EQ(edges.count(), 3u);
  EXPECT_EQ(edges.calls.wide(), (std::vector<std::uint64_t>{0, std::uint64_t{5} << 32, 7}));
  EXPECT_EQ(edges.flags[2], format::kEdgeByTailCall);
  EXPECT_EQ(profile.sites().address[edges.site[2].index()], 0x4010u);
}

// A file is read in pieces. One that is larger than a piece must give the same profile.
TEST(Records, FileLargerThanTheWindowIsReadCompletely) {
  FileBuilder file;
  for (int i = 0; i < 6000; ++i) {
    file.charge("f" + std::to_string(i) + " g", {.cpu_ns = 1});
    file.calls("f" + std::to_string(i), 2);
  }
  ASSERT_GT(file.bytes().size(), 2u << 20);
  std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
  close(mkstemp(name.data()));
  file.write(name);
  const auto result = read_file(name);
  std::filesystem::remove(name);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->damage.any()) << result->damage.first_what;
  const Profile expected = read(file).profile;
  EXPECT_EQ(result->profile.nodes().parent, expected.nodes().parent);
  EXPECT_EQ(result->profile.find_metric("cpu")->values->wide(),
            expected.find_metric("cpu")->values->wide());
  EXPECT_EQ(result->profile.edges().calls.wide(), expected.edges().calls.wide());
}

TEST(Records, FileThatGrewAfterOpeningIsReadToItsNewEnd) {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 1});
  std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
  close(mkstemp(name.data()));
  file.write(name);
  const auto image = FileImage::load(name);
  ASSERT_TRUE(image.ok());
  file.charge("b", {.cpu_ns = 2});
  file.charge("b c d e f", {.cpu_ns = 3});
  file.write(name);
  const ReadResult result = read_image(*image);
  std::filesystem::remove(name);
  EXPECT_FALSE(result.damage.any()) << result.damage.first_what;
  EXPECT_EQ(result.profile.nodes().count(), 7u);
}

TEST(Records, EveryKindHasAName) {
  const std::pair<Kind, std::string_view> names[] = {
      {Kind::kUnfinished, "unfinished"},
      {Kind::kPrivate, "private"},
      {Kind::kString, "string"},
      {Kind::kModule, "module"},
      {Kind::kFunction, "function"},
      {Kind::kMetric, "metric"},
      {Kind::kNote, "note"},
      {Kind::kLabelSet, "labelset"},
      {Kind::kLabel, "label"},
      {Kind::kThread, "thread"},
      {Kind::kTree, "tree"},
      {Kind::kNodes, "nodes"},
      {Kind::kEdges, "edges"},
      {Kind::kValues, "values"},
      {Kind::kSnapshot, "snapshot"},
      {Kind::kSnapshotNodes, "snapshotnodes"},
      {Kind::kSnapshotEdges, "snapshotedges"},
      {static_cast<Kind>(99), "record"},
  };
  for (const auto& [kind, name] : names) EXPECT_EQ(kind_name(kind), name);
}

// A length that a stray write made longer swallows the records behind it.
TEST(Records, ARecordThatHoldsAnotherOneEndsThere) {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 1});
  const auto space = file.add(Kind::kPrivate, 64);
  file.block("b", "b.c", 1);
  file.charge("b", {.cpu_ns = 2});
  file.note("after");
  // Up to the middle of the function's record: no head follows.
  file.record<format::Head>(space)->units += 3;
  const ReadResult result = read(file);
  EXPECT_TRUE(result.damage.any());
  EXPECT_EQ(result.damage.first_what, "a record holds another one");
  EXPECT_EQ(result.profile.processes()[0].notes.size(), 1u);
}

TEST(Records, TextsThatDoNotFitTheirRecordAreDamage) {
  FileBuilder file;
  file.header().minor_version = format::kMinorVersion + 1;  // a newer one may have longer records
  file.note("first");
  const auto text = file.string("second");
  file.charge("a", {.cpu_ns = 1});
  file.record<format::String>(text)->length = 5000;
  const ReadResult result = read(file);
  EXPECT_TRUE(result.damage.any());
  EXPECT_TRUE(result.damage.first_what.ends_with("is too long")) << result.damage.first_what;
  EXPECT_EQ(result.profile.nodes().count(), 2u);
}

}  // namespace
}  // namespace fbleprof::profile
