#include "profile/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/flat_map.h"
#include "base/hex.h"
#include "profile/fit_sums.h"
#include "profile/liveness.h"
#include "profile/metric_roles.h"
#include "profile/next_program.h"
#include "profile/tree_reader.h"

namespace fbleprof::profile {
namespace {

constexpr std::uint32_t kWordBytes = 8;

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
    default:
      return {};
  }
}

// Reads one image. Lists first, then the trees, which may bring functions and modules to light
// whose list was cut off.
class Reader {
 public:
  Reader(const FileImage& image, const ReadOptions& options)
      : image_(image), header_(image.header()), options_(options), records_(image) {}

  ReadResult run() {
    read_process();
    if (image_.truncated()) salvage_ = Salvage(records_);
    read_modules();
    read_functions();
    read_metrics();
    read_trees();
    return finish();
  }

 private:
  // Calls `visit(record)` for each record of a list, newest first.
  template <class Record, class Visit>
  void each(format::Ref first, const void* field, RecordKind kind, Visit visit) {
    std::uint64_t from = records_.offset(field);
    for (format::Ref ref = first; ref != 0;) {
      const Record* record = records_.take<Record>(ref, kind, from);
      if (record == nullptr) return;
      visit(ref, *record);
      from = records_.offset(&record->next);
      ref = record->next;
    }
  }

  StringId string(const format::Ref& field) {
    if (field == 0) return StringId();
    if (records_.kind(field) == RecordKind::kString && records_.index(field) != Records::kNoIndex) {
      return StringId(records_.index(field));
    }
    const std::string_view text = records_.text(field, records_.offset(&field));
    if (records_.kind(field) != RecordKind::kString) return StringId();
    const StringId id = strings_.intern(text);
    records_.set_index(field, id.index());
    return id;
  }

  void read_process() {
    Process& process = process_;
    process.file = strings_.intern(image_.name());
    process.pid = header_.pid;
    process.parent_pid = header_.parent_pid;
    process.executable = string(header_.executable);
    process.command_line = string(header_.command_line);
    process.working_directory = string(header_.working_directory);
    process.host = string(header_.host);
    process.start_realtime_ns = header_.start_realtime_ns;
    if (header_.end_monotonic_ns > header_.start_monotonic_ns) {
      process.duration_ns = header_.end_monotonic_ns - header_.start_monotonic_ns;
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
    process.process_cpu_ns = header_.process_cpu_ns;
    process.overflow_contexts = header_.overflow_contexts;
    process.lost_threads = header_.lost_threads;
    process.lost_children = header_.lost_children;
    process.foreign_signals = header_.foreign_signals;
    each<format::Note>(
        header_.first_note, &header_.first_note, RecordKind::kNote,
        [&](format::Ref, const format::Note& note) { process.notes.push_back(string(note.text)); });
    each<format::Label>(header_.first_label, &header_.first_label, RecordKind::kLabel,
                        [&](format::Ref, const format::Label& label) {
                          process.labels.push_back({string(label.key), string(label.value)});
                        });
    std::reverse(process.notes.begin(), process.notes.end());
    std::reverse(process.labels.begin(), process.labels.end());
  }

  // --- modules

  // What only this process knows about a module.
  struct Mapping {
    std::uint64_t begin, end, load_bias, loaded_ns, unloaded_ns;
    ModuleId module;
  };

  void add_module(format::Ref ref, const format::Module& record) {
    const StringId path = string(record.path);
    std::string build_id;
    if (record.build_id != 0) {
      build_id =
          hex(records_.text(record.build_id, records_.offset(&record.build_id)).substr(0, 64));
    }
    const StringId build = build_id.empty() ? StringId() : strings_.intern(build_id);
    const auto [it, added] = module_index_.try_emplace({path, build}, ModuleId(modules_.size()));
    if (added) modules_.push_back({path, build, record.flags});
    records_.set_index(ref, static_cast<std::uint32_t>(mappings_.size()));
    mappings_.push_back({record.begin, record.end, record.load_bias, record.loaded_ns,
                         record.unloaded_ns, it->second});
  }

  void read_modules() {
    each<format::Module>(
        header_.first_module, &header_.first_module, RecordKind::kModule,
        [&](format::Ref ref, const format::Module& record) { add_module(ref, record); });
    by_begin_.resize(mappings_.size());
    for (std::size_t i = 0; i < by_begin_.size(); ++i) by_begin_[i] = static_cast<std::uint32_t>(i);
    std::sort(by_begin_.begin(), by_begin_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return mappings_[a].begin < mappings_[b].begin;
    });
  }

