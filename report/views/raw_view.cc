// Walks the records in the order of the file, as the reader does, and prints their fields: nothing
// is merged, and only references to strings are followed.
#include <fmt/format.h>

#include <cstring>

#include "base/hex.h"
#include "profile/records.h"
#include "profile/texts.h"
#include "report/text/escape.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;

namespace {

using format::Kind;

template <class Enum>
unsigned number(Enum value) {
  return static_cast<unsigned>(value);
}

class RawPrinter {
 public:
  RawPrinter(const FileImage& image, std::FILE* out)
      : image_(image), walk_(image, damage_), items_window_(image), out_(out) {}

  void run() {
    find_texts();
    header();
    while (const auto record = walk_.next()) print_record(*record);
    if (damage_.any()) {
      fmt::print(out_, "damage beyond_end={} other={} first_offset={} first=\"{}\"\n",
                 damage_.beyond_end, damage_.other, damage_.first_offset.value_or(0),
                 damage_.first_what);
    }
  }

 private:
  template <class... Args>
  void print(std::string_view kind, format::Ref ref, fmt::format_string<Args...> fields,
             Args&&... args) {
    fmt::print(out_, "{} {:#x} {}\n", kind, ref, fmt::format(fields, std::forward<Args>(args)...));
  }

  void find_texts() {
    Damage seen_twice;
    RecordWalk walk(image_, seen_twice);
    while (const auto record = walk.next()) {
      if (record->kind != Kind::kString) continue;
      if (const auto text = walk.text(*record)) texts_.add(record->ref, *text);
    }
  }

  std::string text(format::Ref ref) const {
    const auto found = texts_.find(ref);
    if (found) return fmt::format("\"{}\"", escape(*found));
    return ref == 0 ? "\"\"" : fmt::format("{:#x}", ref);
  }

  std::string hex(format::Ref ref) const {
    const std::string out = fbleprof::hex(texts_.find(ref).value_or("").substr(0, 64));
    return out.empty() ? "none" : out;
  }

  void header() {
    const format::Header& h = image_.header();
    fmt::print(out_,
               "header version={}.{} bytes={} used_bytes={} cap_bytes={} state={} end_code={} "
               "pid={} parent_pid={} process_start_ticks={} pid_namespace={}\n",
               h.major_version, h.minor_version, image_.size(), h.used_bytes, h.cap_bytes,
               number(h.state), h.end_code, h.pid, h.parent_pid, h.process_start_ticks,
               h.pid_namespace);
    fmt::print(out_, "header executable={} command_line={} working_directory={} host={}\n",
               text(h.executable), text(h.command_line), text(h.working_directory), text(h.host));
    fmt::print(out_,
               "header start_realtime_ns={} start_monotonic_ns={} end_monotonic_ns={} clock={} "
               "compaction={} source={} flags={:#x} rate_hz={} machine={} row_bytes={} "
               "generation={} depth_limit={}\n",
               h.start_realtime_ns, h.start_monotonic_ns, h.end_monotonic_ns, number(h.clock),
               number(h.compaction), number(h.source), h.flags, h.rate_hz, h.machine, h.row_bytes,
               h.generation, h.depth_limit);
    fmt::print(out_,
               "header overflow_contexts={} lost_threads={} lost_children={} foreign_signals={} "
               "process_cpu_ns={} node_count={} edge_count={} children={} newest_module={:#x}\n",
               h.overflow_contexts, h.lost_threads, h.lost_children, h.foreign_signals,
               h.process_cpu_ns, h.node_count, h.edge_count, h.children, h.newest_module);
  }

