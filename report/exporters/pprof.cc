// pprof: Google's profile.proto, gzipped, as `go tool pprof` and many servers read it.
//
// A sample is a node with values of its own; its stack is the way to the root. What is less than
// obvious about the format:
//  - string_table[0] is "", ids are not zero, stacks begin at the leaf;
//  - functions inlined into one another are lines of one location, the innermost first;
//  - a system_name that equals the name makes readers demangle it and cut off what looks like
//    template arguments: it holds the linkage name or nothing;
//  - addresses are those of the file. A mapping of the whole address space tells readers so.
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "report/exporters/exporter.h"
#include "report/exporters/groups.h"
#include "report/exporters/gzip.h"
#include "report/exporters/tree.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

// Field numbers of profile.proto.
namespace field {
enum Profile : std::uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};
enum ValueType : std::uint32_t { kType = 1, kUnit = 2 };
enum Sample : std::uint32_t { kLocationId = 1, kValue = 2, kLabel = 3 };
enum Label : std::uint32_t { kKey = 1, kStr = 2 };
enum Mapping : std::uint32_t {
  kMappingId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
enum Location : std::uint32_t { kId = 1, kMappingOf = 2, kAddress = 3, kLine = 4 };
enum Line : std::uint32_t { kFunctionId = 1, kLineNumber = 2 };
enum Function : std::uint32_t {
  kOwnId = 1,
  kName = 2,
  kSystemName = 3,
  kFile = 4,
  kStartLine = 5,
};
}  // namespace field

std::int64_t signed_value(std::uint64_t value) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

std::string unit_name(const std::string& unit) {
  return unit == "ns" ? "nanoseconds" : escape(unit);
}

class PprofWriter {
 public:
  explicit PprofWriter(const Export& input)
      : profile_(input.profile),
        functions_(input.profile.functions()),
        nodes_(input.profile.nodes()),
        groups_(groups(input.profile, input.group_by)),
        metrics_(additive_metrics(input)),
        out_(data_) {
    // Old readers take the last sample type for the default, so the chosen metric is the last.
    if (!metrics_.empty()) std::rotate(metrics_.begin(), metrics_.begin() + 1, metrics_.end());
    text("");
  }

  std::string write() {
    for (const Metric* metric : metrics_) {
      add_value_type(field::kSampleType, escape(metric->name), unit_name(metric->unit));
    }
    number_modules();
    place_nodes();
    add_samples();
    add_mappings();
    add_run();
    // All texts are known only now.
    for (const std::string* entry : texts_) out_.add_string(field::kStringTable, *entry);
    return gzip(data_);
  }

 private:
  struct Line {
    std::uint64_t function = 0;
    std::uint32_t number = 0;
    auto operator<=>(const Line&) const = default;
  };
  struct Location {
    std::uint64_t mapping = 0, address = 0;
    std::vector<Line> lines;  // innermost first
    auto operator<=>(const Location&) const = default;
  };

  std::int64_t text(const std::string& value) {
    const auto [at, added] = text_index_.try_emplace(value, texts_.size());
    if (added) texts_.push_back(&at->first);
    return static_cast<std::int64_t>(at->second);
  }
  std::int64_t text(StringId id) { return text(escape(profile_.text(id))); }

  void add_value_type(std::uint32_t where, const std::string& type, const std::string& unit) {
    protozero::pbf_writer message(out_, where);
    message.add_int64(field::kType, text(type));
    message.add_int64(field::kUnit, text(unit));
  }

  // The main program comes first: readers take the first mapping for it.
  void number_modules() {
    for (const bool main : {true, false}) {
      for (std::size_t m = 0; m < profile_.modules().size(); ++m) {
        const bool is_main = (profile_.modules()[m].flags & format::kModuleIsMain) != 0;
        if (is_main == main) module_order_.push_back(m);
      }
    }
    mapping_of_.resize(module_order_.size());
    for (std::size_t i = 0; i < module_order_.size(); ++i) mapping_of_[module_order_[i]] = i + 1;
    mapping_has_names_.resize(module_order_.size());
    mapping_has_lines_.resize(module_order_.size());
    mapping_has_inlines_.resize(module_order_.size());
  }

  std::uint64_t mapping_of(FunctionId f) const {
    const ModuleId module = functions_.module[f.index()];
    return module ? mapping_of_[module.index()] : 0;
  }

