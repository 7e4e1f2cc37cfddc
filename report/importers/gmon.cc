#include "report/importers/gmon.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "profile/builder.h"

namespace fbleprof::importers {

using namespace profile;

namespace {

constexpr std::size_t kHeaderBytes = 20, kDimensionBytes = 15;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
enum Tag : std::uint8_t { kHistogram = 0, kArc = 1, kBlockCounts = 2 };

// Reads numbers one after the other. After the end, all are 0 and ok() is false.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  template <class Number>
  Number take() {
    Number value{};
    const std::string_view raw = take_bytes(sizeof value);
    if (raw.size() == sizeof value) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  std::string_view take_bytes(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
      ok_ = false;
      at_ = bytes_.size();
      return {};
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  bool ok() const { return ok_; }
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

using Wide = unsigned __int128;

// What is wrong with the record, or nothing.
const char* read_histogram(Cursor& cursor, Gmon& gmon) {
  const auto low = cursor.take<std::uint64_t>(), high = cursor.take<std::uint64_t>();
  const auto size = cursor.take<std::uint32_t>(), rate = cursor.take<std::uint32_t>();
  const std::string_view dimension = cursor.take_bytes(kDimensionBytes);
  cursor.take<std::uint8_t>();
  const std::string_view counts = cursor.take_bytes(std::uint64_t{size} * 2);
  if (!cursor.ok()) return "a histogram that is cut off";
  if (high < low || (size != 0 && high == low)) return "a histogram without addresses";
  if (rate == 0 && size != 0) return "a histogram without a sampling rate";
  if (!dimension.starts_with("seconds")) return "a histogram in another unit than seconds";
  gmon.rate_hz = rate;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::uint16_t count;
    std::memcpy(&count, counts.data() + std::size_t{i} * 2, sizeof count);
    if (count == 0) continue;
    const auto bound = [&](std::uint64_t bin) {
      return low + static_cast<std::uint64_t>(Wide{high - low} * bin / size);
    };
    gmon.samples += count;
    gmon.bins.push_back({bound(i), bound(i + 1), std::uint64_t{count} * kNsPerSecond / rate});
  }
  return nullptr;
}

}  // namespace

Result<Gmon> read_gmon(std::string_view bytes, const std::string& name) {
  Cursor cursor(bytes);
  cursor.take_bytes(4);
  const auto version = cursor.take<std::uint32_t>();
  cursor.take_bytes(kHeaderBytes - 8);
  if (!cursor.ok()) return Error{name, bytes.size(), "the gmon.out ends inside its header", {}};
  if (version != kVersion) {
    return Error{name, 4, fmt::format("gmon.out of version {}, not {}", version, kVersion),
                 "written by another kind of machine?"};
  }
  Gmon gmon;
  while (!cursor.at_end()) {
    const std::size_t offset = cursor.at();
    const char* wrong = nullptr;
    switch (cursor.take<std::uint8_t>()) {
      case kHistogram:
        wrong = read_histogram(cursor, gmon);
        break;
      case kArc: {
        const auto from = cursor.take<std::uint64_t>(), to = cursor.take<std::uint64_t>();
        const auto count = cursor.take<std::uint32_t>();
        if (!cursor.ok()) wrong = "an arc that is cut off";
        gmon.arcs.push_back({from, to, count});
        break;
      }
      case kBlockCounts: {
        const auto count = cursor.take<std::uint32_t>();
        cursor.take_bytes(std::uint64_t{count} * 16);
        if (!cursor.ok()) wrong = "block counts that are cut off";
        break;
      }
      default:
        wrong = "a record of an unknown kind";
    }
    if (wrong != nullptr) {
      return Error{name, offset, fmt::format("damaged gmon.out: {}", wrong),
                   "the program must end by itself to write it whole"};
    }
  }
  return gmon;
}

std::vector<std::uint64_t> gmon_addresses(const Gmon& gmon) {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(2 * (gmon.arcs.size() + gmon.bins.size()));
  for (const Gmon::Arc& arc : gmon.arcs) {
    // The call comes before its return address.
    addresses.push_back(arc.from == 0 ? 0 : arc.from - 1);
    addresses.push_back(arc.to);
  }
  for (const Gmon::Bin& bin : gmon.bins) {
    addresses.push_back(bin.begin);
    addresses.push_back(bin.end - (bin.end > bin.begin));
  }
  return addresses;
}

Profile gmon_profile(const Gmon& gmon, const std::vector<GmonFunction>& functions,
                     const std::string& name, const std::string& program) {
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  Process process;
  process.file = builder.string(name);
  process.executable = builder.string(program);
  process.rate_hz = static_cast<std::uint32_t>(gmon.rate_hz);
  process.compaction = Compaction::kNone;
  process.is_imported = true;
  process.notes.push_back(
      builder.string("gmon.out holds a call graph without contexts: below [root] stands each "
                     "function with its own "
                     "time, and below it what it called, with counts only"));
  const ProcessId process_id = builder.add_process(std::move(process));
  Thread thread;
  thread.process = process_id;
  thread.threads_served = 1;
  thread.samples = gmon.samples;
  for (const Gmon::Bin& bin : gmon.bins) thread.cpu_ns += bin.ns;
  const ThreadId thread_id = builder.add_thread(std::move(thread));
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot),
                                       process_id, thread_id);
  const ModuleId module = builder.add_module({builder.string(program), {}, format::kModuleIsMain});

