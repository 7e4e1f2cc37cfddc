// --raw: every record that can be reached, a line each, with its place.
//
// Walks the records as they refer to each other, with the reader's own checks, and prints fields as
// they stand in the file: no names looked up, nothing merged.
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "base/hex.h"
#include "profile/records.h"
#include "report/text/escape.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;

namespace {

class RawPrinter {
 public:
  RawPrinter(const FileImage& image, std::FILE* out) : image_(image), records_(image), out_(out) {}

  void run() {
    header();
    const format::Header& h = image_.header();
    list<format::Note>(h.first_note, &h.first_note, RecordKind::kNote,
                       [&](format::Ref ref, const format::Note& note) {
                         print("note", ref, "text={}", text(note.text));
                       });
    list<format::Label>(h.first_label, &h.first_label, RecordKind::kLabel,
                        [&](format::Ref ref, const format::Label& label) {
                          print("label", ref, "key={} value={}", text(label.key),
                                text(label.value));
                        });
    list<format::Metric>(h.first_metric, &h.first_metric, RecordKind::kMetric,
                         [&](format::Ref ref, const format::Metric& metric) {
                           print("metric", ref, "name={} unit={} place={} offset={} aggregation={}",
                                 text(metric.name), text(metric.unit),
                                 static_cast<unsigned>(metric.place), metric.offset,
                                 static_cast<unsigned>(metric.aggregation));
                         });
    list<format::Module>(
        h.first_module, &h.first_module, RecordKind::kModule,
        [&](format::Ref ref, const format::Module& module) {
          print("module", ref,
                "path={} build_id={} load_bias={:#x} begin={:#x} end={:#x} loaded_ns={} "
                "unloaded_ns={} flags={:#x}",
                text(module.path), hex(module.build_id), module.load_bias, module.begin, module.end,
                module.loaded_ns, module.unloaded_ns, module.flags);
        });
    list<format::Function>(
        h.first_function, &h.first_function, RecordKind::kFunction,
        [&](format::Ref ref, const format::Function& function) { print_function(ref, function); });
    std::vector<const format::Thread*> threads;
    list<format::Thread>(
        h.first_thread, &h.first_thread, RecordKind::kThread,
        [&](format::Ref ref, const format::Thread& thread) {
          threads.push_back(&thread);
          const std::string_view name(thread.name, strnlen(thread.name, sizeof thread.name));
          print("thread", ref,
                "root={:#x} tid={} flags={:#x} name=\"{}\" threads_served={} start_ns={} end_ns={} "
                "cpu_ns={} wall_ns={} samples={} dropped={} lost_calls={} deep_calls={} "
                "unmatched={}",
                thread.root, thread.tid, thread.flags, escape(name), thread.threads_served,
                thread.start_ns, thread.end_ns, thread.cpu_ns, thread.wall_ns, thread.samples,
                thread.dropped, thread.lost_calls, thread.deep_calls, thread.unmatched);
        });
    for (const format::Thread* thread : threads) tree(thread->root, &thread->root);
    const Damage& damage = records_.damage();
    if (damage.any()) {
      fmt::print(out_, "damage beyond_end={} other={} first_offset={} first=\"{}\"\n",
                 damage.beyond_end, damage.other, damage.first_offset.value_or(0),
                 damage.first_what);
    }
  }

 private:
  template <class... Args>
  void print(std::string_view kind, format::Ref ref, fmt::format_string<Args...> fields,
             Args&&... args) {
    fmt::print(out_, "{} {:#x} {}\n", kind, ref, fmt::format(fields, std::forward<Args>(args)...));
  }

  std::string text(const format::Ref& field) {
    return "\"" + escape(records_.text(field, records_.offset(&field))) + "\"";
  }
  std::string hex(const format::Ref& field) {
    const std::string out =
        fbleprof::hex(records_.text(field, records_.offset(&field)).substr(0, 64));
    return out.empty() ? "none" : out;
  }

  template <class Record, class Visit>
  void list(format::Ref first, const void* field, RecordKind kind, Visit visit) {
    std::uint64_t from = records_.offset(field);
    for (format::Ref ref = first; ref != 0;) {
      const Record* record = records_.take<Record>(ref, kind, from);
      if (record == nullptr) return;
      visit(ref, *record);
      from = records_.offset(&record->next);
      ref = record->next;
    }
  }

