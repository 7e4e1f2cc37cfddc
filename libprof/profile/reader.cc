// Two passes. The first walks all records: it keeps the small ones, reads the nodes, and notes
// where edges, values and snapshots are. Then everything that a node can refer to is known, and the
// trees are laid out. The second pass reads edges, values and snapshots into their places.
#include "profile/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/flat_map.h"
#include "base/hex.h"
#include "profile/address_map.h"
#include "profile/fit_sums.h"
#include "profile/liveness.h"
#include "profile/metric_reader.h"
#include "profile/next_program.h"
#include "profile/open_waits.h"
#include "profile/snapshot_reader.h"
#include "profile/texts.h"
#include "profile/tree_reader.h"
#include "profile/value_reader.h"

namespace fbleprof::profile {
namespace {

using format::Kind;
using format::Ref;

constexpr std::size_t kLongestBuildId = 64;

std::string_view special_name(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::kRoot:
      return "[root]";
    case FunctionKind::kOverflow:
      return "[overflow]";
    case FunctionKind::kUnwound:
      return "[unwound]";
    case FunctionKind::kTruncated:
      return "[truncated]";
    case FunctionKind::kDeeper:
      return "[deeper]";
    default:
      return {};
  }
}

// Records of one kind, as in the file.
template <class Struct>
using Kept = std::vector<std::pair<Ref, Struct>>;

std::uint64_t offset_of(Ref ref) { return std::uint64_t{ref} * format::kUnitBytes; }

class Reader {
 public:
  Reader(const FileImage& image, const ReadOptions& options)
      : image_(image),
        header_(image.header()),
        options_(options),
        walk_(image, damage_),
        trees_(image, walk_, addresses_),
        metrics_(texts_, walk_, damage_),
        snapshots_(image, walk_) {}

  ReadResult run() {
    // A live file's last records may refer to records that were written after the reading.
    process_.state = process_state(header_, {}, options_.look_for_process);
    if (process_.state == ProcessState::kLive) walk_.set_live();
    while (const auto record = walk_.next()) keep(*record);
    read_process();
    read_modules();
    read_functions();
    read_metrics();
    read_label_sets();
    read_trees();
    read_edges();
    read_values();
    return finish();
  }

 private:
  // --- the first pass

  template <class Struct>
  void keep_as(Kept<Struct>& kept, const Record& record) {
    if (!record.is_cut) kept.emplace_back(record.ref, walk_.read<Struct>(record));
  }

  void keep(const Record& record) {
    switch (record.kind) {
      case Kind::kUnfinished:
        unfinished_.insert(record.ref);
        return;
      case Kind::kPrivate:
        return;
      case Kind::kString:
        if (const auto text = walk_.text(record)) {
          texts_.add(record.ref, *text);
        } else if (!record.is_cut) {
          damage_.note(record.offset(), fmt::format("string {:#x} is too long", record.ref));
        }
        return;
      case Kind::kModule:
        return keep_as(modules_, record);
      case Kind::kFunction:
        return keep_as(functions_, record);
      case Kind::kMetric:
        return keep_as(metric_records_, record);
      case Kind::kNote:
        return keep_as(notes_, record);
      case Kind::kLabelSet:
        if (!record.is_cut) label_sets_.insert(record.ref, label_set_count_++);
        return;
      case Kind::kLabel:
        return keep_as(labels_, record);
      case Kind::kThread:
        return keep_as(threads_, record);
      case Kind::kTree:
        return keep_tree(record);
      case Kind::kNodes:
        return keep_nodes(record);
      case Kind::kEdges:
        if (const auto items = items_of(record, sizeof(format::Edge), true)) {
          edge_runs_.push_back(*items);
        }
        return;
      case Kind::kValues:
        if (const auto items = items_of(record, sizeof(std::uint64_t), true)) values_.add(*items);
        return;
      case Kind::kSnapshot:
        if (!record.is_cut) snapshots_.add(record.ref, walk_.read<format::Snapshot>(record));
        return;
      case Kind::kSnapshotNodes:
      case Kind::kSnapshotEdges:
        return snapshots_.add_items(record);
    }
    ++skipped_[static_cast<std::uint16_t>(record.kind)];
  }

