#include "capture/description.h"

#include <elf.h>
#include <sys/utsname.h>

#include "capture/clock.h"
#include "capture/kernel_file.h"
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

void describe_metrics(format::Header* header) {
  struct Description {
    const char *name, *unit;
    format::MetricPlace place;
    std::size_t offset;
  };
  constexpr auto kField = format::MetricPlace::kNodeField;
  // Newest first is how a reader finds them: the list is written backwards.
  constexpr Description kMetrics[] = {
      {"calls", "count", format::MetricPlace::kEdgeCalls, 0},
      {"ticks", "count", kField, offsetof(format::Node, ticks)},
      {"samples", "count", kField, offsetof(format::Node, samples)},
      {"overhead", "ns", kField, offsetof(format::Node, overhead_ns)},
      {"wall", "ns", kField, offsetof(format::Node, wall_ns)},
      {"cpu", "ns", kField, offsetof(format::Node, cpu_ns)},
  };
  for (const Description& d : kMetrics) {
    const format::Ref ref = session.arena.allocate(sizeof(format::Metric), 0);
    if (ref == 0) return;
    auto* metric = session.arena.at<format::Metric>(ref);
    metric->name = add_text(d.name);
    metric->unit = add_text(d.unit);
    metric->place = d.place;
    metric->offset = static_cast<std::uint16_t>(d.offset);
    signal_safe::push_front(&header->first_metric, &metric->next, ref);
  }
}

void add_label(format::Header* header, const char* key, const char* value) {
  const format::Ref ref = session.arena.allocate(sizeof(format::Label), 0);
  if (ref == 0) return;
  auto* label = session.arena.at<format::Label>(ref);
  label->key = add_text(key);
  label->value = add_text(value);
  signal_safe::push_front(&header->first_label, &label->next, ref);
}

void describe_process(format::Header* header) {
  char text[4096];
  if (*program_path()) header->executable = add_text(program_path());
  if (signal_safe::kernel_call(SYS_getcwd, reinterpret_cast<long>(text), sizeof text) > 0)
    header->working_directory = add_text(text);
  utsname host{};
  if (signal_safe::kernel_call(SYS_uname, reinterpret_cast<long>(&host)) == 0)
    header->host = add_text(host.nodename);
  if (const std::uint64_t length = read_text("/proc/self/cmdline", text, sizeof text)) {
    header->command_line = session.arena.add_string(text, static_cast<std::uint32_t>(length));
  }
}

// Made aside and put in place at once: the one that took the name is there already, and a program
// killed meanwhile leaves the one or the other.
void write_header(format::Header* place, const Settings& settings, const OutputFile& output) {
  format::Header header = starting_header(output);
  header.parent_pid = static_cast<std::uint32_t>(signal_safe::kernel_call(SYS_getppid));
  header.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  header.start_monotonic_ns = header.end_monotonic_ns = session.start_monotonic_ns;
  header.clock = settings.recording.clock;
  header.compaction = settings.recording.compaction;
  header.rate_hz = settings.rate_hz;
  header.machine = EM_X86_64;
  header.flags =
      static_cast<std::uint16_t>((settings.recording.call_sites ? format::kHeaderCallSites : 0) |
                                 (settings.recording.leaves ? format::kHeaderLeaves : 0) |
                                 (output.anonymous ? format::kHeaderAnonymous : 0));
  *place = header;
}

format::Ref special(format::FunctionKind kind) {
  return session.code_map.function_with_key(static_cast<std::uint64_t>(kind), kind);
}

}  // namespace

void describe(const Settings& settings, const OutputFile& output) {
  format::Header* header = session.arena.header();
  write_header(header, settings, output);
  describe_metrics(header);
  describe_process(header);
  if (!settings.mpi_rank.empty()) add_label(header, "mpi_rank", settings.mpi_rank.c_str());
  session.root = special(format::FunctionKind::kRoot);
  session.overflow = special(format::FunctionKind::kOverflow);
  session.unwound = special(format::FunctionKind::kUnwound);
  session.truncated = special(format::FunctionKind::kTruncated);
}

void add_note(const char* text) {
  const format::Ref ref = session.arena.allocate(sizeof(format::Note), 0);
  if (ref == 0) return;
  auto* note = session.arena.at<format::Note>(ref);
  note->text = add_text(text);
  signal_safe::push_front(&session.arena.header()->first_note, &note->next, ref);
}

Content content_of_profile() {
  Content content;
  for (format::Ref ref = session.arena.header()->first_thread; ref != 0;) {
    const auto* thread = session.arena.at<format::Thread>(ref);
    content.cpu_ns += thread->cpu_ns;
    content.hooked |= (thread->flags & format::kThreadHooked) != 0 ||
                      session.arena.at<format::Node>(thread->root)->ticks != 0;
    ref = thread->next;
  }
  return content;
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
