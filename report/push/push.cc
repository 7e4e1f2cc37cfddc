#include "report/push/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/costs.h"
#include "analysis/default_metric.h"
#include "analysis/run_facts.h"
#include "profile/plain_run.h"
#include "profile/reader.h"
#include "report/exporters/exporter.h"
#include "report/exporters/gzip.h"
#include "report/exporters/otlp.h"
#include "report/exporters/pprof.h"
#include "report/exporters/recorded_run.h"
#include "report/push/prune.h"
#include "report/text/quantity.h"
#include "symbolize/name_generated_code.h"
#include "symbolize/symbolize_profile.h"
#include "symbolize/table_cache.h"
#include "transform/as_shown.h"
#include "transform/baseline.h"
#include "transform/holders.h"
#include "transform/join.h"
#include "transform/merge.h"
#include "transform/take_times.h"
#include "transform/window.h"

namespace fbleprof::push {

using profile::Profile;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// The last four bytes of a gzip file: the uncompressed length, if below 4 GiB.
std::uint64_t unpacked_bytes(const std::string& gzip) {
  if (gzip.size() < 18) return 0;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    bytes |= std::uint64_t{static_cast<unsigned char>(gzip[gzip.size() - 4 + i])} << (8 * i);
  }
  return bytes;
}

std::uint64_t end_ns(const Profile& profile) {
  std::uint64_t end = 0;
  for (const profile::Process& process : profile.processes()) {
    end = std::max(end, process.start_realtime_ns + process.duration_ns);
  }
  return end;
}

// When counting began, or began again.
std::uint64_t begin_ns(const Profile& profile) {
  std::uint64_t begin = 0;
  for (const profile::Process& process : profile.processes()) {
    if (begin == 0 || process.start_realtime_ns < begin) begin = process.start_realtime_ns;
  }
  const auto reset = transform::find_snapshot(profile, profile::SnapshotReason::kReset);
  return begin + (reset ? profile.snapshots()[*reset].time_ns : 0);
}

// The sampled run in the file (--runs 2), whose times take the place of the counted run's.
std::optional<Profile> plain_run_of(const std::string& file, const std::string& metric) {
  const auto bytes = profile::plain_run_of(file);
  if (!bytes) return std::nullopt;
  auto read = profile::read_bytes(*bytes, file + " (its sampled run)");
  if (!read) return std::nullopt;
  Profile plain = transform::as_shown(symbolize::name_generated_code(read->profile));
  if (plain.find_metric(metric) == nullptr) return std::nullopt;
  return plain;
}

// The profile with names, as one tree; with the times of the sampled run, if there is one.
Profile in_one_tree(const Profile& counted, const std::optional<Profile>& plain,
                    const std::string& metric, Progress* progress,
                    std::vector<std::string>& remarks) {
  symbolize::Options names;
  names.lines = true;
  names.progress = progress;
  const symbolize::TableCache cache(symbolize::TableCache::default_directory());
  cache.serve(names);
  const auto merged = [&](const Profile& profile) {
    const Profile named = transform::with_holders_named(symbolize::symbolize(profile, names));
    remarks = named.warnings();
    return transform::merge(named);
  };
  if (plain) {
    const Profile both = merged(transform::join({counted, transform::as_baseline(*plain)}));
    auto taken =
        transform::take_times(both, counted.parts(), metric, transform::baseline_name(metric));
    if (taken) return std::move(taken->profile);
  }
  return merged(counted);
}

// The user's labels, then those of the profile that the user did not give, then its host.
void add_labels(const Profile& profile, const Options& options, Upload& upload) {
  upload.labels = options.labels;
  const auto add = [&](std::string_view key, std::string_view value) {
    const auto has_key = [&](const auto& label) { return label.first == key; };
    if (value.empty() || std::any_of(upload.labels.begin(), upload.labels.end(), has_key)) return;
    upload.labels.emplace_back(key, value);
  };
  for (const profile::Process& process : profile.processes()) {
    for (const profile::Label& label : process.labels) {
      add(profile.text(label.key), profile.text(label.value));
    }
    add("hostname", profile.text(process.host));
  }
}

