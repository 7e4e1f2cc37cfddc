// The Firefox Profiler's processed format, version 66, which profiler.firefox.com upgrades to its
// own. All threads share the tables; a "thread" here is a metric. A tree has no time axis: samples
// are in the order of the tree, and the timeline means nothing.
#include <algorithm>
#include <unordered_map>

#include "analysis/costs.h"
#include "report/exporters/additive_metrics.h"
#include "report/exporters/exporter.h"
#include "report/exporters/recorded_run.h"
#include "report/text/escape.h"
#include "report/text/json_writer.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr std::uint64_t kProcessedVersion = 66, kGeckoVersion = 31;
constexpr double kNsPerMs = 1e6;
constexpr unsigned kLibrary = 1;  // ResourceType

class FirefoxWriter {
 public:
  explicit FirefoxWriter(const Export& input)
      : input_(input),
        profile_(input.profile),
        nodes_(input.profile.nodes()),
        functions_(input.profile.functions()),
        threads_(metrics_with_values(input)),
        number_(functions_.count()) {}

  std::string write() {
    for (const FunctionId f : nodes_.function) {
      if (number_[f.index()] != 0) continue;
      met_.push_back(f.index());
      number_[f.index()] = static_cast<std::uint32_t>(met_.size());
    }
    json_.StartObject();
    meta();
    libs();
    json_.key("shared");
    json_.StartObject();
    stack_table();
    frame_table();
    func_table();
    resources_and_the_rest();
    json_.EndObject();
    json_.key("threads");
    json_.StartArray();
    for (const Metric* metric : threads_) thread(*metric);
    json_.EndArray();
    json_.EndObject();
    return json_.take();
  }

 private:
  // The chosen metric comes first, even if it is all zero.
  static std::vector<const Metric*> metrics_with_values(const Export& input) {
    std::vector<const Metric*> metrics = additive_metrics(input);
    metrics.erase(std::remove_if(metrics.begin() + 1, metrics.end(),
                                 [&](const Metric* metric) {
                                   return analysis::total(input.profile, *metric) == 0;
                                 }),
                  metrics.end());
    return metrics;
  }

  std::uint64_t string(const std::string& text) {
    const auto [at, added] = string_index_.try_emplace(text, strings_.size());
    if (added) strings_.push_back(&at->first);
    return at->second;
  }
  void nulls(const char* name, std::size_t count) {
    json_.column(name, count, [&](std::size_t) { json_.Null(); });
  }
  template <class Value>
  void same(const char* name, std::size_t count, Value value) {
    json_.column(name, count, [&](std::size_t) { json_.Int(value); });
  }

  void meta() {
    json_.key("meta");
    json_.StartObject();
    json_.key("interval");
    const bool has_rate =
        !profile_.processes().empty() && profile_.processes().front().rate_hz != 0;
    json_.Double(has_rate ? 1000.0 / profile_.processes().front().rate_hz : 1.0);
    json_.key("startTime");
    json_.Double(static_cast<double>(start_realtime_ns(profile_)) / kNsPerMs);
    json_.member("processType", std::uint64_t{0});
    json_.member("product", command_line(profile_));
    json_.member("importedFrom", "fble-prof-report");
    json_.member("stackwalk", std::uint64_t{1});
    json_.member("version", kGeckoVersion);
    json_.member("preprocessedProfileVersion", kProcessedVersion);
    json_.key("symbolicated");
    json_.Bool(true);
    json_.key("categories");
    json_.StartArray();
    json_.StartObject();
    json_.member("name", "Other");
    json_.member("color", "grey");
    json_.column("subcategories", 1, [&](std::size_t) { json_.text("Other"); });
    json_.EndObject();
    json_.EndArray();
    json_.column("markerSchema", 0, [](std::size_t) {});
    // Otherwise the profiler hides "threads" that have few samples, and selects the one with most.
    json_.column("initialVisibleThreads", threads_.size(), [&](std::size_t i) { json_.Uint64(i); });
    json_.column("initialSelectedThreads", 1, [&](std::size_t i) { json_.Uint64(i); });
    for (const char* yes :
         {"keepProfileThreadOrder", "usesOnlyOneStackType", "sourceCodeIsNotOnSearchfox"}) {
      json_.key(yes);
      json_.Bool(true);
    }
    json_.EndObject();
  }