  std::optional<Items> items_of(const Record& record, std::size_t least, bool have_refs) {
    const auto head = walk_.read<format::Nodes>(record);
    const auto items = Items::of(record, head.item_bytes, least, have_refs);
    if (!items && !record.is_cut) {
      damage_.note(record.offset(),
                   fmt::format("{} {:#x} has items of {} bytes", kind_name(record.kind), record.ref,
                               head.item_bytes));
    }
    return items;
  }

  // A thread that was just starting: its record comes first in the file, then its tree's, then
  // those of nodes, but the thread's is completed last. Until then it is treated as missing.
  void keep_tree(const Record& record) {
    if (unfinished_.contains(walk_.read<format::Tree>(record).thread)) {
      unfinished_.insert(record.ref);
    } else {
      keep_as(tree_records_, record);
    }
  }

  void keep_nodes(const Record& record) {
    const auto items = items_of(record, sizeof(format::Node), true);
    if (!items) return;
    const Ref tree = walk_.read<format::Nodes>(record).tree;
    if (unfinished_.contains(tree)) return;
    trees_.add_nodes(*items, trees_.tree(tree));
    if (options_.progress != nullptr) {
      options_.progress->update("reading", record.offset(),
                                std::max<std::uint64_t>(walk_.end(), 1));
    }
  }

  // --- what the records refer to

  std::optional<std::string_view> text(Ref ref, std::uint64_t from) {
    if (ref == 0) return std::nullopt;
    const auto found = texts_.find(ref);
    if (!found) walk_.note_unresolved("string", ref, format::kUnitBytes, from);
    return found;
  }

  StringId string(Ref ref, std::uint64_t from) {
    const std::uint32_t known = string_index_.find(ref);
    if (known != FlatMap::kAbsent) return StringId(known);
    const auto found = text(ref, from);
    if (!found) return StringId();
    const StringId id = strings_.intern(*found);
    string_index_.insert(ref, id.index());
    return id;
  }

  std::uint64_t off_at_end_ns() const {
    const std::uint64_t since = header_.off_since_ns, end = header_.end_monotonic_ns;
    return since != 0 && since < end ? end - since : 0;
  }

  StringId identity_of_process() {
    if (header_.pid == 0 || (header_.process_start_ticks | header_.pid_namespace) == 0) return {};
    const std::string_view host =
        strings_.get(string(header_.host, offsetof(format::Header, host)));
    return strings_.intern(fmt::format("{} {} {} {}", header_.pid, header_.process_start_ticks,
                                       header_.pid_namespace, host));
  }