  // The id of the function's record, made on first use. Sampled addresses of one function share it.
  std::uint64_t function_record(FunctionId f) {
    const std::size_t i = f.index();
    const std::string name = escape(display_name(profile_, f));
    const std::string file = escape(profile_.text(functions_.file[i]));
    const std::uint64_t mapping = mapping_of(f);
    const auto [at, added] =
        function_records_.try_emplace({name, file, mapping}, function_records_.size() + 1);
    if (added) {
      protozero::pbf_writer message(out_, field::kFunction);
      message.add_uint64(field::kOwnId, at->second);
      message.add_int64(field::kName, text(name));
      const std::string linkage = escape(profile_.text(functions_.linkage_name[i]));
      if (!linkage.empty() && linkage != name) {
        message.add_int64(field::kSystemName, text(linkage));
      }
      if (!file.empty()) message.add_int64(field::kFile, text(file));
      if (functions_.kind[i] != FunctionKind::kInstruction && functions_.line[i] != 0) {
        message.add_int64(field::kStartLine, functions_.line[i]);
      }
    }
    if (mapping != 0) {
      const std::size_t module = functions_.module[i].index();
      if (functions_.name[i]) mapping_has_names_[module] = true;
      if (functions_.line[i] != 0) mapping_has_lines_[module] = true;
      if ((functions_.flags[i] & kFunctionInlined) != 0) mapping_has_inlines_[module] = true;
    }
    return at->second;
  }

  Location location_of(NodeId node) {
    const FunctionId f = nodes_.function[node.index()];
    const std::size_t i = f.index();
    if (is_place_in_parent(profile_, node)) {
      Location location = locations_[location_of_node_[nodes_.parent[node.index()].index()] - 1];
      location.address = functions_.address[i];
      if (functions_.line[i] != 0) location.lines.front().number = functions_.line[i];
      return location;
    }
    const Line line{function_record(f), functions_.line[i]};
    if ((functions_.flags[i] & kFunctionInlined) != 0 && nodes_.depth[node.index()] > 1) {
      Location location = locations_[location_of_node_[nodes_.parent[node.index()].index()] - 1];
      location.lines.insert(location.lines.begin(), line);
      return location;
    }
    const bool native = functions_.kind[i] == FunctionKind::kNative ||
                        functions_.kind[i] == FunctionKind::kInstruction;
    return {mapping_of(f), native ? functions_.address[i] : 0, {line}};
  }

