#include "report/exporters/recorded_run.h"

#include <algorithm>

#include "analysis/default_metric.h"
#include "report/text/escape.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

std::string command_line(const Profile& profile) {
  if (profile.processes().empty()) return {};
  const Process& process = profile.processes().front();
  std::string text(profile.text(process.command_line));
  if (text.empty()) text = profile.text(process.executable);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return escape(text);
}

std::string program_name(const Profile& profile) {
  for (const Process& process : profile.processes()) {
    const std::string_view path = profile.text(process.executable);
    if (!path.empty()) return escape(base_name(path));
  }
  return "unknown";
}

std::uint64_t start_realtime_ns(const Profile& profile) {
  std::uint64_t start = 0;
  for (const Process& process : profile.processes()) {
    if (process.start_realtime_ns == 0) continue;
    start = start == 0 ? process.start_realtime_ns : std::min(start, process.start_realtime_ns);
  }
  return start;
}

std::uint64_t duration_ns(const Profile& profile) {
  std::uint64_t longest = 0;
  for (const Process& process : profile.processes()) {
    longest = std::max(longest, process.duration_ns);
  }
  return longest;
}

Sampling sampling_of(const Profile& profile) {
  if (profile.processes().empty() || profile.processes().front().rate_hz == 0) return {};
  const Process& process = profile.processes().front();
  const Metric* clock = analysis::clock_metric(profile, process);
  if (clock == nullptr || clock->unit != "ns") return {};
  return {clock, 1'000'000'000 / process.rate_hz};
}

}  // namespace fbleprof::report
