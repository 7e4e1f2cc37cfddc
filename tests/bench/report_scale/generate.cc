#include "tests/bench/report_scale/generate.h"

#include <cstring>
#include <fstream>
#include <random>
#include <unordered_set>
#include <vector>

#include "format/format.h"

namespace fbleprof::bench {

using format::Ref;

namespace {

constexpr std::size_t kFunctions = 20000;
constexpr std::uint32_t kDeepest = 60;

constexpr std::uint32_t kRowBytes = 64;
enum Word : std::uint16_t { kCpu, kWall, kSamples, kOverhead, kTicks };

class Generator {
 public:
  explicit Generator(std::size_t nodes) {
    bytes_.reserve(format::kHeaderBytes + nodes * 90 + kFunctions * 256);
    bytes_.resize(format::kHeaderBytes);
    format::Header& head = *at<format::Header>(0);
    std::memcpy(head.magic, format::kMagic, sizeof head.magic);
    head.major_version = format::kMajorVersion;
    head.minor_version = format::kMinorVersion;
    head.header_bytes = format::kHeaderBytes;
    head.byte_order = format::kByteOrderMark;
    head.unit_bytes = format::kUnitBytes;
    head.cap_bytes = std::uint64_t{1} << 32;
    head.state = format::State::kEnded;
    head.pid = 4711;
    head.start_realtime_ns = 1'600'000'000'000'000'000;
    head.start_monotonic_ns = 1'000'000'000;
    head.end_monotonic_ns = 61'000'000'000;
    head.source = format::SampleSource::kTaskClock;
    head.rate_hz = 1000;
    head.machine = 62;
    head.row_bytes = kRowBytes;
    const Ref executable = string("/opt/demo/large");
    at<format::Header>(0)->executable = executable;
    at<format::Header>(0)->command_line = executable;
    metric("cpu", "ns", format::Role::kCpuTime, kCpu);
    metric("wall", "ns", format::Role::kWallTime, kWall);
    metric("samples", "count", format::Role::kSamples, kSamples);
    metric("overhead", "ns", format::Role::kOwnCost, kOverhead);
    metric("ticks", "count", format::Role::kVirtualTime, kTicks);
    const Ref calls = metric("calls", "count", format::Role::kCalls, 0);
    at<format::Metric>(calls)->place = format::MetricPlace::kCalls;
    for (std::size_t f = 0; f < kFunctions; ++f) {
      functions_.push_back(function("company::product::component_" + std::to_string(f % 97) +
                                        "::Class" + std::to_string(f % 1009) + "<int>::method_" +
                                        std::to_string(f) + "(std::string const&, int)",
                                    format::FunctionKind::kBlock, f + 1));
    }
    root_ = function("", format::FunctionKind::kRoot, 0);
  }

  // One of `every` contexts has time.
  void add_thread(std::size_t nodes, std::size_t every) {
    tree_.clear();
    open_nodes_ = open_edges_ = open_values_ = {};
    const Ref ref = add(format::Kind::kThread, sizeof(format::Thread));
    auto* thread = at<format::Thread>(ref);
    thread->tid = 4711 + threads_++;
    std::memcpy(thread->name, "worker", 6);
    thread->threads_served = 1;
    thread->flags = format::kThreadHooked;
    tree_ref_ = add(format::Kind::kTree, sizeof(format::Tree));
    at<format::Tree>(tree_ref_)->thread = ref;
    const Ref root = node(0, root_, 0);
    at<format::Tree>(tree_ref_)->root = root;
    tree_.push_back({root, kFunctions, 0, 0});
    std::unordered_set<std::uint64_t> children;  // (parent, function), so that paths differ
    std::uint64_t cpu = 0, samples = 0;
    while (tree_.size() < nodes) {
      // Most new contexts are children of recent ones: trees of programs are both deep and bushy.
      // Some are children of old ones, so that generation continues when all recent ones are full
      // or too deep.
      const std::size_t recent = std::min<std::size_t>(tree_.size(), 400);
      const std::size_t parent =
          random_() % 8 == 0 ? random_() % tree_.size() : tree_.size() - 1 - random_() % recent;
      const Made from = tree_[parent];
      if (from.depth >= kDeepest) continue;
      // Each function calls a few others.
      const std::size_t callee = (from.function * 31 + random_() % 12 * 7919 + 1) % kFunctions;
      if (!children.insert(std::uint64_t{parent} << 20 | callee).second) continue;
      const Ref made = node(from.ref, functions_[callee], from.depth + 1);
      at<format::Node>(made)->calls = 1 + random_() % 1000;
      at<format::Node>(made)->site = site(from.function, callee);
      if (random_() % every == 0) {
        const Ref block = item(format::Kind::kValues, kRowBytes, open_values_);
        at<format::Node>(made)->values = block;
        auto* words = at<std::uint64_t>(block);
        words[kSamples] = 1 + random_() % 3;
        words[kCpu] = words[kSamples] * 1'000'000 + random_() % 1000;
        words[kWall] = words[kCpu];
        cpu += words[kCpu];
        samples += words[kSamples];
      }
      tree_.push_back({made, callee, from.depth + 1, parent});
      if (random_() % 16 == 0) recurse(tree_.size() - 1);
    }
    auto* finished = at<format::Thread>(ref);
    finished->cpu_ns = finished->wall_ns = cpu;
    finished->samples = samples;
  }

