#include "report/importers/speedscope.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/builder.h"

namespace fbleprof::importers {

using namespace profile;

namespace {

using Json = rapidjson::Value;

constexpr std::string_view kSchema = "https://www.speedscope.app/file-format-schema.json";
constexpr std::string_view kOwnExporter = "fble-prof-report";

struct Unit {
  std::string_view name, unit, metric;
  std::uint64_t factor;
};
constexpr Unit kUnits[] = {{"nanoseconds", "ns", "time", 1},
                           {"microseconds", "ns", "time", 1000},
                           {"milliseconds", "ns", "time", 1'000'000},
                           {"seconds", "ns", "time", 1'000'000'000},
                           {"bytes", "bytes", "bytes", 1},
                           {"none", "count", "weight", 1}};

std::string_view text_of(const Json& object, const char* member) {
  const auto it = object.FindMember(member);
  if (it == object.MemberEnd() || !it->value.IsString()) return {};
  return {it->value.GetString(), it->value.GetStringLength()};
}

const Json* array_of(const Json& object, const char* member) {
  const auto it = object.FindMember(member);
  return it != object.MemberEnd() && it->value.IsArray() ? &it->value : nullptr;
}

// A time or weight in the file's unit. Whole numbers stay exact.
struct Amount {
  bool is_whole = true;
  std::uint64_t whole = 0;
  double fraction = 0;

  static bool read(const Json& value, Amount& out) {
    if (value.IsUint64()) {
      out = {true, value.GetUint64(), 0};
      return true;
    }
    if (!value.IsNumber() || !(value.GetDouble() >= 0) || value.GetDouble() > 1e18) return false;
    out = {false, 0, value.GetDouble()};
    return true;
  }
  std::uint64_t times(std::uint64_t factor) const {
    if (!is_whole) {
      const double product = std::round(fraction * static_cast<double>(factor));
      return product < 1.8e19 ? static_cast<std::uint64_t>(product) : kLargestCount;
    }
    std::uint64_t product;
    return __builtin_mul_overflow(whole, factor, &product) ? kLargestCount : product;
  }
};

class Importer {
 public:
  Importer(const Json& file, const std::string& name) : file_(file), name_(name) {}

  Result<Profile> run() {
    const auto shared = file_.FindMember("shared");
    const Json* frames = shared != file_.MemberEnd() && shared->value.IsObject()
                             ? array_of(shared->value, "frames")
                             : nullptr;
    const Json* profiles = array_of(file_, "profiles");
    if (frames == nullptr || profiles == nullptr) return damage("no frames or no profiles in it");
    if (profiles->Empty()) return damage("no profile in it");
    has_metrics_ = text_of(file_, "exporter").starts_with(kOwnExporter);
    add_process();
    for (const Json& frame : frames->GetArray()) {
      if (!frame.IsObject()) return damage("a frame that is not an object");
      add_frame(frame);
    }
    for (const Json& profile : profiles->GetArray()) {
      if (!profile.IsObject()) return damage("a profile that is not an object");
      if (Status bad = add_profile(profile)) return *bad;
    }
    for (Thread& thread : threads_) builder_.add_thread(std::move(thread));
    return builder_.build();
  }

 private:
  Error damage(std::string what) const {
    return {name_, {}, std::move(what), "is this a speedscope file, whole?"};
  }

  void add_process() {
    Process process;
    process.file = builder_.string(name_);
    process.executable = builder_.string(text_of(file_, "name"));
    process.compaction = Compaction::kNone;
    process.is_imported = true;
    process_ = builder_.add_process(std::move(process));
  }

  void add_frame(const Json& frame) {
    const std::string_view name = text_of(frame, "name"), file = text_of(frame, "file");
    const auto line = frame.FindMember("line");
    FunctionKey key{.kind = FunctionKind::kImported, .name = builder_.string(name)};
    if (!file.empty()) key.file = builder_.string(file);
    if (line != frame.MemberEnd() && line->value.IsUint()) key.line = line->value.GetUint();
    if (name == "[root]") key.kind = FunctionKind::kRoot;
    if (has_metrics_) make_place(frame, key);
    frames_.push_back(builder_.add_function(key));
    is_root_.push_back(name == "[root]");
  }

  // A sampled address (--leaves), which our exports tell.
  void make_place(const Json& frame, FunctionKey& key) {
    std::string_view address = text_of(frame, "address");
    if (!address.starts_with("0x")) return;
    address.remove_prefix(2);
    std::uint64_t number = 0;
    const auto [end, bad] =
        std::from_chars(address.data(), address.data() + address.size(), number, 16);
    if (bad != std::errc() || end != address.data() + address.size()) return;
    const std::string_view path = text_of(frame, "module"), build = text_of(frame, "build_id");
    key.kind = FunctionKind::kInstruction;
    key.address = number;
    if (path.empty()) return;
    const auto [it, added] = modules_.try_emplace({std::string(path), std::string(build)});
    if (added) {
      it->second =
          builder_.add_module({.path = builder_.string(path),
                               .build_id = build.empty() ? StringId() : builder_.string(build)});
    }
    key.module = it->second;
  }

  void add_thread(std::string_view name) {
    Thread thread;
    thread.process = process_;
    thread.threads_served = 1;
    thread.name = builder_.string(name);
    threads_.push_back(std::move(thread));
    root_ = builder_.add_tree(builder_.named_function("[root]", FunctionKind::kRoot), process_,
                              ThreadId(threads_.size() - 1));
  }

  Status add_profile(const Json& profile) {
    const std::string_view name = text_of(profile, "name"), unit = text_of(profile, "unit");
    const Unit* known = nullptr;
    for (const Unit& u : kUnits) {
      if (u.name == unit) known = &u;
    }
    if (known == nullptr) return damage(fmt::format("a profile in the unit \"{}\"", unit));
    factor_ = known->factor;
    is_calls_ = has_metrics_ && name == "calls";
    const std::string metric(has_metrics_ ? name : known->metric);
    const auto [it, added] = metrics_.try_emplace(metric, MetricId());
    if (added) it->second = builder_.add_metric(metric, known->unit);
    metric_ = it->second;
    if (!has_metrics_ || threads_.empty()) add_thread(has_metrics_ ? "" : name);
    const std::string_view type = text_of(profile, "type");
    if (type == "evented") return add_events(profile);
    if (type == "sampled") return add_samples(profile);
    return damage(fmt::format("a profile of type \"{}\"", type));
  }

  NodeId enter(NodeId from, std::size_t frame) {
    return is_root_[frame] ? from : builder_.child(from, frames_[frame]);
  }

  void charge(NodeId node, std::uint64_t value) {
    if (value == 0) return;
    if (is_calls_) {
      if (node == root_) return;  // nothing calls it
      builder_.add_edge(NodeId(), node, EdgeKind::kTree, value);
    } else {
      builder_.charge(node, metric_, value);
    }
  }

  bool read_frame(const Json& value, std::size_t& out) const {
    if (!value.IsUint64() || value.GetUint64() >= frames_.size()) return false;
    out = value.GetUint64();
    return true;
  }

  // Frames open and close; the time between two events belongs to the newest open frame.
  Status add_events(const Json& profile) {
    const Json* events = array_of(profile, "events");
    if (events == nullptr) return damage("an evented profile without events");
    std::vector<NodeId> open{root_};
    bool is_first = true;
    std::uint64_t last = 0;
    for (const Json& event : events->GetArray()) {
      std::size_t frame = 0;
      Amount at;
      if (!event.IsObject() || !event.HasMember("at") || !event.HasMember("frame") ||
          !Amount::read(event["at"], at) || !read_frame(event["frame"], frame)) {
        return damage("an event without its frame or time");
      }
      const std::uint64_t now = at.times(factor_);
      if (!is_first && now < last) return damage("events that go back in time");
      if (!is_first) charge(open.back(), now - last);
      is_first = false;
      last = now;
      const std::string_view type = text_of(event, "type");
      if (type == "O") {
        open.push_back(enter(open.back(), frame));
      } else if (type == "C" && open.size() > 1) {
        open.pop_back();
      } else {
        return damage("an event that closes what is not open");
      }
    }
    return {};
  }

  Status add_samples(const Json& profile) {
    const Json* samples = array_of(profile, "samples");
    const Json* weights = array_of(profile, "weights");
    if (samples == nullptr || weights == nullptr || samples->Size() != weights->Size()) {
      return damage("a sampled profile without a weight for each sample");
    }
    for (rapidjson::SizeType i = 0; i < samples->Size(); ++i) {
      Amount weight;
      if (!(*samples)[i].IsArray() || !Amount::read((*weights)[i], weight)) {
        return damage("a sample that is not a stack, or has no weight");
      }
      NodeId at = root_;
      for (const Json& value : (*samples)[i].GetArray()) {
        std::size_t frame = 0;
        if (!read_frame(value, frame)) return damage("a stack that names a missing frame");
        at = enter(at, frame);
      }
      charge(at, weight.times(factor_));
    }
    return {};
  }

  const Json& file_;
  const std::string& name_;
  ProfileBuilder builder_;
  ProcessId process_;
  bool has_metrics_ = false;  // a profile is a metric, not a thread
  std::vector<FunctionId> frames_;
  std::vector<bool> is_root_;
  std::vector<Thread> threads_;
  std::map<std::string, MetricId> metrics_;
  std::map<std::pair<std::string, std::string>, ModuleId> modules_;  // by path and build-id
  // Of the current profile.
  NodeId root_;
  MetricId metric_;
  std::uint64_t factor_ = 1;
  bool is_calls_ = false;
};

}  // namespace

bool is_speedscope(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '{' &&
         head.find(kSchema) != std::string_view::npos;
}

Result<Profile> parse_speedscope(std::string_view text, const std::string& name) {
  rapidjson::Document file;
  // Iterative: brackets nested a million deep must not overflow the stack.
  file.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (file.HasParseError()) {
    return Error{name, file.GetErrorOffset(), "this is not a complete JSON document",
                 "export it from speedscope again"};
  }
  if (!file.IsObject()) return Error{name, {}, "not a JSON object", "is this a speedscope file?"};
  return Importer(file, name).run();
}

}  // namespace fbleprof::importers
