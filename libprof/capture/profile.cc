#include "capture/profile.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <sys/mman.h>

#include "arch/kernel.h"
#include "capture/allocations.h"
#include "capture/description.h"
#include "capture/found_threads.h"
#include "capture/process_facts.h"
#include "capture/threads.h"
#include "signal_safe/generated_code.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"
#include "signal_safe/wait_calls.h"

extern "C" __attribute__((visibility("default"))) bool fbleprof_is_own_process() {
  return fbleprof::capture::is_own_process();
}

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::session;

constinit Profile profile;

bool is_profiling() { return session.arena.base() != nullptr && !profile.finished; }

bool takes_threads() {
  return session.arena.base() != nullptr && !profile.confined &&
         (!profile.finished || profile.is_in_exec);
}

bool is_own_process() { return profile.confined || profile.pid == own_pid(); }

namespace {
// A new kind of system call might end a program that was confined before it started. There, faults
// are caught instead (catch_faults_of_peeks), and the length of the perf map is not asked for.
signal_safe::CodeSource code_source() {
  signal_safe::CodeSource source;
  if (profile.perf_allowed) {
    source.code_hash_at = signal_safe::code_hash_at;
    source.note_moment = signal_safe::note_moment;
  } else {
    signal_safe::expect_forbidden_calls();
    source.code_hash_at = [](std::uint64_t address) {
      return signal_safe::is_peek_harmless() ? signal_safe::code_hash_at(address) : 0;
    };
    source.note_moment = signal_safe::note_time;
  }
  return source;
}
}  // namespace

bool open_profile(const OutputFile* parent, std::uint64_t start_ns) {
  profile.pid = own_pid();
  profile.tells_a_loss = false;
  OutputFile& output = profile.output;
  output = open_output(profile.settings, parent);
  if (!output.base) {
    say(output.failure.c_str());
    output.name.path = {};  // so that nobody looks for the file
    return false;
  }
  session.start_monotonic_ns = start_ns;
  start_file(profile.settings, output);
  if (!session.start(output.base, output.cap_bytes, output.populated_bytes,
                     profile.settings.recording, code_source()) ||
      !start_allocations(profile.settings)) {
    say("no memory for the tables of a profile: not profiled");
    session.arena.adopt(nullptr, 0, 0);
    discard_output(output);
    output.name.path = {};
    return false;
  }
  describe(profile.settings);
  configure_threads(profile.settings, profile.perf_allowed);
  if (!output.failure.empty()) remark(output.failure.c_str());
  return true;
}

void abandon_truncated_profile() {
  if (!are_threads_found() || !is_profiling() || profile.confined || !is_own_process()) return;
  std::uint64_t word = 0;
  const char* base = session.arena.base();
  const auto is_there = [&](const void* at) {
    return signal_safe::peek_anywhere(at, &word, sizeof word);
  };
  if (is_there(base) && is_there(base + session.arena.populated_bytes() - sizeof word)) return;
  kernel_call(SYS_mmap, reinterpret_cast<long>(base), static_cast<long>(session.arena.cap_bytes()),
              PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
              0);
  abandon_profile();
}

void abandon_profile() {
  session.recording.store(false);
  profile.finished = true;
  say("the profile's file was truncated while the program ran: the profile is lost");
}

namespace {
bool is_terminal(int fd) {
  termios settings;
  return kernel_call(SYS_ioctl, fd, TCGETS, reinterpret_cast<long>(&settings)) == 0;
}

bool is_control(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

// U+0080 to U+009F.
bool is_long_control(const char* at) {
  const auto first = static_cast<unsigned char>(at[0]), second = static_cast<unsigned char>(at[1]);
  return first == 0xc2 && second >= 0x80 && second < 0xa0;
}
}  // namespace

void say(const char* line) {
  // The terminal of a program that ran before is not ours.
  const bool may_be_seen = !are_threads_found() && is_terminal(2);
  if (!profile.settings.verbose && !may_be_seen) return;
  Text<1200> text;
  text.add("fbleprof: ");
  // A path may hold any bytes, and the output is a terminal.
  for (; *line; ++line) {
    const bool is_long = is_long_control(line);
    text.add(is_long || is_control(static_cast<unsigned char>(*line)) ? '?' : *line);
    if (is_long) ++line;
  }
  text.add('\n');
  kernel_call(SYS_write, 2, reinterpret_cast<long>(text.c_str()), static_cast<long>(text.size()));
}

void remark(const char* line) {
  say(line);
  if (session.arena.base()) add_note(line);
}

}  // namespace fbleprof::capture
