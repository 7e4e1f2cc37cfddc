// Holds the layout of mlmon.out still: a change of any struct or number in format.h is a change of
// kVersion, and every version has its layout written down in format_v<version>.txt.
#include "format/format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/support/file_builder.h"

namespace fbleprof {
namespace {

class Layout {
 public:
  template <class Record>
  void record(const char* name) {
    text_ << name << ' ' << sizeof(Record) << '\n';
  }
  void field(const char* name, std::size_t offset, std::size_t size) {
    text_ << "  " << offset << ' ' << size << ' ' << name << '\n';
  }
  template <class Value>
  void number(const char* name, Value value) {
    text_ << name << " = " << static_cast<std::uint64_t>(value) << '\n';
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

// NOLINTBEGIN(cppcoreguidelines-macro-usage): offsetof needs the names.
#define FIELD(record, member) \
  layout.field(#member, offsetof(format::record, member), sizeof(format::record::member))
#define NUMBER(name) layout.number(#name, format::name)
// NOLINTEND(cppcoreguidelines-macro-usage)

std::string describe_layout() {
  Layout layout;
  NUMBER(kVersion);
  NUMBER(kByteOrderMark);
  NUMBER(kUnitBytes);
  NUMBER(kHeaderBytes);
  layout.record<format::String>("String");
  FIELD(String, length);
  FIELD(String, bytes);
  layout.record<format::Module>("Module");
  FIELD(Module, next);
  FIELD(Module, path);
  FIELD(Module, load_bias);
  FIELD(Module, begin);
  FIELD(Module, end);
  FIELD(Module, loaded_ns);
  FIELD(Module, unloaded_ns);
  FIELD(Module, build_id);
  FIELD(Module, flags);
  FIELD(Module, reserved);
  layout.record<format::Function>("Function");
  FIELD(Function, address);
  FIELD(Function, size);
  FIELD(Function, module);
  FIELD(Function, next);
  FIELD(Function, name);
  FIELD(Function, file);
  FIELD(Function, kind);
  FIELD(Function, flags);
  layout.record<format::Node>("Node");
  FIELD(Node, parent);
  FIELD(Node, first_edge);
  FIELD(Node, function);
  FIELD(Node, depth);
  FIELD(Node, extra);
  FIELD(Node, number);
  FIELD(Node, samples);
  FIELD(Node, cpu_ns);
  FIELD(Node, wall_ns);
  FIELD(Node, overhead_ns);
  FIELD(Node, ticks);
  layout.record<format::Edge>("Edge");
  FIELD(Edge, calls);
  FIELD(Edge, site);
  FIELD(Edge, from);
  FIELD(Edge, to);
  FIELD(Edge, next);
  FIELD(Edge, kind);
  FIELD(Edge, flags);
  FIELD(Edge, reserved);
  layout.record<format::Counters>("Counters");
  FIELD(Counters, value);
  layout.record<format::Thread>("Thread");
  FIELD(Thread, next);
  FIELD(Thread, root);
  FIELD(Thread, tid);
  FIELD(Thread, flags);
  FIELD(Thread, name);
  FIELD(Thread, threads_served);
  FIELD(Thread, start_ns);
  FIELD(Thread, end_ns);
  FIELD(Thread, cpu_ns);
  FIELD(Thread, wall_ns);
  FIELD(Thread, samples);
  FIELD(Thread, dropped);
  FIELD(Thread, lost_calls);
  FIELD(Thread, deep_calls);
  FIELD(Thread, unmatched);
  FIELD(Thread, reserved);
  layout.record<format::Metric>("Metric");
  FIELD(Metric, next);
  FIELD(Metric, name);
  FIELD(Metric, unit);
  FIELD(Metric, place);
  FIELD(Metric, offset);
  FIELD(Metric, aggregation);
  FIELD(Metric, reserved);
  layout.record<format::Note>("Note");
  FIELD(Note, next);
  FIELD(Note, text);
  FIELD(Note, reserved);
  layout.record<format::Label>("Label");
  FIELD(Label, next);
  FIELD(Label, key);
  FIELD(Label, value);
  FIELD(Label, reserved);
  layout.record<format::Header>("Header");
  FIELD(Header, magic);
  FIELD(Header, version);
  FIELD(Header, header_bytes);
  FIELD(Header, byte_order);
  FIELD(Header, unit_bytes);
  FIELD(Header, used_bytes);
  FIELD(Header, cap_bytes);
  FIELD(Header, state);
  FIELD(Header, end_code);
  FIELD(Header, pid);
  FIELD(Header, parent_pid);
  FIELD(Header, process_start_ticks);
  FIELD(Header, pid_namespace);
  FIELD(Header, executable);
  FIELD(Header, command_line);
  FIELD(Header, working_directory);
  FIELD(Header, host);
  FIELD(Header, start_realtime_ns);
  FIELD(Header, start_monotonic_ns);
  FIELD(Header, end_monotonic_ns);
  FIELD(Header, clock);
  FIELD(Header, compaction);
  FIELD(Header, source);
  FIELD(Header, flags);
  FIELD(Header, rate_hz);
  FIELD(Header, machine);
  FIELD(Header, first_thread);
  FIELD(Header, first_module);
  FIELD(Header, first_function);
  FIELD(Header, first_metric);
  FIELD(Header, first_note);
  FIELD(Header, first_label);
  FIELD(Header, overflow_contexts);
  FIELD(Header, lost_threads);
  FIELD(Header, lost_children);
  FIELD(Header, foreign_signals);
  FIELD(Header, process_cpu_ns);
  FIELD(Header, node_count);
  FIELD(Header, edge_count);
  FIELD(Header, children);
  NUMBER(kModuleIsMain);
  NUMBER(kModuleIsVdso);
  NUMBER(kFunctionHooked);
  NUMBER(kEdgeSampled);
  NUMBER(kEdgeByTailCall);
  NUMBER(kThreadRunning);
  NUMBER(kThreadHooked);
  NUMBER(kHeaderCallSites);
  NUMBER(kHeaderLeaves);
  NUMBER(kHeaderAnonymous);
  NUMBER(kHeaderTrivial);
  NUMBER(State::kStarting);
  NUMBER(State::kLive);
  NUMBER(State::kEnded);
  NUMBER(State::kExeced);
  NUMBER(State::kFatal);
  NUMBER(Clock::kCpu);
  NUMBER(Clock::kWall);
  NUMBER(Clock::kTicks);
  NUMBER(Compaction::kPair);
  NUMBER(Compaction::kSuffix);
  NUMBER(Compaction::kNone);
  NUMBER(SampleSource::kNone);
  NUMBER(SampleSource::kTaskClock);
  NUMBER(SampleSource::kCpuTimer);
  NUMBER(FunctionKind::kNative);
  NUMBER(FunctionKind::kBlock);
  NUMBER(FunctionKind::kRoot);
  NUMBER(FunctionKind::kOverflow);
  NUMBER(FunctionKind::kUnwound);
  NUMBER(FunctionKind::kTruncated);
  NUMBER(FunctionKind::kInstruction);
  NUMBER(EdgeKind::kTree);
  NUMBER(EdgeKind::kBack);
  NUMBER(EdgeKind::kTail);
  NUMBER(Aggregation::kSum);
  NUMBER(Aggregation::kMax);
  NUMBER(Aggregation::kLast);
  NUMBER(MetricPlace::kNodeField);
  NUMBER(MetricPlace::kExtra);
  NUMBER(MetricPlace::kEdgeCalls);
  return layout.text();
}

std::string golden_path() {
  return std::string(FBLEPROF_TEST_DATA) + "/format_v" + std::to_string(format::kVersion) + ".txt";
}

TEST(Format, LayoutOfThisVersionIsTheOneWrittenDown) {
  std::ifstream file(golden_path());
  ASSERT_TRUE(file) << golden_path() << " is missing: a new version needs its layout written down";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(golden.str(), describe_layout())
      << "The layout changed. Raise format::kVersion, bring docs/FILE_FORMAT.md up to date, and "
         "write the new layout to a new "
      << golden_path();
}

TEST(Format, MagicIsEightLetters) { EXPECT_EQ(std::memcmp(format::kMagic, "FBLEPROF", 8), 0); }

TEST(Format, EveryFieldOfAWrittenFileStandsAtItsPlace) {
  test::FileBuilder file;
  file.charge("a b", {.cpu_ns = 0x0102030405060708});
  const format::Ref node = file.node("a b");
  const auto bytes = file.bytes();
  EXPECT_EQ(
      std::memcmp(bytes.data(), "FBLEPROF\x01\x00\x00\x00\x00\x10\x00\x00\x04\x03\x02\x01", 20), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + node * 32 + 32, "\x08\x07\x06\x05\x04\x03\x02\x01", 8), 0);
}

}  // namespace
}  // namespace fbleprof

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--print-layout") == 0) {
    std::fputs(fbleprof::describe_layout().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