  bool write(const std::string& path) {
    at<format::Header>(0)->used_bytes = bytes_.size();
    std::ofstream file(path, std::ios::binary);
    file.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    return static_cast<bool>(file.flush());
  }

 private:
  struct Made {
    Ref ref;
    std::size_t function;
    std::uint32_t depth;
    std::size_t parent;
  };
  // A record of items with free space.
  struct Open {
    Ref next = 0;
    std::uint32_t left = 0;
  };
  static constexpr std::uint32_t kItemsPerRecord = 1023;

  template <class Record>
  Record* at(Ref ref) {
    return reinterpret_cast<Record*>(bytes_.data() + std::size_t{ref} * format::kUnitBytes);
  }

  Ref add(format::Kind kind, std::size_t size) {
    const Ref ref = static_cast<Ref>(bytes_.size() / format::kUnitBytes);
    const std::size_t units = (size + format::kUnitBytes - 1) / format::kUnitBytes;
    bytes_.resize(bytes_.size() + units * format::kUnitBytes);
    *at<format::Head>(ref) = {static_cast<std::uint32_t>(units), kind, format::kHeadMark};
    return ref;
  }

  Ref item(format::Kind kind, std::uint32_t size, Open& open) {
    if (open.left == 0) {
      const Ref ref = add(kind, format::kItemsOffset + std::size_t{kItemsPerRecord} * size);
      at<format::Nodes>(ref)->tree = tree_ref_;
      at<format::Nodes>(ref)->item_bytes = size;
      open = {ref + format::kItemsOffset / format::kUnitBytes, kItemsPerRecord};
    }
    const Ref made = open.next;
    open.next += size / format::kUnitBytes;
    --open.left;
    return made;
  }

  Ref string(const std::string& text) {
    const Ref ref = add(format::Kind::kString, offsetof(format::String, bytes) + text.size());
    at<format::String>(ref)->length = static_cast<std::uint32_t>(text.size());
    std::memcpy(
        bytes_.data() + std::size_t{ref} * format::kUnitBytes + offsetof(format::String, bytes),
        text.data(), text.size());
    return ref;
  }

  Ref metric(const char* name, const char* unit, format::Role role, std::uint16_t word) {
    const Ref name_ref = string(name), unit_ref = string(unit);
    const Ref ref = add(format::Kind::kMetric, sizeof(format::Metric));
    auto* record = at<format::Metric>(ref);
    record->name = name_ref;
    record->unit = unit_ref;
    record->role = role;
    record->word = word;
    return ref;
  }

  Ref function(const std::string& name, format::FunctionKind kind, std::uint64_t number) {
    const Ref name_ref = name.empty() ? 0 : string(name);
    const Ref ref = add(format::Kind::kFunction, sizeof(format::Function));
    auto* record = at<format::Function>(ref);
    record->kind = kind;
    record->address = number;
    record->name = name_ref;
    return ref;
  }

  Ref node(Ref parent, Ref function, std::uint32_t depth) {
    const Ref ref = item(format::Kind::kNodes, sizeof(format::Node), open_nodes_);
    auto* record = at<format::Node>(ref);
    record->parent = parent;
    record->function = function;
    record->depth = static_cast<std::uint16_t>(depth);
    ++at<format::Header>(0)->node_count;
    return ref;
  }

  // The call of `callee` in `caller`: one place each.
  static std::uint64_t site(std::size_t caller, std::size_t callee) {
    return 0x400000 + caller * 1024 + callee % 251 * 4;
  }

  // A back edge to one of the contexts above.
  void recurse(std::size_t from) {
    std::size_t to = from;
    for (std::size_t up = random_() % 8; up > 0 && tree_[to].depth > 1; --up) to = tree_[to].parent;
    const Ref ref = item(format::Kind::kEdges, sizeof(format::Edge), open_edges_);
    auto* record = at<format::Edge>(ref);
    record->calls = 1 + random_() % 100;
    record->site = site(tree_[from].function, tree_[to].function);
    record->from = tree_[from].ref;
    record->to = tree_[to].ref;
    record->kind = format::EdgeKind::kBack;
    ++at<format::Header>(0)->edge_count;
  }

  std::vector<char> bytes_;
  std::vector<Ref> functions_;
  std::vector<Made> tree_;
  std::mt19937 random_{42};
  Open open_nodes_, open_edges_, open_values_;
  Ref root_ = 0, tree_ref_ = 0;
  std::uint32_t threads_ = 0;
};

}  // namespace

bool generate(const std::string& path, std::size_t nodes, std::size_t threads, std::size_t every) {
  Generator generator(nodes);
  for (std::size_t t = 0; t < threads; ++t) {
    generator.add_thread(nodes / threads, every);
  }
  return generator.write(path);
}

}  // namespace fbleprof::bench