  void print_record(const Record& record) {
    switch (record.kind) {
      case Kind::kString:
        return print_string(record);
      case Kind::kModule:
        return print_module(record.ref, walk_.read<format::Module>(record));
      case Kind::kFunction:
        return print_function(record.ref, walk_.read<format::Function>(record));
      case Kind::kMetric:
        return print_metric(record.ref, walk_.read<format::Metric>(record));
      case Kind::kNote:
        return print("note", record.ref, "text={}", text(walk_.read<format::Note>(record).text));
      case Kind::kLabelSet:
        return print("labelset", record.ref, "bytes={}", record.bytes);
      case Kind::kLabel: {
        const auto label = walk_.read<format::Label>(record);
        return print("label", record.ref, "key={} value={} set={:#x}", text(label.key),
                     text(label.value), label.set);
      }
      case Kind::kThread:
        return print_thread(record.ref, walk_.read<format::Thread>(record));
      case Kind::kTree: {
        const auto tree = walk_.read<format::Tree>(record);
        return print("tree", record.ref, "thread={:#x} root={:#x} labels={:#x}", tree.thread,
                     tree.root, tree.labels);
      }
      case Kind::kNodes:
        return print_items(record, sizeof(format::Node));
      case Kind::kEdges:
        return print_items(record, sizeof(format::Edge));
      case Kind::kValues:
        return print_items(record, sizeof(std::uint64_t));
      case Kind::kSnapshot: {
        const auto s = walk_.read<format::Snapshot>(record);
        return print("snapshot", record.ref,
                     "name={} generation={} time_ns={} reason={} is_complete={}", text(s.name),
                     s.generation, s.time_ns, number(s.reason), s.is_complete);
      }
      case Kind::kSnapshotNodes:
      case Kind::kSnapshotEdges:
        return print_snapshot_items(record);
      case Kind::kUnfinished:
      case Kind::kPrivate:
        return print(kind_name(record.kind), record.ref, "bytes={}", record.bytes);
    }
    print("record", record.ref, "kind={} bytes={}", number(record.kind), record.bytes);
  }

  void print_string(const Record& record) {
    const auto text = walk_.text(record);
    if (text) {
      print("string", record.ref, "text=\"{}\"", escape(*text));
    } else {
      print("string", record.ref, "damaged");
    }
  }

  void print_module(format::Ref ref, const format::Module& module) {
    print("module", ref,
          "path={} build_id={} load_bias={:#x} begin={:#x} end={:#x} loaded_ns={} "
          "unloaded_ns={} flags={:#x}",
          text(module.path), hex(module.build_id), module.load_bias, module.begin, module.end,
          module.loaded_ns, module.unloaded_ns, module.flags);
  }

  void print_function(format::Ref ref, const format::Function& function) {
    // One field has four meanings.
    const bool is_block = function.kind == format::FunctionKind::kBlock;
    const bool has_map = (function.flags & format::kFunctionMapBytes) != 0;
    const bool is_of_module = function.module != 0;
    const bool is_met = !is_block && !has_map && !is_of_module;
    print("function", ref,
          "kind={} flags={:#x} address={:#x} size={} module={:#x} name={} linkage_name={} "
          "file={} line={} column={} language={} code_hash={:#x} first_met_ns={} map_bytes={} "
          "unhooked_ns={} "
          "recorder_key={:#x}",
          number(function.kind), function.flags, function.address, function.size, function.module,
          text(function.name), text(function.linkage_name), text(function.file), function.line,
          function.column, text(function.language), function.code_hash,
          is_met ? function.first_met_ns : 0, has_map ? function.map_bytes : 0,
          is_of_module ? function.unhooked_ns : 0, is_block ? function.recorder_key : 0);
  }

  void print_metric(format::Ref ref, const format::Metric& metric) {
    print("metric", ref,
          "name={} unit={} formula={} role={} aggregation={} place={} word={} flags={:#x}",
          text(metric.name), text(metric.unit), text(metric.formula), number(metric.role),
          number(metric.aggregation), number(metric.place), metric.word, metric.flags);
  }

