#include "capture/rewriting.h"

#include <iterator>

#include "arch/call_instruction.h"
#include "arch/hook_site.h"
#include "arch/kernel.h"
#include "arch/trampoline.h"
#include "capture/slots.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::session;

bool has_shadow_stack() {
  constexpr long kStatus = 0x5005;  // ARCH_SHSTK_STATUS
  std::uint64_t features = 0;
  return kernel_call(SYS_arch_prctl, kStatus, reinterpret_cast<long>(&features)) == 0 &&
         (features & 1) != 0;
}

namespace {

// Whether the loaded code is the code that the plan was made for.
bool matches(const Work& work) {
  const plan::Header& header = work.plan.header();
  for (std::uint32_t i = 0; i < header.segment_count; ++i) {
    if (work.address(header.segments[i].begin) < work.module.begin ||
        work.address(header.segments[i].end) > work.module.end) {
      return false;
    }
  }
  const plan::Trampoline* trampolines = work.plan.trampolines();
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    const plan::Trampoline& each = trampolines[i];
    if (!work.has_text(each.function, 1) ||
        (each.jumps_from != 0 && !work.has_text(each.jumps_from, 1)) ||
        each.code_bytes > plan::kMostCode || each.fixup_count > plan::kMostFixups) {
      return false;
    }
    if (each.window == 0) continue;
    if (!work.has_text(each.window, sizeof each.expected) ||
        __builtin_memcmp(work.bytes(each.window), each.expected, sizeof each.expected) != 0) {
      return false;
    }
  }
  const plan::Site* sites = work.plan.sites();
  for (std::uint32_t i = 0; i < header.sites; ++i) {
    if (!work.has_text(sites[i].at, plan::kJumpBytes) ||
        sites[i].trampoline >= header.trampolines ||
        arch::target_of_direct(work.bytes(sites[i].at)) !=
            work.address(trampolines[sites[i].trampoline].function)) {
      return false;
    }
  }
  return true;
}

bool leaves_out(std::uint64_t function) { return session.code_map.left_out().contains(function); }

// Why a function that has a trampoline is left alone here; kNone: it is not.
plan::Reason reason_to_leave(const Work& work, const plan::Trampoline& trampoline) {
  if (leaves_out(work.address(trampoline.function))) return plan::Reason::kLeftOut;
  if (trampoline.pushes_return && work.no_pushes) return plan::Reason::kShadowStack;
  return plan::Reason::kNone;
}

// Writes one trampoline. False: an address is out of reach.
bool write_slot(const Work& work, const Region& region, std::uint32_t index) {
  const plan::Trampoline& from = work.plan.trampolines()[index];
  std::uint8_t* slot = slot_of(region, index);
  arch::RewrittenFunction* function = functions_of(region) + index;
  const bool is_for_tail_calls = from.jumps_from != 0;
  *function = {work.address(from.function),
               0,
               is_for_tail_calls ? work.address(from.jumps_from) : 0,
               arch::RewrittenFunction::kNoWindow,
               from.is_leaf,
               0,
               {}};
  if (from.window != 0) function->window = static_cast<std::int32_t>(from.window - from.function);
  __builtin_memcpy(slot, &function, sizeof function);
  const char* hook = is_for_tail_calls ? tail_hook_copy_in(region)
                     : from.is_leaf    ? leaf_hook_copy_in(region)
                                       : hook_copy_in(region);
  std::uint8_t* call = hook_call_of(region, index);
  arch::write_call(call, reinterpret_cast<std::uint64_t>(hook));
  arch::switch_site(call, session.recording.load());
  std::uint8_t* code = slot + arch::kTrampolineCode;
  __builtin_memcpy(code, from.code, from.code_bytes);
  std::size_t branches = 0;
  for (int i = 0; i < from.fixup_count; ++i) {
    const plan::Fixup& fixup = from.fixups[i];
    if (fixup.at + sizeof(std::int32_t) > plan::kMostCode) return false;
    if (arch::is_of_branch(from.code, fixup.at) && branches < std::size(function->branch_ends)) {
      function->branch_ends[branches++] =
          static_cast<std::uint8_t>(fixup.at + sizeof(std::int32_t));
    }
    std::uint8_t* at = code + fixup.at;
    std::uint64_t to = 0;
    switch (fixup.kind) {
      case plan::FixupKind::kAddress:
        to = work.address(fixup.target);
        break;
      case plan::FixupKind::kTrampoline: {
        if (fixup.target >= work.plan.header().trampolines) return false;
        const plan::Trampoline& other = work.plan.trampolines()[fixup.target];
        to = is_used(work, other) ? entry_of(region, fixup.target) : work.address(other.function);
        break;
      }
      case plan::FixupKind::kBehindHook:
        if (fixup.target >= work.plan.header().trampolines) return false;
        to = reinterpret_cast<std::uint64_t>(slot_of(region, fixup.target)) + arch::kTrampolineCode;
        break;
      case plan::FixupKind::kReturnAddress: {
        const std::uint64_t back = work.address(fixup.target);
        __builtin_memcpy(slot + arch::kTrampolineWord, &back, sizeof back);
        to = reinterpret_cast<std::uint64_t>(slot + arch::kTrampolineWord);
        break;
      }
    }
    if (!arch::is_near(to, reinterpret_cast<std::uint64_t>(at) + 4 + fixup.trailing)) return false;
    arch::write_distance(at, to, fixup.trailing);
  }
  return true;
}

}  // namespace

// Whether code is made to lead to the trampoline.
bool is_used(const Work& work, const plan::Trampoline& trampoline) {
  const bool is_of_left_out =
      trampoline.jumps_from != 0 && leaves_out(work.address(trampoline.jumps_from));
  return !is_of_left_out && reason_to_leave(work, trampoline) == plan::Reason::kNone;
}

// Records which functions of a rewritten module are not counted.
void note_refusals(const Work& work) {
  const plan::Trampoline* trampolines = work.plan.trampolines();
  for (std::uint32_t i = 0; i < work.plan.header().trampolines; ++i) {
    const plan::Reason reason = reason_to_leave(work, trampolines[i]);
    if (reason == plan::Reason::kNone) continue;
    session.code_map.note_refusal(work.address(trampolines[i].function), 0,
                                  static_cast<std::uint8_t>(reason));
  }
  const plan::Refusal* refusals = work.plan.refusals();
  for (std::uint32_t i = 0; i < work.plan.header().refusals; ++i) {
    session.code_map.note_refusal(work.address(refusals[i].function), refusals[i].size,
                                  static_cast<std::uint8_t>(refusals[i].reason));
  }
}

const char* obstacle_to_trampolines(const Work& work) {
  const plan::Header& header = work.plan.header();
  if (header.trampolines == 0)
    return header.error[0] ? header.error
                           : "no function that its unwind table lists can be counted";
  return matches(work) ? nullptr : "its code is not what its plan was made for";
}

const char* write_trampolines(const Work& work, Region** written) {
  const plan::Header& header = work.plan.header();
  Region* region =
      take_region(work.module, RegionUse::kTrampolines, {hook_copy_slots(), header.trampolines},
                  header.trampolines * sizeof(arch::RewrittenFunction));
  if (!region) return why_no_region();
  write_hook_copy(*region, {fbleprof_exact_hook, fbleprof_exact_hook_missed, fbleprof_tail_hook,
                            fbleprof_tail_hook_missed});
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    if (!write_slot(work, *region, i)) return "it is too large";
  }
  if (!seal_slots(*region)) return kCodeIsFixed;
  *written = region;
  return nullptr;
}

}  // namespace fbleprof::capture
