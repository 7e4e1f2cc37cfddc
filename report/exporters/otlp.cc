// OTLP profiles of opentelemetry-proto 1.11.0 (profiles/v1development).
//
// A sample is a node with values of its own, as in pprof. Differences from pprof:
//  - a profile holds one metric, and all profiles of a request share one dictionary of tables;
//  - entry 0 of each table is empty and means "none";
//  - stacks are entries of a table too, and two samples of one profile differ in their stack or
//    in their attributes.
#include "report/exporters/otlp.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "profile/calls_label.h"
#include "report/exporters/additive_metrics.h"
#include "report/exporters/frames.h"
#include "report/exporters/node_facts.h"
#include "report/exporters/recorded_run.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

// Field numbers of profiles.proto, common.proto and resource.proto.
namespace field {
enum Request : std::uint32_t { kResourceProfiles = 1, kDictionary = 2 };
enum ResourceProfiles : std::uint32_t { kResource = 1, kScopeProfiles = 2 };
enum Resource : std::uint32_t { kResourceAttribute = 1 };
enum ScopeProfiles : std::uint32_t { kScope = 1, kProfile = 2 };
enum Scope : std::uint32_t { kScopeName = 1, kScopeVersion = 2 };
enum Dictionary : std::uint32_t {
  kMappingTable = 1,
  kLocationTable = 2,
  kFunctionTable = 3,
  kLinkTable = 4,
  kStringTable = 5,
  kAttributeTable = 6,
  kStackTable = 7,
};
enum Profile : std::uint32_t {
  kSampleType = 1,
  kSample = 2,
  kTimeUnixNano = 3,
  kDurationNano = 4,
  kPeriodType = 5,
  kPeriod = 6,
  kProfileAttributes = 11,
};
enum ValueType : std::uint32_t { kType = 1, kUnit = 2 };
enum Sample : std::uint32_t { kStackIndex = 1, kSampleAttributes = 2, kValues = 4 };
enum Mapping : std::uint32_t { kMemoryLimit = 2, kFilename = 4, kMappingAttributes = 5 };
enum Stack : std::uint32_t { kLocations = 1 };
enum Location : std::uint32_t {
  kMappingIndex = 1,
  kAddress = 2,
  kLine = 3,
  kLocationAttributes = 4
};
enum Line : std::uint32_t { kFunctionIndex = 1, kLineNumber = 2 };
enum Function : std::uint32_t { kName = 1, kSystemName = 2, kFile = 3, kStartLine = 4 };
enum Attribute : std::uint32_t { kAttributeKey = 1, kAttributeValue = 2 };
enum AnyValue : std::uint32_t { kString = 1, kBool = 2, kInt = 3, kArray = 5 };
enum Link : std::uint32_t { kTraceId = 1, kSpanId = 2 };
}  // namespace field

const std::string kNone;  // entry 0 of a table

// AnyValue messages.
std::string any_value(std::string_view text) {
  std::string data;
  protozero::pbf_writer(data).add_string(field::kString, text.data(), text.size());
  return data;
}
std::string any_value(std::uint64_t number) {
  std::string data;
  protozero::pbf_writer(data).add_int64(field::kInt, signed_value(number));
  return data;
}
std::string any_value(bool yes) {
  std::string data;
  protozero::pbf_writer(data).add_bool(field::kBool, yes);
  return data;
}
std::string any_value(const std::vector<std::string>& texts) {
  std::string data;
  protozero::pbf_writer value(data);
  protozero::pbf_writer array(value, field::kArray);
  for (const std::string& text : texts) array.add_message(1, any_value(std::string_view(text)));
  return data;
}

class OtlpWriter {
 public:
  OtlpWriter(const Export& input, const OtlpResource& resource)
      : profile_(input.profile),
        nodes_(input.profile.nodes()),
        resource_(resource),
        frames_(frames(input.profile)),
        metrics_(additive_metrics(input)),
        not_counted_(not_counted(input.profile)),
        dictionary_(dictionary_data_) {
    text("");
    attributes_.emplace_back();
  }

