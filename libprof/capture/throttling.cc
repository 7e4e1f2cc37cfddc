#include "capture/throttling.h"

#include "arch/hook_site.h"
#include "capture/modules.h"
#include "capture/profile.h"
#include "capture/slots.h"
#include "capture/switching.h"
#include "plan/plan.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

namespace {

void note(std::uint64_t hook_pc, std::uint64_t since_start_ns) {
  session.code_map.note_unhooked(hook_pc, static_cast<std::uint8_t>(plan::Reason::kThrottled),
                                 since_start_ns);
}

bool is_in_slots(const Region& region, std::uint64_t address) {
  const auto begin = reinterpret_cast<std::uint64_t>(slot_of(region, 0));
  return region.use == RegionUse::kTrampolines && address >= begin &&
         address - begin < region.slots.functions * arch::kTrampolineBytes;
}

// A function may have several trampolines.
bool switch_off_trampolines(const Region& region, std::uint64_t function) {
  if (!open_slots(region)) return false;
  for (std::uint32_t i = 0; i < region.slots.functions; ++i) {
    if (functions_of(region)[i].address != function) continue;
    functions_of(region)[i].is_taken_back = 1;
    arch::switch_site(hook_call_of(region, i), false);
  }
  seal_slots(region);
  return true;
}

// The function of the trampoline to which its hook returns is not counted any more. False: the
// address is in no trampoline, or the system refuses.
bool unhook_rewritten(std::uint64_t hook_return, std::uint64_t now_ns) {
  bool done = false;
  for_each_code_region([&](const Region& region) {
    if (!is_in_slots(region, hook_return)) return;
    const std::uint64_t function = arch::function_of_trampoline(hook_return)->address;
    if (!switch_off_trampolines(region, function)) return;
    note(function, now_ns);
    done = true;
  });
  return done;
}

bool unhook_patchable(std::uint64_t hook_return, std::uint64_t now_ns) {
  if (!take_back_site(hook_return)) return false;
  note(hook_return, now_ns);
  return true;
}

// Runs in the handler of samples. If the code is being changed, the next round finds the functions
// again.
void unhook(const std::uint64_t* hook_returns, std::uint32_t count) {
  if (!is_profiling() || profile.confined || code_is_fixed || !is_own_process()) return;
  bool done = false;
  {
    const CodeLock lock(CodeLock::Wanted::kIfFree);
    if (!lock) return;
    const std::uint64_t now_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
    for (std::uint32_t i = 0; i < count; ++i) {
      done |=
          unhook_rewritten(hook_returns[i], now_ns) || unhook_patchable(hook_returns[i], now_ns);
    }
  }
  if (done) synchronize_cores();
}

}  // namespace

void begin_throttling() {
  if (session.options.throttle != 0) session.unhook = unhook;
}

void recognize_throttled() {
  for_each_code_region([](const Region& region) {
    if (region.use != RegionUse::kTrampolines || !loaded_module_at(region.module_begin)) return;
    for (std::uint32_t i = 0; i < region.slots.functions; ++i) {
      const arch::RewrittenFunction& function = functions_of(region)[i];
      if (function.is_taken_back != 0) note(function.address, 0);
    }
  });
  for_each_site_taken_back([](std::uint64_t hook_return) { note(hook_return, 0); });
}

}  // namespace fbleprof::capture
