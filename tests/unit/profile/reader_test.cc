#include "profile/reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::profile {
namespace {

using test::FileBuilder;

ReadResult read(const FileBuilder& file, const ReadOptions& options = {}) {
  auto result = read_bytes(file.bytes(), "mlmon.out", options);
  EXPECT_TRUE(result.ok());
  return std::move(result).value();
}

// "a 1 b 2" in preorder: names and values.
std::string tree_text(const Profile& profile, std::string_view metric) {
  std::string text;
  const Metric* m = profile.find_metric(metric);
  for (std::size_t n = 0; n < profile.nodes().count(); ++n) {
    if (!text.empty()) text += ' ';
    text += std::string(profile.nodes().depth[n], '.') +
            display_name(profile, profile.nodes().function[n]) + ' ' +
            std::to_string(m->value(NodeId(n)));
  }
  return text;
}

TEST(Reader, TreeWithBackEdgeIsReadAsExpected) {
  FileBuilder file;  // a b b b c
  file.calls("a", 1);
  file.calls("a b", 1);
  file.calls("a b b", 1);
  file.back("a b b", "a b b", 1);
  file.calls("a b b c", 1);
  const ReadResult result = read(file);
  EXPECT_FALSE(result.damage.any());
  EXPECT_TRUE(result.profile.warnings().empty());
  EXPECT_EQ(tree_text(result.profile, "calls"), "[root] 0 .a 1 ..b 1 ...b 2 ....c 1");
}

TEST(Reader, AddressesBecomeRelativeToTheirModule) {
  FileBuilder file;
  const auto module =
      file.module("/lib/libx.so", 0x7f0000001000, 0x7f0000009000, 0x7f0000000000, "\x01\xab");
  file.native("f", 0x7f0000001230, 64, module);
  file.native("jit", 0x5000, 16, 0);
  file.calls("f jit", 3, 0x7f0000001240);
  const Profile profile = read(file).profile;
  ASSERT_EQ(profile.modules().size(), 1u);
  EXPECT_EQ(profile.text(profile.modules()[0].path), "/lib/libx.so");
  EXPECT_EQ(profile.text(profile.modules()[0].build_id), "01ab");
  const FunctionId f = profile.nodes().function[1], jit = profile.nodes().function[2];
  EXPECT_EQ(profile.functions().address[f.index()], 0x1230u);
  EXPECT_EQ(display_name(profile, f), "libx.so+0x1230");
  EXPECT_EQ(display_name(profile, jit), "0x5000");
  ASSERT_EQ(profile.sites().count(), 1u);
  EXPECT_EQ(profile.sites().address[0], 0x1240u);
  EXPECT_EQ(profile.sites().module[0], ModuleId(0));
}

TEST(Reader, AModuleLoadedTwiceIsMerged) {
  FileBuilder file;
  const auto first = file.module("/lib/p.so", 0x1000, 0x2000, 0x1000, "x");
  const auto second = file.module("/lib/p.so", 0x8000, 0x9000, 0x8000, "x");
  file.native("f", 0x1100, 4, first);
  file.native("g", 0x8100, 4, second);
  file.node("f g");
  const Profile profile = read(file).profile;
  EXPECT_EQ(profile.modules().size(), 1u);
  for (const std::uint64_t address : profile.functions().address) {
    EXPECT_TRUE(address == 0 || address == 0x100);
  }
}

TEST(Reader, EachThreadHasItsTree) {
  FileBuilder file;
  file.thread("one", 11);
  file.charge("a", {.cpu_ns = 5});
  file.thread("two", 12);
  file.charge("b", {.cpu_ns = 7, .overhead_ns = 1});
  const Profile profile = read(file).profile;
  ASSERT_EQ(profile.threads().size(), 2u);
  EXPECT_EQ(profile.text(profile.threads()[0].name), "one");
  EXPECT_EQ(profile.threads()[1].cpu_ns, 8u);
  ASSERT_EQ(profile.trees().size(), 2u);
  EXPECT_EQ(profile.trees()[1].thread, ThreadId(1));
  EXPECT_EQ(tree_text(profile, "cpu"), "[root] 0 .a 5 [root] 0 .b 7");
}

TEST(Reader, UnknownMetricsAreRead) {
  FileBuilder file;
  file.metric("allocated", "bytes", format::Role::kAmount, format::MetricPlace::kValues,
              test::kFirstFreeWord);
  file.charge("a", {.cpu_ns = 2});
  file.value("a", test::kFirstFreeWord) = 4096;
  const Profile profile = read(file).profile;
  const Metric* allocated = profile.find_metric("allocated");
  ASSERT_NE(allocated, nullptr);
  EXPECT_EQ(allocated->unit, "bytes");
  EXPECT_EQ(allocated->value(NodeId(1)), 4096u);
  EXPECT_EQ(profile.find_metric("cpu")->value(NodeId(1)), 2u);
  EXPECT_EQ(profile.find_metric("ticks")->values, nullptr);
}

TEST(Reader, ValuesBeyondTheRowAreZero) {
  FileBuilder file;
  file.metric("newer", "ns", format::Role::kAmount, format::MetricPlace::kValues, 8);
  file.charge("a", {.cpu_ns = 2});
  const ReadResult result = read(file);
  EXPECT_FALSE(result.damage.any());
  EXPECT_EQ(result.profile.find_metric("newer")->value(NodeId(1)), 0u);
}

TEST(Reader, MetricsWithoutUniquePlaceAndNameAreDamage) {
  FileBuilder file;
  file.metric("evil", "ns", format::Role::kAmount, format::MetricPlace::kValues, test::kCpu);
  file.metric("cpu", "ns", format::Role::kAmount, format::MetricPlace::kValues, 7);
  file.metric("evil", "ns", format::Role::kAmount, static_cast<format::MetricPlace>(9), 0);
  file.derived("evil", "ns", format::Role::kAmount, "cpu - nothing");
  const ReadResult result = read(file);
  EXPECT_EQ(result.damage.other, 4u);
  EXPECT_EQ(result.profile.find_metric("evil"), nullptr);
}

TEST(Reader, NodesWithoutAParentAreKeptAsUnreadable) {
  FileBuilder file;
  const auto a = file.node("a");
  file.charge("a b", {.cpu_ns = 1});
  file.charge("a b c", {.cpu_ns = 2});
  file.record<format::Node>(a)->function = 0;  // as if it were not there
  const ReadResult result = read(file);
  EXPECT_TRUE(result.damage.any());
  EXPECT_EQ(tree_text(result.profile, "cpu"), "[root] 0 .[unreadable] 0 ..b 1 ...c 2");
  ASSERT_EQ(result.profile.warnings().size(), 1u);
  EXPECT_TRUE(test::holds(result.profile.warnings()[0], "damaged: there is no parent node"));
}

TEST(Reader, AThreadThatIsStartingIsIgnored) {
  for (const bool is_tree_made : {true, false}) {
    FileBuilder file;
    file.charge("a", {.cpu_ns = 1});
    const auto thread = file.thread("starting", 2);
    file.charge("b", {.cpu_ns = 2});
    file.record<format::Thread>(thread)->head.kind = format::Kind::kUnfinished;
    if (!is_tree_made) {
      file.record<format::Tree>(file.current_tree())->head.kind = format::Kind::kUnfinished;
    }
    const ReadResult result = read(file);
    EXPECT_FALSE(result.damage.any()) << result.damage.first_what;
    EXPECT_EQ(result.profile.threads().size(), 1u);
    EXPECT_EQ(tree_text(result.profile, "cpu"), "[root] 0 .a 1");
  }
}

TEST(Reader, ANodeThatIsItsOwnParentIsReadOnce) {
  FileBuilder file;
  const auto a = file.node("a");
  file.record<format::Node>(a)->parent = a;
  const ReadResult result = read(file);
  EXPECT_TRUE(result.damage.any());
  EXPECT_EQ(tree_text(result.profile, "samples"), "[root] 0 .[unreadable] 0 ..a 0");
}

TEST(Reader, ReferencesOfTheWrongKindAreRefused) {
  FileBuilder file;
  const auto node = file.node("a");
  file.record<format::Node>(node)->function = file.current_thread();
  const ReadResult result = read(file);
  EXPECT_TRUE(result.damage.any());
  EXPECT_EQ(tree_text(result.profile, "samples"), "[root] 0 .[unreadable] 0");
}

TEST(Reader, ARowOfValuesBelongsToOneNode) {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 5});
  const auto a = file.node("a"), b = file.node("b");
  file.record<format::Node>(b)->values = file.record<format::Node>(a)->values;
  const ReadResult result = read(file);
  EXPECT_TRUE(result.damage.any());
  EXPECT_EQ(tree_text(result.profile, "cpu"), "[root] 0 .b 5 .a 0");
}