  void read_process() {
    Process& process = process_;
    process.file = strings_.intern(image_.name());
    process.pid = header_.pid;
    process.parent_pid = header_.parent_pid;
    process.identity = identity_of_process();
    process.executable = string(header_.executable, offsetof(format::Header, executable));
    process.command_line = string(header_.command_line, offsetof(format::Header, command_line));
    process.working_directory =
        string(header_.working_directory, offsetof(format::Header, working_directory));
    process.host = string(header_.host, offsetof(format::Header, host));
    process.start_realtime_ns = header_.start_realtime_ns;
    if (header_.end_monotonic_ns > header_.start_monotonic_ns) {
      process.duration_ns = header_.end_monotonic_ns - header_.start_monotonic_ns;
      process.off_at_end_ns = std::min(off_at_end_ns(), process.duration_ns);
      process.off_ns =
          std::min(capped_sum(header_.off_ns, process.off_at_end_ns), process.duration_ns);
    }
    process.state = process_state(header_, strings_.get(process.host), options_.look_for_process);
    process.end_code = header_.end_code;
    if (process.state == ProcessState::kExeced && options_.look_for_process) {
      const std::string next = profile_after_exec(image_.name(), header_);
      if (!next.empty()) process.goes_on_in = strings_.intern(next);
    }
    process.clock = header_.clock;
    process.compaction = header_.compaction;
    process.source = header_.source;
    process.flags = header_.flags;
    process.rate_hz = header_.rate_hz;
    process.machine = header_.machine;
    process.used_bytes = header_.used_bytes;
    process.cap_bytes = header_.cap_bytes;
    process.depth_limit = header_.depth_limit;
    process.process_cpu_ns = header_.process_cpu_ns;
    process.unrecorded_cpu_ns = header_.unrecorded_cpu_ns;
    process.overflow_contexts = header_.overflow_contexts;
    process.lost_threads = header_.lost_threads;
    process.lost_children = header_.lost_children;
    process.foreign_signals = header_.foreign_signals;
    for (const auto& [ref, note] : notes_) {
      process.notes.push_back(string(note.text, offset_of(ref)));
    }
  }

  void read_modules() {
    for (const auto& [ref, record] : modules_) {
      const StringId path = string(record.path, offset_of(ref));
      StringId build_id;
      if (const auto bytes = text(record.build_id, offset_of(ref)); bytes && !bytes->empty()) {
        build_id = strings_.intern(hex(bytes->substr(0, kLongestBuildId)));
      }
      addresses_.add(ref, record, path, build_id);
    }
  }

  void add_function(Ref ref, const format::Function& record) {
    const std::uint64_t at = offset_of(ref);
    FunctionKey key;
    key.kind = record.kind;
    if (record.kind > FunctionKind::kDeeper) {
      if (header_.minor_version <= format::kMinorVersion) {
        damage_.note(at, fmt::format("function {:#x} is of an unknown kind", ref));
      }
      key.kind = record.name != 0 ? FunctionKind::kBlock : FunctionKind::kNative;
    }
    key.address = record.address;
    if (record.module != 0) {
      if (const AddressMap::Mapping* where = addresses_.find(record.module)) {
        key.module = where->module;
        key.address -= where->load_bias;
      } else {
        walk_.note_unresolved("module", record.module, sizeof(format::Module), at);
      }
    }
    key.size = record.size;
    key.flags = record.flags;
    key.name = string(record.name, at);
    key.linkage_name = string(record.linkage_name, at);
    key.file = string(record.file, at);
    key.line = record.line;
    key.column = record.column;
    key.language = string(record.language, at);
    if (key.flags & format::kFunctionMapBytes) {
      key.map_bytes = record.map_bytes;
    } else if (record.module != 0) {
      key.unhooked_ns = record.unhooked_ns;
    } else if (key.kind != FunctionKind::kBlock) {
      key.first_met_ns = record.first_met_ns;
    }
    if (const std::string_view special = special_name(key.kind); !special.empty()) {
      key.name = strings_.intern(special);
    }
    // The address of [truncated] itself is its kind.
    if (key.kind == FunctionKind::kTruncated &&
        record.address > static_cast<std::uint64_t>(key.kind)) {
      key.name = strings_.intern(fmt::format("[about {} frames left out]", record.address));
    }
    function_index_.insert(ref, functions_table_.add(key).index());
  }

  void read_functions() {
    for (const auto& [ref, record] : functions_) add_function(ref, record);
  }

  FunctionId function(Ref ref) {
    const std::uint32_t known = function_index_.find(ref);
    if (known != FlatMap::kAbsent) return FunctionId(known);
    if (ref == TreeReader::kRootFunction) {
      return functions_table_.add({.kind = FunctionKind::kRoot,
                                   .name = strings_.intern(special_name(FunctionKind::kRoot))});
    }
    if (ref != TreeReader::kUnreadableFunction) {
      walk_.note_unresolved("function", ref, sizeof(format::Function), 0);
    }
    if (!unreadable_) {
      unreadable_ = functions_table_.add(
          {.kind = FunctionKind::kBlock, .name = strings_.intern("[unreadable]")});
    }
    return unreadable_;
  }