  std::map<std::uint64_t, FunctionId> known;  // by first byte
  const auto function_of = [&](const GmonFunction& f) {
    const auto [it, added] = known.try_emplace(f.name.empty() ? 0 : f.begin, FunctionId());
    if (added && f.name.empty()) {
      it->second = builder.named_function("[unknown]");
    } else if (added) {
      it->second = builder.add_function(
          {.kind = FunctionKind::kNative,
           .module = module,
           .address = f.begin,
           .name = builder.string(f.name),
           .flags = kFunctionHooked,
           .size = f.size <= UINT32_MAX ? static_cast<std::uint32_t>(f.size) : 0,
           .linkage_name = f.linkage_name == f.name ? StringId() : builder.string(f.linkage_name)});
    }
    return it->second;
  };

  std::size_t next = 0;
  for (const Gmon::Arc& arc : gmon.arcs) {
    const GmonFunction& from = functions[next++];
    const FunctionId callee = function_of(functions[next++]);
    if (arc.from == 0 || from.name.empty()) {
      builder.add_edge(root, builder.child(root, callee), EdgeKind::kTree, arc.count);
      continue;
    }
    const FunctionId caller_function = function_of(from);
    const NodeId caller = builder.child(root, caller_function);
    const SiteId site = builder.site(module, arc.from);
    if (caller_function == callee) {
      builder.add_edge(caller, caller, EdgeKind::kBack, arc.count, 0, site);
    } else {
      builder.add_edge(caller, builder.child(caller, callee), EdgeKind::kTree, arc.count, 0, site);
    }
  }
  for (const Gmon::Bin& bin : gmon.bins) {
    const GmonFunction& first = functions[next++];
    const GmonFunction& last = functions[next++];
    const NodeId at_first = builder.child(root, function_of(first));
    const NodeId at_last = builder.child(root, function_of(last));
    // Code that two functions share is split by bytes, as gprof does.
    std::uint64_t part = bin.ns;
    const std::uint64_t width = bin.end - bin.begin;
    const std::uint64_t first_end = first.begin + first.size;
    if (at_first != at_last && width != 0 && first_end > bin.begin && first_end < bin.end) {
      part = static_cast<std::uint64_t>(Wide{bin.ns} * (first_end - bin.begin) / width);
    }
    builder.charge(at_first, cpu, part);
    builder.charge(at_last, cpu, bin.ns - part);
  }
  return builder.build();
}

}  // namespace fbleprof::importers