  void print_thread(format::Ref ref, const format::Thread& thread) {
    const std::string_view name(thread.name, strnlen(thread.name, sizeof thread.name));
    print("thread", ref,
          "tid={} flags={:#x} name=\"{}\" threads_served={} start_ns={} end_ns={} cpu_ns={} "
          "wall_ns={} samples={} dropped={} lost_calls={} deep_calls={} unmatched={} "
          "wait_since_ns={} wait_context={:#x} wait_kind={}",
          thread.tid, thread.flags, escape(name), thread.threads_served, thread.start_ns,
          thread.end_ns, thread.cpu_ns, thread.wall_ns, thread.samples, thread.dropped,
          thread.lost_calls, thread.deep_calls, thread.unmatched, thread.wait_since_ns,
          thread.wait_context, number(thread.wait_kind));
  }

  void print_items(const Record& record, std::size_t least) {
    const auto head = walk_.read<format::Nodes>(record);
    print(kind_name(record.kind), record.ref, "tree={:#x} item_bytes={} bytes={}", head.tree,
          head.item_bytes, record.bytes);
    const auto items = Items::of(record, head.item_bytes, least, true);
    if (!items) return;
    items->each(items_window_, [&](std::uint64_t i, const std::byte* bytes) {
      const format::Ref ref = items->ref(i);
      if (record.kind == Kind::kNodes) {
        print_node(ref, *reinterpret_cast<const format::Node*>(bytes));
      } else if (record.kind == Kind::kEdges) {
        print_edge(ref, *reinterpret_cast<const format::Edge*>(bytes));
      } else {
        print_row(ref, bytes, items->item_bytes());
      }
    });
  }

  void print_node(format::Ref ref, const format::Node& node) {
    if (node.function == 0) return;
    print("node", ref,
          "parent={:#x} function={:#x} depth={} calls={} site={:#x} flags={:#x} values={:#x}",
          node.parent, node.function, node.depth, node.calls, node.site, node.flags, node.values);
  }

  void print_edge(format::Ref ref, const format::Edge& edge) {
    if (edge.to == 0) return;
    print("edge", ref, "kind={} from={:#x} to={:#x} calls={} site={:#x} flags={:#x}",
          number(edge.kind), edge.from, edge.to, edge.calls, edge.site, edge.flags);
  }

  // Unused rows are all zero.
  void print_row(format::Ref ref, const std::byte* bytes, std::size_t count) {
    const std::span words(reinterpret_cast<const std::uint64_t*>(bytes),
                          count / sizeof(std::uint64_t));
    bool is_zero = true;
    for (const std::uint64_t word : words) is_zero &= word == 0;
    if (!is_zero) print("row", ref, "words={}", fmt::join(words, ","));
  }

  void print_snapshot_items(const Record& record) {
    const auto head = walk_.read<format::SnapshotItems>(record);
    print(kind_name(record.kind), record.ref, "snapshot={:#x} item_bytes={} item_count={}",
          head.snapshot, head.item_bytes, head.item_count);
    auto items = Items::of(record, head.item_bytes, sizeof(format::SnapshotItem), false);
    if (!items) return;
    items->limit(head.item_count);
    items->each(items_window_, [&](std::uint64_t, const std::byte* bytes) {
      const auto& item = *reinterpret_cast<const format::SnapshotItem*>(bytes);
      const std::span words(reinterpret_cast<const std::uint64_t*>(bytes + sizeof item),
                            (head.item_bytes - sizeof item) / sizeof(std::uint64_t));
      fmt::print(out_, "item of={:#x} calls={} words={}\n", item.of, item.calls,
                 fmt::join(words, ","));
    });
  }

  const FileImage& image_;
  Texts texts_;
  Damage damage_;
  RecordWalk walk_;
  FileWindow items_window_;
  std::FILE* out_;
};

const Register kRaw({
    .name = "raw",
    .help = "every record of the file",
    .manual = "Every record of the file.",
    .topic = View::Topic::kRuns,
    .subject = View::Subject::kFiles,
    .print = [](const FileImage& image, std::FILE* out) { RawPrinter(image, out).run(); },
});

}  // namespace

}  // namespace fbleprof::report
