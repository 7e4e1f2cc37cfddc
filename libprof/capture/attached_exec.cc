#include "capture/attached_exec.h"

#include "arch/exec_site.h"
#include "arch/kernel.h"
#include "capture/exec.h"
#include "capture/loader_symbols.h"
#include "capture/profile.h"
#include "capture/text_changes.h"
#include "capture/text_memory.h"
#include "signal_safe/peek.h"

namespace fbleprof::capture {

using format::Module;

extern "C" __attribute__((used, visibility("hidden"))) long fbleprof_make_exec_call(
    void* argument) {
  const arch::ExecCall call = *static_cast<const arch::ExecCall*>(argument);
  const Exec around;
  const long(&a)[6] = call.arguments;
  return arch::kernel_call(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

namespace {

struct ExecFunction {
  const char* name;
  long number;
};
// All others of libc's call the first.
constexpr ExecFunction kFunctions[] = {
    {"execve", SYS_execve}, {"execveat", SYS_execveat}, {"fexecve", SYS_execveat}};

// Null: there is none.
std::uint8_t* site_in(const ExecFunction& function) {
  constexpr std::uint64_t kMostBytes = 192;
  auto* code = static_cast<std::uint8_t*>(definition_of_libc(function.name));
  std::uint8_t bytes[kMostBytes];
  if (!code || !signal_safe::peek_anywhere(code, bytes, sizeof bytes)) return nullptr;
  const std::int64_t at = arch::find_exec_site(bytes, sizeof bytes, function.number);
  return at < 0 ? nullptr : code + at;
}

// Slots that code at the place can reach.
Region* take_slots_near(const std::uint8_t* place) {
  constexpr std::uint64_t kPage = 4096;
  Module around{};
  around.begin = reinterpret_cast<std::uint64_t>(place) / kPage * kPage;
  around.end = around.begin + kPage;
  return take_region(around, RegionUse::kExec, {std::size(kFunctions), 0}, 0);
}

// Returns why execs cannot be watched; null if they are listed.
const char* list_execs(Watch& watch) {
  std::uint8_t* const first = site_in(kFunctions[0]);
  if (!first) return "libc's execve is not as expected";
  const Region* region = take_slots_near(first);
  if (!region) return "there is no memory near libc";
  void (*const gate)() = fbleprof_exec_gate;
  __builtin_memcpy(region->base, &gate, sizeof gate);
  auto* slot = reinterpret_cast<std::uint8_t*>(region->base + kRegionHeadBytes);
  std::uint8_t* slots[std::size(kFunctions)];
  std::uint8_t* sites[std::size(kFunctions)];
  std::uint32_t count = 0;
  for (const ExecFunction& each : kFunctions) {
    sites[count] = site_in(each);
    if (!sites[count]) continue;
    arch::write_exec_slot(slot, region->base, sites[count]);
    slots[count++] = slot;
    slot += arch::kExecSlotBytes;
  }
  if (!seal_slots(*region)) return kCodeIsFixed;
  for (std::uint32_t i = 0; i < count; ++i) {
    add_place(watch, sites[i], reinterpret_cast<std::uint64_t>(slots[i]), false);
  }
  return nullptr;
}

}  // namespace

void watch_execs() {
  static Watch watch = {};
  static bool is_tried = false;
  if (is_tried) return;
  is_tried = true;
  if (const char* reason = list_execs(watch)) {
    remark(Text<200>{"detach before the program calls exec: "}.add(reason).c_str());
  }
  choose(watch, true);
}

}  // namespace fbleprof::capture