  const Mapping* mapping(const format::Ref& field) {
    if (field == 0) return nullptr;
    if (records_.kind(field) != RecordKind::kModule) {
      const auto* record =
          records_.take<format::Module>(field, RecordKind::kModule, records_.offset(&field));
      if (record == nullptr) return nullptr;
      add_module(field, *record);
    }
    return &mappings_[records_.index(field)];
  }

  // Call sites name no module: the one whose range holds the address, the newest if several did.
  const Mapping* mapping_at(std::uint64_t address) const {
    auto it = std::upper_bound(
        by_begin_.begin(), by_begin_.end(), address,
        [&](std::uint64_t value, std::uint32_t m) { return value < mappings_[m].begin; });
    const Mapping* found = nullptr;
    for (int steps = 0; it != by_begin_.begin() && steps < 8; ++steps) {
      const Mapping& candidate = mappings_[*--it];
      if (address >= candidate.end) continue;
      if (found == nullptr || candidate.loaded_ns > found->loaded_ns) found = &candidate;
    }
    return found;
  }

  SiteId site(std::uint64_t address) {
    const auto [value, added] =
        site_index_.insert(address, static_cast<std::uint32_t>(sites_.count()));
    if (added) {
      const Mapping* where = mapping_at(address);
      sites_.module.push_back(where != nullptr ? where->module : ModuleId());
      sites_.address.push_back(where != nullptr ? address - where->load_bias : address);
      sites_.file.push_back({});
      sites_.line.push_back(0);
    }
    return SiteId(value);
  }

  // --- functions

  FunctionId add_function(format::Ref ref, const format::Function& record) {
    const FunctionId id(functions_.count());
    records_.set_index(ref, id.index());
    const bool native =
        record.kind == FunctionKind::kNative || record.kind == FunctionKind::kInstruction;
    const bool block = record.kind == FunctionKind::kBlock;
    const Mapping* where = native ? mapping(record.module) : nullptr;
    if (record.kind > FunctionKind::kInstruction) {
      records_.note_damage(records_.offset(&record.kind),
                           fmt::format("function {:#x} is of no known kind", ref));
    }
    StringId name;
    if (block) name = string(record.name);
    if (const std::string_view special = special_name(record.kind); !special.empty()) {
      name = strings_.intern(special);
    }
    functions_.add(
        {.kind = record.kind > FunctionKind::kInstruction ? FunctionKind::kNative : record.kind,
         .module = where != nullptr ? where->module : ModuleId(),
         .address = where != nullptr ? record.address - where->load_bias : record.address,
         .name = name,
         .file = block ? string(record.file) : StringId(),
         .line = block ? record.size : 0,
         .flags = record.flags,
         .size = native ? record.size : 0});
    return id;
  }

  void read_functions() {
    each<format::Function>(
        header_.first_function, &header_.first_function, RecordKind::kFunction,
        [&](format::Ref ref, const format::Function& record) { add_function(ref, record); });
  }

  FunctionId function(format::Ref ref, std::uint64_t from) {
    if (records_.kind(ref) == RecordKind::kFunction) return FunctionId(records_.index(ref));
    const auto* record = records_.take<format::Function>(ref, RecordKind::kFunction, from);
    if (record != nullptr) return add_function(ref, *record);
    if (!unreadable_) {
      unreadable_ =
          functions_.add({.kind = FunctionKind::kBlock, .name = strings_.intern("[unreadable]")});
    }
    return unreadable_;
  }

  // --- metrics

