#include "capture/attached_calls.h"

#include "arch/call_site.h"
#include "arch/kernel.h"
#include "capture/control.h"
#include "capture/exec.h"
#include "capture/fatal_signals.h"
#include "capture/found_threads.h"
#include "capture/loader_symbols.h"
#include "capture/module_image.h"
#include "capture/modules.h"
#include "capture/profile.h"
#include "capture/program_actions.h"
#include "capture/signals.h"
#include "capture/text_changes.h"
#include "capture/text_memory.h"
#include "capture/threads.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::Returns;
using format::Module;

extern "C" __attribute__((used, visibility("hidden"))) long fbleprof_make_call(void* argument) {
  const arch::GatedCall call = *static_cast<const arch::GatedCall*>(argument);
  const long(&a)[6] = call.arguments;
  if (call.number == SYS_rt_sigaction) {
    // A child sets its own actions, one of vfork in its parent's memory. It sees the program's
    // action for the sampling signal where the kernel has ours.
    const int number = static_cast<int>(a[0]);
    if (a[3] == sizeof(KernelAction::mask) && (is_own_process() || number == kSamplingSignal) &&
        is_ours_to_set(number)) {
      return set_action_by_call(number, reinterpret_cast<const void*>(a[1]),
                                reinterpret_cast<void*>(a[2]));
    }
    return kernel_call(call.number, a[0], a[1], a[2], a[3]);
  }
  const Exec around;
  return kernel_call(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

extern "C" __attribute__((used, visibility("hidden"))) void fbleprof_meet_thread(std::uint64_t sp) {
  // It may be a process, with our memory until exec, or with a copy.
  if (!is_profiling() || profile.confined || !is_own_process() || fbleprof_hot.self) return;
  if (!signal_safe::session.recording.load()) return;
  const SamplingBlocked guard;
  attach_found_thread(sp);
}

namespace {

struct Call {
  const char* name;
  long number;
  Returns returns;
};
constexpr Call kCalls[] = {{"execve", SYS_execve, Returns::kOnce},
                           {"execveat", SYS_execveat, Returns::kOnce},
                           {"rt_sigaction", SYS_rt_sigaction, Returns::kOnce},
                           {"clone", SYS_clone, Returns::kInNewThread},
                           {"clone3", SYS_clone3, Returns::kInNewThread}};

struct Site {
  std::uint8_t* at;
  Returns returns;
};

// The places in libc's code where it makes the calls.
struct Sites {
  Site all[Watch::kMostPlaces];
  std::uint32_t count = 0;
  std::uint32_t of_call[std::size(kCalls)] = {};

  void add(std::size_t call, std::uint8_t* at) {
    if (count == std::size(all)) return;
    all[count++] = {at, kCalls[call].returns};
    ++of_call[call];
  }
};

// libc's code may be kept from being read by the program itself.
void look_for_sites(std::uint64_t begin, std::uint64_t end, Sites& sites) {
  constexpr std::uint64_t kAtOnce = 4096;
  constexpr std::uint64_t kMore = arch::kCallSiteBytes + arch::kBehindSite - 1;
  std::uint8_t bytes[arch::kBeforeSite + kAtOnce + kMore];
  for (std::uint64_t at = begin + arch::kBeforeSite; at < end; at += kAtOnce) {
    const std::uint64_t from = at - arch::kBeforeSite;
    const std::uint64_t count = end - from < sizeof bytes ? end - from : sizeof bytes;
    if (!signal_safe::peek_anywhere(reinterpret_cast<const void*>(from), bytes, count)) continue;
    for (std::size_t call = 0; call < std::size(kCalls); ++call) {
      std::uint64_t next = arch::kBeforeSite;
      for (;;) {
        const std::int64_t found =
            arch::find_call_site(bytes, count, next, kCalls[call].number, kCalls[call].returns);
        if (found < 0) break;
        next = static_cast<std::uint64_t>(found) + 1;
        if (next > arch::kBeforeSite + kAtOnce) break;  // the next piece has it, too
        sites.add(call, reinterpret_cast<std::uint8_t*>(from) + found);
      }
    }
  }
}

const Module* libc() {
  const auto place = reinterpret_cast<std::uint64_t>(definition_of_libc("execve"));
  const Module* found = nullptr;
  for_each_loaded_module([&](const Module& module) {
    if (place >= module.begin && place < module.end) found = &module;
  });
  return found;
}

void say_what_is_missing(const Sites& sites) {
  for (std::size_t i = 0; i < std::size(kCalls); ++i) {
    // Older versions of libc do not make all of these calls.
    if (sites.of_call[i] != 0 || kCalls[i].number == SYS_clone3 ||
        kCalls[i].number == SYS_execveat) {
      continue;
    }
    remark(Text<200>{"detach before the program calls "}
               .add(kCalls[i].name)
               .add(": libc's code is not as expected")
               .c_str());
  }
}

// Returns why calls cannot be watched; null if they are listed.
const char* list_calls(Watch& watch) {
  const Module* module = libc();
  if (!module) return "libc was not found";
  Sites sites;
  ModuleImage::of(*module).for_each_code(
      [&](std::uint64_t begin, std::uint64_t end) { look_for_sites(begin, end, sites); });
  say_what_is_missing(sites);
  if (sites.count == 0) return nullptr;
  const Region* region = take_region(*module, RegionUse::kCalls, {sites.count, 0}, 0);
  if (!region) return "there is no memory near libc";
  void (*const gates[])() = {fbleprof_call_gate, fbleprof_thread_gate};
  static_assert(sizeof gates <= kRegionHeadBytes);
  __builtin_memcpy(region->base, gates, sizeof gates);
  auto* slot = reinterpret_cast<std::uint8_t*>(region->base + kRegionHeadBytes);
  std::uint8_t* const first_slot = slot;
  for (std::uint32_t i = 0; i < sites.count; ++i, slot += arch::kCallSlotBytes) {
    if (sites.all[i].returns == Returns::kOnce) {
      arch::write_call_slot(slot, region->base, sites.all[i].at);
    } else {
      arch::write_thread_slot(slot, region->base + sizeof gates[0], sites.all[i].at);
    }
  }
  if (!seal_slots(*region)) return kCodeIsFixed;
  for (std::uint32_t i = 0; i < sites.count; ++i) {
    const std::uint8_t* own = first_slot + i * arch::kCallSlotBytes;
    add_place(watch, sites.all[i].at, reinterpret_cast<std::uint64_t>(own), false);
  }
  return nullptr;
}

}  // namespace

void watch_calls() {
  install_handler();
  catch_faults();
  static Watch watch = {};
  static bool is_tried = false, are_listed = false;
  if (!is_tried) {
    is_tried = true;
    const char* reason = list_calls(watch);
    if (reason) {
      remark(Text<200>{"detach before the program calls exec or sigaction: "}.add(reason).c_str());
    }
    are_listed = reason == nullptr;
    choose(watch, true);
  }
  if (are_listed) trust_caught_faults();
}

bool unwatch_calls() {
  if (signal_safe::session.recording.load()) return true;
  return do_while_stopped([] {
    // With the program's action, a sample would end it: so first the timers, then what is pending.
    disarm_all_threads();
    if (!forget_waiting_threads()) return false;
    remove_handler();
    stop_catching_faults();
    return true;
  });
}

}  // namespace fbleprof::capture