  void read_metrics() {
    for (const auto& [ref, record] : metric_records_) metrics_.add(ref, record);
    metrics_.finish();
  }

  void read_label_sets() {
    sets_.resize(label_set_count_);
    for (const auto& [ref, label] : labels_) {
      const Label read{string(label.key, offset_of(ref)), string(label.value, offset_of(ref))};
      const std::uint32_t set = label_sets_.find(label.set);
      if (label.set == 0) {
        process_.labels.push_back(read);
      } else if (set != FlatMap::kAbsent) {
        sets_[set].push_back(read);
      } else {
        walk_.note_unresolved("label set", label.set, sizeof(format::LabelSet), offset_of(ref));
      }
    }
  }

  // --- threads and their trees

  ThreadId add_thread(const format::Thread& record) {
    Thread thread;
    thread.process = ProcessId(0);
    thread.tid = record.tid;
    thread.name = strings_.intern({record.name, strnlen(record.name, sizeof record.name)});
    thread.flags = record.flags;
    thread.threads_served = record.threads_served;
    thread.start_ns = record.start_ns;
    thread.end_ns = record.end_ns;
    thread.cpu_ns = record.cpu_ns;
    thread.wall_ns = record.wall_ns;
    thread.samples = record.samples;
    thread.dropped = record.dropped;
    thread.lost_calls = record.lost_calls;
    thread.deep_calls = record.deep_calls;
    thread.unmatched = record.unmatched;
    profile_threads_.push_back(thread);
    return ThreadId(profile_threads_.size() - 1);
  }

  // A tree's thread and process; a tree whose record or thread is lost gets an invented thread.
  struct Owner {
    std::uint32_t tree;
    ThreadId thread;
    LabelSetId labels;
  };

  std::vector<Owner> find_owners() {
    FlatMap thread_index;
    for (const auto& [ref, record] : threads_) {
      thread_index.insert(ref, add_thread(record).index());
    }
    std::vector<Owner> owners;
    for (const auto& [ref, record] : tree_records_) {
      Owner owner{trees_.tree(ref), {}, {}};
      if (const std::uint32_t thread = thread_index.find(record.thread);
          thread != FlatMap::kAbsent) {
        owner.thread = ThreadId(thread);
      } else {
        walk_.note_unresolved("thread", record.thread, sizeof(format::Thread), offset_of(ref));
      }
      if (record.root != 0 && !trees_.is_root(owner.tree, record.root)) {
        walk_.note_unresolved("root node", record.root, sizeof(format::Node), offset_of(ref));
      }
      if (const std::uint32_t set = label_sets_.find(record.labels); set != FlatMap::kAbsent) {
        owner.labels = LabelSetId(set);
      } else if (record.labels != 0) {
        walk_.note_unresolved("label set", record.labels, sizeof(format::LabelSet), offset_of(ref));
      }
      owners.push_back(owner);
    }
    std::vector<bool> is_owned(trees_.tree_count());
    for (const Owner& owner : owners) is_owned[owner.tree] = true;
    for (std::uint32_t t = 0; t < is_owned.size(); ++t) {
      if (is_owned[t]) continue;
      walk_.note_unresolved("tree", trees_.tree_ref(t), sizeof(format::Tree), 0);
      owners.push_back({t, {}, {}});
    }
    // By thread, in the order of their creation.
    std::stable_sort(owners.begin(), owners.end(),
                     [](const Owner& a, const Owner& b) { return a.thread < b.thread; });
    return owners;
  }

