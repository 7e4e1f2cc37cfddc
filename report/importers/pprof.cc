#include "report/importers/pprof.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "profile/builder.h"
#include "profile/calls_label.h"
#include "profile/metric_reader.h"
#include "profile/pprof_sample_types.h"
#include "report/importers/pprof_message.h"

namespace fbleprof::importers {

using namespace profile;

namespace {

// A sample names a location with one or two bytes, and a location may stand for many inlined
// frames: a small file could request any number of them. Real files request few.
constexpr std::uint64_t kFramesAlwaysAllowed = 1'000'000, kFramesPerByte = 16;
// A text of the table is named by a few bytes, too: what is made of copies of it is limited.
constexpr std::uint64_t kTextAlwaysAllowed = 64u << 20, kTextPerByte = 16;

constexpr std::uint64_t kWholeAddressSpace = std::numeric_limits<std::uint64_t>::max();

struct Scale {
  std::string_view name, unit;
  std::uint64_t factor;
};

Scale scale_of(std::string_view unit) {
  for (const Scale& scale : {Scale{"nanoseconds", "ns", 1},
                             Scale{"nanosecond", "ns", 1},
                             Scale{"ns", "ns", 1},
                             Scale{"microseconds", "ns", 1000},
                             Scale{"microsecond", "ns", 1000},
                             Scale{"us", "ns", 1000},
                             Scale{"milliseconds", "ns", 1'000'000},
                             Scale{"millisecond", "ns", 1'000'000},
                             Scale{"ms", "ns", 1'000'000},
                             Scale{"seconds", "ns", 1'000'000'000},
                             Scale{"second", "ns", 1'000'000'000},
                             Scale{"s", "ns", 1'000'000'000},
                             Scale{"bytes", "bytes", 1},
                             Scale{"byte", "bytes", 1},
                             Scale{"kilobytes", "bytes", 1024},
                             Scale{"kb", "bytes", 1024},
                             Scale{"megabytes", "bytes", 1048576},
                             Scale{"mb", "bytes", 1048576},
                             Scale{"count", "count", 1},
                             Scale{"", "count", 1}}) {
    if (scale.name == unit) return scale;
  }
  return {unit, unit, 1};
}

std::string_view metric_of(std::string_view sample_type) {
  for (const PprofSampleType& known : kPprofSampleTypes) {
    if (known.type == sample_type) return known.metric;
  }
  return sample_type;
}

std::uint64_t times(std::uint64_t value, std::uint64_t factor) {
  std::uint64_t product;
  return __builtin_mul_overflow(value, factor, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                         : product;
}

class Importer {
 public:
  Importer(const pprof::Message& message, std::size_t size, const std::string& name)
      : message_(message),
        name_(name),
        frames_left_(std::max<std::uint64_t>(kFramesAlwaysAllowed, size * kFramesPerByte)),
        text_left_(std::max<std::uint64_t>(kTextAlwaysAllowed, size * kTextPerByte)),
        strings_(message.strings.size()) {}

  Result<Profile> run() {
    if (message_.sample_types.empty()) {
      return Error{name_, {}, "no sample type in it", "is this a pprof profile?"};
    }
    if (message_.strings.empty() || !message_.strings[0].empty()) {
      return Error{name_,
                   {},
                   "its table of strings does not begin with the empty one",
                   "is this a pprof profile?"};
    }
    if (message_.sample_types.size() > kMostMetrics) {
      return Error{
          name_,
          {},
          fmt::format("{} sample types, {} at most", message_.sample_types.size(), kMostMetrics),
          "the file is damaged"};
    }
    for (const pprof::ValueType& type : message_.sample_types) {
      if (Status bad = charge_text(message_.text(type.type).size(), {})) return *bad;
      if (Status bad = charge_text(message_.text(type.unit).size(), {})) return *bad;
    }
    add_modules();
    add_process();
    add_metrics();
    pprof::Sample sample;
    for (std::size_t i = 0; i < message_.samples.size(); ++i) {
      if (Status bad = pprof::read_sample(message_, i, name_, sample)) return *bad;
      if (Status bad = add(sample, message_.samples[i].first)) return *bad;
    }
    for (std::size_t t = 0; t < threads_.size(); ++t) builder_.add_thread(std::move(threads_[t]));
    return with_lines(builder_.build());
  }

 private:
  struct Column {
    MetricId metric;
    std::uint64_t factor = 1;
    bool is_calls = false;
    bool is_samples = false;
    bool is_time = false;
  };

  StringId string(std::uint64_t index) {
    if (index >= strings_.size()) return builder_.string({});
    StringId& known = strings_[index];
    if (!known) known = builder_.string(message_.strings[index]);
    return known;
  }

  // To be asked before texts of so many bytes are copied, for what is at `offset`.
  Status charge_text(std::uint64_t bytes, std::optional<std::uint64_t> offset) {
    if (bytes > text_left_) {
      return Error{name_, offset, "names and labels of more text than a file of its size can mean",
                   "the file is damaged"};
    }
    text_left_ -= bytes;
    return {};
  }

  void add_modules() {
    for (const pprof::Mapping& mapping : message_.mappings) {
      const auto key = std::make_pair(string(mapping.file), string(mapping.build_id));
      const auto [it, added] = module_index_.try_emplace(key, ModuleId());
      if (added) it->second = builder_.add_module({key.first, key.second, 0});
      modules_.push_back(it->second);
    }
  }

  void add_process() {
    Process process;
    process.file = builder_.string(name_);
    if (!message_.mappings.empty()) process.executable = string(message_.mappings[0].file);
    process.start_realtime_ns =
        static_cast<std::uint64_t>(std::max<std::int64_t>(message_.time_ns, 0));
    process.duration_ns =
        static_cast<std::uint64_t>(std::max<std::int64_t>(message_.duration_ns, 0));
    process.compaction = Compaction::kNone;
    process.is_imported = true;
    for (const std::uint64_t comment : message_.comments) process.notes.push_back(string(comment));
    process_ = builder_.add_process(std::move(process));
  }

  void add_metrics() {
    const std::size_t count = message_.sample_types.size();
    // Without a declared default it is the last one, as in pprof.
    std::size_t first = count - 1;
    for (std::size_t i = 0; message_.default_type != 0 && i < count; ++i) {
      if (message_.text(message_.sample_types[i].type) == message_.text(message_.default_type)) {
        first = i;
        break;
      }
    }
    columns_.resize(count);
    add_metric(first);
    for (std::size_t i = 0; i < count; ++i) {
      if (i != first) add_metric(i);
    }
  }

  void add_metric(std::size_t index) {
    const std::string_view unit = message_.text(message_.sample_types[index].unit);
    const std::string_view type = metric_of(message_.text(message_.sample_types[index].type));
    std::string name(type);
    const Scale scale = scale_of(unit);
    Column& column = columns_[index];
    column.is_calls = name == "calls" && scale.unit == "count";
    if (name.empty() || (name == "calls" && !column.is_calls)) name += fmt::format("({})", unit);
    // Among namesakes, the search for a free number goes on from the last one.
    auto [taken, is_free] = metric_names_.insert({name, 1});
    for (int& number = taken->second; !is_free;) {
      name = fmt::format("{} {}", type, ++number);
      is_free = metric_names_.insert({name, 1}).second;
      column.is_calls = false;
    }
    column.is_samples = name == "samples" && scale.unit == "count";
    column.is_time = name == "cpu" && scale.unit == "ns";
    column.factor = scale.factor;
    column.metric = builder_.add_metric(name, scale.unit);
  }

  std::uint64_t text_of_labels(const pprof::Sample& sample) const {
    std::uint64_t bytes = 0;
    for (const pprof::Label& label : sample.labels) {
      for (const std::uint64_t text : {label.key, label.text, label.unit}) {
        bytes += message_.text(text).size();
      }
    }
    return bytes;
  }

  // The thread of samples with these labels, and its tree.
  std::size_t thread_of(const pprof::Sample& sample) {
    std::vector<std::pair<std::string, std::string>> labels;
    for (const pprof::Label& label : sample.labels) {
      std::string key(message_.text(label.key));
      const std::string_view text = message_.text(label.text), unit = message_.text(label.unit);
      if (key == kCallsLabel && text == kNotCounted) continue;
      if (!text.empty()) {
        labels.emplace_back(std::move(key), std::string(text));
        continue;
      }
      // Without a unit, "bytes" and the like are sizes too.
      const bool is_size = scale_of(unit.empty() ? key : std::string(unit)).unit == "bytes" ||
                           key == "request" || key == "alignment";
      if (is_size) continue;
      labels.emplace_back(std::move(key), unit.empty() ? fmt::format("{}", label.number)
                                                       : fmt::format("{} {}", label.number, unit));
    }
    std::sort(labels.begin(), labels.end());
    const auto [it, added] = thread_index_.try_emplace(std::move(labels), threads_.size());
    if (!added) return it->second;
    Thread thread;
    thread.process = process_;
    thread.threads_served = 1;
    std::string thread_name;
    for (const auto& [key, value] : it->first) {
      thread.labels.push_back({builder_.string(key), builder_.string(value)});
      thread_name += fmt::format("{}{}={}", thread_name.empty() ? "" : " ", key, value);
    }
    thread.name = builder_.string(thread_name);
    threads_.push_back(std::move(thread));
    roots_.push_back(builder_.add_tree(builder_.named_function("[root]", FunctionKind::kRoot),
                                       process_, ThreadId(it->second)));
    return it->second;
  }

  FunctionId function_of(const pprof::Location& location, std::size_t line) {
    const auto it = message_.function_index.find(location.lines[line].function);
    if (it == message_.function_index.end()) return unknown_at(location);
    const bool is_inlined = line + 1 < location.lines.size();
    const std::uint32_t module = module_of(location) ? module_of(location).index() + 1 : 0;
    const auto [known, added] =
        function_index_.try_emplace({it->second, module, is_inlined}, FunctionId());
    if (added) {
      const pprof::Function& function = message_.functions[it->second];
      const bool same = function.system_name == function.name;
      known->second = builder_.add_function(
          {.kind = FunctionKind::kImported,
           .module = module_of(location),
           .name = message_.text(function.name).empty() ? string(function.system_name)
                                                        : string(function.name),
           .file = function.file != 0 ? string(function.file) : StringId(),
           .line = line_number(function.start_line),
           .flags = is_inlined ? kFunctionInlined : std::uint16_t{0},
           .linkage_name =
               same || function.system_name == 0 ? StringId() : string(function.system_name)});
    }
    return known->second;
  }

  static std::uint32_t line_number(std::int64_t line) {
    return line > 0 && line <= UINT32_MAX ? static_cast<std::uint32_t>(line) : 0;
  }

  const pprof::Mapping* mapping_of(const pprof::Location& location) const {
    const auto it = message_.mapping_index.find(location.mapping);
    return it == message_.mapping_index.end() ? nullptr : &message_.mappings[it->second];
  }

  ModuleId module_of(const pprof::Location& location) const {
    const auto it = message_.mapping_index.find(location.mapping);
    return it == message_.mapping_index.end() ? ModuleId() : modules_[it->second];
  }

  std::uint32_t index_of(const pprof::Location& location) const {
    return static_cast<std::uint32_t>(&location - message_.locations.data());
  }

  // The bytes of text that it takes to name the location, if it is to be named by its module.
  std::uint64_t text_of_name(const pprof::Location& location) const {
    const pprof::Mapping* mapping = mapping_of(location);
    if (mapping == nullptr || unknown_names_.contains(index_of(location))) return 0;
    const bool has_functions =
        !location.lines.empty() &&
        std::all_of(location.lines.begin(), location.lines.end(), [&](const pprof::Line& line) {
          return message_.function_index.contains(line.function);
        });
    return has_functions ? 0 : base_name(message_.text(mapping->file)).size();
  }

  FunctionId unknown_at(const pprof::Location& location) {
    const auto [known, is_new] = unknown_names_.try_emplace(index_of(location), FunctionId());
    if (is_new) known->second = named_by_module(location);
    return known->second;
  }

  FunctionId named_by_module(const pprof::Location& location) {
    const pprof::Mapping* mapping = mapping_of(location);
    const ModuleId module = module_of(location);
    std::string name = fmt::format("0x{:x}", location.address);
    if (mapping != nullptr && location.address >= mapping->start) {
      const std::string_view file = base_name(message_.text(mapping->file));
      name = fmt::format("{}+0x{:x}", file.empty() ? "?" : file,
                         location.address - mapping->start + mapping->offset);
    }
    const auto [it, added] = unknown_index_.try_emplace(
        {builder_.string(name), module ? module.index() + 1 : 0}, FunctionId());
    if (added) {
      it->second = builder_.add_function(
          {.kind = FunctionKind::kImported, .module = module, .name = builder_.string(name)});
    }
    return it->second;
  }

  // The root's own cost is a stack of the root alone.
  bool is_root_alone(const pprof::Sample& sample) const {
    if (sample.locations.size() != 1) return false;
    const auto at = message_.location_index.find(sample.locations[0]);
    if (at == message_.location_index.end()) return false;
    const pprof::Location& location = message_.locations[at->second];
    if (location.lines.size() != 1 || mapping_of(location) != nullptr) return false;
    const auto it = message_.function_index.find(location.lines[0].function);
    return it != message_.function_index.end() &&
           message_.text(message_.functions[it->second].name) == "[root]";
  }

  // Goes from `at` to the location's innermost frame. `site` is the call's place in `at`.
  NodeId enter(NodeId at, const pprof::Location& location, SiteId site) {
    const auto step = [&](FunctionId function) {
      at = builder_.child(at, function);
      builder_.add_edge(NodeId(), at, EdgeKind::kTree, 0, format::kEdgeSampled, site);
      site = SiteId();
    };
    for (std::size_t line = location.lines.size(); line-- > 0;) step(function_of(location, line));
    if (location.lines.empty()) step(unknown_at(location));
    return at;
  }

  SiteId site_of(const pprof::Location& location) {
    if (location.address == 0) return SiteId();
    // In two modules, addresses may be equal: those of our exports are the files'.
    const SiteId site = builder_.site(module_of(location), location.address);
    if (!location.lines.empty()) {
      const pprof::Line& line = location.lines.front();
      const auto it = message_.function_index.find(line.function);
      if (it != message_.function_index.end() && line.line > 0) {
        site_lines_[site] = {string(message_.functions[it->second].file), line_number(line.line)};
      }
    }
    return site;
  }

  // A mapping of the whole address space says that addresses are those of the file, as in our
  // exports.
  bool has_addresses_of_file(const pprof::Location& location) const {
    const pprof::Mapping* mapping = mapping_of(location);
    return mapping != nullptr && mapping->start == 0 && mapping->limit == kWholeAddressSpace;
  }

  // Whether it is no place in its innermost function. Our exports write the location of a function
  // before those of the addresses in it: its address, if it has one, is where the function begins.
  bool is_function_itself(const pprof::Location& location) {
    if (location.address == 0) {
      const std::int64_t line = location.lines.empty() ? 0 : location.lines.front().line;
      const pprof::Function* function = innermost(location);
      return line <= 0 || has_addresses_of_file(location) ||
             (function != nullptr && function->start_line == line);
    }
    if (location.lines.empty() || !has_addresses_of_file(location)) return false;
    if (own_address_.empty()) {
      for (const pprof::Location& each : message_.locations) {
        own_address_.try_emplace(functions_at(each), each.address);
      }
    }
    return own_address_.at(functions_at(location)) == location.address;
  }

  const pprof::Function* innermost(const pprof::Location& location) const {
    if (location.lines.empty()) return nullptr;
    const auto it = message_.function_index.find(location.lines.front().function);
    return it == message_.function_index.end() ? nullptr : &message_.functions[it->second];
  }

  static std::vector<std::uint64_t> functions_at(const pprof::Location& location) {
    std::vector<std::uint64_t> ids = {location.mapping};
    for (const pprof::Line& line : location.lines) ids.push_back(line.function);
    return ids;
  }

  // The sampled place itself, a leaf below its function, as shown by --leaves.
  NodeId instruction(NodeId at, const pprof::Location& location) {
    if (is_function_itself(location)) return at;
    const auto [it, added] = instruction_index_.try_emplace(index_of(location), FunctionId());
    if (added) {
      FunctionKey key{.kind = FunctionKind::kInstruction, .address = location.address};
      const pprof::Function* function = innermost(location);
      if (has_addresses_of_file(location)) {
        key.module = module_of(location);
        if (function != nullptr) key.name = string(function->name);
      }
      if (!location.lines.empty() && location.lines.front().line > 0) {
        if (function != nullptr) key.file = string(function->file);
        key.line = line_number(location.lines.front().line);
      }
      it->second = builder_.add_function(key);
    }
    return builder_.child(at, it->second);
  }

  Status add(const pprof::Sample& sample, std::uint64_t offset) {
    if (sample.values.size() != columns_.size()) {
      return Error{
          name_, offset,
          fmt::format("a sample of {} values, not {}", sample.values.size(), columns_.size()),
          "the file is damaged"};
    }
    if (Status bad = charge_text(text_of_labels(sample), offset)) return bad;
    const std::size_t thread = thread_of(sample);
    NodeId at = roots_[thread];
    SiteId site;
    const pprof::Location* leaf = nullptr;
    const bool is_of_root = is_root_alone(sample);
    for (std::size_t i = is_of_root ? 0 : sample.locations.size(); i-- > 0;) {
      const auto it = message_.location_index.find(sample.locations[i]);
      if (it == message_.location_index.end()) {
        return Error{
            name_, offset,
            fmt::format("a sample at location {}, which is not there", sample.locations[i]),
            "the file is damaged"};
      }
      leaf = &message_.locations[it->second];
      const std::uint64_t frames = std::max<std::uint64_t>(leaf->lines.size(), 1);
      if (frames > frames_left_) {
        return Error{name_, offset, "stacks of more frames than a file of its size can mean",
                     "the file is damaged"};
      }
      frames_left_ -= frames;
      if (Status bad = charge_text(text_of_name(*leaf), offset)) return bad;
      at = enter(at, *leaf, site);
      if (i != 0) site = site_of(*leaf);  // the innermost one calls nothing
    }
    if (leaf == nullptr && !is_of_root) {
      at = builder_.child(at, builder_.named_function("[no stack]", FunctionKind::kImported));
    }
    const NodeId place = leaf != nullptr ? instruction(at, *leaf) : at;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (sample.values[i] < 0) {
        return Error{name_, offset, "a negative value: this is the difference of two profiles",
                     "import those two, and see --diff"};
      }
      const std::uint64_t value =
          times(static_cast<std::uint64_t>(sample.values[i]), column.factor);
      if (value == 0) continue;
      if (column.is_samples) threads_[thread].samples += value;
      if (column.is_time) threads_[thread].cpu_ns += value;
      if (column.is_calls) {
        if (is_of_root) continue;  // nothing calls it
        builder_.add_edge(NodeId(), at, EdgeKind::kTree, value);
      } else {
        builder_.charge(place, column.metric, value);
      }
    }
    return {};
  }

  // Sites have the file's lines. Nobody must look for others in their modules, where the addresses
  // may mean nothing: they can be those of a process, or where the caller begins.
  Profile with_lines(const Profile& built) const {
    auto sites = std::make_shared<Sites>(built.sites());
    for (ModuleId& module : sites->module) module = ModuleId();
    for (const auto& [site, place] : site_lines_) {
      sites->file[site.index()] = place.first;
      sites->line[site.index()] = place.second;
    }
    Parts parts = built.parts();
    parts.sites = std::move(sites);
    return Profile(std::move(parts));
  }

  const pprof::Message& message_;
  const std::string& name_;
  std::uint64_t frames_left_, text_left_;
  std::vector<StringId> strings_;  // by index in the message's table; none: not asked for yet
  ProfileBuilder builder_;
  ProcessId process_;
  std::vector<Column> columns_;
  std::map<std::string, int> metric_names_;  // with the last number of its namesakes
  std::vector<ModuleId> modules_;            // by mapping
  std::map<std::pair<StringId, StringId>, ModuleId> module_index_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, FunctionId> function_index_;
  std::map<std::pair<StringId, std::uint32_t>, FunctionId> unknown_index_;
  std::map<std::uint32_t, FunctionId> unknown_names_;      // by location, without a function's name
  std::map<std::uint32_t, FunctionId> instruction_index_;  // by location
  // By mapping and functions: the address of the first location that has them.
  std::map<std::vector<std::uint64_t>, std::uint64_t> own_address_;
  std::map<SiteId, std::pair<StringId, std::uint32_t>> site_lines_;
  std::map<std::vector<std::pair<std::string, std::string>>, std::size_t> thread_index_;
  std::vector<Thread> threads_;
  std::vector<NodeId> roots_;
};

}  // namespace

Result<Profile> parse_pprof(std::string_view bytes, const std::string& name) {
  auto message = pprof::read(bytes, name);
  if (!message) return message.error();
  return Importer(*message, bytes.size(), name).run();
}

}  // namespace fbleprof::importers
