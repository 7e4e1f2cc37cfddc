// Builds synthetic mlmon.out files in memory.
//
// Contexts are named by path notation: "a b c" is the node of c, called by b, called by a, below
// the current thread's [root]; "" is the root itself. Nodes come to be when they are first named,
// with a tree edge of no calls. Functions are blocks of the C API unless native() made one of that
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
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

class FileBuilder {
 public:
  FileBuilder();

  format::Header& header() { return *record<format::Header>(0); }
  // The record at `ref`, until the next one is added.
  template <class Record>
  Record* record(format::Ref ref) {
    return reinterpret_cast<Record*>(bytes_.data() + std::size_t{ref} * format::kUnitBytes);
  }

  format::Ref string(std::string_view text);
  format::Ref module(std::string_view path, std::uint64_t begin, std::uint64_t end,
                     std::uint64_t load_bias, std::string_view build_id = {});
  // From now on `name` in paths means this native function, of no name in the file.
  format::Ref native(std::string_view name, std::uint64_t address, std::uint32_t size,
                     format::Ref module, format::FunctionKind kind = format::FunctionKind::kNative);
  format::Ref block(std::string_view name, std::string_view file, std::uint32_t line);
  void note(std::string_view text);
  void label(std::string_view key, std::string_view value);
  void metric(std::string_view name, std::string_view unit, format::MetricPlace place,
              std::uint16_t offset, format::Aggregation how = format::Aggregation::kSum);

  // Starts a thread; what follows goes to its tree. One named "main" starts by itself.
  format::Ref thread(std::string_view name, std::uint32_t tid);
  format::Ref current_thread() const { return thread_; }
  format::Ref node(std::string_view path);
  // Adds to the node, its thread's clock and samples.
  void charge(std::string_view path, const Charge& charge);
  void extra(std::string_view path, std::size_t slot, std::uint64_t value);
  // Calls on the edge that leads to the node of `path`.
  void calls(std::string_view path, std::uint64_t count, std::uint64_t site = 0);
  void back(std::string_view from, std::string_view to, std::uint64_t count);
  void tail(std::string_view from, std::string_view to, std::uint64_t count);

  // The file as it stands.
  std::vector<std::byte> bytes() const { return bytes_; }
  void write(const std::string& path) const;

 private:
  format::Ref allocate(std::size_t bytes);
  format::Ref function(std::string_view name);
  format::Ref add_node(format::Ref parent, format::Ref function);
  format::Ref add_edge(format::Ref from, format::Ref to, format::EdgeKind kind,
                       std::uint64_t count);
  void ensure_thread();

  std::vector<std::byte> bytes_;
  format::Ref thread_ = 0;
  std::map<std::string, format::Ref, std::less<>> functions_;
  std::map<std::pair<format::Ref, format::Ref>, format::Ref> children_;  // (parent, function)
  std::map<format::Ref, format::Ref> tree_edges_;                        // by node
  std::map<format::Ref, std::uint32_t> numbers_;                         // of nodes, by thread
  std::uint64_t blocks_ = 0;
};

}  // namespace fbleprof::test