  void read_trees() {
    const std::vector<Owner> owners = find_owners();
    std::vector<std::uint32_t> wanted;
    wanted.reserve(owners.size());
    for (const Owner& owner : owners) wanted.push_back(owner.tree);
    std::vector<Tree> trees = trees_.lay_out(
        wanted, [this](Ref ref) { return function(ref); },
        [this](NodeId node, Ref ref) {
          if (!values_.claim(node, ref)) {
            walk_.note_unresolved("row of values", ref, header_.row_bytes, 0);
          }
        });
    ThreadId unknown;
    for (std::size_t t = 0; t < trees.size(); ++t) {
      Tree& tree = trees[t];
      if (tree.begin == tree.end) continue;  // it has not entered anything yet
      tree.process = ProcessId(0);
      tree.thread = owners[t].thread;
      tree.labels = owners[t].labels;
      if (!tree.thread) {
        if (!unknown) unknown = add_thread({.name = "[unreadable]", .threads_served = 1});
        tree.thread = unknown;
      }
      profile_trees_.push_back(tree);
    }
    wrong_depths_ = trees_.wrong_depths();
  }

  // --- the second pass

  void read_edges() {
    constexpr std::uint64_t kFetchAhead = 16;
    for (const Items& items : edge_runs_) {
      if (!snapshots_.empty()) snapshots_.add_edges(items);
      const std::uint32_t step = items.item_bytes();
      items.each_run(walk_.window(),
                     [&](std::uint64_t first, std::uint64_t count, const std::byte* bytes) {
                       const auto edge_at = [&](std::uint64_t i) -> const format::Edge& {
                         return *reinterpret_cast<const format::Edge*>(bytes + i * step);
                       };
                       for (std::uint64_t i = 0; i < count; ++i) {
                         if (i + kFetchAhead < count) {
                           trees_.prefetch(edge_at(i + kFetchAhead).from);
                           trees_.prefetch(edge_at(i + kFetchAhead).to);
                           addresses_.prefetch_site(edge_at(i + kFetchAhead).site);
                         }
                         if (edge_at(i).to != 0) add_edge(edge_at(i), items, first + i);
                       }
                     });
    }
  }

  void add_edge(const format::Edge& edge, const Items& items, std::uint64_t place) {
    Edges& edges = trees_.edges();
    const std::uint64_t at = items.begin() + place * items.item_bytes();
    if (edge.kind != EdgeKind::kBack && edge.kind != EdgeKind::kTail) {
      damage_.note(at, fmt::format("edge {:#x} is of an unknown kind", items.ref(place)));
      return;
    }
    const NodeId from = trees_.node(edge.from), to = trees_.node(edge.to);
    if (!from || !to) {
      walk_.note_unresolved("node", from ? edge.to : edge.from, sizeof(format::Node), at);
      return;
    }
    if (!snapshots_.empty()) snapshots_.place_edge(place, EdgeId(edges.count()));
    edges.from.push_back(from);
    edges.to.push_back(to);
    edges.kind.push_back(edge.kind);
    edges.flags.push_back(edge.flags);
    edges.calls.push_back(edge.calls);
    edges.site.push_back(edge.site == 0 ? SiteId() : addresses_.site(edge.site));
  }

  Counts sum_calls() {
    const Edges& edges = trees_.edges();
    Counts calls(trees_.nodes().count());
    bool any = false;
    for (std::size_t e = 0; e < edges.count(); ++e) {
      const std::uint64_t count = edges.calls[e];
      calls.add(edges.to[e].index(), count);
      any |= count != 0;
    }
    return any ? std::move(calls) : Counts();
  }

  void read_values() {
    const std::size_t node_count = trees_.nodes().count();
    const std::vector<MetricSource>& sources = metrics_.sources();
    std::vector<Counts> columns(sources.size());
    values_.read(walk_.window(), node_count, sources, columns);
    for (std::size_t m = 0; m < sources.size(); ++m) {
      if (sources[m].place == format::MetricPlace::kCalls) columns[m] = sum_calls();
    }
    add_open_waits(columns);
    derive(columns, sources, node_count);
    for (std::size_t m = 0; m < sources.size(); ++m) {
      if (columns[m].empty()) continue;
      metrics_.metrics()[m].values = std::make_shared<Counts>(std::move(columns[m]));
    }
  }

