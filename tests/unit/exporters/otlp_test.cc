// Cases that exports of real programs do not show (tests/oracle/otlp.py checks the others).
#include "report/exporters/otlp.h"

#include <algorithm>
#include <map>
#include <protozero/pbf_reader.hpp>

#include "profile/builder.h"
#include "profile/reader.h"
#include "tests/support/file_builder.h"
#include "tests/unit/exporters/export_of.h"

namespace fbleprof::report {
namespace {

// The fields of a message that hold messages or texts, by number.
std::multimap<unsigned, std::string> parts_of(const std::string& data) {
  std::multimap<unsigned, std::string> parts;
  protozero::pbf_reader reader(data);
  while (reader.next()) {
    if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const unsigned field = reader.tag();  // reading the value may forget it
      parts.emplace(field, reader.get_string());
    } else {
      reader.skip();
    }
  }
  return parts;
}

std::string part_of(const std::string& data, unsigned field) {
  const auto parts = parts_of(data);
  const auto at = parts.find(field);
  return at == parts.end() ? "" : at->second;
}

// The texts of a request's resource, by key.
std::map<std::string, std::string> resource_of(const std::string& request) {
  std::map<std::string, std::string> resource;
  for (const auto& [field, attribute] : parts_of(part_of(part_of(request, 1), 1))) {
    resource[part_of(attribute, 1)] = part_of(part_of(attribute, 2), 1);
  }
  return resource;
}

// How many entries the dictionary's table has.
std::size_t entries(const std::string& request, unsigned table) {
  return parts_of(part_of(request, 2)).count(table);
}

std::size_t samples(const std::string& request) {
  const std::string scope = part_of(part_of(request, 1), 2);
  return parts_of(part_of(scope, 2)).count(2);
}

constexpr unsigned kAttributeTable = 6, kStackTable = 7;

TEST(Otlp, StacksAreWrittenOnceAndThreadsAreAttributes) {
  const std::string request =
      export_of("otlp", test::profile_of("a = 1\na b = 2\nthread worker\na = 4\n"),
                {{profile::Axis::kThread, {}}});
  EXPECT_EQ(entries(request, kStackTable), 3u);  // none, a, a b
  EXPECT_EQ(samples(request), 3u);
  EXPECT_EQ(entries(request, kAttributeTable), 5u);  // none, and each thread's name and id
}

TEST(Otlp, UserAttributesTakePrecedenceOverTheProfile) {
  const profile::Profile merged = transform::merge(test::profile_of("a = 1\n"));
  const Export input{merged, *merged.find_metric("cpu")};
  const std::string request =
      otlp_request(input, {"shop", {{"env", "test"}, {"service.name", "other"}}, 0, 0});
  EXPECT_EQ(resource_of(request).at("service.name"), "shop");
  EXPECT_EQ(resource_of(request).at("env"), "test");
}

TEST(Otlp, EmptyProfileGivesAValidRequest) {
  const std::string request = export_of("otlp", "a = 0\n");
  EXPECT_EQ(samples(request), 0u);
  EXPECT_EQ(entries(request, kStackTable), 1u);
}

// What the profile's dictionary calls them, in any order.
bool has_text(const std::string& request, std::string_view text) {
  constexpr unsigned kStringTable = 5;
  const auto all = parts_of(part_of(request, 2));
  const auto [begin, end] = all.equal_range(kStringTable);
  return std::any_of(begin, end, [&](const auto& entry) { return entry.second == text; });
}

TEST(Otlp, GroupsOfEveryAxisAreAttributes) {
  test::FileBuilder file;
  const auto module = file.module("/lib/libshop.so", 0x1000, 0x9000, 0, "\x01\xab");
  file.native("f", 0x1230, 64, module);
  file.charge("f", {.cpu_ns = 5});
  file.label("release", "7");
  const auto set = file.label_set();
  file.label("request", "slow", set);
  file.tree(set);
  file.charge("g", {.cpu_ns = 6});
  file.note("a remark");
  const auto whole = profile::read_bytes(file.bytes(), "shop.out");
  ASSERT_TRUE(whole.ok());
  const std::pair<profile::Axis, std::string_view> axes[] = {
      {profile::Axis::kProcess, "process.executable.name"},
      {profile::Axis::kThread, "thread.name"},
      {profile::Axis::kHost, "host.name"},
      {profile::Axis::kFile, "profile.file"}};
  for (const auto& [axis, key] : axes) {
    const std::string request = export_of("otlp", whole->profile, {{axis, {}}});
    EXPECT_TRUE(has_text(request, key)) << key;
    EXPECT_EQ(samples(request), 2u) << key;
  }
  EXPECT_TRUE(
      has_text(export_of("otlp", whole->profile, {{profile::Axis::kLabel, "request"}}), "request"));
  EXPECT_TRUE(has_text(export_of("otlp", whole->profile), "process.executable.build_id.gnu"));
  EXPECT_EQ(resource_of(export_of("otlp", whole->profile)).at("release"), "7");
}

TEST(Otlp, UncountedContextsAreMarked) {
  using namespace profile;
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId counted = builder.child(root, builder.named_function("counted"));
  const NodeId sampled = builder.child(counted, builder.named_function("sampled"));
  const NodeId below = builder.child(sampled, builder.named_function("below"));
  for (const NodeId node : {counted, sampled, below}) builder.charge(node, cpu, 1);
  builder.add_edge(root, counted, EdgeKind::kTree, 5);
  builder.add_edge(counted, sampled, EdgeKind::kTree, 0, format::kEdgeSampled);
  builder.add_edge(sampled, below, EdgeKind::kTree, 0, format::kEdgeSampled);
  const std::string request = export_of("otlp", builder.build());
  EXPECT_EQ(samples(request), 3u);
  EXPECT_TRUE(has_text(request, "calls"));
  EXPECT_EQ(entries(request, kAttributeTable), 2u);  // none, and "not counted"
}

TEST(Otlp, WarningsAreCommentsOfTheProfile) {
  test::FileBuilder file;
  file.charge("f", {.cpu_ns = 5});
  file.charge("g", {.cpu_ns = 5});
  auto bytes = file.bytes();
  bytes.resize(bytes.size() - 64);
  const auto cut = profile::read_bytes(bytes, "shop.out");
  ASSERT_TRUE(cut.ok());
  ASSERT_FALSE(cut->profile.warnings().empty());
  EXPECT_TRUE(has_text(export_of("otlp", cut->profile), "pprof.profile.comment"));
  EXPECT_FALSE(has_text(export_of("otlp", "a = 1\n"), "pprof.profile.comment"));
}

}  // namespace
}  // namespace fbleprof::report