  // Checks where the values are; a place is taken once, which bounds the columns.
  bool usable(const format::Metric& record, MetricSource& source) const {
    source = {record.place, record.offset};
    switch (record.place) {
      case format::MetricPlace::kNodeField:
        if (record.offset % kWordBytes != 0 || record.offset < offsetof(format::Node, samples) ||
            record.offset > sizeof(format::Node) - kWordBytes) {
          return false;
        }
        source.slot = record.offset / kWordBytes;
        break;
      case format::MetricPlace::kExtra:
        if (record.offset >= std::size(format::Counters{}.value)) return false;
        break;
      case format::MetricPlace::kEdgeCalls:
        source.slot = 0;
        break;
      default:
        return false;
    }
    return std::none_of(sources_.begin(), sources_.end(), [&](const MetricSource& other) {
      return other.place == source.place && other.slot == source.slot;
    });
  }

  bool is_taken(std::string_view metric) const {
    return std::any_of(metrics_.begin(), metrics_.end(),
                       [&](const Metric& other) { return other.name == metric; });
  }

  void read_metrics() {
    each<format::Metric>(
        header_.first_metric, &header_.first_metric, RecordKind::kMetric,
        [&](format::Ref ref, const format::Metric& record) {
          MetricSource source;
          if (record.aggregation > Aggregation::kLast || !usable(record, source)) {
            records_.note_damage(records_.offset(&record),
                                 fmt::format("metric {:#x} has no readable place", ref));
            return;
          }
          const auto text = [&](const format::Ref& field) {
            return std::string(records_.text(field, records_.offset(&field)).substr(0, 64));
          };
          std::string name = text(record.name);
          // Metrics are told apart by name, and "calls" are those of the edges.
          const bool is_of_edges = record.place == format::MetricPlace::kEdgeCalls;
          if (name.empty() || is_taken(name) || (name == "calls" && !is_of_edges)) {
            records_.note_damage(records_.offset(&record),
                                 fmt::format("metric {:#x} has no name of its own", ref));
            return;
          }
          const std::string unit = text(record.unit);
          const Role role = role_for_name(name, unit);
          metrics_.push_back({.name = std::move(name),
                              .unit = unit,
                              .aggregation = record.aggregation,
                              .role = role});
          sources_.push_back(source);
        });
    std::reverse(metrics_.begin(), metrics_.end());
    std::reverse(sources_.begin(), sources_.end());
    // What Node holds has a place in any file, described or (list cut off) not.
    const auto fill_in = [&](const char* name, const char* unit, format::MetricPlace place,
                             std::size_t offset) {
      const format::Metric record{.place = place,
                                  .offset = static_cast<std::uint16_t>(offset),
                                  .aggregation = Aggregation::kSum};
      MetricSource source;
      if (!usable(record, source) || is_taken(name)) return;
      metrics_.push_back({.name = name, .unit = unit, .role = role_for_name(name, unit)});
      sources_.push_back(source);
    };
    using Place = format::MetricPlace;
    fill_in("cpu", "ns", Place::kNodeField, offsetof(format::Node, cpu_ns));
    fill_in("wall", "ns", Place::kNodeField, offsetof(format::Node, wall_ns));
    fill_in("samples", "count", Place::kNodeField, offsetof(format::Node, samples));
    fill_in("overhead", "ns", Place::kNodeField, offsetof(format::Node, overhead_ns));
    fill_in("ticks", "count", Place::kNodeField, offsetof(format::Node, ticks));
    fill_in("calls", "count", Place::kEdgeCalls, 0);
  }

  // --- threads and their trees

  void add_thread(TreeReader& reader, const format::Thread& record) {
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
    threads_.push_back(thread);
    if (record.root == 0) return;  // it has not entered anything yet
    Tree tree = reader.read(record.root, records_.offset(&record.root), salvage_);
    if (!tree.begin) return;
    tree.process = ProcessId(0);
    tree.thread = ThreadId(threads_.size() - 1);
    trees_.push_back(tree);
    if (options_.progress != nullptr) {
      options_.progress->update("reading", reader.nodes().count(),
                                std::max<std::uint64_t>(header_.node_count, 1));
    }
  }