  // For a process that is alive, up to the present; for one that was killed, up to its last charge.
  void add_open_waits(std::vector<Counts>& columns) {
    const bool is_live = process_.state == ProcessState::kLive;
    if (!is_live && process_.state != ProcessState::kKilled) return;
    const std::uint64_t now = is_live ? monotonic_now_ns() : header_.end_monotonic_ns;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      const format::Thread& record = threads_[t].second;
      const NodeId node = trees_.node(record.wait_context);
      if (record.wait_since_ns == 0 || record.wait_since_ns >= now || !node) continue;
      const std::uint64_t ns = now - record.wait_since_ns;
      add_open_wait(metrics_.metrics(), node, record.wait_kind, ns, trees_.nodes().count(),
                    columns);
      profile_threads_[t].wall_ns += ns;
      process_.duration_ns = std::max(process_.duration_ns, now - header_.start_monotonic_ns);
    }
  }

  // --- the end

  std::string warning(std::size_t node_count) const {
    if (image_.truncated()) {
      return Error{image_.name(), image_.size(),
                   fmt::format("truncated: {} of {} bytes are there; {} nodes in {} threads could "
                               "be read, {} references lead into the lost part",
                               image_.size(), header_.used_bytes, node_count, profile_trees_.size(),
                               damage_.beyond_end),
                   "figures are too low"}
          .line();
    }
    const bool live = process_.state == ProcessState::kLive;
    if (damage_.other == 0 || (live && damage_.other == damage_.beyond_end)) return {};
    return Error{
        image_.name(), damage_.first_offset,
        fmt::format("damaged: {}{}; {} nodes in {} threads could be read", damage_.first_what,
                    damage_.other > 1 ? fmt::format(" and {} more fault{}", damage_.other - 1,
                                                    damage_.other == 2 ? "" : "s")
                                      : std::string(),
                    node_count, profile_trees_.size()),
        "figures may be wrong"}
        .line();
  }

  std::uint64_t calls_without_callee(const Nodes& nodes, const Edges& edges) const {
    std::uint64_t calls = 0;
    if (header_.overflow_contexts == 0) return calls;
    for (std::size_t e = 0; e < edges.count(); ++e) {
      const FunctionId callee = nodes.function[edges.to[e].index()];
      if (functions_table_.kind[callee.index()] == FunctionKind::kOverflow) calls += edges.calls[e];
    }
    return calls;
  }

  // A handler of the program that interrupts the recorder loses a call, too, now and then: the
  // summary tells how many. Beyond that, the disk was full, and many are missing.
  bool lost_many_calls(const Edges& edges) const {
    constexpr std::uint64_t kFewOf = 1000;
    std::uint64_t lost = 0, counted = 0;
    for (const Thread& thread : profile_threads_) lost += thread.lost_calls;
    if (lost == 0) return false;
    for (std::size_t e = 0; e < edges.count(); ++e) counted += edges.calls[e];
    return lost > counted / kFewOf;
  }

  std::string lacking_callees() const {
    if (process_.calls_without_callee == 0) return {};
    return Error{image_.name(), std::nullopt,
                 fmt::format("{} calls found no space and are counted as calls of [overflow]: "
                             "the other counts are lower bounds (≥)",
                             process_.calls_without_callee),
                 process_.reached_memory_limit() ? "record with a larger --memory"
                                                 : "record where the disk has more space"}
        .line();
  }

  std::string skipped() const {
    if (skipped_.empty()) return {};
    std::string what;
    for (const auto& [kind, count] : skipped_) {
      what += fmt::format("{}{} of kind {}", what.empty() ? "" : ", ", count, kind);
    }
    return Error{image_.name(),
                 std::nullopt,
                 fmt::format("written by a newer fbleprof (format {}.{}); records skipped: {}",
                             header_.major_version, header_.minor_version, what),
                 {}}
        .line();
  }

