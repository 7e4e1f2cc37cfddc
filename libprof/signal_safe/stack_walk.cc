#include "signal_safe/stack_walk.h"

#include "signal_safe/arch/x86_64/kernel.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::signal_safe {

namespace {

constexpr std::uint64_t kPage = 4096;
// On a stack of which nobody told us the bounds, so much above the stack pointer is looked at, a
// page at a time once the kernel has said that it is there.
constexpr std::uint64_t kProbedBytes = 64 * 1024;

// Where the kernel's signal frame keeps registers: ucontext_t.uc_mcontext.gregs.
constexpr std::uint64_t kGeneralRegisters = 40;
constexpr std::uint64_t kSavedFp = kGeneralRegisters + 10 * 8;
constexpr std::uint64_t kSavedSp = kGeneralRegisters + 15 * 8;
constexpr std::uint64_t kSavedPc = kGeneralRegisters + 16 * 8;

bool is_known(const Stack& stack) { return stack.low != 0; }

}  // namespace

StackWalk::StackWalk(ThreadState& thread, const MachineState& at) : thread_(thread), state_(at) {
  if (find_bounds(at.sp)) locate_frame();
}

bool StackWalk::find_bounds(std::uint64_t sp) {
  low_ = high_ = 0;
  probing_ = false;
  if (sp % 8 != 0 || sp < kPage || sp >> kWordShift != 0) return false;
  const Stack* const stacks[] = {&thread_.main_stack, &thread_.signal_stack, thread_.current};
  for (const Stack* stack : stacks) {
    if (is_known(*stack) && stack->contains(sp)) {
      low_ = sp;
      high_ = stack->high;
      return true;
    }
  }
  probing_ = true;
  low_ = sp;
  high_ = sp / kPage * kPage;  // nothing is known to be there yet
  return true;
}

bool StackWalk::read(std::uint64_t address, std::uint64_t* value) {
  if (address % 8 != 0 || address < low_) return false;
  while (probing_ && address >= high_ && high_ < low_ + kProbedBytes) {
    unsigned char present;
    if (kernel_failed(kernel_call(SYS_mincore, static_cast<long>(high_), kPage,
                                  reinterpret_cast<long>(&present)))) {
      return false;
    }
    high_ += kPage;
  }
  if (address + 8 > high_) return false;
  *value = *reinterpret_cast<const std::uint64_t*>(address);
  return true;
}

const FrameRule& StackWalk::rule() {
  const std::uint64_t address = code_address();
  const std::uint32_t epoch = session.code_map.epoch();
  FrameRule& cached =
      thread_.rules.rules[(address * 0x9e3779b97f4a7c15u >> 40) % RuleCache::kRules];
  if (cached.pc == address && cached.epoch == epoch) return cached;
  FrameRule fresh = frame_rule_at(address);
  fresh.pc = address;
  fresh.epoch = epoch;
  cached.epoch = 0;
  asm volatile("" ::: "memory");
  cached.base = fresh.base;
  cached.saved_fp = fresh.saved_fp;
  cached.cfa_offset = fresh.cfa_offset;
  cached.fp_offset = fresh.fp_offset;
  cached.pc = address;
  asm volatile("" ::: "memory");
  cached.epoch = epoch;
  return cached;
}

// Finds the present frame's CFA and return-address slot.
void StackWalk::locate_frame() {
  cfa_ = return_slot_ = 0;
  const FrameRule& r = rule();
  const auto offset = static_cast<std::uint64_t>(std::int64_t{r.cfa_offset});
  switch (r.base) {
    case FrameRule::Base::kSp:
      cfa_ = state_.sp + offset;
      break;
    case FrameRule::Base::kFp:
      cfa_ = state_.fp + offset;
      break;
    case FrameRule::Base::kPltEntry:
      cfa_ = state_.sp + 8 + (code_address() % 16 >= offset ? 8 : 0);
      break;
    case FrameRule::Base::kDerefFp:
      if (!read(state_.fp + offset, &cfa_)) cfa_ = 0;
      break;
    default:
      break;
  }
  if (cfa_ != 0) return_slot_ = cfa_ - 8;
}

bool StackWalk::next() {
  const FrameRule& r = rule();
  if (r.base == FrameRule::Base::kEnd) {
    complete_ = true;
    return false;
  }
  MachineState caller;
  if (r.base == FrameRule::Base::kSignalFrame) {
    if (!read(state_.sp + kSavedPc, &caller.pc) || !read(state_.sp + kSavedSp, &caller.sp) ||
        !read(state_.sp + kSavedFp, &caller.fp)) {
      return false;
    }
    is_return_ = false;
    state_ = caller;
    if (!find_bounds(caller.sp)) return false;
    locate_frame();
    return caller.pc != 0;
  }
  // A frame above its caller would be a loop.
  if (cfa_ <= state_.sp || !read(cfa_ - 8, &caller.pc)) return false;
  caller.sp = cfa_;
  caller.fp = state_.fp;
  const auto fp_offset = static_cast<std::uint64_t>(std::int64_t{r.fp_offset});
  if (r.saved_fp == FrameRule::SavedFp::kAtCfa && !read(cfa_ + fp_offset, &caller.fp)) return false;
  if (r.saved_fp == FrameRule::SavedFp::kAtFp && !read(state_.fp + fp_offset, &caller.fp)) {
    return false;
  }
  if (caller.pc == 0) {
    complete_ = true;
    return false;
  }
  state_ = caller;
  is_return_ = true;
  locate_frame();
  return true;
}

}  // namespace fbleprof::signal_safe
