#include "capture/description.h"

#include <sys/utsname.h>

#include "arch/machine.h"
#include "capture/clock.h"
#include "capture/kernel_file.h"
#include "capture/metrics.h"
#include "capture/program_path.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

namespace {

std::uint32_t length_of(const char* text) {
  std::uint32_t n = 0;
  while (text[n]) ++n;
  return n;
}

format::Ref add_text(const char* text) { return session.arena.add_string(text, length_of(text)); }

format::Ref add_optional_text(const char* text) { return text != nullptr ? add_text(text) : 0; }

// A formula names metrics that the reader already knows, so the named metrics come first.
void describe_metrics(const signal_safe::Options& options) {
  auto describe = [&](const MetricDescription& d) {
    const format::Ref ref = session.arena.allocate(sizeof(format::Metric));
    if (ref == 0) return;
    auto* metric = session.arena.at<format::Metric>(ref);
    metric->name = add_text(d.name);
    metric->unit = add_text(d.unit);
    metric->formula = add_optional_text(d.formula);
    metric->role = d.role;
    metric->place = d.place;
    metric->aggregation = d.aggregation;
    metric->word = static_cast<std::uint16_t>(d.word + (d.is_wait_word ? options.wait_words : 0));
    metric->flags = is_default_metric(d, options) ? format::kMetricDefault : 0;
    session.arena.publish(ref, format::Kind::kMetric);
  };
  for_each_metric(options, describe);
}

void add_label(const char* key, const char* value) {
  const format::Ref ref = session.arena.allocate(sizeof(format::Label));
  if (ref == 0) return;
  auto* label = session.arena.at<format::Label>(ref);
  label->key = add_text(key);
  label->value = add_text(value);
  session.arena.publish(ref, format::Kind::kLabel);
}

void describe_process(format::Header* header) {
  char text[4096];
  if (*program_path()) header->executable = add_text(program_path());
  if (arch::kernel_call(SYS_getcwd, reinterpret_cast<long>(text), sizeof text) > 0)
    header->working_directory = add_text(text);
  utsname host{};
  if (arch::kernel_call(SYS_uname, reinterpret_cast<long>(&host)) == 0)
    header->host = add_text(host.nodename);
  if (const std::uint64_t length = read_text("/proc/self/cmdline", text, sizeof text)) {
    header->command_line = session.arena.add_string(text, static_cast<std::uint32_t>(length));
  }
}

// Builds the header elsewhere and copies it in one step: the file already has the header from
// before it got its name, and a program that is killed meanwhile leaves one of the two.
void write_header(format::Header* place, const Settings& settings, const OutputFile& output) {
  format::Header header = starting_header(output);
  header.parent_pid = static_cast<std::uint32_t>(arch::kernel_call(SYS_getppid));
  header.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  header.start_monotonic_ns = header.end_monotonic_ns = session.start_monotonic_ns;
  header.off_since_ns = session.start_monotonic_ns;
  header.clock = settings.recording.clock;
  header.compaction = settings.recording.compaction;
  header.rate_hz = settings.rate_hz;
  header.machine = arch::kElfMachine;
  header.row_bytes = settings.recording.row_bytes;
  header.depth_limit = settings.recording.depth_limit;
  header.flags =
      static_cast<std::uint16_t>((settings.recording.call_sites ? format::kHeaderCallSites : 0) |
                                 (settings.recording.leaves ? format::kHeaderLeaves : 0) |
                                 (output.anonymous ? format::kHeaderAnonymous : 0));
  *place = header;
}

}  // namespace

void start_file(const Settings& settings, const OutputFile& output) {
  write_header(reinterpret_cast<format::Header*>(output.base), settings, output);
}

void describe(const Settings& settings) {
  describe_metrics(settings.recording);
  describe_process(session.arena.header());
  if (!settings.filter.empty()) {
    add_note(Text<4400>{"filter "}
                 .add(settings.filter.c_str())
                 .add(": functions that it leaves out are charged to their callers")
                 .c_str());
  }
  if (!settings.mpi_rank.empty()) add_label("mpi_rank", settings.mpi_rank.c_str());
}

void add_note(const char* text) {
  const format::Ref ref = session.arena.allocate(sizeof(format::Note));
  if (ref == 0) return;
  session.arena.at<format::Note>(ref)->text = add_text(text);
  session.arena.publish(ref, format::Kind::kNote);
}

void describe_end(std::uint32_t code, bool is_trivial) {
  format::Header* header = session.arena.header();
  header->end_code = code;
  if (is_trivial) header->flags |= format::kHeaderTrivial;
}

void describe_going_on() {
  format::Header* header = session.arena.header();
  header->state = format::State::kLive;
  header->flags &= static_cast<std::uint16_t>(~format::kHeaderTrivial);
}

}  // namespace fbleprof::capture