  ReadResult finish() {
    Parts parts;
    const auto warn = [&](std::string line) {
      if (!line.empty()) parts.warnings.push_back(std::move(line));
    };
    parts.nodes = std::make_shared<Nodes>(std::move(trees_.nodes()));
    parts.edges = std::make_shared<Edges>(std::move(trees_.edges()));
    parts.snapshots = snapshots_.read(
        parts.nodes, parts.edges, metrics_.sources(), [this](Ref ref) { return trees_.node(ref); },
        [this](Ref ref, std::uint64_t from) { return string(ref, from); });
    warn(warning(parts.nodes->count()));
    warn(skipped());
    process_.calls_without_callee = calls_without_callee(*parts.nodes, *parts.edges);
    process_.lost_many_calls = lost_many_calls(*parts.edges);
    warn(lacking_callees());
    parts.processes = std::make_shared<std::vector<Process>>(std::vector{std::move(process_)});
    parts.threads = std::make_shared<std::vector<Thread>>(std::move(profile_threads_));
    parts.sites = std::make_shared<Sites>(
        addresses_.take_sites([this](Ref ref) { return string(ref, ref); }));
    parts.modules = std::make_shared<std::vector<Module>>(addresses_.take_modules());
    parts.functions = std::make_shared<Functions>(std::move(functions_table_));
    parts.trees = std::make_shared<std::vector<Tree>>(std::move(profile_trees_));
    parts.label_sets = std::make_shared<std::vector<LabelSet>>(std::move(sets_));
    parts.metrics = std::move(metrics_.metrics());
    parts.strings = std::make_shared<Strings>(strings_.take());
    fit_sums(parts, image_.name());
    return {Profile(std::move(parts)), std::move(damage_), wrong_depths_, image_.truncated(),
            std::move(skipped_)};
  }

  const FileImage& image_;
  const format::Header& header_;
  const ReadOptions& options_;
  Damage damage_;
  RecordWalk walk_;

  // As in the file.
  Texts texts_;
  Kept<format::Module> modules_;
  Kept<format::Function> functions_;
  Kept<format::Metric> metric_records_;
  Kept<format::Note> notes_;
  Kept<format::Label> labels_;
  Kept<format::Thread> threads_;
  Kept<format::Tree> tree_records_;
  FlatMap label_sets_;  // by Ref
  std::uint32_t label_set_count_ = 0;
  std::vector<Items> edge_runs_;
  std::set<Ref> unfinished_;  // records, and trees of such threads
  std::map<std::uint16_t, std::uint64_t> skipped_;

  // As in the profile.
  StringInterner strings_;
  FlatMap string_index_;  // by Ref
  Process process_;
  AddressMap addresses_;
  Functions functions_table_;
  FlatMap function_index_;  // by Ref
  FunctionId unreadable_;
  std::vector<LabelSet> sets_;
  std::vector<Thread> profile_threads_;
  std::vector<Tree> profile_trees_;
  TreeReader trees_;
  MetricReader metrics_;
  ValueReader values_;
  SnapshotReader snapshots_;
  std::uint64_t wrong_depths_ = 0;
};

}  // namespace

ReadResult read_image(const FileImage& image, const ReadOptions& options) {
  return Reader(image, options).run();
}

Result<ReadResult> read_file(const std::string& path, const ReadOptions& options) {
  Result<FileImage> image = FileImage::load(path);
  if (!image) return image.error();
  return read_image(*image, options);
}

Result<ReadResult> read_bytes(std::span<const std::byte> bytes, std::string name,
                              const ReadOptions& options) {
  Result<FileImage> image = FileImage::from_bytes(bytes, std::move(name));
  if (!image) return image.error();
  return read_image(*image, options);
}

}  // namespace fbleprof::profile