  void header() {
    const format::Header& h = image_.header();
    fmt::print(out_,
               "header version={} bytes={} used_bytes={} cap_bytes={} state={} end_code={} pid={} "
               "parent_pid={} process_start_ticks={} pid_namespace={}\n",
               h.version, image_.size(), h.used_bytes, h.cap_bytes, static_cast<unsigned>(h.state),
               h.end_code, h.pid, h.parent_pid, h.process_start_ticks, h.pid_namespace);
    fmt::print(out_, "header executable={} command_line={} working_directory={} host={}\n",
               text(h.executable), text(h.command_line), text(h.working_directory), text(h.host));
    fmt::print(out_,
               "header start_realtime_ns={} start_monotonic_ns={} end_monotonic_ns={} clock={} "
               "compaction={} source={} flags={:#x} rate_hz={} machine={}\n",
               h.start_realtime_ns, h.start_monotonic_ns, h.end_monotonic_ns,
               static_cast<unsigned>(h.clock), static_cast<unsigned>(h.compaction),
               static_cast<unsigned>(h.source), h.flags, h.rate_hz, h.machine);
    fmt::print(out_,
               "header overflow_contexts={} lost_threads={} lost_children={} foreign_signals={} "
               "process_cpu_ns={} node_count={} edge_count={}\n",
               h.overflow_contexts, h.lost_threads, h.lost_children, h.foreign_signals,
               h.process_cpu_ns, h.node_count, h.edge_count);
  }

  void print_function(format::Ref ref, const format::Function& function) {
    print("function", ref, "kind={} flags={:#x} address={:#x} size={} module={:#x} name={} file={}",
          static_cast<unsigned>(function.kind), function.flags, function.address, function.size,
          function.module, text(function.name), text(function.file));
  }

  void print_node(format::Ref ref, const format::Node& node) {
    if (node.function != 0 && records_.kind(node.function) == RecordKind::kFree) {
      const auto* function = records_.take<format::Function>(node.function, RecordKind::kFunction,
                                                             records_.offset(&node.function));
      if (function != nullptr) print_function(node.function, *function);
    }
    print("node", ref,
          "parent={:#x} function={:#x} depth={} number={} samples={} cpu_ns={} wall_ns={} "
          "overhead_ns={} ticks={}",
          node.parent, node.function, node.depth, node.number, node.samples, node.cpu_ns,
          node.wall_ns, node.overhead_ns, node.ticks);
    if (node.extra == 0) return;
    const auto* extra = records_.take<format::Counters>(node.extra, RecordKind::kCounters,
                                                        records_.offset(&node.extra));
    if (extra != nullptr) {
      print("counters", node.extra, "node={:#x} values={}", ref, fmt::join(extra->value, ","));
    }
  }

  void tree(format::Ref root, const void* field) {
    // Nodes whose edges are to be followed, and the next of them.
    struct Open {
      format::Ref edge;
      std::uint64_t from;
    };
    std::vector<Open> stack;
    const auto open = [&](format::Ref ref, std::uint64_t from) {
      const auto* node = records_.take<format::Node>(ref, RecordKind::kNode, from);
      if (node == nullptr) return;
      print_node(ref, *node);
      stack.push_back({node->first_edge, records_.offset(&node->first_edge)});
    };
    if (root != 0) open(root, records_.offset(field));
    while (!stack.empty()) {
      if (stack.back().edge == 0) {
        stack.pop_back();
        continue;
      }
      const format::Ref ref = stack.back().edge;
      const auto* edge = records_.take<format::Edge>(ref, RecordKind::kEdge, stack.back().from);
      if (edge == nullptr) {
        stack.back().edge = 0;
        continue;
      }
      stack.back() = {edge->next, records_.offset(&edge->next)};
      print("edge", ref, "kind={} from={:#x} to={:#x} calls={} site={:#x} flags={:#x}",
            static_cast<unsigned>(edge->kind), edge->from, edge->to, edge->calls, edge->site,
            edge->flags);
      if (edge->kind == format::EdgeKind::kTree) open(edge->to, records_.offset(&edge->to));
    }
  }

  const FileImage& image_;
  Records records_;
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
