// The immutable profile that every view, export and analysis works on.
//
// A profile is a forest of calling contexts in flat arrays. Nodes are in preorder: a parent comes
// before its children, and a node's subtree is the index range [node, subtree_end[node]). One
// backward pass over the array sums all subtrees, and traversals need no stack and no child lists:
//
//     for (c = node + 1; c < subtree_end[node]; c = subtree_end[c]) ...  // the children of node
//
// A tree is a range of nodes with one root: a profile has one tree per thread when read, one in all
// when merged. Each table is held by a shared pointer to const, so that a step that changes some
// tables (symbolizing replaces functions, sites and strings) shares the others with the original
// profile.
//
// Functions without an address (imported profiles, blocks of the C API) have module "none" and a
// name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "format/format.h"
#include "format/role.h"
#include "profile/counts.h"
#include "profile/ids.h"
#include "profile/namesakes.h"
#include "profile/snapshots.h"
#include "profile/strings.h"

namespace fbleprof::profile {

using Clock = format::Clock;
using Compaction = format::Compaction;
using SampleSource = format::SampleSource;
using FunctionKind = format::FunctionKind;
using EdgeKind = format::EdgeKind;
using Aggregation = format::Aggregation;
using Role = format::Role;

// The state of the process when its profile was read.
enum class ProcessState : std::uint8_t {
  kUnknown,  // imported, or recorded on another machine
  kLive,     // still running
  kEnded,
  kExeced,
  kFatal,   // by the signal in end_code
  kKilled,  // ended without notice: SIGKILL, the OOM killer, power loss
};

struct Label {
  StringId key, value;
};

// Labels that were set together.
using LabelSet = std::vector<Label>;

struct MetricTotal {
  std::string metric;
  std::uint64_t value = 0;
};

// One recorded program run (or one imported profile).
struct Process {
  StringId file;  // its profile's file, as the user named it
  std::uint32_t pid = 0, parent_pid = 0;
  // Equal in the files of one process, before and after an exec; none = not known. Containers and
  // hosts use the same process ids again.
  StringId identity;
  StringId executable, command_line, working_directory, host;  // arguments joined by NUL
  std::uint64_t start_realtime_ns = 0;                         // since 1970; 0 = unknown
  std::uint64_t duration_ns = 0;  // from the start to the latest charge
  ProcessState state = ProcessState::kUnknown;
  std::uint32_t end_code = 0;  // the signal of kFatal
  StringId goes_on_in;         // of kExeced: the profile of the next program, if it was found
  Clock clock = Clock::kCpu;
  Compaction compaction = Compaction::kPair;
  SampleSource source = SampleSource::kNone;
  std::uint16_t flags = 0;    // format::kHeader...
  std::uint32_t rate_hz = 0;  // as requested
  std::uint32_t machine = 0;  // ELF e_machine: the architecture of its addresses
  std::uint64_t used_bytes = 0, cap_bytes = 0;
  std::uint32_t depth_limit = 0;        // deeper contexts were folded into [deeper]; 0 = no limit
  std::uint64_t process_cpu_ns = 0;     // 0 = unknown
  std::uint64_t unrecorded_cpu_ns = 0;  // that no sample has charged
  std::uint64_t off_ns = 0;             // of duration_ns: recording was off
  std::uint64_t off_at_end_ns = 0;      // of off_ns: since recording last ended
  // Calls that found no space, not even as a pair of caller and callee: they are calls of
  // [overflow], and the counts of what they called are too low.
  std::uint64_t calls_without_callee = 0;
  bool lost_many_calls = false;  // more than one in a thousand
  // Counts of what was lost or folded away.
  std::uint64_t overflow_contexts = 0, lost_threads = 0, lost_children = 0, foreign_signals = 0;
  // Contexts also go to [overflow] where the disk is full or the file has ended. The recorder
  // refuses none for the limit before most of it is used.
  bool reached_memory_limit() const { return used_bytes > cap_bytes / 2; }
  std::vector<StringId> notes;  // remarks of the recorder
  std::vector<Label> labels;
  // Recorded by another profiler: the profile's first metric is its main one.
  bool is_imported = false;
  // Its file also holds a sampled run of the program (--runs 2), which is not in these figures.
  bool has_sampled_run = false;
  // What its trees held before they were merged with those of other processes.
  std::vector<MetricTotal> totals;
};

// A thread, or a chain of threads that took over the trees of one (see format::Thread).
struct Thread {
  ProcessId process;
  std::uint32_t tid = 0;
  StringId name;
  std::uint32_t flags = 0;  // format::kThread...
  std::uint64_t threads_served = 0;
  std::uint64_t start_ns = 0, end_ns = 0;  // since the process's start; end 0 = running
  std::uint64_t cpu_ns = 0, wall_ns = 0;
  std::uint64_t samples = 0, dropped = 0, lost_calls = 0, deep_calls = 0, unmatched = 0;
  std::vector<Label> labels;  // imported: what its samples were labelled with
};

// The values of a tree before its nodes were dropped (see transform/outline.h).
struct TreeFigures {
  std::uint64_t node_count = 0, edge_count = 0;
  std::uint32_t deepest = 0;
  std::vector<MetricTotal> totals;
};

// Nodes [begin, end); `begin` is the root. A merged tree names its process or thread if it has only
// one.
struct Tree {
  NodeId begin, end;
  ProcessId process;
  ThreadId thread;
  std::shared_ptr<const TreeFigures> figures = nullptr;  // if its nodes were dropped
  LabelSetId labels = {};  // labels of the thread's work; none: only the process's
};

// Another module of the same name was loaded as well (see transform/same_module.h).
inline constexpr std::uint32_t kModuleHasTwin = 0x8000'0000;  // in no file

// An object file. Two processes with the same path and build-id share one; addresses are relative
// to the file, so only the reader deals with load biases.
struct Module {
  StringId path;
  StringId build_id;        // lower-case hexadecimal; none or empty = it has none
  std::uint32_t flags = 0;  // format::kModule..., kModuleHasTwin
};

// What the trees of a group have in common.
enum class Axis : std::uint8_t { kProcess, kThread, kHost, kFile, kLabel };

// A node between the root and a part of the profile: a process, a thread, a host. It is in the tree
// like a function (Functions::group tells them apart). Code that needs to know what a group stands
// for asks here and never reads its name.
struct Group {
  Axis axis = Axis::kProcess;
  StringId key;   // of kLabel
  StringId name;  // of the program, thread, host, file; the label's value; none = unknown
  std::uint64_t number = 0;  // process or thread id; 0 = none
  StringId process;          // of a process or thread: the process's identity; none = not known
};

inline constexpr std::uint16_t kFunctionHooked = format::kFunctionHooked;
// Made by unfolding inlined frames: in no file, and beside the bits that files have.
inline constexpr std::uint16_t kFunctionInlined = 1 << (format::kFunctionReasonShift - 1);

// One row of Functions.
struct FunctionKey {
  FunctionKind kind = FunctionKind::kNative;
  ModuleId module = {};
  std::uint64_t address = 0;
  StringId name = {};
  StringId file = {};
  std::uint32_t line = 0;
  std::uint16_t flags = 0;
  std::uint32_t size = 0;
  StringId linkage_name = {};
  std::uint32_t column = 0;
  StringId language = {};
  GroupId group = {};
  std::uint64_t first_met_ns = 0;
  std::uint64_t map_bytes = 0;
  std::uint64_t unhooked_ns = 0;
  StringId unit = {};
  Namesakes namesakes = Namesakes::kNotKnown;
};

// What a path consists of. Columns of equal length, indexed by FunctionId.
struct Functions {
  std::vector<FunctionKind> kind;
  std::vector<std::uint16_t> flags;    // kFunction...
  std::vector<ModuleId> module;        // none: a block, a script, a special, generated code
  std::vector<std::uint64_t> address;  // with a module: the file's virtual address (run-time
                                       // address - load bias); else run time; kBlock, kScript: its
                                       // number
  std::vector<std::uint32_t> size;     // bytes of code; 0 = unknown
  std::vector<StringId> name;          // for people: demangled; none = not known (yet)
  std::vector<StringId> linkage_name;  // in the symbol table; none = same as name
  std::vector<StringId> file;          // source file
  std::vector<std::uint32_t> line;     // of the function (kInstruction: of the address); 0 = none
  std::vector<std::uint32_t> column;   // in the line, from 1; 0 = unknown
  std::vector<StringId> language;      // "Lua", "Python"; none = not told
  std::vector<GroupId> group;          // none: a function; else its group
  std::vector<StringId> unit;          // with its name tells it from others; see namesakes.h
  std::vector<Namesakes> namesakes;
  // As read from a file; see format::Function.
  std::vector<std::uint64_t> first_met_ns, map_bytes;  // of generated code
  std::vector<std::uint64_t> unhooked_ns;              // of a throttled function

