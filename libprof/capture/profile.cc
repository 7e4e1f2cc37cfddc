#include "capture/profile.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <sys/mman.h>

#include "capture/description.h"
#include "capture/threads.h"
#include "signal_safe/arch/x86_64/kernel.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::kernel_call;
using signal_safe::kernel_failed;
using signal_safe::session;

constinit Profile profile;

namespace {

// The tables that belong to a profile and are not in its file: functions by address, blocks by
// number. A forked child gets new ones.
bool provide_tables() {
  using signal_safe::CodeMap;
  using signal_safe::Session;
  constexpr long kBytes = CodeMap::kTableBytes + Session::kMaxBlocks * sizeof(format::Ref);
  static long tables = 0;
  if (tables) kernel_call(SYS_munmap, tables, kBytes);
  tables = kernel_call(SYS_mmap, 0, kBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (kernel_failed(tables)) {
    tables = 0;
    return false;
  }
  profile.tables = reinterpret_cast<void*>(tables);
  profile.table_bytes = kBytes;
  session.code_map.adopt(reinterpret_cast<void*>(tables), &session.arena);
  session.blocks = reinterpret_cast<format::Ref*>(tables + static_cast<long>(CodeMap::kTableBytes));
  return true;
}

}  // namespace

bool is_profiling() { return session.arena.base() != nullptr && !profile.finished; }

bool is_own_process() { return profile.pid == static_cast<std::uint32_t>(kernel_call(SYS_getpid)); }

bool open_profile(const OutputFile* parent) {
  profile.pid = static_cast<std::uint32_t>(kernel_call(SYS_getpid));
  OutputFile& output = profile.output;
  output = open_output(profile.settings, parent);
  if (!output.base) {
    say(output.failure.c_str());
    return false;
  }
  if (!provide_tables()) return false;
  session.start_monotonic_ns = signal_safe::monotonic_ns();
  session.options = profile.settings.recording;
  session.arena.adopt(output.base, output.cap_bytes, output.populated_bytes);
  describe(profile.settings, output);
  configure_threads(profile.settings, profile.perf_allowed);
  if (!output.failure.empty()) remark(output.failure.c_str());
  return true;
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
}  // namespace

void say(const char* line) {
  if (!profile.settings.verbose && !is_terminal(2)) return;
  Text<1200> text;
  text.add("fbleprof: ").add(line).add('\n');
  kernel_call(SYS_write, 2, reinterpret_cast<long>(text.c_str()), static_cast<long>(text.size()));
}

void remark(const char* line) {
  say(line);
  if (session.arena.base()) add_note(line);
}

}  // namespace fbleprof::capture
