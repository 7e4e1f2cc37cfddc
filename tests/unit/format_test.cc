// Holds the layout of mlmon.out still: a change of any struct or number in format.h is a change of
// kMinorVersion or kMajorVersion, and format_v<major>.txt has the layout written down.
#include "format/format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "format/references.h"
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
  NUMBER(kMajorVersion);
  NUMBER(kMinorVersion);
  NUMBER(kByteOrderMark);
  NUMBER(kUnitBytes);
  NUMBER(kHeaderBytes);
  NUMBER(kHeadMark);
  NUMBER(kItemsOffset);
  layout.record<format::Head>("Head");
  FIELD(Head, units);
  FIELD(Head, kind);
  FIELD(Head, mark);
  layout.record<format::String>("String");
  FIELD(String, head);
  FIELD(String, length);
  FIELD(String, bytes);
  layout.record<format::Module>("Module");
  FIELD(Module, head);
  FIELD(Module, path);
  FIELD(Module, build_id);
  FIELD(Module, load_bias);
  FIELD(Module, begin);
  FIELD(Module, end);
  FIELD(Module, loaded_ns);
  FIELD(Module, unloaded_ns);
  FIELD(Module, flags);
  FIELD(Module, older);
  layout.record<format::Function>("Function");
  FIELD(Function, head);
  FIELD(Function, address);
  FIELD(Function, size);
  FIELD(Function, module);
  FIELD(Function, name);
  FIELD(Function, linkage_name);
  FIELD(Function, file);
  FIELD(Function, line);
  FIELD(Function, column);
  FIELD(Function, language);
  FIELD(Function, kind);
  FIELD(Function, flags);
  FIELD(Function, code_hash);
  FIELD(Function, first_met_ns);
  FIELD(Function, map_bytes);
  FIELD(Function, unhooked_ns);
  FIELD(Function, recorder_key);
  layout.record<format::Nodes>("Nodes");
  FIELD(Nodes, head);
  FIELD(Nodes, tree);
  FIELD(Nodes, item_bytes);
  FIELD(Nodes, reserved);
  layout.record<format::Node>("Node");
  FIELD(Node, calls);
  FIELD(Node, parent);
  FIELD(Node, function);
  FIELD(Node, site);
  FIELD(Node, values);
  FIELD(Node, depth);
  FIELD(Node, flags);
  layout.record<format::Edges>("Edges");
  FIELD(Edges, head);
  FIELD(Edges, tree);
  FIELD(Edges, item_bytes);
  FIELD(Edges, reserved);
  layout.record<format::Edge>("Edge");
  FIELD(Edge, calls);
  FIELD(Edge, from);
  FIELD(Edge, to);
  FIELD(Edge, site);
  FIELD(Edge, kind);
  FIELD(Edge, flags);
  FIELD(Edge, reserved);
  FIELD(Edge, function);
  layout.record<format::Values>("Values");
  FIELD(Values, head);
  FIELD(Values, tree);
  FIELD(Values, item_bytes);
  FIELD(Values, reserved);
  layout.record<format::Thread>("Thread");
  FIELD(Thread, head);
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
  FIELD(Thread, wait_since_ns);
  FIELD(Thread, wait_context);
  FIELD(Thread, wait_kind);
  layout.record<format::Tree>("Tree");
  FIELD(Tree, head);
  FIELD(Tree, thread);
  FIELD(Tree, root);
  FIELD(Tree, labels);
  FIELD(Tree, reserved);
  layout.record<format::Metric>("Metric");
  FIELD(Metric, head);
  FIELD(Metric, name);
  FIELD(Metric, unit);
  FIELD(Metric, formula);
  FIELD(Metric, role);
  FIELD(Metric, aggregation);
  FIELD(Metric, place);
  FIELD(Metric, word);
  FIELD(Metric, flags);
  layout.record<format::Note>("Note");
  FIELD(Note, head);
  FIELD(Note, text);
  FIELD(Note, reserved);
  layout.record<format::LabelSet>("LabelSet");
  FIELD(LabelSet, head);
  FIELD(LabelSet, reserved);
  layout.record<format::Label>("Label");
  FIELD(Label, head);
  FIELD(Label, key);
  FIELD(Label, value);
  FIELD(Label, set);
  FIELD(Label, reserved);
  layout.record<format::Snapshot>("Snapshot");
  FIELD(Snapshot, head);
  FIELD(Snapshot, name);
  FIELD(Snapshot, generation);
  FIELD(Snapshot, time_ns);
  FIELD(Snapshot, reason);
  FIELD(Snapshot, is_complete);
  FIELD(Snapshot, reserved);
  layout.record<format::SnapshotItems>("SnapshotItems");
  FIELD(SnapshotItems, head);
  FIELD(SnapshotItems, snapshot);
  FIELD(SnapshotItems, item_bytes);
  FIELD(SnapshotItems, item_count);
  FIELD(SnapshotItems, reserved);
  layout.record<format::SnapshotItem>("SnapshotItem");
  FIELD(SnapshotItem, of);
  FIELD(SnapshotItem, reserved);
  FIELD(SnapshotItem, calls);
  layout.record<format::Header>("Header");
  FIELD(Header, magic);
  FIELD(Header, major_version);
  FIELD(Header, minor_version);
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
  FIELD(Header, row_bytes);
  FIELD(Header, generation);
  FIELD(Header, overflow_contexts);
  FIELD(Header, lost_threads);
  FIELD(Header, lost_children);
  FIELD(Header, foreign_signals);
  FIELD(Header, process_cpu_ns);
  FIELD(Header, node_count);
  FIELD(Header, edge_count);
  FIELD(Header, children);
  FIELD(Header, depth_limit);
  FIELD(Header, newest_module);
  FIELD(Header, request);
  FIELD(Header, is_recording);
  FIELD(Header, off_ns);
  FIELD(Header, off_since_ns);
  FIELD(Header, unrecorded_cpu_ns);
  NUMBER(kModuleIsMain);
  NUMBER(kModuleIsVdso);
  NUMBER(kModuleIsKnown);
  NUMBER(kModuleIsHooked);
  NUMBER(kModuleIsExact);
  NUMBER(kModuleIsSettled);
  NUMBER(kModuleIsListed);
  NUMBER(kFunctionHooked);
  NUMBER(kFunctionNotCounted);
  NUMBER(kFunctionHolder);
  NUMBER(kFunctionLeftOut);
  NUMBER(kFunctionWaker);
  NUMBER(kFunctionLeftByFramePointer);
  NUMBER(kFunctionMapBytes);
  NUMBER(kFunctionReasonShift);
  NUMBER(kEdgeSampled);
  NUMBER(kEdgeByTailCall);
  NUMBER(kThreadRunning);
  NUMBER(kThreadHooked);
  NUMBER(kMetricSigned);
  NUMBER(kMetricDefault);
  NUMBER(kMetricEstimated);
  NUMBER(kHeaderCallSites);
  NUMBER(kHeaderLeaves);
  NUMBER(kHeaderAnonymous);
  NUMBER(kHeaderTrivial);
  NUMBER(Kind::kUnfinished);
  NUMBER(Kind::kPrivate);
  NUMBER(Kind::kString);
  NUMBER(Kind::kModule);
  NUMBER(Kind::kFunction);
  NUMBER(Kind::kMetric);
  NUMBER(Kind::kNote);
  NUMBER(Kind::kLabelSet);
  NUMBER(Kind::kLabel);
  NUMBER(Kind::kThread);
  NUMBER(Kind::kTree);
  NUMBER(Kind::kNodes);
  NUMBER(Kind::kEdges);
  NUMBER(Kind::kValues);
  NUMBER(Kind::kSnapshot);
  NUMBER(Kind::kSnapshotNodes);
  NUMBER(Kind::kSnapshotEdges);
  NUMBER(Request::kNone);
  NUMBER(Request::kStart);
  NUMBER(Request::kStop);
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
  NUMBER(FunctionKind::kScript);
  NUMBER(FunctionKind::kJit);
  NUMBER(FunctionKind::kImported);
  NUMBER(FunctionKind::kDeeper);
  NUMBER(EdgeKind::kTree);
  NUMBER(EdgeKind::kBack);
  NUMBER(EdgeKind::kTail);
  NUMBER(Aggregation::kSum);
  NUMBER(Aggregation::kMax);
  NUMBER(Aggregation::kLast);
  NUMBER(MetricPlace::kValues);
  NUMBER(MetricPlace::kCalls);
  NUMBER(MetricPlace::kDerived);
  NUMBER(SnapshotReason::kAsked);
  NUMBER(SnapshotReason::kPeriod);
  NUMBER(SnapshotReason::kPeak);
  NUMBER(SnapshotReason::kReset);
  NUMBER(Role::kAmount);
  NUMBER(Role::kCpuTime);
  NUMBER(Role::kWallTime);
  NUMBER(Role::kWaitTime);
  NUMBER(Role::kUnseenTime);
  NUMBER(Role::kCalls);
  NUMBER(Role::kSamples);
  NUMBER(Role::kOwnCost);
  NUMBER(Role::kVirtualTime);
  NUMBER(Role::kEvent);
  NUMBER(Role::kLevel);
  NUMBER(Role::kWaits);
  NUMBER(Role::kLongestWait);
  NUMBER(Role::kWaitClass);
  NUMBER(Role::kEventWait);
  NUMBER(Role::kPeerWait);
  NUMBER(Role::kCausedWait);
  NUMBER(Role::kReadyTime);
  return layout.text();
}

