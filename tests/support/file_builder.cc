#include "tests/support/file_builder.h"

#include <cstring>
#include <fstream>
#include <sstream>

namespace fbleprof::test {

using format::Ref;

FileBuilder::FileBuilder() : bytes_(format::kHeaderBytes) {
  format::Header& head = header();
  std::memcpy(head.magic, format::kMagic, sizeof head.magic);
  head.version = format::kVersion;
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
  const Ref executable = string("/opt/demo/prog");
  const Ref command = string(std::string_view("./prog\0--fast", 13));
  const Ref host = string("testhost");
  header().executable = executable;
  header().command_line = command;
  header().host = host;
}

Ref FileBuilder::allocate(std::size_t bytes) {
  const Ref ref = static_cast<Ref>(bytes_.size() / format::kUnitBytes);
  const std::size_t units = (bytes + format::kUnitBytes - 1) / format::kUnitBytes;
  bytes_.resize(bytes_.size() + units * format::kUnitBytes);
  header().used_bytes = bytes_.size();
  return ref;
}

Ref FileBuilder::string(std::string_view text) {
  const Ref ref = allocate(offsetof(format::String, bytes) + text.size());
  auto* head = record<format::String>(ref);
  head->length = static_cast<std::uint32_t>(text.size());
  std::memcpy(head->bytes, text.data(), text.size());
  return ref;
}

Ref FileBuilder::module(std::string_view path, std::uint64_t begin, std::uint64_t end,
                        std::uint64_t load_bias, std::string_view build_id) {
  const Ref path_ref = string(path);
  const Ref id_ref = build_id.empty() ? 0 : string(build_id);
  const Ref ref = allocate(sizeof(format::Module));
  auto* m = record<format::Module>(ref);
  m->next = header().first_module;
  m->path = path_ref;
  m->load_bias = load_bias;
  m->begin = begin;
  m->end = end;
  m->build_id = id_ref;
  header().first_module = ref;
  return ref;
}

Ref FileBuilder::native(std::string_view name, std::uint64_t address, std::uint32_t size,
                        Ref module, format::FunctionKind kind) {
  const Ref ref = allocate(sizeof(format::Function));
  auto* f = record<format::Function>(ref);
  f->address = address;
  f->size = size;
  f->module = module;
  f->kind = kind;
  f->next = header().first_function;
  header().first_function = ref;
  functions_[std::string(name)] = ref;
  return ref;
}

Ref FileBuilder::block(std::string_view name, std::string_view file, std::uint32_t line) {
  const Ref name_ref = string(name);
  const Ref file_ref = file.empty() ? 0 : string(file);
  const Ref ref = native(name, ++blocks_, line, 0, format::FunctionKind::kBlock);
  record<format::Function>(ref)->name = name_ref;
  record<format::Function>(ref)->file = file_ref;
  return ref;
}

Ref FileBuilder::function(std::string_view name) {
  if (const auto it = functions_.find(name); it != functions_.end()) return it->second;
  const std::pair<std::string_view, format::FunctionKind> specials[] = {
      {"[root]", format::FunctionKind::kRoot},
      {"[overflow]", format::FunctionKind::kOverflow},
      {"[unwound]", format::FunctionKind::kUnwound},
      {"[truncated]", format::FunctionKind::kTruncated}};
  for (const auto& [special, kind] : specials) {
    if (name == special) return native(name, 0, 0, 0, kind);
  }
  return block(name, "", 0);
}

void FileBuilder::note(std::string_view text) {
  const Ref text_ref = string(text);
  const Ref ref = allocate(sizeof(format::Note));
  record<format::Note>(ref)->text = text_ref;
  record<format::Note>(ref)->next = header().first_note;
  header().first_note = ref;
}

void FileBuilder::label(std::string_view key, std::string_view value) {
  const Ref key_ref = string(key), value_ref = string(value);
  const Ref ref = allocate(sizeof(format::Label));
  record<format::Label>(ref)->key = key_ref;
  record<format::Label>(ref)->value = value_ref;
  record<format::Label>(ref)->next = header().first_label;
  header().first_label = ref;
}

void FileBuilder::metric(std::string_view name, std::string_view unit, format::MetricPlace place,
                         std::uint16_t offset, format::Aggregation how) {
  const Ref name_ref = string(name), unit_ref = string(unit);
  const Ref ref = allocate(sizeof(format::Metric));
  auto* m = record<format::Metric>(ref);
  m->name = name_ref;
  m->unit = unit_ref;
  m->place = place;
  m->offset = offset;
  m->aggregation = how;
  m->next = header().first_metric;
  header().first_metric = ref;
}

Ref FileBuilder::add_node(Ref parent, Ref function) {
  const Ref ref = allocate(sizeof(format::Node));
  auto* n = record<format::Node>(ref);
  n->parent = parent;
  n->function = function;
  n->depth = parent == 0 ? 0 : record<format::Node>(parent)->depth + 1;
  n->number = parent == 0 ? 1 : ++numbers_[thread_];
  ++header().node_count;
  return ref;
}

Ref FileBuilder::add_edge(Ref from, Ref to, format::EdgeKind kind, std::uint64_t count) {
  const Ref ref = allocate(sizeof(format::Edge));
  auto* edge = record<format::Edge>(ref);
  edge->calls = count;
  edge->from = from;
  edge->to = to;
  edge->kind = kind;
  edge->next = record<format::Node>(from)->first_edge;
  record<format::Node>(from)->first_edge = ref;
  ++header().edge_count;
  return ref;
}

Ref FileBuilder::thread(std::string_view name, std::uint32_t tid) {
  const Ref root_function = function("[root]");
  const Ref root = add_node(0, root_function);
  const Ref ref = allocate(sizeof(format::Thread));
  auto* t = record<format::Thread>(ref);
  t->root = root;
  t->tid = tid;
  std::memcpy(t->name, name.data(), std::min(name.size(), sizeof t->name - 1));
  t->threads_served = 1;
  t->next = header().first_thread;
  header().first_thread = ref;
  numbers_[ref] = 1;
  return thread_ = ref;
}

void FileBuilder::ensure_thread() {
  if (thread_ == 0) thread("main", 4711);
}

Ref FileBuilder::node(std::string_view path) {
  ensure_thread();
  Ref at = record<format::Thread>(thread_)->root;
  std::istringstream words{std::string(path)};
  for (std::string word; words >> word;) {
    const Ref what = function(word);
    Ref& child = children_[{at, what}];
    if (child == 0) {
      child = add_node(at, what);
      tree_edges_[child] = add_edge(at, child, format::EdgeKind::kTree, 0);
    }
    at = child;
  }
  return at;
}

void FileBuilder::charge(std::string_view path, const Charge& charge) {
  auto* n = record<format::Node>(node(path));
  n->cpu_ns += charge.cpu_ns;
  n->wall_ns += charge.wall_ns;
  n->samples += charge.samples;
  n->overhead_ns += charge.overhead_ns;
  n->ticks += charge.ticks;
  auto* t = record<format::Thread>(thread_);
  t->cpu_ns += charge.cpu_ns + charge.overhead_ns;
  t->wall_ns += charge.wall_ns + charge.overhead_ns;
  t->samples += charge.samples;
}

void FileBuilder::extra(std::string_view path, std::size_t slot, std::uint64_t value) {
  const Ref at = node(path);
  if (record<format::Node>(at)->extra == 0) {
    const Ref counters = allocate(sizeof(format::Counters));
    record<format::Node>(at)->extra = counters;
  }
  record<format::Counters>(record<format::Node>(at)->extra)->value[slot] += value;
}

void FileBuilder::calls(std::string_view path, std::uint64_t count, std::uint64_t site) {
  auto* edge = record<format::Edge>(tree_edges_.at(node(path)));
  edge->calls += count;
  if (site != 0) edge->site = site;
}

void FileBuilder::back(std::string_view from, std::string_view to, std::uint64_t count) {
  const Ref a = node(from), b = node(to);
  add_edge(a, b, format::EdgeKind::kBack, count);
}

void FileBuilder::tail(std::string_view from, std::string_view to, std::uint64_t count) {
  const Ref a = node(from), b = node(to);
  add_edge(a, b, format::EdgeKind::kTail, count);
}

void FileBuilder::write(const std::string& path) const {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes_.data()),
             static_cast<std::streamsize>(bytes_.size()));
}

}  // namespace fbleprof::test