  std::size_t count() const { return kind.size(); }
  // What tells it from others of its name in its module; none: there are none, or nothing does.
  StringId distinction(FunctionId function) const {
    const Namesakes others = namesakes[function.index()];
    const bool is_told = others == Namesakes::kByUnit || others == Namesakes::kByPlace;
    return is_told ? unit[function.index()] : StringId();
  }
  FunctionId add(const FunctionKey& row);
};

// Places of calls: return addresses. Indexed by SiteId.
struct Sites {
  std::vector<ModuleId> module;        // none: the address is run time
  std::vector<std::uint64_t> address;  // of the instruction after the call, relative to the module
  std::vector<StringId> file;          // none until symbolized
  std::vector<std::uint32_t> line;     // 0 = unknown

  std::size_t count() const { return address.size(); }
};

// Contexts, in preorder. Indexed by NodeId.
struct Nodes {
  std::vector<NodeId> parent;  // none: a tree's root
  std::vector<FunctionId> function;
  std::vector<std::uint32_t> depth;        // the root's is 0
  std::vector<std::uint32_t> subtree_end;  // index after the last node below
  // 1: the cost of the subtree is a lower bound, although no edge shows it, because a back edge led
  // to a function that was folded away. Empty: no node is.
  std::vector<std::uint8_t> is_bound;

