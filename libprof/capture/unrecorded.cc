#include "capture/unrecorded.h"

#include <time.h>

#include "capture/clock.h"
#include "capture/found_threads.h"
#include "capture/profile.h"
#include "capture/thread_memory.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

namespace {

// What the process had used, and what the records had, when recording began.
std::uint64_t used_ns = 0, recorded_ns = 0;
bool is_measured = false;

std::uint64_t in_records() {
  std::uint64_t sum = 0;
  for (ThreadMemory* memory = newest_thread_memory(); memory; memory = memory->next_all) {
    if (memory->state.record) sum += memory->state.record->cpu_ns;
  }
  return sum;
}

}  // namespace

void measure_unrecorded() {
  // Other clocks charge no time; threads that are left out have none in their records.
  is_measured =
      are_threads_found() && session.options.event == 0 && profile.settings.threads.empty();
  used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  recorded_ns = in_records();
  session.arena.header()->unrecorded_cpu_ns = 0;
}

void note_unrecorded() {
  if (!is_measured) return;
  const std::uint64_t used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used_ns;
  const std::uint64_t recorded = in_records() - recorded_ns;
  __atomic_store_n(&session.arena.header()->unrecorded_cpu_ns,
                   used > recorded ? used - recorded : 0, __ATOMIC_RELAXED);
}

void forget_unrecorded() { is_measured = false; }

}  // namespace fbleprof::capture
