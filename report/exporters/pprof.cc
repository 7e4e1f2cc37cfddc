// pprof: Google's profile.proto, gzipped, for `go tool pprof` and many servers.
//
// A sample is a node with values of its own; its stack is the path to the root. Less obvious
// properties of the format:
//  - string_table[0] is "", ids are not zero, stacks begin at the leaf;
//  - a system_name that equals the name makes readers demangle it and cut off what looks like
//    template arguments: it holds the linkage name or nothing;
//  - addresses are those of the file. A mapping of the whole address space tells readers so.
#include "report/exporters/pprof.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "profile/calls_label.h"
#include "profile/pprof_sample_types.h"
#include "report/exporters/additive_metrics.h"
#include "report/exporters/exporter.h"
#include "report/exporters/frames.h"
#include "report/exporters/gzip.h"
#include "report/exporters/node_facts.h"
#include "report/exporters/recorded_run.h"
#include "report/text/escape.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

std::string sample_type(const Metric& metric) {
  for (const PprofSampleType& known : kPprofSampleTypes) {
    if (metric.name == known.metric) return std::string(known.type);
  }
  return escape(metric.name);
}

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

class PprofWriter {
 public:
  explicit PprofWriter(const Export& input)
      : profile_(input.profile),
        nodes_(input.profile.nodes()),
        frames_(frames(input.profile)),
        metrics_(additive_metrics(input)),
        not_counted_(not_counted(input.profile)),
        out_(data_) {
    // Old readers use the last sample type as default, so the chosen metric is the last.
    if (!metrics_.empty()) std::rotate(metrics_.begin(), metrics_.begin() + 1, metrics_.end());
    text("");
  }

  std::string write() {
    for (const Metric* metric : metrics_) {
      add_value_type(field::kSampleType, sample_type(*metric), unit_name(metric->unit));
    }
    add_functions();
    add_locations();
    add_samples();
    add_mappings();
    add_run();
    // All texts are known only at this point.
    for (const std::string* entry : texts_) out_.add_string(field::kStringTable, *entry);
    return gzip(data_);
  }

 private:
  std::int64_t text(const std::string& value) {
    const auto [at, added] = text_index_.try_emplace(value, texts_.size());
    if (added) texts_.push_back(&at->first);
    return static_cast<std::int64_t>(at->second);
  }

  void add_value_type(std::uint32_t where, const std::string& type, const std::string& unit) {
    protozero::pbf_writer message(out_, where);
    message.add_int64(field::kType, text(type));
    message.add_int64(field::kUnit, text(unit));
  }

  void add_functions() {
    for (std::size_t i = 0; i < frames_.functions.size(); ++i) {
      const Frames::Function& function = frames_.functions[i];
      protozero::pbf_writer message(out_, field::kFunction);
      message.add_uint64(field::kOwnId, i + 1);
      message.add_int64(field::kName, text(function.name));
      if (!function.linkage_name.empty()) {
        message.add_int64(field::kSystemName, text(function.linkage_name));
      }
      if (!function.file.empty()) message.add_int64(field::kFile, text(function.file));
      if (function.line != 0) message.add_int64(field::kStartLine, function.line);
    }
  }

  void add_locations() {
    for (std::size_t i = 0; i < frames_.locations.size(); ++i) {
      const Frames::Location& location = frames_.locations[i];
      protozero::pbf_writer message(out_, field::kLocation);
      message.add_uint64(field::kId, i + 1);
      if (location.mapping != 0) message.add_uint64(field::kMappingOf, location.mapping);
      if (location.address != 0) message.add_uint64(field::kAddress, location.address);
      for (const Frames::Line& line : location.lines) {
        protozero::pbf_writer part(message, field::kLine);
        part.add_uint64(field::kFunctionId, line.function);
        if (line.number != 0) part.add_int64(field::kLineNumber, line.number);
      }
    }
  }

