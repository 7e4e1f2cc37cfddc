#include "capture/allocations.h"

#include "capture/loader_symbols.h"
#include "capture/own_memory.h"
#include "capture/wrappers.h"
#include "signal_safe/allocation_calls.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::AllocationMode;
using signal_safe::AllocationThread;
using signal_safe::session;

namespace {

// glibc's blocks are at least this far apart; other allocators have blocks of 8 bytes.
constexpr std::uint32_t kGlibcDistance = 32, kLeastDistance = 8;
constinit std::uint32_t least_distance = kLeastDistance;

bool records_each(const signal_safe::Options& options) {
  return options.allocations == AllocationMode::kExact ||
         options.allocations == AllocationMode::kByHooks;
}
bool samples(const signal_safe::Options& options) {
  return options.allocations == AllocationMode::kSampled ||
         options.allocations == AllocationMode::kByHooks;
}

}  // namespace

void find_allocator(Settings& settings) {
  signal_safe::Options& options = settings.recording;
  if (options.allocations == AllocationMode::kOff) return;
  // Defined by the library that wraps the allocator (preload/allocations).
  auto* describe = reinterpret_cast<decltype(&fbleprof_describe_allocator)>(
      next_definition("fbleprof_describe_allocator"));
  if (describe == nullptr) {
    options.allocations = AllocationMode::kOff;
    settings.complaints.add(
        "FBLEPROF_ALLOCS: no allocations are recorded, because libfbleprof_alloc.so is not loaded: "
        "name it in LD_PRELOAD after libfbleprof.so, or use fble-prof --memory-profile\n");
    return;
  }
  options.row_bytes = signal_safe::kMemoryRowBytes;
  add_wrappers(reinterpret_cast<std::uint64_t>(describe));
  fbleprof_allocator allocator{};
  describe(&allocator);
  least_distance = allocator.is_libcs ? kGlibcDistance : kLeastDistance;
  if (allocator.unseen != nullptr) {
    settings.complaints.add("allocations are not seen: ")
        .add(allocator.unseen)
        .add(" has a malloc of its own, linked into it\n");
  }
}

bool start_allocations(const Settings& settings) {
  const signal_safe::Options& options = settings.recording;
  return options.allocations == AllocationMode::kOff ||
         session.allocations.start(&session.pages, records_each(options), samples(options),
                                   least_distance);
}

bool provide_allocations(signal_safe::ThreadState& state) {
  if (session.options.allocations == AllocationMode::kOff) return true;
  if (state.allocations != nullptr) return true;
  auto* own =
      static_cast<AllocationThread*>(take_memory(sizeof(AllocationThread), InChild::kWiped));
  if (own == nullptr) return false;
  signal_safe::start_thread(*own, session);
  state.allocations = own;
  return true;
}

}  // namespace fbleprof::capture
