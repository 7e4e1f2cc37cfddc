#include "report/importers/pprof.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <protozero/pbf_writer.hpp>

#include "analysis/costs.h"
#include "profile/metric_reader.h"
#include "report/importers/gzip.h"
#include "tests/support/profile_builder.h"
#include "tests/support/text.h"

namespace fbleprof::importers {
namespace {

using namespace profile;
using protozero::pbf_writer;

// Writes profiles field by field. Strings get their index on first use.
class Writer {
 public:
  std::uint64_t string(const std::string& text) {
    for (std::size_t i = 0; i < strings_.size(); ++i) {
      if (strings_[i] == text) return i;
    }
    strings_.push_back(text);
    return strings_.size() - 1;
  }
  template <class Fill>
  void message(int field, Fill fill) {
    pbf_writer outer(out_);
    pbf_writer inner(outer, static_cast<protozero::pbf_tag_type>(field));
    fill(inner);
  }
  void type(const std::string& name, const std::string& unit) {
    const auto n = string(name), u = string(unit);
    message(1, [&](pbf_writer& w) {
      w.add_int64(1, static_cast<std::int64_t>(n));
      w.add_int64(2, static_cast<std::int64_t>(u));
    });
  }
  void mapping(std::uint64_t id, const std::string& file, const std::string& build_id,
               std::uint64_t start = 0x1000, std::uint64_t offset = 0x500,
               std::uint64_t limit = 0) {
    const auto f = string(file), b = string(build_id);
    message(3, [&](pbf_writer& w) {
      w.add_uint64(1, id);
      w.add_uint64(2, start);
      w.add_uint64(3, limit);
      w.add_uint64(4, offset);
      w.add_uint64(5, f);
      w.add_uint64(6, b);
    });
  }
  void function(std::uint64_t id, const std::string& name, const std::string& file) {
    const auto n = string(name), f = string(file);
    message(5, [&](pbf_writer& w) {
      w.add_uint64(1, id);
      w.add_uint64(2, n);
      w.add_uint64(4, f);
      w.add_uint64(5, 7);
    });
  }
  void location(std::uint64_t id, std::uint64_t address,
                std::vector<std::pair<std::uint64_t, int>> lines, std::uint64_t mapping = 1) {
    message(4, [&](pbf_writer& w) {
      w.add_uint64(1, id);
      w.add_uint64(2, mapping);
      w.add_uint64(3, address);
      for (const auto& [function, line] : lines) {
        pbf_writer l(w, 4);
        l.add_uint64(1, function);
        l.add_int64(2, line);
      }
    });
  }
  void sample(std::vector<std::uint64_t> locations, std::vector<std::int64_t> values,
              const std::string& label = {}) {
    const auto key = label.empty() ? 0 : string("job"), value = label.empty() ? 0 : string(label);
    message(2, [&](pbf_writer& w) {
      w.add_packed_uint64(1, locations.begin(), locations.end());
      w.add_packed_int64(2, values.begin(), values.end());
      if (label.empty()) return;
      pbf_writer l(w, 3);
      l.add_uint64(1, key);
      l.add_uint64(2, value);
    });
  }
  std::string bytes() {
    std::string all = out_;
    pbf_writer writer(all);
    for (const std::string& text : strings_) writer.add_string(6, text);
    return all;
  }

