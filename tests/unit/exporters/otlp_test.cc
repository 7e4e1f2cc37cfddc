// Cases that exports of real programs do not show (tests/oracle/otlp.py checks the others).
#include "report/exporters/otlp.h"

#include <map>
#include <protozero/pbf_reader.hpp>

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

}  // namespace
}  // namespace fbleprof::report