  void libs() {
    json_.column("libs", profile_.modules().size(), [&](std::size_t i) {
      const Module& module = profile_.modules()[i];
      const std::string path = escape(profile_.text(module.path));
      const std::string name(base_name(path));
      const std::string build_id = escape(profile_.text(module.build_id));
      json_.StartObject();
      json_.member("arch", "");
      json_.member("name", name);
      json_.member("path", path);
      json_.member("debugName", name);
      json_.member("debugPath", path);
      json_.member("breakpadId", breakpad_id(build_id));
      json_.key("codeId");
      if (build_id.empty()) {
        json_.Null();
      } else {
        json_.text(build_id);
      }
      json_.EndObject();
    });
  }

  // The build-id's first 16 bytes as a GUID (its first three parts little-endian) and an age of 0.
  static std::string breakpad_id(const std::string& build_id) {
    std::string guid = build_id.substr(0, 32);
    guid.resize(32, '0');
    constexpr int kOrder[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    std::string id;
    for (const int byte : kOrder) id += guid.substr(static_cast<std::size_t>(byte) * 2, 2);
    for (char& c : id) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
    return id + "0";
  }

  // Stack n is node n; the root is a stack of its own and is not part of other stacks.
  void stack_table() {
    json_.key("stackTable");
    json_.StartObject();
    json_.member("length", std::uint64_t{nodes_.count()});
    json_.column("frame", nodes_.count(),
                 [&](std::size_t n) { json_.Uint(number_[nodes_.function[n].index()] - 1); });
    json_.column("prefixOffset", nodes_.count(), [&](std::size_t n) {
      const NodeId parent = nodes_.parent[n];
      const bool top = !parent || !nodes_.parent[parent.index()];
      json_.Uint64(top ? 0 : n - parent.index());
    });
    json_.EndObject();
  }

  // One frame per function.
  void frame_table() {
    const std::size_t count = met_.size();
    json_.key("frameTable");
    json_.StartObject();
    json_.member("length", std::uint64_t{count});
    json_.column("address", count, [&](std::size_t i) {
      const bool native =
          functions_.module[met_[i]].valid() && (functions_.flags[met_[i]] & kFunctionInlined) == 0;
      json_.Int64(native ? static_cast<std::int64_t>(functions_.address[met_[i]]) : -1);
    });
    same("inlineDepth", count, 0);
    same("category", count, 0);
    same("subcategory", count, 0);
    json_.column("func", count, [&](std::size_t i) { json_.Uint64(i); });
    nulls("nativeSymbol", count);
    same("innerWindowID", count, 0);
    json_.column("line", count, [&](std::size_t i) { line_or_null(met_[i]); });
    nulls("column", count);
    nulls("originalLocation", count);
    json_.EndObject();
  }

  void line_or_null(std::size_t f) {
    if (functions_.line[f] == 0) {
      json_.Null();
    } else {
      json_.Uint(functions_.line[f]);
    }
  }

  void func_table() {
    const std::size_t count = met_.size();
    json_.key("funcTable");
    json_.StartObject();
    json_.member("length", std::uint64_t{count});
    json_.column("name", count, [&](std::size_t i) {
      json_.Uint64(string(whole_name(profile_, FunctionId(met_[i]))));
    });
    json_.column("isJS", count, [&](std::size_t) { json_.Bool(false); });
    json_.column("relevantForJS", count, [&](std::size_t) { json_.Bool(false); });
    json_.column("resource", count, [&](std::size_t i) {
      const ModuleId module = functions_.module[met_[i]];
      json_.Int64(module ? static_cast<std::int64_t>(module.index()) : -1);
    });
    std::unordered_map<std::uint32_t, std::size_t> source_index;
    json_.column("source", count, [&](std::size_t i) {
      const StringId file = functions_.file[met_[i]];
      if (profile_.text(file).empty()) {
        json_.Null();
        return;
      }
      const auto [at, added] = source_index.try_emplace(file.index(), sources_.size());
      if (added) sources_.push_back(string(escape(profile_.text(file))));
      json_.Uint64(at->second);
    });
    json_.column("lineNumber", count, [&](std::size_t i) { line_or_null(met_[i]); });
    nulls("columnNumber", count);
    nulls("originalLocation", count);
    json_.EndObject();
  }

  void resources_and_the_rest() {
    const auto& modules = profile_.modules();
    json_.key("resourceTable");
    json_.StartObject();
    json_.member("length", std::uint64_t{modules.size()});
    json_.column("lib", modules.size(), [&](std::size_t i) { json_.Uint64(i); });
    json_.column("name", modules.size(), [&](std::size_t i) {
      json_.Uint64(string(escape(base_name(profile_.text(modules[i].path)))));
    });
    nulls("host", modules.size());
    same("type", modules.size(), static_cast<int>(kLibrary));
    json_.EndObject();

    empty_table("nativeSymbols", {"libIndex", "address", "name", "functionSize"});
    json_.key("sources");
    json_.StartObject();
    json_.member("length", std::uint64_t{sources_.size()});
    nulls("id", sources_.size());
    json_.column("filename", sources_.size(), [&](std::size_t i) { json_.Uint64(sources_[i]); });
    same("startLine", sources_.size(), 1);
    same("startColumn", sources_.size(), 1);
    nulls("sourceMapURL", sources_.size());
    nulls("content", sources_.size());
    json_.EndObject();
    empty_table("sourceLocationTable", {"source", "line", "column"});
    json_.column("stringArray", strings_.size(), [&](std::size_t i) { json_.text(*strings_[i]); });
  }

  void empty_table(const char* name, std::initializer_list<const char*> columns) {
    json_.key(name);
    json_.StartObject();
    json_.member("length", std::uint64_t{0});
    for (const char* column : columns) json_.column(column, 0, [](std::size_t) {});
    json_.EndObject();
  }

  void thread(const Metric& metric) {
    std::vector<std::size_t> charged;
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      if (metric.value(NodeId(n)) != 0) charged.push_back(n);
    }
    const bool is_time = metric.unit == "ns";
    json_.StartObject();
    json_.member("processType", "default");
    json_.member("processStartupTime", std::uint64_t{0});
    nulls_of({"processShutdownTime", "unregisterTime"});
    json_.member("registerTime", std::uint64_t{0});
    json_.column("pausedRanges", 0, [](std::size_t) {});
    json_.member("name", escape(metric.name));
    json_.key("isMainThread");
    json_.Bool(&metric == &input_.metric);
    const Process* process = profile_.processes().empty() ? nullptr : &profile_.processes().front();
    json_.member("processName", command_line(profile_));
    json_.member("pid", process != nullptr ? std::to_string(process->pid) : std::string("0"));
    json_.member("tid", std::uint64_t(&metric - profile_.metrics().data()));
    json_.key("samples");
    json_.StartObject();
    json_.member("length", std::uint64_t{charged.size()});
    json_.column("stack", charged.size(), [&](std::size_t i) { json_.Uint64(charged[i]); });
    std::uint64_t now = 0;
    json_.column("time", charged.size(), [&](std::size_t i) {
      json_.Double(is_time ? static_cast<double>(now) / kNsPerMs : static_cast<double>(i));
      now += metric.value(NodeId(charged[i]));
    });
    json_.column("weight", charged.size(), [&](std::size_t i) {
      const std::uint64_t value = metric.value(NodeId(charged[i]));
      if (is_time) {
        json_.Double(static_cast<double>(value) / kNsPerMs);
      } else {
        json_.Uint64(value);
      }
    });
    json_.member("weightType", is_time                  ? "tracing-ms"
                               : metric.unit == "bytes" ? "bytes"
                                                        : "samples");
    json_.EndObject();
    empty_table("markers", {"data", "name", "startTime", "endTime", "phase", "category"});
    json_.EndObject();
  }

  void nulls_of(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      json_.key(name);
      json_.Null();
    }
  }

  const Export& input_;
  const Profile& profile_;
  const Nodes& nodes_;
  const Functions& functions_;
  const std::vector<const Metric*> threads_;
  std::vector<std::uint32_t> number_;  // by function: from 1; 0 = not met
  std::vector<std::size_t> met_;
  std::unordered_map<std::string, std::uint64_t> string_index_;
  std::vector<const std::string*> strings_;
  std::vector<std::uint64_t> sources_;  // their names
  JsonWriter json_;
};

Result<std::string> write_firefox(const Export& input) {
  if (Status bad = check_additive(input, "firefox")) return *bad;
  return FirefoxWriter(input).write();
}

const RegisterExporter kFirefox({
    .name = "firefox",
    .description = "profiler.firefox.com (its timeline means nothing)",
    .wants_lines = true,
    .write = write_firefox,
});

}  // namespace
}  // namespace fbleprof::report