 private:
  std::string out_;
  std::vector<std::string> strings_ = {""};
};

Writer sample_profile() {
  Writer writer;
  writer.type("samples", "count");
  writer.type("cpu", "microseconds");
  writer.type("calls", "count");
  writer.mapping(1, "/bin/prog", "abcd");
  writer.function(1, "main", "main.cc");
  writer.function(2, "work", "work.cc");
  writer.function(3, "tiny", "tiny.h");
  writer.location(1, 0x1100, {{1, 10}});
  writer.location(2, 0x1200, {{3, 30}, {2, 20}});  // tiny, inlined into work
  writer.location(3, 0x1300, {});
  writer.sample({2, 1}, {2, 20, 4});
  writer.sample({3, 1}, {1, 10, 0}, "big");
  return writer;
}

std::uint64_t total(const Profile& profile, std::string_view metric) {
  const Metric* found = profile.find_metric(metric);
  return found != nullptr ? analysis::total(profile, *found) : 0;
}

TEST(Pprof, AllSampleTypesBecomeMetrics) {
  const auto profile = parse_pprof(sample_profile().bytes(), "p");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_EQ(profile->metrics()[0].name, "calls");  // the last type is pprof's default
  EXPECT_EQ(total(*profile, "samples"), 3u);
  EXPECT_EQ(total(*profile, "cpu"), 30'000u);
  EXPECT_EQ(profile->find_metric("cpu")->unit, "ns");
  EXPECT_EQ(total(*profile, "calls"), 4u);
}

TEST(Pprof, InlinesLinesMappingsAndLabelsAreKept) {
  const auto profile = parse_pprof(sample_profile().bytes(), "p");
  ASSERT_TRUE(profile.ok());
  const FunctionId tiny = test::function_called(*profile, "tiny");
  const FunctionId work = test::function_called(*profile, "work");
  ASSERT_TRUE(tiny && work);
  const Functions& functions = profile->functions();
  EXPECT_NE(functions.flags[tiny.index()] & kFunctionInlined, 0);
  EXPECT_EQ(functions.flags[work.index()] & kFunctionInlined, 0);
  EXPECT_EQ(profile->text(functions.file[work.index()]), "work.cc");
  EXPECT_EQ(functions.line[work.index()], 7u);
  EXPECT_EQ(profile->text(profile->modules()[0].build_id), "abcd");
  EXPECT_TRUE(test::function_called(*profile, "prog+0x800"));  // 0x1300 - 0x1000 + 0x500
  ASSERT_EQ(profile->threads().size(), 2u);
  ASSERT_EQ(profile->threads()[1].labels.size(), 1u);
  EXPECT_EQ(profile->text(profile->threads()[1].labels[0].value), "big");
  ASSERT_EQ(profile->sites().count(), 1u);  // leaves call nothing
  EXPECT_EQ(profile->sites().line[0], 10u);
}

// Addresses of the files, as our exports have them.
TEST(Pprof, CallsAtOneAddressOfTwoModulesHaveTheirOwnLines) {
  Writer writer;
  writer.type("samples", "count");
  writer.mapping(1, "/lib/one.so", "aa", 0, 0);
  writer.mapping(2, "/lib/two.so", "bb", 0, 0);
  writer.function(1, "one", "one.c");
  writer.function(2, "two", "two.c");
  writer.function(3, "leaf", "leaf.c");
  writer.location(1, 0x1100, {{1, 10}}, 1);
  writer.location(2, 0x1100, {{2, 20}}, 2);
  writer.location(3, 0x1200, {{3, 30}}, 1);
  writer.sample({3, 1}, {1});
  writer.sample({3, 2}, {2});
  const auto profile = parse_pprof(writer.bytes(), "p");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  const Sites& sites = profile->sites();
  ASSERT_EQ(sites.count(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(profile->text(sites.file[i]), i == 0 ? "one.c" : "two.c");
    EXPECT_EQ(sites.line[i], i == 0 ? 10u : 20u);
    EXPECT_EQ(sites.address[i], 0x1100u);
    // Nobody looks the address up there.
    EXPECT_FALSE(sites.module[i].valid());
  }
}

// As our exports have them: of a mapping of the whole address space, a function before its places.
TEST(Pprof, AddressesOfTheFileArePlacesInFunctions) {
  Writer writer;
  writer.type("samples", "count");
  writer.mapping(1, "/bin/prog", "abcd", 0, 0, UINT64_MAX);
  writer.function(1, "named", "p.c");
  writer.function(2, "begins", "p.c");
  writer.location(1, 0, {{1, 10}});
  writer.location(2, 0x1100, {{1, 12}});
  writer.location(3, 0x1200, {{2, 20}});
  writer.location(4, 0x1210, {{2, 20}});
  for (const std::uint64_t id : {1, 2, 3, 4}) writer.sample({id}, {1});
  const auto profile = parse_pprof(writer.bytes(), "p");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  const Functions& functions = profile->functions();
  std::vector<std::uint64_t> places;
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (functions.kind[f] != FunctionKind::kInstruction) continue;
    places.push_back(functions.address[f]);
    ASSERT_TRUE(functions.module[f]);
    EXPECT_EQ(profile->text(profile->modules()[functions.module[f].index()].path), "/bin/prog");
  }
  EXPECT_EQ(places, (std::vector<std::uint64_t>{0x1100, 0x1210}));
}

TEST(Pprof, DamageGivesOneLine) {
  const std::string whole = sample_profile().bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto cut = parse_pprof(std::string_view(whole).substr(0, length), "p");
    if (cut.ok()) continue;
    EXPECT_FALSE(test::holds(cut.error().line(), "\n"));
    EXPECT_TRUE(cut.error().line().starts_with("p: ")) << cut.error().line();
  }
  Writer negative = sample_profile();
  negative.sample({1}, {-1, 0, 0});
  EXPECT_TRUE(test::holds(parse_pprof(negative.bytes(), "p").error().line(), "difference"));
  Writer dangling = sample_profile();
  dangling.sample({99}, {1, 0, 0});
  EXPECT_TRUE(test::holds(parse_pprof(dangling.bytes(), "p").error().line(), "location 99"));
  Writer odd = sample_profile();
  odd.sample({1}, {1});
  EXPECT_TRUE(test::holds(parse_pprof(odd.bytes(), "p").error().line(), "1 values, not 3"));
}

TEST(Pprof, SmallFileCannotRequestManyFrames) {
  Writer writer;
  writer.type("samples", "count");
  writer.function(1, "f", "");
  writer.location(1, 0, std::vector<std::pair<std::uint64_t, int>>(10'000, {1, 1}));
  writer.sample(std::vector<std::uint64_t>(10'000, 1), {1});
  const auto profile = parse_pprof(writer.bytes(), "p");
  ASSERT_FALSE(profile.ok());
  EXPECT_TRUE(test::holds(profile.error().line(), "more frames"));
}

// Each label, location and type names its text by one or two bytes.
TEST(Pprof, SmallFileCannotRequestManyCopiesOfALongText) {
  const std::string text(2'000'000, 'x');
  const auto refusal = [](Writer& writer) {
    const std::string bytes = writer.bytes();
    EXPECT_LT(bytes.size(), 3'000'000u);
    const auto profile = parse_pprof(bytes, "p");
    return profile.ok() ? "" : profile.error().line();
  };
  const std::string line =
      "names and labels of more text than a file of its size can mean: the file is damaged";

  Writer labels;
  labels.type("samples", "count");
  const auto long_text = labels.string(text);
  labels.message(2, [&](pbf_writer& w) {
    const std::vector<std::int64_t> values = {1};
    w.add_packed_int64(2, values.begin(), values.end());
    for (int i = 0; i < 100; ++i) {
      pbf_writer l(w, 3);
      l.add_uint64(1, long_text);
      l.add_uint64(2, long_text);
    }
  });
  EXPECT_TRUE(test::holds(refusal(labels), line)) << refusal(labels);

  Writer unknown;
  unknown.type("samples", "count");
  unknown.mapping(1, text, "");
  for (std::uint64_t i = 1; i <= 100; ++i) {
    unknown.location(i, 0x1000 + i, {});
    unknown.sample({i}, {1});
  }
  EXPECT_TRUE(test::holds(refusal(unknown), line)) << refusal(unknown);

  Writer types;
  for (int i = 0; i < 100; ++i) types.type(text, "count");
  EXPECT_TRUE(test::holds(refusal(types), line)) << refusal(types);

  // The same location again takes no more text.
  Writer one;
  one.type("samples", "count");
  one.mapping(1, text, "");
  one.location(1, 0x1001, {});
  for (int i = 0; i < 100; ++i) one.sample({1}, {1});
  EXPECT_EQ(refusal(one), "");
}

TEST(Pprof, ManyNamesakesAreTakenUpToTheMostMetrics) {
  Writer writer;
  for (std::size_t i = 0; i < kMostMetrics; ++i) writer.type("t", "count");
  const auto profile = parse_pprof(writer.bytes(), "p");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_NE(profile->find_metric("t 1024"), nullptr);
  writer.type("t", "count");
  const auto refused = parse_pprof(writer.bytes(), "p");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().line(), "p: 1025 sample types, 1024 at most: the file is damaged");
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Gzip, ConsecutiveMembersAreRead) {
  EXPECT_EQ(*gunzip(gzip("one ") + gzip("two"), "z"), "one two");
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(*gunzip(gzip(large), "z"), large);
}

TEST(Gzip, ZerosMayFollowOnly) {
  const std::string one = gzip("one "), zeros(3'000'000, '\0');
  for (const std::size_t count : {std::size_t{1}, std::size_t{512}, zeros.size()}) {
    const auto read = gunzip(one + zeros.substr(0, count), "z");
    ASSERT_TRUE(read.ok()) << read.error().line();
    EXPECT_EQ(*read, "one ");
  }
  EXPECT_EQ(*gunzip(one + gzip("two") + zeros, "z"), "one two");
  for (const std::string& rest : {std::string("more"), std::string("\x1f"), zeros + one}) {
    EXPECT_TRUE(test::holds(gunzip(one + rest, "z").error().line(),
                            "something else follows the gzip data: copy the file again"));
  }
}

TEST(Gzip, TruncatedOrHugeDataGivesOneLine) {
  const std::string whole = gzip(std::string(1000, 'x') + "y");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(gunzip(std::string_view(whole).substr(0, length), "z").ok()) << length;
  }
  EXPECT_TRUE(
      test::holds(gunzip(gzip(std::string(100u << 20, 'x')), "z").error().line(), "expands to"));
}

}  // namespace
}  // namespace fbleprof::importers