  void add_samples() {
    std::vector<std::int64_t> values(metrics_.size());
    std::vector<std::uint64_t> stack;
    std::vector<NodeId> groups;
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      bool any = false;
      for (std::size_t m = 0; m < metrics_.size(); ++m) {
        values[m] = signed_value(metrics_[m]->value(NodeId(n)));
        any |= values[m] != 0;
      }
      if (!any) continue;
      stack.clear();
      groups.clear();
      for (NodeId at(n); at && nodes_.parent[at.index()]; at = caller_on_stack(profile_, at)) {
        if (group_of(profile_, at) != nullptr) {
          groups.push_back(at);
        } else {
          stack.push_back(frames_.location_of_node[at.index()]);
        }
      }
      // Readers do not count samples without a stack.
      if (stack.empty()) stack.push_back(frames_.location_of_node[0]);
      protozero::pbf_writer sample(out_, field::kSample);
      sample.add_packed_uint64(field::kLocationId, stack.begin(), stack.end());
      sample.add_packed_int64(field::kValue, values.begin(), values.end());
      for (const NodeId group : groups) add_group(sample, group);
      if (!not_counted_.empty() && not_counted_[n] != 0) {
        add_label(sample, kCallsLabel, kNotCounted);
      }
    }
  }

  // Groups are labels of samples, not frames of their stacks.
  void add_group(protozero::pbf_writer& sample, NodeId node) {
    const Group& group = *group_of(profile_, node);
    std::string value = whole_name(profile_, nodes_.function[node.index()]);
    if (group.axis == Axis::kLabel) value = escape(profile_.text(group.name));
    add_label(sample, label_key(group), value);
  }

  void add_label(protozero::pbf_writer& sample, const std::string& key, const std::string& value) {
    protozero::pbf_writer label(sample, field::kLabel);
    label.add_int64(field::kKey, text(key));
    label.add_int64(field::kStr, text(value));
  }

  std::string label_key(const Group& group) const {
    switch (group.axis) {
      case Axis::kProcess:
        return "process";
      case Axis::kThread:
        return "thread";
      case Axis::kHost:
        return "host";
      case Axis::kFile:
        return "profile";
      case Axis::kLabel:
        break;
    }
    return escape(profile_.text(group.key));
  }

  void add_mappings() {
    for (std::size_t i = 0; i < frames_.mappings.size(); ++i) {
      const Frames::Mapping& mapping = frames_.mappings[i];
      protozero::pbf_writer message(out_, field::kMapping);
      message.add_uint64(field::kMappingId, i + 1);
      message.add_uint64(field::kMemoryLimit, std::numeric_limits<std::uint64_t>::max());
      message.add_int64(field::kFilename, text(mapping.path));
      if (!mapping.build_id.empty()) message.add_int64(field::kBuildId, text(mapping.build_id));
      // Without names, readers that have the file may look them up themselves.
      message.add_bool(field::kHasFunctions, mapping.has_functions);
      message.add_bool(field::kHasFilenames, mapping.has_lines);
      message.add_bool(field::kHasLineNumbers, mapping.has_lines);
      message.add_bool(field::kHasInlineFrames, mapping.has_inlines);
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
      out_.add_int64(field::kDefaultSampleType, text(sample_type(*metrics_.back())));
    }
    if (const Sampling sampling = sampling_of(profile_); sampling.metric != nullptr) {
      add_value_type(field::kPeriodType, escape(sampling.metric->name), "nanoseconds");
      out_.add_int64(field::kPeriod, sampling.period_ns);
    }
    if (const std::string command = command_line(profile_); !command.empty()) {
      out_.add_int64(field::kComment, text("command: " + command));
    }
    for (const std::string& warning : profile_.warnings()) {
      out_.add_int64(field::kComment, text(escape(warning)));
    }
  }

  const Profile& profile_;
  const Nodes& nodes_;
  const Frames frames_;
  std::vector<const Metric*> metrics_;
  const std::vector<std::uint8_t> not_counted_;  // by node; empty: no calls are counted
  std::string data_;
  protozero::pbf_writer out_;
  std::unordered_map<std::string, std::size_t> text_index_;
  std::vector<const std::string*> texts_;  // keys of text_index_, whose addresses are stable
};

Result<std::string> write_pprof(const Export& input) {
  if (Status bad = check_additive(input, "pprof")) return *bad;
  return PprofWriter(input).write();
}

const RegisterExporter kPprof({
    .name = "pprof",
    .description = "all metrics, gzipped: go tool pprof, Pyroscope",
    .is_binary = true,
    .wants_lines = true,
    .write = write_pprof,
});

}  // namespace
}  // namespace fbleprof::report