  std::string write() {
    place_nodes();
    add_rows();
    std::string data;
    protozero::pbf_writer out(data);
    {
      protozero::pbf_writer of_resource(out, field::kResourceProfiles);
      add_resource(of_resource);
      protozero::pbf_writer of_scope(of_resource, field::kScopeProfiles);
      {
        protozero::pbf_writer scope(of_scope, field::kScope);
        scope.add_string(field::kScopeName, "fbleprof");
        scope.add_string(field::kScopeVersion, FBLEPROF_VERSION);
      }
      for (const Metric* metric : metrics_) add_profile(of_scope, *metric);
    }
    add_mappings();
    add_locations();
    add_functions();
    add_link();
    for (const std::string& attribute : attributes_) {
      dictionary_.add_message(field::kAttributeTable, attribute);
    }
    // All texts are known only at this point.
    for (const std::string* entry : texts_) dictionary_.add_string(field::kStringTable, *entry);
    out.add_message(field::kDictionary, dictionary_data_);
    return data;
  }

 private:
  // A stack is the location of its leaf and the stack of its caller; 0 is the empty one.
  struct Stack {
    std::uint32_t caller = 0;
    std::uint64_t location = 0;
    auto operator<=>(const Stack&) const = default;
  };
  // The key of a sample in a profile. `labels` is an index into label_sets_.
  struct Row {
    std::int32_t stack = 0;
    std::uint32_t labels = 0;
  };

  std::int32_t text(const std::string& value) {
    const auto [at, added] = text_index_.try_emplace(value, texts_.size());
    if (added) texts_.push_back(&at->first);
    return static_cast<std::int32_t>(at->second);
  }

  // The attribute's index in its table. `value` is an AnyValue.
  std::int32_t attribute(const std::string& key, const std::string& value) {
    const auto [at, added] = attribute_index_.try_emplace({key, value}, attributes_.size());
    if (added) {
      protozero::pbf_writer message(attributes_.emplace_back());
      message.add_int32(field::kAttributeKey, text(key));
      message.add_message(field::kAttributeValue, value);
    }
    return static_cast<std::int32_t>(at->second);
  }

  std::uint32_t stack_number(const Stack& stack) {
    const std::uint64_t key = stack.location << 32 | stack.caller;
    const auto [at, added] = stack_index_.try_emplace(key, stacks_.size());
    if (added) stacks_.push_back(stack);
    return at->second;
  }

  // Groups are in the tree, but not on stacks: they are attributes.
  std::vector<std::int32_t> labels_of_group(const Group& group) {
    const std::string name = escape(profile_.text(group.name));
    const auto label = [&](const std::string& key) {
      return attribute(key, any_value(std::string_view(name)));
    };
    std::vector<std::int32_t> labels;
    switch (group.axis) {
      case Axis::kProcess:
        labels.push_back(label("process.executable.name"));
        if (group.number != 0) labels.push_back(attribute("process.pid", any_value(group.number)));
        break;
      case Axis::kThread:
        labels.push_back(label("thread.name"));
        if (group.number != 0) labels.push_back(attribute("thread.id", any_value(group.number)));
        break;
      case Axis::kHost:
        labels.push_back(label("host.name"));
        break;
      case Axis::kFile:
        labels.push_back(label("profile.file"));
        break;
      case Axis::kLabel:
        labels.push_back(label(escape(profile_.text(group.key))));
        break;
    }
    return labels;
  }

  // Gives each node its stack and its labels: those of its caller plus its own.
  void place_nodes() {
    label_sets_.emplace_back();
    stacks_.emplace_back();
    stack_of_node_.resize(nodes_.count());
    labels_of_node_.resize(nodes_.count());
    for (std::size_t n = 1; n < nodes_.count(); ++n) {
      const std::size_t parent = nodes_.parent[n].index();
      labels_of_node_[n] = labels_of_node_[parent];
      if (const Group* group = group_of(profile_, NodeId(n))) {
        std::vector<std::int32_t> labels = label_sets_[labels_of_node_[parent]];
        for (const std::int32_t label : labels_of_group(*group)) labels.push_back(label);
        labels_of_node_[n] = static_cast<std::uint32_t>(label_sets_.size());
        label_sets_.push_back(std::move(labels));
        continue;
      }
      const NodeId caller = caller_on_stack(profile_, NodeId(n));
      stack_of_node_[n] =
          stack_number({caller ? stack_of_node_[caller.index()] : 0, frames_.location_of_node[n]});
    }
  }

