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

class Generator {
 public:
  explicit Generator(std::size_t nodes) {
    bytes_.reserve(format::kHeaderBytes + nodes * 100 + kFunctions * 160);
    bytes_.resize(format::kHeaderBytes);
    format::Header& head = *at<format::Header>(0);
    std::memcpy(head.magic, format::kMagic, sizeof head.magic);
    head.version = format::kVersion;
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
    const Ref executable = string("/opt/demo/large");
    at<format::Header>(0)->executable = executable;
    at<format::Header>(0)->command_line = executable;
    for (std::size_t f = 0; f < kFunctions; ++f) {
      functions_.push_back(function("company::product::component_" + std::to_string(f % 97) +
                                        "::Class" + std::to_string(f % 1009) + "<int>::method_" +
                                        std::to_string(f) + "(std::string const&, int)",
                                    format::FunctionKind::kBlock, f + 1));
    }
    root_ = function("", format::FunctionKind::kRoot, 0);
  }

  void add_thread(std::size_t nodes) {
    tree_.clear();
    numbers_ = 0;
    const Ref root = node(0, root_, 0);
    const Ref ref = allocate(sizeof(format::Thread));
    auto* thread = at<format::Thread>(ref);
    thread->root = root;
    thread->tid = 4711 + threads_++;
    std::memcpy(thread->name, "worker", 6);
    thread->threads_served = 1;
    thread->flags = format::kThreadHooked;
    thread->next = at<format::Header>(0)->first_thread;
    at<format::Header>(0)->first_thread = ref;
    tree_.push_back({root, kFunctions, 0, 0});
    std::unordered_set<std::uint64_t> children;  // (parent, function), so that paths differ
    std::uint64_t cpu = 0, samples = 0;
    while (tree_.size() < nodes) {
      // New contexts hang from recent ones mostly: trees of programs are deep and bushy at once.
      // Old ones get some too, so that it never ends where all recent ones are full or too deep.
      const std::size_t recent = std::min<std::size_t>(tree_.size(), 400);
      const std::size_t parent =
          random_() % 8 == 0 ? random_() % tree_.size() : tree_.size() - 1 - random_() % recent;
      const Made from = tree_[parent];
      if (from.depth >= kDeepest) continue;
      // Each function calls a few others.
      const std::size_t callee = (from.function * 31 + random_() % 12 * 7919 + 1) % kFunctions;
      if (!children.insert(std::uint64_t{parent} << 20 | callee).second) continue;
      const Ref made = node(from.ref, functions_[callee], from.depth + 1);
      edge(from.ref, made, format::EdgeKind::kTree, 1 + random_() % 1000,
           site(from.function, callee));
      auto* record = at<format::Node>(made);
      if (random_() % 4 == 0) {
        record->samples = 1 + random_() % 3;
        record->cpu_ns = record->samples * 1'000'000 + random_() % 1000;
        record->wall_ns = record->cpu_ns;
        cpu += record->cpu_ns;
        samples += record->samples;
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

  template <class Record>
  Record* at(Ref ref) {
    return reinterpret_cast<Record*>(bytes_.data() + std::size_t{ref} * format::kUnitBytes);
  }

  Ref allocate(std::size_t size) {
    const Ref ref = static_cast<Ref>(bytes_.size() / format::kUnitBytes);
    bytes_.resize(bytes_.size() +
                  (size + format::kUnitBytes - 1) / format::kUnitBytes * format::kUnitBytes);
    return ref;
  }

  Ref string(const std::string& text) {
    const Ref ref = allocate(offsetof(format::String, bytes) + text.size());
    at<format::String>(ref)->length = static_cast<std::uint32_t>(text.size());
    std::memcpy(at<format::String>(ref)->bytes, text.data(), text.size());
    return ref;
  }

  Ref function(const std::string& name, format::FunctionKind kind, std::uint64_t number) {
    const Ref name_ref = name.empty() ? 0 : string(name);
    const Ref ref = allocate(sizeof(format::Function));
    auto* record = at<format::Function>(ref);
    record->kind = kind;
    record->address = number;
    record->name = name_ref;
    record->next = at<format::Header>(0)->first_function;
    at<format::Header>(0)->first_function = ref;
    return ref;
  }

  Ref node(Ref parent, Ref function, std::uint32_t depth) {
    const Ref ref = allocate(sizeof(format::Node));
    auto* record = at<format::Node>(ref);
    record->parent = parent;
    record->function = function;
    record->depth = depth;
    record->number = ++numbers_;
    ++at<format::Header>(0)->node_count;
    return ref;
  }

  // The call of `callee` in `caller`: one place each.
  static std::uint64_t site(std::size_t caller, std::size_t callee) {
    return 0x400000 + caller * 1024 + callee % 251 * 4;
  }

  void edge(Ref from, Ref to, format::EdgeKind kind, std::uint64_t calls, std::uint64_t site) {
    const Ref ref = allocate(sizeof(format::Edge));
    auto* record = at<format::Edge>(ref);
    record->calls = calls;
    record->site = site;
    record->from = from;
    record->to = to;
    record->kind = kind;
    record->next = at<format::Node>(from)->first_edge;
    at<format::Node>(from)->first_edge = ref;
    ++at<format::Header>(0)->edge_count;
  }

  // A back edge to one of the contexts above.
  void recurse(std::size_t from) {
    std::size_t to = from;
    for (std::size_t up = random_() % 8; up > 0 && tree_[to].depth > 1; --up) to = tree_[to].parent;
    edge(tree_[from].ref, tree_[to].ref, format::EdgeKind::kBack, 1 + random_() % 100,
         site(tree_[from].function, tree_[to].function));
  }

  std::vector<char> bytes_;
  std::vector<Ref> functions_;
  std::vector<Made> tree_;
  std::mt19937 random_{42};
  Ref root_ = 0;
  std::uint32_t threads_ = 0, numbers_ = 0;
};

}  // namespace

bool generate(const std::string& path, std::size_t nodes, std::size_t threads) {
  Generator generator(nodes);
  for (std::size_t t = 0; t < threads; ++t) generator.add_thread(nodes / threads);
  return generator.write(path);
}

}  // namespace fbleprof::bench
