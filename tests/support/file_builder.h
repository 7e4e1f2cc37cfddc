// Builds synthetic mlmon.out files in memory.
//
// Contexts are named by path notation: "a b c" is the node of c, called by b, called by a, below
// the current tree's [root]; "" is the root itself. A node is made when it is first named, with no
// calls. Functions are blocks of the C API unless native() or function() made one of that name.
//
// Nodes, edges and values are in records of a few items each, so that a small file has several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/format.h"

namespace fbleprof::test {

struct Charge {
  std::uint64_t cpu_ns = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t samples = 1;
  std::uint64_t overhead_ns = 0;
  std::uint64_t ticks = 0;
};

// The positions of the usual metrics in a node's row; words from kFirstFreeWord on are for others.
enum Word : std::uint16_t { kCpu, kWall, kSamples, kOverhead, kTicks, kFirstFreeWord };

class FileBuilder {
 public:
  // `with_metrics`: describe the usual ones.
  explicit FileBuilder(bool with_metrics = true);

  format::Header& header() { return *record<format::Header>(0); }
  // The record or item at `ref`, valid until the next one is added.
  template <class Record>
  Record* record(format::Ref ref) {
    return reinterpret_cast<Record*>(bytes_.data() + std::size_t{ref} * format::kUnitBytes);
  }
  // The position of the next record.
  format::Ref end() const { return static_cast<format::Ref>(bytes_.size() / format::kUnitBytes); }

  // A record of any kind; only its head is not zero.
  format::Ref add(format::Kind kind, std::size_t bytes);
  void zeros(std::size_t units);

  format::Ref string(std::string_view text);
  format::Ref module(std::string_view path, std::uint64_t begin, std::uint64_t end,
                     std::uint64_t load_bias, std::string_view build_id = {});
  // From here on `name` in paths means this native function, which has no name in the file.
  format::Ref native(std::string_view name, std::uint64_t address, std::uint32_t size,
                     format::Ref module, format::FunctionKind kind = format::FunctionKind::kNative);
  format::Ref block(std::string_view name, std::string_view file, std::uint32_t line);
  // From here on `name` in paths means this function, which has that name.
  format::Ref function(std::string_view name, format::FunctionKind kind, std::string_view file = {},
                       std::uint32_t line = 0, std::uint32_t column = 0,
                       std::string_view language = {});
  void note(std::string_view text);
  format::Ref label_set();
  void label(std::string_view key, std::string_view value, format::Ref set = 0);
  format::Ref metric(std::string_view name, std::string_view unit, format::Role role,
                     format::MetricPlace place, std::uint16_t word = 0,
                     format::Aggregation how = format::Aggregation::kSum, std::uint32_t flags = 0);
  format::Ref derived(std::string_view name, std::string_view unit, format::Role role,
                      std::string_view formula, std::uint32_t flags = 0);

  // Starts a thread; later calls add to its tree. One named "main" starts by itself.
  format::Ref thread(std::string_view name, std::uint32_t tid);
  format::Ref current_thread() const { return thread_; }
  // Starts another tree of the current thread.
  format::Ref tree(format::Ref labels);
  format::Ref current_tree() const { return tree_; }
  format::Ref node(std::string_view path);
  // Adds to the node, its thread's clock and samples.
  void charge(std::string_view path, const Charge& charge);
  // A word of the node's row, which is made if necessary; valid until the next record is added.
  std::uint64_t& value(std::string_view path, std::size_t word);
  // Calls on the edge that leads to the node of `path`.
  void calls(std::string_view path, std::uint64_t count, std::uint64_t site = 0);
  format::Ref back(std::string_view from, std::string_view to, std::uint64_t count,
                   std::uint64_t site = 0);
  format::Ref tail(std::string_view from, std::string_view to, std::uint64_t count);

  // Takes a snapshot of the values of all nodes and edges.
  format::Ref snapshot(std::string_view name, std::uint64_t time_ns,
                       format::SnapshotReason reason = format::SnapshotReason::kAsked);

  // The file as built so far.
  std::vector<std::byte> bytes() const { return bytes_; }
  void write(const std::string& path) const;

 private:
  // A record of items that has room for more.
  struct Open {
    format::Ref next = 0;
    std::uint32_t left = 0;
  };
  using OpenRecords = std::map<std::pair<format::Ref, format::Kind>, Open>;

  format::Ref add_item(format::Kind kind, std::uint32_t item_bytes);
  format::Ref function_named(std::string_view name);
  format::Ref add_node(format::Ref parent, format::Ref function);
  format::Ref add_edge(format::Ref from, format::Ref to, format::EdgeKind kind,
                       std::uint64_t count);
  void ensure_thread();

  std::vector<std::byte> bytes_;
  format::Ref thread_ = 0, tree_ = 0;
  OpenRecords open_;  // by tree and kind
  std::map<std::string, format::Ref, std::less<>> functions_;
  std::map<std::pair<format::Ref, format::Ref>, format::Ref> children_;  // (parent, function)
  std::vector<format::Ref> nodes_, edges_;
  std::uint64_t blocks_ = 0;
};

}  // namespace fbleprof::test
