// The content as readers of profile.proto see it.
#include <zlib.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_reader.hpp>

#include "profile/builder.h"
#include "profile/reader.h"
#include "tests/support/file_builder.h"
#include "tests/support/text.h"
#include "tests/unit/exporters/export_of.h"

namespace fbleprof::report {
namespace {

using namespace profile;

std::string gunzip(const std::string& data) {
  std::string out(1 << 20, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

struct Sample {
  std::vector<std::uint64_t> locations;
  std::vector<std::int64_t> values;
  std::map<std::string, std::string> labels;
};
struct Location {
  std::uint64_t mapping = 0, address = 0;
  std::vector<std::pair<std::uint64_t, std::int64_t>> lines;  // function, line
};
struct Function {
  std::string name, system_name, file;
};
struct Mapping {
  std::string file, build_id;
  bool has_functions = false, has_inlines = false;
};

// The decoded message, read independently of the writer's tables.
struct Message {
  explicit Message(const std::string& gzipped) : data(gunzip(gzipped)) {
    protozero::pbf_reader texts(data);
    while (texts.next(6)) strings.push_back(texts.get_string());
    protozero::pbf_reader reader(data);
    while (reader.next()) read(reader);
  }

  void read(protozero::pbf_reader& reader) {
    switch (reader.tag()) {
      case 1: {
        auto type = reader.get_message();
        type.next(1);
        types.push_back(strings.at(type.get_int64()));
        type.next(2);
        types.back() += "/" + strings.at(type.get_int64());
        break;
      }
      case 2:
        read_sample(reader.get_message());
        break;
      case 3: {
        auto part = reader.get_message();
        Mapping mapping;
        while (part.next()) {
          if (part.tag() == 5) {
            mapping.file = strings.at(part.get_int64());
          } else if (part.tag() == 6) {
            mapping.build_id = strings.at(part.get_int64());
          } else if (part.tag() == 7) {
            mapping.has_functions = part.get_bool();
          } else if (part.tag() == 10) {
            mapping.has_inlines = part.get_bool();
          } else {
            part.skip();
          }
        }
        mappings.push_back(mapping);
        break;
      }
      case 4:
        read_location(reader.get_message());
        break;
      case 5: {
        auto part = reader.get_message();
        std::uint64_t id = 0;
        Function function;
        while (part.next()) {
          if (part.tag() == 1) {
            id = part.get_uint64();
          } else if (part.tag() == 2) {
            function.name = strings.at(part.get_int64());
          } else if (part.tag() == 3) {
            function.system_name = strings.at(part.get_int64());
          } else if (part.tag() == 4) {
            function.file = strings.at(part.get_int64());
          } else {
            part.skip();
          }
        }
        EXPECT_NE(id, 0u);
        EXPECT_TRUE(functions.emplace(id, function).second);
        break;
      }
      case 14:
        default_type = strings.at(reader.get_int64());
        break;
      default:
        reader.skip();
    }
  }

  void read_sample(protozero::pbf_reader part) {
    Sample sample;
    while (part.next()) {
      if (part.tag() == 1) {
        for (const auto id : part.get_packed_uint64()) sample.locations.push_back(id);
      } else if (part.tag() == 2) {
        for (const auto value : part.get_packed_int64()) sample.values.push_back(value);
      } else {
        auto label = part.get_message();
        label.next(1);
        const std::string key = strings.at(label.get_int64());
        label.next(2);
        sample.labels[key] = strings.at(label.get_int64());
      }
    }
    samples.push_back(sample);
  }

  void read_location(protozero::pbf_reader part) {
    Location location;
    std::uint64_t id = 0;
    while (part.next()) {
      if (part.tag() == 1) {
        id = part.get_uint64();
      } else if (part.tag() == 2) {
        location.mapping = part.get_uint64();
      } else if (part.tag() == 3) {
        location.address = part.get_uint64();
      } else {
        auto line = part.get_message();
        std::uint64_t function = 0;
        std::int64_t number = 0;
        while (line.next()) {
          if (line.tag() == 1) {
            function = line.get_uint64();
          } else {
            number = line.get_int64();
          }
        }
        location.lines.emplace_back(function, number);
      }
    }
    EXPECT_NE(id, 0u);
    EXPECT_TRUE(locations.emplace(id, location).second);
  }

  // "c b a": leaf first; the functions of one location are joined by '+'.
  std::string stack(const Sample& sample) const {
    std::string text;
    for (const std::uint64_t id : sample.locations) {
      if (!text.empty()) text += " ";
      std::string lines;
      for (const auto& [function, number] : locations.at(id).lines) {
        lines += (lines.empty() ? "" : "+") + functions.at(function).name;
      }
      text += lines;
    }
    return text;
  }

  std::string data;
  std::vector<std::string> strings, types;
  std::vector<Sample> samples;
  std::vector<Mapping> mappings;
  std::map<std::uint64_t, Location> locations;
  std::map<std::uint64_t, Function> functions;
  std::string default_type;
};

TEST(Pprof, StacksBeginAtTheLeafAndHaveAValueForEachType) {
  const Message message(export_of("pprof", "a = 1\na b = 2\na b -> 7\n"));
  EXPECT_EQ(message.strings[0], "");
  EXPECT_EQ(message.types, (std::vector<std::string>{"calls/count", "cpu/nanoseconds"}));
  EXPECT_EQ(message.default_type, "cpu");
  ASSERT_EQ(message.samples.size(), 2u);
  EXPECT_EQ(message.stack(message.samples[0]), "a");
  EXPECT_EQ(message.stack(message.samples[1]), "b a");
  EXPECT_EQ(message.samples[1].values, (std::vector<std::int64_t>{7, 2}));
}

TEST(Pprof, UncountedContextsAreMarked) {
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId counted = builder.child(root, builder.named_function("counted"));
  const NodeId sampled = builder.child(counted, builder.named_function("sampled"));
  builder.charge(counted, cpu, 1);
  builder.charge(sampled, cpu, 2);
  builder.add_edge(root, counted, EdgeKind::kTree, 5);
  builder.add_edge(counted, sampled, EdgeKind::kTree, 0, format::kEdgeSampled);
  const Message message(export_of("pprof", builder.build()));
  ASSERT_EQ(message.samples.size(), 2u);
  EXPECT_EQ(message.samples[0].labels.count("calls"), 0u);
  EXPECT_EQ(message.samples[1].labels.at("calls"), "not counted");
}

TEST(Pprof, ValueOfTheRootHasAStack) {
  const Message message(export_of("pprof", " = 3\n"));
  ASSERT_EQ(message.samples.size(), 1u);
  EXPECT_EQ(message.stack(message.samples[0]), "[root]");
}

TEST(Pprof, NamesThatLookLikeTagsHaveNoLinkageName) {
  const Message message(export_of("pprof", "vector<int> = 3\n"));
  for (const auto& [id, function] : message.functions) EXPECT_EQ(function.system_name, "");
}

TEST(Pprof, ThreadsAreLabels) {
  const Message message(export_of("pprof", test::profile_of("a = 1\nthread worker\na = 2\n = 4\n"),
                                  {{profile::Axis::kThread, {}}}));
  ASSERT_EQ(message.samples.size(), 3u);
  EXPECT_EQ(message.stack(message.samples[0]), "a");
  EXPECT_EQ(message.samples[0].labels.at("thread"), "thread \"main\" (1)");
  EXPECT_EQ(message.samples[1].labels.at("thread"), "thread \"worker\" (2)");
  EXPECT_EQ(message.stack(message.samples[1]), "[root]");  // the thread's own value
}

// A program of two modules, with an inlined function and sampled addresses.
Profile native_profile() {
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const ModuleId library = builder.add_module(
      {.path = builder.string("/lib/libx.so"), .build_id = builder.string("abcd")});
  const ModuleId program = builder.add_module({.path = builder.string("/bin/prog"),
                                               .build_id = builder.string("1234"),
                                               .flags = format::kModuleIsMain});
  const auto function = [&](const char* name, ModuleId module, std::uint64_t address,
                            std::uint16_t flags, FunctionKind kind, std::uint32_t line) {
    return builder.add_function({.kind = kind,
                                 .module = module,
                                 .address = address,
                                 .name = builder.string(name),
                                 .file = builder.string("x.cc"),
                                 .line = line,
                                 .flags = flags,
                                 .size = kind == FunctionKind::kNative ? 0x100u : 0u,
                                 .linkage_name = builder.string(std::string("_Z") + name)});
  };
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId main =
      builder.child(root, function("main", program, 0x1000, 0, FunctionKind::kNative, 10));
  const NodeId inlined =
      builder.child(main, function("inl", program, 0, kFunctionInlined, FunctionKind::kNative, 20));
  const NodeId leaf =
      builder.child(inlined, function("main", program, 0x1010, 0, FunctionKind::kInstruction, 21));
  const NodeId copy =
      builder.child(inlined, function("memcpy", library, 0x2010, 0, FunctionKind::kInstruction, 5));
  builder.charge(main, cpu, 1);
  builder.charge(leaf, cpu, 2);
  builder.charge(copy, cpu, 4);
  return builder.build();
}

TEST(Pprof, InlinedFunctionsAreLinesOfOneLocation) {
  const Message message(export_of("pprof", native_profile()));
  ASSERT_EQ(message.samples.size(), 3u);
  EXPECT_EQ(message.stack(message.samples[0]), "main");
  EXPECT_EQ(message.stack(message.samples[1]), "inl+main");
  EXPECT_EQ(message.stack(message.samples[2]), "memcpy inl+main");
  const Location& place = message.locations.at(message.samples[1].locations[0]);
  EXPECT_EQ(place.address, 0x1010u);
  EXPECT_EQ(place.lines[0].second, 21);
  EXPECT_EQ(place.lines[1].second, 10);
  // Beside a place, the function's own address would be one.
  EXPECT_EQ(message.locations.at(message.samples[0].locations[0]).address, 0u);
}

// Addresses of inlined code, whose functions are shown only on request.
TEST(Pprof, ALineOfAnotherFileIsNotTheFunctions) {
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const ModuleId program = builder.add_module({.path = builder.string("/bin/prog")});
  const auto add = [&](NodeId parent, std::uint64_t address, FunctionKind kind, const char* file,
                       std::uint32_t line) {
    const FunctionId f = builder.add_function({.kind = kind,
                                               .module = program,
                                               .address = address,
                                               .name = builder.string("f"),
                                               .file = builder.string(file),
                                               .line = line});
    return builder.child(parent, f);
  };
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId f = add(root, 0x1000, FunctionKind::kNative, "f.cc", 10);
  builder.charge(add(f, 0x1010, FunctionKind::kInstruction, "f.cc", 12), cpu, 1);
  builder.charge(add(f, 0x1020, FunctionKind::kInstruction, "vector.h", 700), cpu, 2);
  const Profile profile = builder.build();
  const Message message(export_of("pprof", profile));
  ASSERT_EQ(message.samples.size(), 2u);
  const auto line_of = [&](std::size_t sample) {
    return message.locations.at(message.samples[sample].locations[0]).lines[0].second;
  };
  EXPECT_EQ(line_of(0), 12);
  EXPECT_EQ(line_of(1), 10);
  const std::string callgrind = export_of("callgrind", profile);
  EXPECT_NE(callgrind.find("fi=(3) vector.h\n700 2\n"), std::string::npos) << callgrind;
  EXPECT_NE(callgrind.find("12 1\n"), std::string::npos) << callgrind;
}

TEST(Pprof, MainProgramIsTheFirstMapping) {
  const Message message(export_of("pprof", native_profile()));
  ASSERT_EQ(message.mappings.size(), 2u);
  EXPECT_EQ(message.mappings[0].file, "/bin/prog");
  EXPECT_EQ(message.mappings[0].build_id, "1234");
  EXPECT_TRUE(message.mappings[0].has_functions);
  EXPECT_TRUE(message.mappings[0].has_inlines);
  EXPECT_FALSE(message.mappings[1].has_inlines);
  EXPECT_EQ(message.locations.at(message.samples[0].locations[0]).mapping, 1u);
  EXPECT_EQ(message.locations.at(message.samples[2].locations[0]).mapping, 2u);
}

TEST(Pprof, GroupsOfEveryAxisAreLabels) {
  test::FileBuilder file;
  const auto module = file.module("/lib/libshop.so", 0x1000, 0x9000, 0, "\x01\xab");
  file.native("f", 0x1230, 64, module);
  file.charge("f", {.cpu_ns = 5});
  const auto set = file.label_set();
  file.label("request", "slow", set);
  file.tree(set);
  file.charge("g", {.cpu_ns = 6});
  const auto whole = read_bytes(file.bytes(), "shop.out");
  ASSERT_TRUE(whole.ok());
  const std::pair<Axis, std::string_view> axes[] = {{Axis::kProcess, "process"},
                                                    {Axis::kThread, "thread"},
                                                    {Axis::kHost, "host"},
                                                    {Axis::kFile, "profile"}};
  for (const auto& [axis, key] : axes) {
    const Message message(export_of("pprof", whole->profile, {{axis, {}}}));
    ASSERT_EQ(message.samples.size(), 2u) << key;
    EXPECT_EQ(message.samples[0].labels.count(std::string(key)), 1u) << key;
  }
  const Message message(export_of("pprof", whole->profile, {{Axis::kLabel, "request"}}));
  EXPECT_EQ(message.mappings.back().build_id, "01ab");
  std::string values;
  for (const Sample& sample : message.samples) values += sample.labels.at("request") + ";";
  EXPECT_NE(values.find("slow;"), std::string::npos) << values;
}

TEST(Pprof, MetricsOfMemoryHaveTheNamesThatViewersOfHeapsKnow) {
  test::FileBuilder file;
  file.header().row_bytes = 128;
  std::uint16_t word = test::kFirstFreeWord;
  for (const char* name : {"allocations", "allocated", "live-blocks", "live"}) {
    file.metric(name, "bytes", Role::kAmount, format::MetricPlace::kValues, word);
    file.value("f", word++) = 7;
  }
  auto bytes = file.bytes();
  const auto whole = read_bytes(bytes, "shop.out");
  ASSERT_TRUE(whole.ok());
  const Message message(export_of("pprof", whole->profile, {}, "live"));
  for (const char* type : {"alloc_objects/bytes", "alloc_space/bytes", "inuse_objects/bytes"}) {
    EXPECT_NE(std::find(message.types.begin(), message.types.end(), type), message.types.end())
        << type;
  }
  EXPECT_EQ(message.default_type, "inuse_space");
}

TEST(Callgrind, SampledAddressesAreLinesOfTheirFunction) {
  const std::string out = export_of("callgrind", native_profile());
  EXPECT_TRUE(test::holds(out, "fn=(3)\n21 2\n")) << out;
  EXPECT_TRUE(test::holds(out, "summary: 7\n")) << out;
}

}  // namespace
}  // namespace fbleprof::report
