// The layout of mlmon.out: the only interface between the recording and the reporting half.
//
// The file is the arena in which the recorder builds its call trees, mapped into the profiled
// program: a header page, then records, one after the other. Each record begins with a Head that
// tells its length and kind, so that a reader walks the file from its first record to used_bytes
// and skips what it does not know. Records refer to each other by Ref, the distance from the start
// of the file in units of kUnitBytes; 0 is "none". Everything is little-endian.
//
// Rules for readers, beyond the structs:
//  - Units of zeros between records are skipped: they are padding, or space that a thread was about
//    to use when the program was killed. A record whose kind is kUnfinished is skipped by its
//    length.
//  - A record may be longer than the struct here (a newer minor version added fields) or shorter
//    (an older version lacked them): unknown fields are ignored, missing ones are 0.
//  - A record is complete before its kind is set, and before anything refers to it (release
//    stores). So a file can be read at any moment: of a live program, of a killed one, or a copy
//    that lacks its tail. Items of Nodes, Edges and Values are appended to the record later: an
//    item exists once its last-written field (see there) is not 0.
//  - Counters keep growing while the program lives. Each is 8 bytes, aligned: no read is torn.
//
// A change that an older reader can skip (a new kind, a field at the end) raises kMinorVersion; any
// other change raises kMajorVersion. tests/unit/format_test holds the layout; docs/FILE_FORMAT.md
// describes it with a worked example.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/role.h"
#include "format/waits.h"

