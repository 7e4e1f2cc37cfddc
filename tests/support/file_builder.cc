#include "tests/support/file_builder.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

namespace fbleprof::test {

using format::Kind;
using format::MetricPlace;
using format::Ref;
using format::Role;

namespace {

constexpr std::uint32_t kRowBytes = 64;
constexpr std::uint32_t kItemsPerRecord = 3;

}  // namespace

FileBuilder::FileBuilder(bool with_metrics) : bytes_(format::kHeaderBytes) {
  format::Header& head = header();
  std::memcpy(head.magic, format::kMagic, sizeof head.magic);
  head.major_version = format::kMajorVersion;
  head.minor_version = format::kMinorVersion;
  head.header_bytes = format::kHeaderBytes;
  head.byte_order = format::kByteOrderMark;
  head.unit_bytes = format::kUnitBytes;
  head.used_bytes = format::kHeaderBytes;
  head.cap_bytes = 64 << 20;
  head.state = format::State::kEnded;
  head.pid = 4711;
  head.parent_pid = 1;
  head.start_realtime_ns = 1'600'000'000'000'000'000;
  head.start_monotonic_ns = 1'000'000'000;
  head.end_monotonic_ns = 3'500'000'000;
  head.source = format::SampleSource::kTaskClock;
  head.rate_hz = 1000;
  head.machine = 62;
  head.row_bytes = kRowBytes;
  const Ref executable = string("/opt/demo/prog");
  const Ref command = string(std::string_view("./prog\0--fast", 13));
  const Ref host = string("testhost");
  header().executable = executable;
  header().command_line = command;
  header().host = host;
  if (!with_metrics) return;
  metric("cpu", "ns", Role::kCpuTime, MetricPlace::kValues, kCpu);
  metric("wall", "ns", Role::kWallTime, MetricPlace::kValues, kWall);
  metric("samples", "count", Role::kSamples, MetricPlace::kValues, kSamples);
  metric("overhead", "ns", Role::kOwnCost, MetricPlace::kValues, kOverhead);
  metric("ticks", "count", Role::kVirtualTime, MetricPlace::kValues, kTicks);
  metric("calls", "count", Role::kCalls, MetricPlace::kCalls);
}

void FileBuilder::zeros(std::size_t units) {
  bytes_.resize(bytes_.size() + units * format::kUnitBytes);
  header().used_bytes = bytes_.size();
}

Ref FileBuilder::add(Kind kind, std::size_t bytes) {
  const Ref ref = end();
  const std::size_t units = (bytes + format::kUnitBytes - 1) / format::kUnitBytes;
  zeros(units);
  *record<format::Head>(ref) = {static_cast<std::uint32_t>(units), kind, format::kHeadMark};
  return ref;
}

// Items of one tree and kind share records until these are full.
Ref FileBuilder::add_item(Kind kind, std::uint32_t item_bytes) {
  Open& open = open_[{tree_, kind}];
  if (open.left == 0) {
    const Ref ref = add(kind, format::kItemsOffset + kItemsPerRecord * item_bytes);
    record<format::Nodes>(ref)->tree = tree_;
    record<format::Nodes>(ref)->item_bytes = item_bytes;
    open = {ref + format::kItemsOffset / format::kUnitBytes, kItemsPerRecord};
  }
  const Ref item = open.next;
  open.next += item_bytes / format::kUnitBytes;
  --open.left;
  return item;
}

Ref FileBuilder::string(std::string_view text) {
  const Ref ref = add(Kind::kString, offsetof(format::String, bytes) + text.size());
  auto* head = record<format::String>(ref);
  head->length = static_cast<std::uint32_t>(text.size());
  std::copy(text.begin(), text.end(),
            reinterpret_cast<char*>(head) + offsetof(format::String, bytes));
  return ref;
}

Ref FileBuilder::module(std::string_view path, std::uint64_t begin, std::uint64_t end,
                        std::uint64_t load_bias, std::string_view build_id) {
  const Ref path_ref = string(path);
  const Ref id_ref = build_id.empty() ? 0 : string(build_id);
  const Ref ref = add(Kind::kModule, sizeof(format::Module));
  auto* m = record<format::Module>(ref);
  m->older = header().newest_module;
  m->path = path_ref;
  m->load_bias = load_bias;
  m->begin = begin;
  m->end = end;
  m->build_id = id_ref;
  header().newest_module = ref;
  return ref;
}

Ref FileBuilder::native(std::string_view name, std::uint64_t address, std::uint32_t size,
                        Ref module, format::FunctionKind kind) {
  const Ref ref = add(Kind::kFunction, sizeof(format::Function));
  auto* f = record<format::Function>(ref);
  f->address = address;
  f->size = size;
  f->module = module;
  f->kind = kind;
  functions_[std::string(name)] = ref;
  return ref;
}

Ref FileBuilder::function(std::string_view name, format::FunctionKind kind, std::string_view file,
                          std::uint32_t line, std::uint32_t column, std::string_view language) {
  const Ref name_ref = string(name);
  const Ref file_ref = file.empty() ? 0 : string(file);
  const Ref language_ref = language.empty() ? 0 : string(language);
  const Ref ref = native(name, ++blocks_, 0, 0, kind);
  auto* f = record<format::Function>(ref);
  f->name = name_ref;
  f->file = file_ref;
  f->line = line;
  f->column = column;
  f->language = language_ref;
  return ref;
}

Ref FileBuilder::block(std::string_view name, std::string_view file, std::uint32_t line) {
  return function(name, format::FunctionKind::kBlock, file, line);
}

Ref FileBuilder::function_named(std::string_view name) {
  if (const auto it = functions_.find(name); it != functions_.end()) return it->second;
  const std::pair<std::string_view, format::FunctionKind> specials[] = {
      {"[root]", format::FunctionKind::kRoot},
      {"[overflow]", format::FunctionKind::kOverflow},
      {"[unwound]", format::FunctionKind::kUnwound},
      {"[truncated]", format::FunctionKind::kTruncated},
      {"[deeper]", format::FunctionKind::kDeeper}};
  for (const auto& [special, kind] : specials) {
    if (name == special) return native(name, 0, 0, 0, kind);
  }
  return block(name, "", 0);
}

void FileBuilder::note(std::string_view text) {
  const Ref text_ref = string(text);
  const Ref ref = add(Kind::kNote, sizeof(format::Note));
  record<format::Note>(ref)->text = text_ref;
}

Ref FileBuilder::label_set() { return add(Kind::kLabelSet, sizeof(format::LabelSet)); }

void FileBuilder::label(std::string_view key, std::string_view value, Ref set) {
  const Ref key_ref = string(key), value_ref = string(value);
  const Ref ref = add(Kind::kLabel, sizeof(format::Label));
  record<format::Label>(ref)->key = key_ref;
  record<format::Label>(ref)->value = value_ref;
  record<format::Label>(ref)->set = set;
}

Ref FileBuilder::metric(std::string_view name, std::string_view unit, Role role, MetricPlace place,
                        std::uint16_t word, format::Aggregation how, std::uint32_t flags) {
  const Ref name_ref = string(name), unit_ref = string(unit);
  const Ref ref = add(Kind::kMetric, sizeof(format::Metric));
  auto* m = record<format::Metric>(ref);
  m->name = name_ref;
  m->unit = unit_ref;
  m->role = role;
  m->place = place;
  m->word = word;
  m->aggregation = how;
  m->flags = flags;
  return ref;
}

Ref FileBuilder::derived(std::string_view name, std::string_view unit, Role role,
                         std::string_view formula, std::uint32_t flags) {
  const Ref formula_ref = string(formula);
  const Ref ref =
      metric(name, unit, role, MetricPlace::kDerived, 0, format::Aggregation::kSum, flags);
  record<format::Metric>(ref)->formula = formula_ref;
  return ref;
}

Ref FileBuilder::add_node(Ref parent, Ref function) {
  const Ref ref = add_item(Kind::kNodes, sizeof(format::Node));
  auto* n = record<format::Node>(ref);
  n->parent = parent;
  n->function = function;
  n->depth = static_cast<std::uint16_t>(parent == 0 ? 0 : record<format::Node>(parent)->depth + 1);
  ++header().node_count;
  nodes_.push_back(ref);
  return ref;
}

Ref FileBuilder::add_edge(Ref from, Ref to, format::EdgeKind kind, std::uint64_t count) {
  const Ref ref = add_item(Kind::kEdges, sizeof(format::Edge));
  auto* edge = record<format::Edge>(ref);
  edge->calls = count;
  edge->from = from;
  edge->to = to;
  edge->kind = kind;
  ++header().edge_count;
  edges_.push_back(ref);
  return ref;
}

Ref FileBuilder::thread(std::string_view name, std::uint32_t tid) {
  const Ref ref = add(Kind::kThread, sizeof(format::Thread));
  auto* t = record<format::Thread>(ref);
  t->tid = tid;
  std::memcpy(t->name, name.data(), std::min(name.size(), sizeof t->name - 1));
  t->threads_served = 1;
  thread_ = ref;
  tree(0);
  return ref;
}

Ref FileBuilder::tree(Ref labels) {
  const Ref root_function = function_named("[root]");
  const Ref ref = tree_ = add(Kind::kTree, sizeof(format::Tree));
  record<format::Tree>(ref)->thread = thread_;
  record<format::Tree>(ref)->labels = labels;
  const Ref root = add_node(0, root_function);
  record<format::Tree>(ref)->root = root;
  return ref;
}

void FileBuilder::ensure_thread() {
  if (thread_ == 0) thread("main", 4711);
}

Ref FileBuilder::node(std::string_view path) {
  ensure_thread();
  Ref at = record<format::Tree>(tree_)->root;
  std::istringstream words{std::string(path)};
  for (std::string word; words >> word;) {
    const Ref what = function_named(word);
    Ref& child = children_[{at, what}];
    if (child == 0) child = add_node(at, what);
    at = child;
  }
  return at;
}

std::uint64_t& FileBuilder::value(std::string_view path, std::size_t word) {
  const Ref at = node(path);
  if (record<format::Node>(at)->values == 0) {
    const Ref row = add_item(Kind::kValues, header().row_bytes);
    record<format::Node>(at)->values = row;
  }
  return record<std::uint64_t>(record<format::Node>(at)->values)[word];
}

void FileBuilder::charge(std::string_view path, const Charge& charge) {
  value(path, kCpu) += charge.cpu_ns;
  value(path, kWall) += charge.wall_ns;
  value(path, kSamples) += charge.samples;
  value(path, kOverhead) += charge.overhead_ns;
  value(path, kTicks) += charge.ticks;
  auto* t = record<format::Thread>(thread_);
  t->cpu_ns += charge.cpu_ns + charge.overhead_ns;
  t->wall_ns += charge.wall_ns + charge.overhead_ns;
  t->samples += charge.samples;
}

void FileBuilder::calls(std::string_view path, std::uint64_t count, std::uint64_t site) {
  auto* n = record<format::Node>(node(path));
  n->calls += count;
  if (site != 0) n->site = site;
}

Ref FileBuilder::back(std::string_view from, std::string_view to, std::uint64_t count,
                      std::uint64_t site) {
  const Ref a = node(from), b = node(to);
  const Ref edge = add_edge(a, b, format::EdgeKind::kBack, count);
  record<format::Edge>(edge)->site = site;
  return edge;
}

Ref FileBuilder::tail(std::string_view from, std::string_view to, std::uint64_t count) {
  const Ref a = node(from), b = node(to);
  return add_edge(a, b, format::EdgeKind::kTail, count);
}

Ref FileBuilder::snapshot(std::string_view name, std::uint64_t time_ns,
                          format::SnapshotReason reason) {
  const Ref name_ref = name.empty() ? 0 : string(name);
  const Ref ref = add(Kind::kSnapshot, sizeof(format::Snapshot));
  const auto add_items = [&](Kind kind, const std::vector<Ref>& of, std::uint32_t value_bytes) {
    const auto item_bytes = static_cast<std::uint32_t>(sizeof(format::SnapshotItem) + value_bytes);
    const Ref items = add(kind, format::kItemsOffset + of.size() * item_bytes);
    auto* head = record<format::SnapshotItems>(items);
    head->snapshot = ref;
    head->item_bytes = item_bytes;
    head->item_count = static_cast<std::uint32_t>(of.size());
    auto* at = reinterpret_cast<std::byte*>(head) + format::kItemsOffset;
    for (const Ref one : of) {
      auto* item = reinterpret_cast<format::SnapshotItem*>(at);
      item->of = one;
      item->calls = *record<std::uint64_t>(one);  // the first field of nodes and edges
      const Ref row = value_bytes != 0 ? record<format::Node>(one)->values : 0;
      if (row != 0) {
        std::memcpy(at + sizeof *item, record<std::byte>(row), value_bytes);
      }
      at += item_bytes;
    }
  };
  add_items(Kind::kSnapshotNodes, nodes_, header().row_bytes);
  add_items(Kind::kSnapshotEdges, edges_, 0);
  auto* s = record<format::Snapshot>(ref);
  s->name = name_ref;
  s->generation = ++header().generation;
  s->time_ns = time_ns;
  s->reason = reason;
  s->is_complete = 1;
  return ref;
}

void FileBuilder::write(const std::string& path) const {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes_.data()),
             static_cast<std::streamsize>(bytes_.size()));
}

}  // namespace fbleprof::test