// A file with every kind of record.
FileBuilder full_file() {
  FileBuilder file;
  const auto module = file.module("/lib/libx.so", 0x1000, 0x9000, 0, "id");
  file.native("f", 0x1230, 64, module);
  file.note("a note");
  file.label("k", "v");
  const auto set = file.label_set();
  file.label("request", "7", set);
  file.derived("cost", "ns", format::Role::kAmount, "cpu + overhead");
  file.charge("f g h", {.cpu_ns = 3});
  file.charge("f g", {.cpu_ns = 1});
  file.calls("f g", 4, 0x1240);
  file.back("f g h", "f", 2);
  file.zeros(2);
  file.snapshot("phase", 5);
  file.tail("f g h", "f g", 2);
  file.tree(set);
  file.charge("f", {.cpu_ns = 3});
  return file;
}

TEST(Reader, AnyFlippedByteIsTolerated) {
  const auto bytes = full_file().bytes();
  ASSERT_FALSE(read_bytes(bytes, "f")->damage.any());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at == sizeof(format::Header)) at = format::kHeaderBytes;
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      auto copy = bytes;
      copy[at] ^= static_cast<std::byte>(flip);
      auto result = read_bytes(copy, "f");
      if (!result) continue;
      EXPECT_LE(result->profile.nodes().count(), bytes.size() / 64) << at;
      // One for the damage, one for records that a newer version might have written.
      EXPECT_LE(result->profile.warnings().size(), 2u) << at;
    }
  }
}