  // Gives each node the location of its innermost frame.
  void place_nodes() {
    // Most nodes have their function's only location: found without building it.
    std::vector<std::uint64_t> plain(functions_.count());
    std::map<Location, std::uint64_t> index;
    location_of_node_.resize(nodes_.count());
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const std::size_t f = nodes_.function[n].index();
      const bool is_plain = functions_.kind[f] != FunctionKind::kInstruction &&
                            (functions_.flags[f] & kFunctionInlined) == 0;
      if (is_plain && plain[f] != 0) {
        location_of_node_[n] = plain[f];
        continue;
      }
      Location location = location_of(NodeId(n));
      const auto [at, added] = index.try_emplace(location, locations_.size() + 1);
      if (added) locations_.push_back(std::move(location));
      location_of_node_[n] = at->second;
      if (is_plain) plain[f] = at->second;
    }
    for (std::size_t i = 0; i < locations_.size(); ++i) {
      protozero::pbf_writer message(out_, field::kLocation);
      message.add_uint64(field::kId, i + 1);
      if (locations_[i].mapping != 0) message.add_uint64(field::kMappingOf, locations_[i].mapping);
      if (locations_[i].address != 0) message.add_uint64(field::kAddress, locations_[i].address);
      for (const Line& line : locations_[i].lines) {
        protozero::pbf_writer part(message, field::kLine);
        part.add_uint64(field::kFunctionId, line.function);
        if (line.number != 0) part.add_int64(field::kLineNumber, line.number);
      }
    }
  }

  void add_samples() {
    std::vector<std::int64_t> values(metrics_.size());
    std::vector<std::uint64_t> stack;
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      bool any = false;
      for (std::size_t m = 0; m < metrics_.size(); ++m) {
        values[m] = signed_value(metrics_[m]->value(NodeId(n)));
        any |= values[m] != 0;
      }
      if (!any) continue;
      stack.clear();
      NodeId thread, process;
      for (NodeId at(n); nodes_.parent[at.index()]; at = nodes_.parent[at.index()]) {
        if (groups_[at.index()] == Group::kThread) {
          thread = at;
          continue;
        }
        if (groups_[at.index()] == Group::kProcess) {
          process = at;
          continue;
        }
        stack.push_back(location_of_node_[at.index()]);
        // The location holds the functions that this one was inlined into, too.
        if (is_place_in_parent(profile_, at)) at = nodes_.parent[at.index()];
        at = physical_frame(profile_, at);
        if (!nodes_.parent[at.index()]) break;
      }
      // Readers don't count samples without a stack.
      if (stack.empty()) stack.push_back(location_of_node_[0]);
      protozero::pbf_writer sample(out_, field::kSample);
      sample.add_packed_uint64(field::kLocationId, stack.begin(), stack.end());
      sample.add_packed_int64(field::kValue, values.begin(), values.end());
      if (thread) add_label(sample, "thread", thread);
      if (process) add_label(sample, "process", process);
    }
  }

  void add_label(protozero::pbf_writer& sample, const char* key, NodeId group) {
    protozero::pbf_writer label(sample, field::kLabel);
    label.add_int64(field::kKey, text(key));
    label.add_int64(field::kStr,
                    text(escape(display_name(profile_, nodes_.function[group.index()]))));
  }

  void add_mappings() {
    for (const std::size_t m : module_order_) {
      const Module& module = profile_.modules()[m];
      protozero::pbf_writer message(out_, field::kMapping);
      message.add_uint64(field::kMappingId, mapping_of_[m]);
      message.add_uint64(field::kMemoryLimit, std::numeric_limits<std::uint64_t>::max());
      message.add_int64(field::kFilename, text(module.path));
      if (!profile_.text(module.build_id).empty()) {
        message.add_int64(field::kBuildId, text(module.build_id));
      }
      // Without names, readers that have the file may look them up themselves.
      message.add_bool(field::kHasFunctions, mapping_has_names_[m]);
      message.add_bool(field::kHasFilenames, mapping_has_lines_[m]);
      message.add_bool(field::kHasLineNumbers, mapping_has_lines_[m]);
      message.add_bool(field::kHasInlineFrames, mapping_has_inlines_[m]);
    }
  }

  void add_run() {
    if (const std::uint64_t start = start_realtime_ns(profile_)) {
      out_.add_int64(field::kTimeNanos, signed_value(start));
    }
    if (const std::uint64_t duration = duration_ns(profile_)) {
      out_.add_int64(field::kDurationNanos, signed_value(duration));
    }
    if (!metrics_.empty()) {
      out_.add_int64(field::kDefaultSampleType, text(escape(metrics_.back()->name)));
    }
    if (!profile_.processes().empty() && profile_.processes().front().rate_hz != 0) {
      const Process& process = profile_.processes().front();
      const char* clock = process.clock == Clock::kWall ? "wall" : "cpu";
      add_value_type(field::kPeriodType, clock, "nanoseconds");
      out_.add_int64(field::kPeriod, 1'000'000'000 / process.rate_hz);
    }
    if (const std::string command = command_line(profile_); !command.empty()) {
      out_.add_int64(field::kComment, text("command: " + command));
    }
    for (const std::string& warning : profile_.warnings()) {
      out_.add_int64(field::kComment, text(escape(warning)));
    }
  }

  const Profile& profile_;
  const Functions& functions_;
  const Nodes& nodes_;
  const std::vector<Group> groups_;
  std::vector<const Metric*> metrics_;
  std::string data_;
  protozero::pbf_writer out_;
  std::unordered_map<std::string, std::size_t> text_index_;
  std::vector<const std::string*> texts_;  // keys of text_index_, which stay where they are
  std::vector<std::size_t> module_order_;
  std::vector<std::uint64_t> mapping_of_;  // by module
  std::vector<bool> mapping_has_names_, mapping_has_lines_, mapping_has_inlines_;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::uint64_t> function_records_;
  std::vector<Location> locations_;
  std::vector<std::uint64_t> location_of_node_;
};

}  // namespace

Result<std::string> write_pprof(const Export& input) { return PprofWriter(input).write(); }

}  // namespace fbleprof::report