  std::size_t count() const { return parent.size(); }
};

// Ways from node to node. A kTree edge leads from a node's parent to it; a node has at most one. A
// kBack edge leads to an ancestor (or to the node itself); a kTail edge leaves the function that
// was replaced and leads to a child of its parent.
struct Edges {
  std::vector<NodeId> from, to;
  std::vector<EdgeKind> kind;
  std::vector<std::uint8_t> flags;  // format::kEdge...
  Counts calls;                     // exact; 0 where only sampling saw the edge
  std::vector<SiteId> site;         // none = unknown

  std::size_t count() const { return from.size(); }
};

// One measured quantity, with one value per node: the node's own, not its subtree's. `calls` is the
// sum of the calls of all edges that lead to the node.
struct Metric {
  std::string name;  // cpu, wall, samples, overhead, ticks, calls, ...
  std::string unit;  // ns, count, bytes
  Aggregation aggregation = Aggregation::kSum;
  std::shared_ptr<const Counts> values = nullptr;  // one per node; null = all zero
  Role role = Role::kAmount;
  bool is_signed = false;     // values are two's complement
  bool is_default = false;    // shown by default
  bool is_estimated = false;  // scaled up from samples
  bool is_baseline = false;   // of the profile to compare with
  std::string formula = {};   // of a derived one: "allocated - freed"

  std::uint64_t value(NodeId node) const { return values ? (*values)[node.index()] : 0; }
  // Adds values of different nodes: of maxima the greatest is their sum.
  template <class Number>
  void add(Number& sum, std::type_identity_t<Number> value) const {
    sum = aggregation == Aggregation::kMax ? std::max(sum, value) : sum + value;
  }
};

// The parts of a Profile. To derive a profile: copy the parts (only pointers), replace some, and
// make a Profile of them.
struct Parts {
  std::shared_ptr<const Strings> strings;
  std::shared_ptr<const std::vector<Process>> processes;
  std::shared_ptr<const std::vector<Thread>> threads;
  std::shared_ptr<const std::vector<Module>> modules;
  std::shared_ptr<const Functions> functions;
  std::shared_ptr<const Sites> sites;
  std::shared_ptr<const std::vector<Tree>> trees;
  std::shared_ptr<const Nodes> nodes;
  std::shared_ptr<const Edges> edges;
  std::shared_ptr<const std::vector<Group>> groups;
  std::vector<Metric> metrics;
  std::shared_ptr<const std::vector<LabelSet>> label_sets;  // that trees name
  // Of exactly these nodes and edges: a Profile made with others drops the snapshots.
  std::shared_ptr<const Snapshots> snapshots;
  // For the user, one line each: a truncated file, a stale binary.
  std::vector<std::string> warnings;
  // Contexts that were entered from different call sites stay apart when trees are merged.
  bool sites_apart = false;
};

class Profile {
 public:
  // An empty profile. Absent parts of `parts` become empty tables.
  Profile();
  explicit Profile(Parts parts);

  const Strings& strings() const { return *parts_.strings; }
  const std::vector<Process>& processes() const { return *parts_.processes; }
  const std::vector<Thread>& threads() const { return *parts_.threads; }
  const std::vector<Module>& modules() const { return *parts_.modules; }
  const Functions& functions() const { return *parts_.functions; }
  const Sites& sites() const { return *parts_.sites; }
  const std::vector<Tree>& trees() const { return *parts_.trees; }
  const Nodes& nodes() const { return *parts_.nodes; }
  const Edges& edges() const { return *parts_.edges; }
  const std::vector<Group>& groups() const { return *parts_.groups; }
  const std::vector<Metric>& metrics() const { return parts_.metrics; }
  const std::vector<LabelSet>& label_sets() const { return *parts_.label_sets; }
  const std::vector<Snapshot>& snapshots() const { return parts_.snapshots->all; }
  const std::vector<std::string>& warnings() const { return parts_.warnings; }
  bool sites_apart() const { return parts_.sites_apart; }
  // Whether counts lack calls: those without a callee, or more than a few that were lost.
  bool lacks_callees() const { return lacks_callees_; }
  const Parts& parts() const { return parts_; }

  // The metric called `name`, or null.
  const Metric* find_metric(std::string_view name) const;
  // The first metric of that role that is not a baseline's, or null.
  const Metric* find_metric(Role role) const;
  // The baseline's metric of that role, or null.
  const Metric* find_baseline(Role role) const;

  std::string_view text(StringId id) const { return strings().get(id); }

 private:
  Parts parts_;
  bool lacks_callees_ = false;
};

// The display name of a function: its name, or `module+0xoffset`, or `0xaddress`. Not escaped.
std::string display_name(const Profile& profile, FunctionId function);

// The last component of a path.
std::string_view base_name(std::string_view path);

}  // namespace fbleprof::profile
