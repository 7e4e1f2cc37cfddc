#include "capture/waits.h"

#include "capture/loader_symbols.h"
#include "capture/own_memory.h"
#include "capture/wrappers.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/session.h"
#include "signal_safe/wait_calls.h"
#include "signal_safe/wait_words.h"
#include "signal_safe/waits.h"

// Defined by the library with the wrappers (preload/waits), which is before or after this one.
extern "C" decltype(fbleprof_find_waited) fbleprof_find_waited __attribute__((weak));

extern "C" __attribute__((visibility("default"))) void fbleprof_find_definition(
    const char* name, const void* after, fbleprof_definition* found) {
  namespace capture = fbleprof::capture;
  const capture::Definition next = capture::next_definition_of_libc(name, after);
  void* behind = capture::next_definition(name);
  found->next = next.next;
  found->of_libc = next.of_libc;
  found->is_libcs = next.is_libcs;
  found->known_as = behind != nullptr ? behind : next.of_libc;
}

namespace fbleprof::capture {

using signal_safe::session;
using signal_safe::WaitThread;

namespace {

bool are_wanted(const Settings& settings) {
  if (settings.recording.clock == format::Clock::kTicks) return false;
  const bool is_wall = settings.recording.clock == format::Clock::kWall;
  return settings.waits == Settings::Waits::kOn ||
         (settings.waits == Settings::Waits::kWithWallClock && is_wall);
}

}  // namespace

void find_wrappers(Settings& settings) {
  signal_safe::Options& options = settings.recording;
  if (fbleprof_find_waited != nullptr) {
    fbleprof_find_waited();
    add_wrappers(reinterpret_cast<std::uint64_t>(fbleprof_find_waited));
  } else if (settings.waits == Settings::Waits::kOn) {
    settings.complaints.add(
        "FBLEPROF_WAITS: no waits are recorded, because libfbleprof_wait.so is not loaded: name it "
        "in LD_PRELOAD before libfbleprof.so, or use fble-prof --waits\n");
  }
  options.waits = fbleprof_find_waited != nullptr && are_wanted(settings);
  if (!options.waits) return;
  options.wait_words = options.allocations != signal_safe::AllocationMode::kOff
                           ? std::uint32_t{signal_safe::kMemoryWords}
                           : std::uint32_t{signal_safe::kValueWords};
  const auto bytes = static_cast<std::uint32_t>((options.wait_words + signal_safe::kWaitWords) *
                                                sizeof(std::uint64_t));
  options.row_bytes = (bytes + format::kUnitBytes - 1) / format::kUnitBytes * format::kUnitBytes;
}

bool provide_waits(signal_safe::ThreadState& state) {
  if (!session.options.waits || state.waits != nullptr) return true;
  auto* own = static_cast<WaitThread*>(take_memory(sizeof(WaitThread), InChild::kWiped));
  state.waits = own;
  return own != nullptr;
}

}  // namespace fbleprof::capture