std::string golden_path() {
  return std::string(FBLEPROF_TEST_DATA) + "/format_v" + std::to_string(format::kMajorVersion) +
         ".txt";
}

TEST(Format, LayoutOfThisVersionIsTheOneWrittenDown) {
  std::ifstream file(golden_path());
  ASSERT_TRUE(file) << golden_path() << " is missing: a new version needs its layout written down";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(golden.str(), describe_layout())
      << "The layout changed. Raise kMinorVersion (an older reader can skip what is new) or "
         "kMajorVersion, bring docs/FILE_FORMAT.md up to date, and write the new layout to "
      << golden_path() << " (format_test --print-layout)";
}

// The fields of format.h that are a Ref, as STRUCT::FIELD.
std::set<std::string> references_of_the_format() {
  std::ifstream file(std::string(FBLEPROF_TEST_DATA) + "/../../libprof/format/format.h");
  EXPECT_TRUE(file) << "no format.h";
  static const std::regex kStruct(R"(^struct (\w+) \{.*)"), kRef(R"(^  Ref ([\w, ]+);.*)"),
      kName(R"(\w+)");
  std::set<std::string> found;
  std::string line, record;
  for (std::smatch match; std::getline(file, line);) {
    if (std::regex_match(line, match, kStruct)) record = match[1];
    if (!std::regex_match(line, match, kRef)) continue;
    const std::string fields = match[1];
    for (std::sregex_iterator field(fields.begin(), fields.end(), kName), end; field != end;
         ++field) {
      found.insert(record + "::" + field->str());
    }
  }
  return found;
}