  void read_trees() {
    // `calls` is summed from edges below; the tree reader gets the others.
    std::vector<MetricSource> on_nodes;
    for (const MetricSource& source : sources_) {
      if (source.place != format::MetricPlace::kEdgeCalls) on_nodes.push_back(source);
    }
    TreeReader reader(
        records_, on_nodes,
        [this](format::Ref ref, std::uint64_t from) { return function(ref, from); },
        [this](std::uint64_t address) { return site(address); });

    std::vector<const format::Thread*> threads;
    each<format::Thread>(header_.first_thread, &header_.first_thread, RecordKind::kThread,
                         [&](format::Ref, const format::Thread& t) { threads.push_back(&t); });
    for (const format::Ref ref : salvage_.threads()) {
      if (records_.claim(ref, RecordKind::kThread, sizeof(format::Thread)) == RefFault::kNone) {
        threads.push_back(records_.peek<format::Thread>(ref));
      }
    }
    std::reverse(threads.begin(), threads.end());
    for (const format::Thread* thread : threads) add_thread(reader, *thread);
    reader.finish();

    wrong_links_ = reader.wrong_links();
    nodes_ = std::make_shared<Nodes>(std::move(reader.nodes()));
    edges_ = std::make_shared<Edges>(std::move(reader.edges()));
    std::size_t next_column = 0;
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      Counts column;
      if (sources_[m].place == format::MetricPlace::kEdgeCalls) {
        column = sum_calls();
      } else {
        column = std::move(reader.values()[next_column++]);
      }
      if (!column.empty()) {
        metrics_[m].values = std::make_shared<Counts>(std::move(column));
      }
    }
  }

  Counts sum_calls() const {
    Counts calls(nodes_->count());
    bool any = false;
    for (std::size_t e = 0; e < edges_->count(); ++e) {
      calls.add(edges_->to[e].index(), edges_->calls[e]);
      any |= edges_->calls[e] != 0;
    }
    return any ? calls : Counts();
  }

  // --- the end

  std::string warning() const {
    const Damage& damage = records_.damage();
    if (image_.truncated()) {
      return Error{image_.name(), image_.size(),
                   fmt::format("truncated: {} of {} bytes are there; {} nodes in {} threads could "
                               "be read, {} references lead into the lost part",
                               image_.size(), header_.used_bytes, nodes_->count(), trees_.size(),
                               damage.beyond_end),
                   "figures are too low"}
          .line();
    }
    // While a program runs, lists may already name what came after our last look.
    const bool live = process_.state == ProcessState::kLive;
    if (damage.other == 0 || (live && damage.other == damage.beyond_end)) return {};
    return Error{
        image_.name(), damage.first_offset,
        fmt::format(
            "damaged: {}{}; {} nodes in {} threads could be read", damage.first_what,
            damage.other > 1 ? fmt::format(" and {} more faults", damage.other - 1) : std::string(),
            nodes_->count(), trees_.size()),
        "figures may be wrong"}
        .line();
  }

  ReadResult finish() {
    Parts parts;
    if (std::string line = warning(); !line.empty()) parts.warnings.push_back(std::move(line));
    parts.processes = std::make_shared<std::vector<Process>>(std::vector{std::move(process_)});
    parts.threads = std::make_shared<std::vector<Thread>>(std::move(threads_));
    parts.modules = std::make_shared<std::vector<Module>>(std::move(modules_));
    parts.functions = std::make_shared<Functions>(std::move(functions_));
    parts.sites = std::make_shared<Sites>(std::move(sites_));
    parts.trees = std::make_shared<std::vector<Tree>>(std::move(trees_));
    parts.nodes = nodes_;
    parts.edges = edges_;
    parts.metrics = std::move(metrics_);
    parts.strings = std::make_shared<Strings>(strings_.take());
    fit_sums(parts, image_.name());
    return {Profile(std::move(parts)), records_.damage(), wrong_links_};
  }

  const FileImage& image_;
  const format::Header& header_;
  const ReadOptions& options_;
  Records records_;
  Salvage salvage_;
  StringInterner strings_;
  Process process_;
  std::vector<Module> modules_;
  std::vector<Mapping> mappings_;
  std::map<std::pair<StringId, StringId>, ModuleId> module_index_;
  std::vector<std::uint32_t> by_begin_;
  Functions functions_;
  FunctionId unreadable_;
  Sites sites_;
  FlatMap site_index_;
  std::vector<Metric> metrics_;
  std::vector<MetricSource> sources_;
  std::vector<Thread> threads_;
  std::vector<Tree> trees_;
  std::shared_ptr<const Nodes> nodes_;
  std::shared_ptr<const Edges> edges_;
  std::uint64_t wrong_links_ = 0;
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
