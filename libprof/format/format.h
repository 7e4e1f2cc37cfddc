// The layout of mlmon.out: the only thing that the recording and the reporting half share.
//
// The file is the arena in which the recorder builds its call trees, mapped into the profiled
// program. It is one header page followed by records, each a multiple of kUnitBytes long and
// aligned to it. Records refer to each other by Ref, the distance from the start of the file in
// units; 0 is "none". Everything is little-endian. Records are only ever appended, and a record is
// complete before anything refers to it (release stores), so that a reader may look at any moment:
// at a live program's file, at a killed one's, at a copy that lacks its tail.
//
// What a reader has to know beyond the structs:
//  - `used_bytes` bounds what was allocated; the file may be longer (space in reserve) or shorter
//    (a damaged copy). Refs beyond either are damage; what does not need them can still be read.
//  - Counters keep growing while the program lives. Each is 8 bytes, aligned: no read is torn.
//  - Calls are counted on edges, everything else on nodes.
//  - Where a node's parent edge is: the kTree edge that leads to it from `parent`.
//
// A change of any struct below is a change of kVersion; tests/unit/format_test holds the layout.
// docs/FILE_FORMAT.md tells the same with a worked example.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fbleprof::format {

inline constexpr char kMagic[8] = {'F', 'B', 'L', 'E', 'P', 'R', 'O', 'F'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kByteOrderMark = 0x01020304;
inline constexpr std::uint32_t kUnitBytes = 32;
inline constexpr std::uint32_t kHeaderBytes = 4096;

// A record's place: its distance from the start of the file, in units. 0 = none.
using Ref = std::uint32_t;

// What the file's process is doing, as it last said itself. A killed process leaves kLive behind:
// whether pid still runs (same process_start_ticks) tells the two apart.
enum class State : std::uint32_t {
  kStarting = 0,
  kLive = 1,
  kEnded = 2,   // exit, _exit or quick_exit
  kExeced = 3,  // replaced by another program
  kFatal = 4,   // a fatal signal; its number in end_code
};

enum class Clock : std::uint16_t { kCpu = 0, kWall = 1, kTicks = 2 };
enum class Compaction : std::uint16_t { kPair = 0, kSuffix = 1, kNone = 2 };

// What delivered the samples. The header holds what the first thread got.
enum class SampleSource : std::uint16_t {
  kNone = 0,       // hooks only (clock ticks, or no timer could be had)
  kTaskClock = 1,  // perf_event_open software task-clock, per thread
  kCpuTimer = 2,   // timer_create on the thread's CPU clock: one sample a jiffy at the most
};

// A string: this head, then `length` bytes, then zeros up to the next unit. Not NUL-terminated.
struct String {
  std::uint32_t length;  // bytes
  char bytes[28];        // the first of them; the rest follow
};

// A loaded object file, for as long as it stayed loaded. An address belongs to a module whose
// [begin, end) holds it; functions name their module, so reuse of addresses is no ambiguity.
struct Module {
  Ref next;                   // older module
  Ref path;                   // String; the main program's is its resolved path
  std::uint64_t load_bias;    // run-time address minus the file's virtual address
  std::uint64_t begin, end;   // run-time addresses of its mapping
  std::uint64_t loaded_ns;    // since the start of the profile (0: there from the start)
  std::uint64_t unloaded_ns;  // 0: not unloaded
  Ref build_id;               // String of raw bytes, 0 = it has none
  std::uint32_t flags;        // kModule...
  std::uint64_t reserved;
};
inline constexpr std::uint32_t kModuleIsMain = 1;
inline constexpr std::uint32_t kModuleIsVdso = 2;

enum class FunctionKind : std::uint16_t {
  kNative = 0,       // address = its first byte, as far as unwind tables tell
  kBlock = 1,        // named by the C API: name, file, line; address = its number
  kRoot = 2,         // [root]
  kOverflow = 3,     // [overflow]: what the memory cap folded away, a child a function
  kUnwound = 4,      // [unwound]: sampled stacks of a thread that also has hooks
  kTruncated = 5,    // [truncated]: stacks that could not be unwound to their end
  kInstruction = 6,  // a sampled address: a leaf child of the function that was running
};

// What can stand on a stack: the key of nodes.
struct Function {
  std::uint64_t address;  // kNative, kInstruction: run time; kBlock: the block's number
  std::uint32_t size;     // kNative: bytes, 0 = unknown; kBlock: source line, 0 = none
  Ref module;             // 0 = in no known module (JIT), or not native
  Ref next;               // older function
  Ref name;               // String; kBlock only
  Ref file;               // String; kBlock only
  FunctionKind kind;
  std::uint16_t flags;  // kFunction...
};
inline constexpr std::uint16_t kFunctionHooked = 1;  // was entered through a hook

// One context: a path of functions from the root, compacted by the pair rule.
struct Node {
  Ref parent;                 // Node; 0 for a tree's root
  Ref first_edge;             // Edge; newest first
  Ref function;               // Function
  std::uint32_t depth;        // parent's + 1; the root's is 0
  Ref extra;                  // Counters, or 0: metrics beyond the ones below
  std::uint32_t number;       // of this node within its tree: the root's is 1, then in order of age
  std::uint64_t samples;      // charges to this node
  std::uint64_t cpu_ns;       // thread CPU time charged here: self time, our cost excluded
  std::uint64_t wall_ns;      // elapsed time charged here, our cost excluded
  std::uint64_t overhead_ns;  // CPU time of samples that fell into the profiler's own code
  std::uint64_t ticks;        // virtual time charged here
};

enum class EdgeKind : std::uint8_t {
  kTree = 0,  // to a child
  kBack = 1,  // to an ancestor: the pair rule compacted the path
  kTail = 2,  // a tail call: from the function replaced, to a child of its parent
};

// A way from one node to another, and how often it was taken.
struct Edge {
  std::uint64_t calls;  // entries counted by hooks or the C API; 0 on a sampled edge
  std::uint64_t site;   // run-time return address: the only one in call-site mode, else the first
  Ref from;             // Node
  Ref to;               // Node
  Ref next;             // Edge: the next one that leaves `from`
  EdgeKind kind;
  std::uint8_t flags;  // kEdge...
  std::uint16_t reserved;
};
inline constexpr std::uint8_t kEdgeSampled = 1;     // seen by unwinding, not by a hook
inline constexpr std::uint8_t kEdgeByTailCall = 2;  // the call at `site` names another function,
                                                    // which tail-called this one

// Values of further metrics for one node; which is which, the Metric records say.
struct Counters {
  std::uint64_t value[8];
};

// One writer of one tree: a thread, or one after the other several threads that each took over
// the tree of one that had ended (threads_served of them).
struct Thread {
  Ref next;             // older thread
  Ref root;             // Node
  std::uint32_t tid;    // of the latest thread served
  std::uint32_t flags;  // kThread...
  char name[16];        // of the latest thread served, NUL-padded
  std::uint64_t threads_served;
  std::uint64_t start_ns;    // of the first, since the start of the profile
  std::uint64_t end_ns;      // of the latest; 0: still running
  std::uint64_t cpu_ns;      // clock of all threads served, up to the latest charge
  std::uint64_t wall_ns;     // likewise
  std::uint64_t samples;     // signals that charged time
  std::uint64_t dropped;     // signals that found the tree busy; the next one charged their time
  std::uint64_t lost_calls;  // entries that could not be counted in context
  std::uint64_t deep_calls;  // entries beyond the end of the shadow stack
  std::uint64_t unmatched;   // leaves without an enter
  std::uint64_t reserved[2];
};
inline constexpr std::uint32_t kThreadRunning = 1;
inline constexpr std::uint32_t kThreadHooked = 2;  // has entered functions through hooks

enum class Aggregation : std::uint16_t { kSum = 0, kMax = 1, kLast = 2 };
enum class MetricPlace : std::uint16_t {
  kNodeField = 0,  // 8 bytes in Node, at byte `offset`
  kExtra = 1,      // Counters.value[offset] of the node's `extra`
  kEdgeCalls = 2,  // Edge.calls of the edges that lead to the node
};

// What is measured: a reader shows metrics that it never heard of.
struct Metric {
  Ref next;  // older metric
  Ref name;  // String: cpu, wall, samples, overhead, ticks, calls, ...
  Ref unit;  // String: ns, count, bytes
  MetricPlace place;
  std::uint16_t offset;
  Aggregation aggregation;
  std::uint16_t reserved[7];
};

// A remark for the reader of the report: a setting refused, a resource that could not be had.
struct Note {
  Ref next;  // older note
  Ref text;  // String
  std::uint32_t reserved[6];
};

// A label of the whole profile: key=value.
struct Label {
  Ref next;
  Ref key;
  Ref value;
  std::uint32_t reserved[5];
};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t byte_order;  // kByteOrderMark
  std::uint32_t unit_bytes;
  std::uint64_t used_bytes;  // allocated so far, header included; grows
  std::uint64_t cap_bytes;   // the memory limit: used_bytes never exceeds it
  State state;
  std::uint32_t end_code;  // signal number of kFatal
  // Who.
  std::uint32_t pid, parent_pid;
  std::uint64_t process_start_ticks;                      // field 22 of /proc/PID/stat; 0 = unknown
  std::uint64_t pid_namespace;                            // inode; 0 = unknown
  Ref executable, command_line, working_directory, host;  // Strings; arguments joined by NUL
  // When. Clock readings in ns.
  std::uint64_t start_realtime_ns;
  std::uint64_t start_monotonic_ns;
  std::uint64_t end_monotonic_ns;  // of the latest charge
  // How.
  Clock clock;
  Compaction compaction;
  SampleSource source;
  std::uint16_t flags;    // kHeader...
  std::uint32_t rate_hz;  // asked for
  std::uint32_t machine;  // ELF e_machine
  // What there is: heads of the lists.
  Ref first_thread, first_module, first_function, first_metric, first_note, first_label;
  // What was lost or folded away, over all threads.
  std::uint64_t overflow_contexts;  // entries that the memory cap sent to [overflow]
  std::uint64_t lost_threads;       // threads that could not be profiled
  std::uint64_t lost_children;      // child processes that got no profile
  std::uint64_t foreign_signals;    // SIGPROF of the program itself, passed on
  std::uint64_t process_cpu_ns;     // CPU time of the whole process at its end; 0 = unknown
  std::uint64_t node_count, edge_count;
  std::uint64_t children;  // files of other processes that are named after this one
};
inline constexpr std::uint16_t kHeaderCallSites = 1;  // keys are joined by the return address
inline constexpr std::uint16_t kHeaderLeaves = 2;     // sampled addresses are children
inline constexpr std::uint16_t kHeaderAnonymous = 4;  // built in memory, written at the end
inline constexpr std::uint16_t kHeaderTrivial = 8;    // ended by exec before there was anything to
                                                      // show: the next program takes the name over

static_assert(sizeof(String) == 32 && sizeof(Module) == 64 && sizeof(Function) == 32);
static_assert(sizeof(Node) == 64 && sizeof(Edge) == 32 && sizeof(Counters) == 64);
static_assert(sizeof(Thread) == 128 && sizeof(Metric) == 32);
static_assert(sizeof(Note) == 32 && sizeof(Label) == 32);
static_assert(sizeof(Header) <= kHeaderBytes);
static_assert(offsetof(Node, cpu_ns) == 32 && offsetof(Header, state) == 40);
static_assert(offsetof(Header, first_thread) % 4 == 0);

}  // namespace fbleprof::format