TEST(Format, EveryReferenceHasARuleForCopies) {
  std::set<std::string> listed;
#define RECORD(record, field, to, lacking) listed.insert(#record "::" #field);
#define HEADER(field, to) listed.insert("Header::" #field);
#define ITEM(item, field) listed.insert(#item "::" #field);
  FBLEPROF_RECORD_REFERENCES(RECORD)
  FBLEPROF_HEADER_REFERENCES(HEADER)
  FBLEPROF_ITEM_REFERENCES(ITEM)
#undef RECORD
#undef HEADER
#undef ITEM
  EXPECT_EQ(references_of_the_format(), listed) << "see libprof/format/references.h";
}

TEST(Format, MagicIsEightLetters) { EXPECT_EQ(std::memcmp(format::kMagic, "FBLEPROF", 8), 0); }

TEST(Format, EveryFieldOfAWrittenFileStandsAtItsPlace) {
  test::FileBuilder file;
  file.calls("a b", 0x0102030405060708);
  const format::Ref node = file.node("a b");
  const auto bytes = file.bytes();
  EXPECT_EQ(
      std::memcmp(bytes.data(), "FBLEPROF\x02\x00\x04\x00\x00\x10\x00\x00\x04\x03\x02\x01", 20), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 4096 + 4, "\x02\x00\x1e\xfb", 4), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + node * 32, "\x08\x07\x06\x05\x04\x03\x02\x01", 8), 0);
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