namespace fbleprof::format {

inline constexpr char kMagic[8] = {'F', 'B', 'L', 'E', 'P', 'R', 'O', 'F'};
inline constexpr std::uint16_t kMajorVersion = 2;
inline constexpr std::uint16_t kMinorVersion = 4;
inline constexpr std::uint32_t kByteOrderMark = 0x01020304;
inline constexpr std::uint32_t kUnitBytes = 32;
inline constexpr std::uint32_t kHeaderBytes = 4096;

// A record's or item's place: its distance from the start of the file, in units. 0 = none.
using Ref = std::uint32_t;

enum class Kind : std::uint16_t {
  kUnfinished = 0,  // being written
  kPrivate = 1,     // the recorder's own memory; readers ignore it
  kString = 2,
  kModule = 3,
  kFunction = 4,
  kMetric = 5,
  kNote = 6,
  kLabelSet = 7,
  kLabel = 8,
  kThread = 9,
  kTree = 10,
  kNodes = 11,
  kEdges = 12,
  kValues = 13,
  kSnapshot = 14,
  kSnapshotNodes = 15,
  kSnapshotEdges = 16,
};

// The start of every record. Written in one store of 8 bytes when the space is taken, with kind
// kUnfinished; the kind is stored again, with release, when the record is complete.
struct Head {
  std::uint32_t units;  // of the whole record, this included; at least 1
  Kind kind;
  std::uint16_t mark;  // kHeadMark: tells a head from zeros and from most damage
};
inline constexpr std::uint16_t kHeadMark = 0xfb1e;

// The state of the file's process, as the process last wrote it. A killed process leaves kLive
// behind; whether pid still runs (same process_start_ticks) tells the two apart.
enum class State : std::uint32_t {
  kStarting = 0,
  kLive = 1,
  kEnded = 2,   // exit, _exit or quick_exit
  kExeced = 3,  // replaced by another program
  kFatal = 4,   // a fatal signal; its number in end_code
};

enum class Clock : std::uint16_t { kCpu = 0, kWall = 1, kTicks = 2 };
enum class Compaction : std::uint16_t { kPair = 0, kSuffix = 1, kNone = 2 };

// A request to the program from outside: the requester writes it into the header, and the recorder
// clears it when it begins to obey.
enum class Request : std::uint32_t { kNone = 0, kStart = 1, kStop = 2 };

// What delivered the samples. The header holds what the first thread got.
enum class SampleSource : std::uint16_t {
  kNone = 0,       // hooks only (clock ticks, or no timer could be had)
  kTaskClock = 1,  // perf_event_open software task-clock, per thread
  kCpuTimer = 2,   // timer_create on the thread's CPU clock: one sample a jiffy at the most
};

// A string: this, then the rest of its `length` bytes, then zeros up to the next unit. Not
// NUL-terminated.
struct String {
  Head head;
  std::uint32_t length;  // bytes
  char bytes[20];        // the first of them; the rest follow
};

// A loaded object file, for as long as it stayed loaded. An address belongs to a module whose
// [begin, end) holds it. Functions name their module, so a reused address is not ambiguous.
struct Module {
  Head head;
  Ref path;                   // String; the main program's is its resolved path
  Ref build_id;               // String of raw bytes, 0 = it has none
  std::uint64_t load_bias;    // run-time address minus the file's virtual address
  std::uint64_t begin, end;   // run-time addresses of its mapping
  std::uint64_t loaded_ns;    // since the start of the profile (0: there from the start)
  std::uint64_t unloaded_ns;  // 0: not unloaded
  std::uint32_t flags;        // kModule...
  Ref older;                  // the module known before this one: the recorder's list
};
inline constexpr std::uint32_t kModuleIsMain = 1;
inline constexpr std::uint32_t kModuleIsVdso = 2;
inline constexpr std::uint32_t kModuleIsKnown = 0x10;    // has functions in the file
inline constexpr std::uint32_t kModuleIsHooked = 0x20;   // has functions that were entered by hooks
inline constexpr std::uint32_t kModuleIsExact = 0x40;    // its functions count their calls, except
                                                         // those that are kFunctionNotCounted
inline constexpr std::uint32_t kModuleIsSettled = 0x80;  // the recorder's own
inline constexpr std::uint32_t kModuleIsListed = 0x100;  // the recorder's own

enum class FunctionKind : std::uint16_t {
  kNative = 0,       // address = its first byte, as far as unwind tables tell
  kBlock = 1,        // named by the C API; address = its number
  kRoot = 2,         // [root]
  kOverflow = 3,     // [overflow]: what the memory limit folded, by caller and callee
  kUnwound = 4,      // [unwound]: sampled stacks of a thread that also has hooks
  kTruncated = 5,    // [truncated]: stacks that could not be unwound to their end
  kInstruction = 6,  // a sampled address: a leaf child of the function that was running
  kScript = 7,       // interpreted: named by an adapter; address = its number
  kJit = 8,          // generated code: address = its first byte; named by the program
  kImported = 9,     // from another profiler's file: a name only
  kDeeper = 10,      // [deeper]: what the depth limit folded, by caller and callee
};

// What can be on a stack: the key of nodes.
struct Function {
  Head head;
  std::uint64_t address;  // kNative, kInstruction, kJit: run time; kBlock, kScript: its number
  std::uint32_t size;     // bytes of code, 0 = unknown or not native
  Ref module;             // 0 = in no known module, or not native
  Ref name;               // String, 0 = only symbols name it
  Ref linkage_name;       // String, 0 = none, or the same as the name
  Ref file;               // String: source file, 0 = unknown
  std::uint32_t line;     // in `file`, from 1; 0 = unknown
  std::uint32_t column;   // in `line`, from 1; 0 = unknown
  Ref language;           // String ("Lua", "Python"), 0 = unknown
  FunctionKind kind;
  std::uint16_t flags;      // kFunction...
  std::uint32_t code_hash;  // generated code: of the bytes around `address`; 0 = unknown
  union {
    std::uint64_t first_met_ns;  // generated code: when a sample first met these bytes, on
                                 // CLOCK_MONOTONIC; 0 = unknown
    std::uint64_t map_bytes;    // with kFunctionMapBytes: the length of the program's perf map then
    std::uint64_t unhooked_ns;  // of a module: when it lost its hook, since the profile's start
    std::uint64_t recorder_key;  // kBlock: for the recorder only
  };
};
inline constexpr std::uint16_t kFunctionHooked = 1;      // was entered through a hook
inline constexpr std::uint16_t kFunctionNotCounted = 2;  // its calls are not known: not 0
inline constexpr std::uint16_t kFunctionHolder = 4;      // not the function itself: the waits of
                                                         // others while it held a lock
inline constexpr std::uint16_t kFunctionLeftOut = 8;     // by the user's filter: it is in no tree
inline constexpr std::uint16_t kFunctionWaker = 16;      // as a holder: until it woke them
inline constexpr std::uint16_t kFunctionStandIn = kFunctionHolder | kFunctionWaker;
// A walk went on from this function to its caller by the frame pointer, because the code has no
// unwind table. The step was checked, but may have left out a caller.
inline constexpr std::uint16_t kFunctionLeftByFramePointer = 32;
inline constexpr std::uint16_t kFunctionMapBytes = 64;  // generated code: it has `map_bytes`
static_assert(kFunctionHooked + kFunctionNotCounted + kFunctionHolder + kFunctionLeftOut +
                      kFunctionWaker + kFunctionLeftByFramePointer + kFunctionMapBytes ==
                  127,
              "each flag is a bit of its own");
inline constexpr int kFunctionReasonShift = 8;  // why: the upper 8 bits of the flags are a
                                                // plan::Reason

// Nodes of one tree. `items` begin kItemsOffset bytes into the record, item_bytes apart, in order
// of creation: in the file, a parent comes before its children.
struct Nodes {
  Head head;
  Ref tree;  // Tree
  std::uint32_t item_bytes;
  std::uint64_t reserved[6];
};
inline constexpr std::uint32_t kItemsOffset = 64;

// One context: a path of functions from the root, compacted by the pair rule. Also the tree edge
// that leads to it: a node has exactly one, the root none. Exists once `function` is not 0.
struct Node {
  std::uint64_t calls;  // by the tree edge that leads here: entries counted by hooks or the C API
  Ref parent;           // Node; 0 for a tree's root
  Ref function;         // Function
  std::uint64_t site;   // of the tree edge; see Edge
  Ref values;           // its row in a Values record; 0 = no values but calls
  std::uint16_t depth;  // parent's + 1, at most 65535; the root's is 0
  std::uint8_t flags;   // kEdge..., of the tree edge
  std::uint8_t recorder_flags;  // this and the rest: for the recorder only
  std::uint16_t recorder_links[16];
};

enum class EdgeKind : std::uint8_t {
  kTree = 0,  // to a child: in the file, part of the child's Node
  kBack = 1,  // to an ancestor: the pair rule compacted the path
  kTail = 2,  // a tail call: from the function replaced, to a child of its parent
};

// Edges of one tree, in the layout of Nodes.
struct Edges {
  Head head;
  Ref tree;  // Tree
  std::uint32_t item_bytes;
  std::uint64_t reserved[6];
};

// A way from one node to another, and how often it was taken. Exists once `to` is not 0.
struct Edge {
  std::uint64_t calls;  // entries counted by hooks or the C API; 0 on a sampled edge
  Ref from;             // Node
  Ref to;               // Node
  std::uint64_t site;   // run-time return address: the only one in call-site mode, else the first
  EdgeKind kind;
  std::uint8_t flags;  // kEdge...
  std::uint16_t reserved;
  Ref function;  // Function: that of `to`
};
inline constexpr std::uint8_t kEdgeSampled = 1;     // seen by unwinding, not by a hook
inline constexpr std::uint8_t kEdgeByTailCall = 2;  // the call at `site` names another function,
                                                    // which tail-called this one

// Rows of values, in the layout of Nodes: row_bytes of the header each, of 8-byte words. The Metric
// records say which word is which metric. A node names its row.
struct Values {
  Head head;
  Ref tree;  // Tree
  std::uint32_t item_bytes;
  std::uint64_t reserved[6];
};

// One writer of trees: a thread, or several threads in turn, each of which took over the trees of
// one that had ended (threads_served of them).
struct Thread {
  Head head;
  std::uint32_t tid;    // of the latest thread served
  std::uint32_t flags;  // kThread...
  char name[16];        // of the latest thread served, NUL-padded
  std::uint64_t threads_served;
  std::uint64_t start_ns;       // of the first, since the start of the profile
  std::uint64_t end_ns;         // of the latest; 0: still running
  std::uint64_t cpu_ns;         // clock of all threads served, up to the latest charge
  std::uint64_t wall_ns;        // likewise
  std::uint64_t samples;        // signals that charged time
  std::uint64_t dropped;        // signals that found the tree busy; the next one charged their time
  std::uint64_t lost_calls;     // entries that could not be counted in context
  std::uint64_t deep_calls;     // entries beyond the end of the shadow stack
  std::uint64_t unmatched;      // leaves without an enter
  std::uint64_t wait_since_ns;  // monotonic clock when the thread's current wait began,
                                // or when it was last charged; 0: no wait. Since 2.1
  Ref wait_context;             // Node: that of the wait; 0 = unknown. Since 2.1
  WaitKind wait_kind;           // Since 2.1
};
inline constexpr std::uint32_t kThreadRunning = 1;
inline constexpr std::uint32_t kThreadHooked = 2;  // has entered functions through hooks
// From this bit on: how many of the threads served the user's filter left out.
inline constexpr std::uint32_t kThreadsLeftOutShift = 16;

// A call tree. A thread has one for each label set that it worked under.
struct Tree {
  Head head;
  Ref thread;  // Thread
  Ref root;    // Node
  Ref labels;  // LabelSet; 0 = none but the profile's own
  std::uint32_t reserved[3];
};

// How values of several trees, and of several moments, are combined.
enum class Aggregation : std::uint16_t { kSum = 0, kMax = 1, kLast = 2 };

enum class MetricPlace : std::uint16_t {
  kValues = 0,   // word `word` of the node's row
  kCalls = 1,    // calls of the edges that lead to the node
  kDerived = 2,  // by `formula`
};

// A measured quantity: a reader shows metrics that it does not know. Metrics are in the file in
// display order.
struct Metric {
  Head head;
  Ref name;     // String: cpu, wall, samples, overhead, ticks, calls, ...; unique
  Ref unit;     // String: ns, count, bytes
  Ref formula;  // String, kDerived: names of metrics above, joined by " + " and " - "
  Role role;
  Aggregation aggregation;
  MetricPlace place;
  std::uint16_t word;
  std::uint32_t flags;  // kMetric...
};
inline constexpr std::uint32_t kMetricSigned = 1;     // values are two's complement
inline constexpr std::uint32_t kMetricDefault = 2;    // shown if nothing else is requested
inline constexpr std::uint32_t kMetricEstimated = 4;  // scaled up from samples

// A remark for the reader of the report: a rejected setting, a resource that was not available.
struct Note {
  Head head;
  Ref text;  // String
  std::uint32_t reserved[5];
};

// Labels that belong together: a tree can own a set.
struct LabelSet {
  Head head;
  std::uint32_t reserved[6];
};

// key=value, of one set or of the whole profile.
struct Label {
  Head head;
  Ref key;
  Ref value;
  Ref set;  // LabelSet; 0 = the whole profile
  std::uint32_t reserved[3];
};

enum class SnapshotReason : std::uint16_t {
  kAsked = 0,   // by the program or the user, under `name`
  kPeriod = 1,  // at the end of a time window
  kPeak = 2,    // a level was higher than ever before
  kReset = 3,   // counting begins here
};

// The values of all nodes and edges at one moment, except zeros. A window is the difference between
// two snapshots, or between one and the values in the nodes themselves: "the last 10 seconds",
// "this phase" and "at the peak" are all windows.
struct Snapshot {
  Head head;
  Ref name;                  // String; 0 = none
  std::uint32_t generation;  // from 1, in order of creation
  std::uint64_t time_ns;     // since the start of the profile
  SnapshotReason reason;
  std::uint16_t is_complete;  // 1: the file has all of its SnapshotNodes and SnapshotEdges
  std::uint32_t reserved[9];
};

// Items: SnapshotItem, then row_bytes of values if it is of nodes. In the layout of Nodes.
struct SnapshotItems {
  Head head;
  Ref snapshot;  // Snapshot
  std::uint32_t item_bytes;
  std::uint32_t item_count;
  std::uint32_t reserved[11];
};
struct SnapshotItem {
  Ref of;  // Node or Edge
  std::uint32_t reserved;
  std::uint64_t calls;
};

struct Header {
  char magic[8];
  std::uint16_t major_version, minor_version;
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
  std::uint16_t flags;       // kHeader...
  std::uint32_t rate_hz;     // requested
  std::uint32_t machine;     // ELF e_machine: the architecture of all addresses
  std::uint32_t row_bytes;   // of a node's row of values; a multiple of kUnitBytes
  std::uint32_t generation;  // of the newest snapshot; 0 = none was taken
  // Losses and folding, over all threads.
  std::uint64_t overflow_contexts;       // contexts that the memory limit folded into [overflow]
  std::uint64_t lost_threads;            // threads that could not be profiled
  std::uint64_t lost_children;           // child processes that got no profile
  std::uint64_t foreign_signals;         // SIGPROF of the program itself, passed on to it
  std::uint64_t process_cpu_ns;          // CPU time of the whole process at its end; 0 = unknown
  std::uint64_t node_count, edge_count;  // edge_count: edges that are not tree edges
  std::uint64_t children;                // files of other processes that are named after this one
  std::uint32_t depth_limit;             // deeper contexts fold into [deeper]; 0 = no limit
  Ref newest_module;                     // Module: the recorder's list
  // Since 2.1: recording that can be turned on and off while the program runs.
  Request request;
  std::uint32_t is_recording;  // 1: on
  // Since 2.4: how long it was off. Readings of the monotonic clock in ns.
  std::uint64_t off_ns;        // until recording last began
  std::uint64_t off_since_ns;  // when it last ended; 0 = it is on
  // Since 2.4: CPU time of the process that no sample has charged, since recording was turned on.
  // 0: none, or not known. Of programs to which the recorder was attached.
  std::uint64_t unrecorded_cpu_ns;
};
inline constexpr std::uint16_t kHeaderCallSites = 1;  // the return address is part of keys
inline constexpr std::uint16_t kHeaderLeaves = 2;     // sampled addresses are children
inline constexpr std::uint16_t kHeaderAnonymous = 4;  // built in memory, written at the end
inline constexpr std::uint16_t kHeaderTrivial = 8;    // ended by exec before there was anything
                                                      // to show: the next program takes over the
                                                      // name

static_assert(sizeof(Head) == 8 && sizeof(String) == 32 && sizeof(Module) == 64);
static_assert(sizeof(Function) == 64 && sizeof(Node) == 64 && sizeof(Edge) == 32);
static_assert(sizeof(Nodes) == kItemsOffset && sizeof(Edges) == kItemsOffset);
static_assert(sizeof(Values) == kItemsOffset && sizeof(SnapshotItems) == kItemsOffset);
static_assert(sizeof(Thread) == 128 && sizeof(Tree) == 32 && sizeof(Metric) == 32);
static_assert(sizeof(Note) == 32 && sizeof(LabelSet) == 32 && sizeof(Label) == 32);
static_assert(sizeof(Snapshot) == 64 && sizeof(SnapshotItem) == 16);
static_assert(sizeof(Header) <= kHeaderBytes);
static_assert(offsetof(Node, calls) == 0 && offsetof(Edge, calls) == 0);
static_assert(offsetof(Header, state) == 40);

}  // namespace fbleprof::format