bool all_zero(const Profile& profile) {
  return std::all_of(profile.metrics().begin(), profile.metrics().end(), [&](const auto& metric) {
    return !transform::adds_up(metric) || analysis::total(profile, metric) == 0;
  });
}

Result<std::string> encode(const report::Export& input, const Options& options,
                           const report::OtlpResource& resource) {
  if (options.format == Format::kPprof) return (*report::find_exporter("pprof"))->write(input);
  return report::gzip(report::otlp_request(input, resource));
}

// The profile in the server's format, within the server's limits.
Result<std::string> pack(const Profile& whole, const std::string& metric_name,
                         const Options& options, const report::OtlpResource& resource,
                         std::vector<std::string>& remarks) {
  std::size_t most = kMostSamples;
  for (;;) {
    const Profile profile = prune(whole, *whole.find_metric(metric_name), most);
    const profile::Metric& metric = *profile.find_metric(metric_name);
    report::Export input{profile, metric};
    input.total = analysis::total(profile, metric);
    auto packed = encode(input, options, resource);
    if (!packed) return packed;
    if (unpacked_bytes(*packed) <= kMostBytes || most < 16) {
      const std::size_t left_out = whole.nodes().count() - profile.nodes().count();
      if (left_out != 0) {
        remarks.push_back(
            fmt::format("{} of {} contexts were charged to their callers, to fit the server's "
                        "limits of {} samples and 4 MiB",
                        report::count(left_out), report::count(whole.nodes().count()),
                        report::count(kMostSamples)));
      }
      return packed;
    }
    most = std::min(most, profile.nodes().count()) * 3 / 4;
  }
}

}  // namespace

Result<Prepared> prepare(const Options& options, Progress* progress) {
  profile::ReadOptions how;
  how.progress = progress;
  auto read = profile::read_file(options.file, how);
  if (!read) return read.error();
  const std::uint64_t counted_from_ns = begin_ns(read->profile);
  const std::uint64_t until_ns = end_ns(read->profile);
  Profile profile = transform::as_shown(symbolize::name_generated_code(read->profile));
  Prepared prepared;
  const profile::Metric* chosen = analysis::default_metric(profile);
  if (chosen == nullptr) {
    return Error{options.file, std::nullopt, "holds no measured values", ""};
  }
  const std::string metric = chosen->name;
  const std::uint64_t rate = analysis::reached_hz(analysis::run_facts(profile, {}));
  profile =
      in_one_tree(profile, plain_run_of(options.file, metric), metric, progress, prepared.remarks);

  Upload upload;
  std::uint64_t from_ns = counted_from_ns;
  if (options.since_last) {
    const bool is_otlp = options.format == Format::kOtlp;
    auto path = state_path(options.file, options.url_text + (is_otlp ? " otlp" : ""));
    if (!path) return path.error();
    prepared.state_file = std::move(*path);
    prepared.now = snapshot(profile, until_ns);
    const LastPush last = read_state(prepared.state_file);
    // What was counted before a reset is gone, whether it was sent or not.
    if (last.run == prepared.now.run && last.until_ns >= counted_from_ns) {
      profile = without_levels(since(profile, last));
      from_ns = std::max(from_ns, last.until_ns);
      if (all_zero(profile)) return prepared;
    }
  }

  upload.name = options.name.empty() ? report::program_name(profile) : options.name;
  add_labels(profile, options, upload);
  // Whole seconds, and at least one.
  upload.from_s = from_ns / kSecond;
  upload.until_s = std::max((until_ns + kSecond - 1) / kSecond, upload.from_s + 1);
  upload.rate_hz = static_cast<std::uint32_t>(rate);
  for (const profile::Metric& m : profile.metrics()) {
    if (m.aggregation == profile::Aggregation::kSum)
      upload.sample_types.emplace_back(report::sample_type(m), m.unit);
  }
  const report::OtlpResource resource{upload.name, options.labels, from_ns, until_ns};
  auto packed = pack(profile, metric, options, resource, prepared.remarks);
  if (!packed) return packed.error();
  upload.profile = std::move(*packed);
  prepared.upload = std::move(upload);
  return prepared;
}

}  // namespace fbleprof::push