// The nodes of a file, each with its value, whatever their order.
std::size_t readable_nodes(const std::vector<std::byte>& bytes) {
  const auto result = read_bytes(bytes, "f");
  const Profile& profile = result->profile;
  std::size_t count = 0;
  for (const FunctionId function : profile.nodes().function) {
    count += display_name(profile, function) != "[unreadable]";
  }
  return count;
}

TEST(Reader, ADamagedHeadLosesOnlyItsRecord) {
  FileBuilder file;
  for (int i = 0; i < 40; ++i) file.node("f" + std::to_string(i));
  const auto bytes = file.bytes();
  ASSERT_EQ(readable_nodes(bytes), 41u);
  auto image = FileImage::from_bytes(bytes, "f");
  Damage damage;
  RecordWalk walk(*image, damage);
  while (const auto record = walk.next()) {
    for (const std::size_t field : {0, 4, 6}) {  // units, kind, mark
      auto copy = bytes;
      copy[record->offset() + field] ^= std::byte{0xff};
      if (record->kind == format::Kind::kTree) continue;
      EXPECT_GE(readable_nodes(copy), 38u)
          << record->offset() << int(record->kind) << " " << ' ' << field;
    }
  }
  EXPECT_FALSE(damage.any());
}

TEST(Reader, EndedLiveAndKilledProcessesAreDistinguished) {
  FileBuilder file;
  EXPECT_EQ(read(file).profile.processes()[0].state, ProcessState::kEnded);
  file.header().state = format::State::kFatal;
  file.header().end_code = 11;
  EXPECT_EQ(read(file).profile.processes()[0].state, ProcessState::kFatal);

  // This very process, by its pid and start time.
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  file.header().host = file.string(host);
  std::ifstream stat("/proc/self/stat");
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  file.header().state = format::State::kLive;
  file.header().pid = static_cast<std::uint32_t>(getpid());
  file.header().process_start_ticks = std::stoull(field);
  EXPECT_EQ(read(file).profile.processes()[0].state, ProcessState::kLive);
  file.header().process_start_ticks += 1;  // the pid was used again by another process
  EXPECT_EQ(read(file).profile.processes()[0].state, ProcessState::kKilled);
  file.header().pid_namespace = 1;
  EXPECT_EQ(read(file).profile.processes()[0].state, ProcessState::kUnknown);
}

TEST(Reader, ArgumentsNotesAndLabelsAreKeptInOrder) {
  FileBuilder file;
  file.note("first");
  file.note("second");
  file.label("version", "1.2");
  const Profile profile = read(file).profile;
  const Process& process = profile.processes()[0];
  EXPECT_EQ(profile.text(process.command_line), std::string_view("./prog\0--fast", 13));
  ASSERT_EQ(process.notes.size(), 2u);
  EXPECT_EQ(profile.text(process.notes[0]), "first");
  EXPECT_EQ(profile.text(process.labels[0].value), "1.2");
  EXPECT_EQ(process.duration_ns, 2'500'000'000u);
}

}  // namespace
}  // namespace fbleprof::profile