  // A row for each stack and set of labels that has a value.
  void add_rows() {
    row_of_node_.resize(nodes_.count());
    std::unordered_map<std::uint64_t, std::uint32_t> index;
    std::vector<std::int32_t> place_of_stack(stacks_.size() + 1);
    dictionary_.add_message(field::kStackTable, kNone);
    std::int32_t places = 1;
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const bool any = std::any_of(metrics_.begin(), metrics_.end(), [&](const Metric* metric) {
        return metric->value(NodeId(n)) != 0;
      });
      if (!any) continue;
      // Time in no known function has the root as its stack.
      std::uint32_t stack = stack_of_node_[n];
      if (stack == 0) stack = stack_number({0, frames_.location_of_node[0]});
      place_of_stack.resize(stacks_.size());
      if (place_of_stack[stack] == 0) {
        add_stack(stack);
        place_of_stack[stack] = places++;
      }
      const bool is_counted = not_counted_.empty() || not_counted_[n] == 0;
      const std::uint32_t labels = labels_of_node_[n];
      const Row row{place_of_stack[stack], is_counted ? labels : labels_not_counted(labels)};
      const std::uint64_t key =
          std::uint64_t{row.labels} << 32 | static_cast<std::uint32_t>(row.stack);
      const auto [at, added] = index.try_emplace(key, rows_.size());
      if (added) rows_.push_back(row);
      row_of_node_[n] = at->second;
    }
  }

  // The same labels, plus one that says that calls were not counted.
  std::uint32_t labels_not_counted(std::uint32_t labels) {
    const auto [at, added] =
        not_counted_index_.try_emplace(labels, static_cast<std::uint32_t>(label_sets_.size()));
    if (added) {
      std::vector<std::int32_t> set = label_sets_[labels];
      set.push_back(attribute(kCallsLabel, any_value(std::string_view(kNotCounted))));
      label_sets_.push_back(std::move(set));
    }
    return at->second;
  }

  void add_stack(std::uint32_t stack) {
    std::vector<std::int32_t> locations;
    for (; stack != 0; stack = stacks_[stack].caller) {
      locations.push_back(static_cast<std::int32_t>(stacks_[stack].location));
    }
    protozero::pbf_writer message(dictionary_, field::kStackTable);
    message.add_packed_int32(field::kLocations, locations.begin(), locations.end());
  }

  static void add_resource_attribute(protozero::pbf_writer& resource, const std::string& key,
                                     const std::string& value) {
    protozero::pbf_writer attribute(resource, field::kResourceAttribute);
    attribute.add_string(field::kAttributeKey, key);
    attribute.add_message(field::kAttributeValue, value);
  }

  // The value of `of` for each process, if it is the same for all.
  template <class Of>
  auto said_of_all(Of of) const -> decltype(of(std::declval<const Process&>())) {
    const auto& processes = profile_.processes();
    if (processes.empty()) return {};
    const auto first = of(processes.front());
    const bool agree = std::all_of(processes.begin(), processes.end(),
                                   [&](const Process& process) { return of(process) == first; });
    return agree ? first : decltype(of(processes.front())){};
  }

  // The first value of a key counts.
  void add_resource(protozero::pbf_writer& of_resource) {
    protozero::pbf_writer resource(of_resource, field::kResource);
    std::vector<std::string> keys;
    const auto add = [&](const std::string& key, const std::string& value) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
      keys.push_back(key);
      add_resource_attribute(resource, key, value);
    };
    const auto add_text = [&](const std::string& key, std::string_view value) {
      if (!value.empty()) add(key, any_value(std::string_view(escape(value))));
    };
    const std::string_view executable =
        said_of_all([&](const Process& p) { return profile_.text(p.executable); });
    add_text("service.name", resource_.service);
    add_text("service.name", program_name(profile_));
    for (const auto& [key, value] : resource_.attributes) add_text(key, value);
    for (const Process& process : profile_.processes()) {
      for (const Label& label : process.labels) {
        add_text(escape(profile_.text(label.key)), profile_.text(label.value));
      }
    }
    if (const auto pid = said_of_all([](const Process& p) { return p.pid; })) {
      add("process.pid", any_value(std::uint64_t{pid}));
    }
    add_text("process.executable.name", base_name(executable));
    add_text("process.executable.path", executable);
    const auto line = [&](const Process& p) { return profile_.text(p.command_line); };
    if (!said_of_all(line).empty()) add_text("process.command_line", command_line(profile_));
    add_text("host.name", said_of_all([&](const Process& p) { return profile_.text(p.host); }));
    // Our own profiles are of Linux; imported ones may be of any system.
    const bool recorded = std::none_of(profile_.processes().begin(), profile_.processes().end(),
                                       [](const Process& p) { return p.is_imported; });
    if (recorded) add_text("os.type", "linux");
  }

  void add_value_type(protozero::pbf_writer& out, std::uint32_t where, const std::string& type,
                      const std::string& unit) {
    protozero::pbf_writer message(out, where);
    message.add_int32(field::kType, text(type));
    message.add_int32(field::kUnit, text(unit));
  }

  void add_profile(protozero::pbf_writer& scope, const Metric& metric) {
    protozero::pbf_writer out(scope, field::kProfile);
    add_value_type(out, field::kSampleType, escape(metric.name), unit_name(metric.unit));
    add_samples(out, metric);
    const std::uint64_t from =
        resource_.from_ns != 0 ? resource_.from_ns : start_realtime_ns(profile_);
    const std::uint64_t duration =
        resource_.until_ns > from ? resource_.until_ns - from : duration_ns(profile_);
    if (from != 0) out.add_fixed64(field::kTimeUnixNano, from);
    if (duration != 0) out.add_uint64(field::kDurationNano, duration);
    add_period(out, metric);
    std::vector<std::string> comments;
    for (const std::string& warning : profile_.warnings()) comments.push_back(escape(warning));
    if (!comments.empty()) {
      const std::int32_t index = attribute("pprof.profile.comment", any_value(comments));
      out.add_packed_int32(field::kProfileAttributes, &index, &index + 1);
    }
  }

  void add_samples(protozero::pbf_writer& out, const Metric& metric) {
    std::vector<std::uint64_t> values(rows_.size());
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      if (const std::uint64_t value = metric.value(NodeId(n))) values[row_of_node_[n]] += value;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (values[i] == 0) continue;
      protozero::pbf_writer sample(out, field::kSample);
      sample.add_int32(field::kStackIndex, rows_[i].stack);
      const std::vector<std::int32_t>& labels = label_sets_[rows_[i].labels];
      sample.add_packed_int32(field::kSampleAttributes, labels.begin(), labels.end());
      const std::int64_t value = signed_value(values[i]);
      sample.add_packed_int64(field::kValues, &value, &value + 1);
    }
  }

  // Sampled metrics: the time of the sampling clock, and the number of samples.
  void add_period(protozero::pbf_writer& out, const Metric& metric) {
    const Sampling sampling = sampling_of(profile_);
    if (sampling.metric == nullptr) return;
    if (&metric != sampling.metric && metric.role != Role::kSamples) return;
    add_value_type(out, field::kPeriodType, escape(sampling.metric->name), "nanoseconds");
    out.add_int64(field::kPeriod, sampling.period_ns);
  }

  void add_mappings() {
    dictionary_.add_message(field::kMappingTable, kNone);
    for (const Frames::Mapping& mapping : frames_.mappings) {
      std::vector<std::int32_t> attributes;
      const auto add = [&](const char* key, const std::string& value) {
        attributes.push_back(attribute(key, value));
      };
      if (!mapping.build_id.empty()) {
        add("process.executable.build_id.gnu", any_value(std::string_view(mapping.build_id)));
      }
      if (mapping.has_functions) add("pprof.mapping.has_functions", any_value(true));
      if (mapping.has_lines) add("pprof.mapping.has_filenames", any_value(true));
      if (mapping.has_lines) add("pprof.mapping.has_line_numbers", any_value(true));
      if (mapping.has_inlines) add("pprof.mapping.has_inline_frames", any_value(true));
      protozero::pbf_writer message(dictionary_, field::kMappingTable);
      message.add_uint64(field::kMemoryLimit, std::numeric_limits<std::uint64_t>::max());
      message.add_int32(field::kFilename, text(mapping.path));
      message.add_packed_int32(field::kMappingAttributes, attributes.begin(), attributes.end());
    }
  }

  void add_locations() {
    dictionary_.add_message(field::kLocationTable, kNone);
    for (const Frames::Location& location : frames_.locations) {
      protozero::pbf_writer message(dictionary_, field::kLocationTable);
      if (location.mapping != 0) {
        message.add_int32(field::kMappingIndex, static_cast<std::int32_t>(location.mapping));
      }
      if (location.address != 0) message.add_uint64(field::kAddress, location.address);
      for (const Frames::Line& line : location.lines) {
        protozero::pbf_writer part(message, field::kLine);
        part.add_int32(field::kFunctionIndex, static_cast<std::int32_t>(line.function));
        if (line.number != 0) part.add_int64(field::kLineNumber, line.number);
      }
      if (location.mapping == 0) continue;
      const std::int32_t native =
          attribute("profile.frame.type", any_value(std::string_view("native")));
      message.add_packed_int32(field::kLocationAttributes, &native, &native + 1);
    }
  }

  void add_functions() {
    dictionary_.add_message(field::kFunctionTable, kNone);
    for (const Frames::Function& function : frames_.functions) {
      protozero::pbf_writer message(dictionary_, field::kFunctionTable);
      message.add_int32(field::kName, text(function.name));
      if (!function.linkage_name.empty()) {
        message.add_int32(field::kSystemName, text(function.linkage_name));
      }
      if (!function.file.empty()) message.add_int32(field::kFile, text(function.file));
      if (function.line != 0) message.add_int64(field::kStartLine, function.line);
    }
  }

  // No sample has a link, but the table needs its entry for none, with ids of full length.
  void add_link() {
    protozero::pbf_writer message(dictionary_, field::kLinkTable);
    message.add_bytes(field::kTraceId, std::string(16, '\0'));
    message.add_bytes(field::kSpanId, std::string(8, '\0'));
  }

  const Profile& profile_;
  const Nodes& nodes_;
  const OtlpResource& resource_;
  const Frames frames_;
  const std::vector<const Metric*> metrics_;
  const std::vector<std::uint8_t> not_counted_;  // by node; empty: no calls are counted
  std::string dictionary_data_;
  protozero::pbf_writer dictionary_;
  std::unordered_map<std::string, std::size_t> text_index_;
  std::vector<const std::string*> texts_;  // keys of text_index_, whose addresses are stable
  std::map<std::pair<std::string, std::string>, std::size_t> attribute_index_;
  std::vector<std::string> attributes_;
  std::unordered_map<std::uint64_t, std::uint32_t> stack_index_;
  std::vector<Stack> stacks_;
  std::vector<std::vector<std::int32_t>> label_sets_;
  std::unordered_map<std::uint32_t, std::uint32_t> not_counted_index_;  // of label sets
  std::vector<std::uint32_t> stack_of_node_, labels_of_node_, row_of_node_;
  std::vector<Row> rows_;
};

}  // namespace

std::string otlp_request(const Export& input, const OtlpResource& resource) {
  return OtlpWriter(input, resource).write();
}

namespace {

Result<std::string> write_otlp(const Export& input) {
  if (Status bad = check_additive(input, "otlp")) return *bad;
  return otlp_request(input, {});
}

const RegisterExporter kOtlp({
    .name = "otlp",
    .description = "all metrics, one profile each: OpenTelemetry (in development there)",
    .is_binary = true,
    .wants_lines = true,
    .write = write_otlp,
});

}  // namespace
}  // namespace fbleprof::report
