#include "signal_safe/stack_walk.h"

#include "arch/call_instruction.h"
#include "arch/hash.h"
#include "arch/kernel.h"
#include "signal_safe/call_before.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::signal_safe {

namespace {

using arch::kernel_call;
using arch::kernel_failed;

constexpr std::uint64_t kPage = 4096;
// On a stack with unknown bounds, this much above the stack pointer is read, one page at a time
// after the kernel has confirmed that it is mapped.
constexpr std::uint64_t kProbedBytes = 64 * 1024;

// A thread stops searching for frames after as many searches that found nothing.
constexpr std::uint8_t kMostInVain = 64;

bool is_known(const Stack& stack) { return stack.low != 0; }

// A call's return address cannot be the start of a function, unless the call is the last
// instruction of the preceding code, which then has an unwind entry.
bool begins_function(std::uint64_t address) {
  const CodeRange range = code_range_at(address);
  return range.exact && range.start == address;
}

// The rule for a frame at `pc`, which is where a call returns to, or an interrupted instruction.
const FrameRule& rule_at(ThreadState& thread, std::uint64_t pc, bool is_return) {
  const std::uint64_t address = pc - (is_return ? 1 : 0);
  const std::uint32_t epoch = thread.session->code_map.epoch();
  FrameRule& cached = thread.rules.rules[(address * 0x9e3779b97f4a7c15u >> 40) % RuleCache::kRules];
  if (cached.pc == address && cached.epoch == epoch) return cached;
  FrameRule fresh = frame_rule_at(address);
  if (fresh.base == FrameRule::Base::kUnknown && is_return && begins_function(pc)) {
    fresh.base = FrameRule::Base::kNoCaller;
  }
  fresh.pc = address;
  fresh.epoch = epoch;
  cached.epoch = 0;
  asm volatile("" ::: "memory");
  cached.base = fresh.base;
  cached.saved_fp = fresh.saved_fp;
  cached.cfa_offset = fresh.cfa_offset;
  cached.fp_offset = fresh.fp_offset;
  cached.cfa_register = fresh.cfa_register;
  cached.saved_base = fresh.saved_base;
  cached.pc = address;
  asm volatile("" ::: "memory");
  cached.epoch = epoch;
  return cached;
}

}  // namespace

bool leads_alike(ThreadState& thread, std::uint64_t pc, std::uint64_t other) {
  const FrameRule rule = rule_at(thread, pc, true);  // a copy: the other's may replace it
  return (rule.base == FrameRule::Base::kSp || rule.base == FrameRule::Base::kFp) &&
         rule.leads_as(rule_at(thread, other, true));
}

StackWalk::StackWalk(ThreadState& thread, const MachineState& at, bool is_return, WalkReads* reads)
    : thread_(thread), reads_(reads), state_(at), is_return_(is_return) {
  if (reads != nullptr) reads->begin(at.sp);
  if (find_bounds(at.sp)) locate_frame();
}

bool StackWalk::find_bounds(std::uint64_t sp) {
  low_ = high_ = 0;
  probing_ = false;
  if (sp % 8 != 0 || sp < kPage || sp >> arch::kUpperShift != 0) return false;
  const Stack* const stacks[] = {&thread_.main_stack, &thread_.signal_stack, thread_.current};
  for (const Stack* stack : stacks) {
    if (is_known(*stack) && stack->contains(sp)) {
      low_ = sp - stack->low > arch::kRedZone ? sp - arch::kRedZone : stack->low;
      high_ = stack->high;
      return true;
    }
  }
  probing_ = true;
  reads_do_not_decide();
  low_ = sp - arch::kRedZone;
  high_ = low_ / kPage * kPage;  // no page is known to be mapped yet
  return true;
}

bool StackWalk::read(std::uint64_t address, std::uint64_t* value) {
  if (!read_saved(address, value)) return false;
  if (reads_ != nullptr) reads_->add(address, *value);
  return true;
}

bool StackWalk::read_return(std::uint64_t address, std::uint64_t* value) {
  if (!read_saved(address, value)) return false;
  if (reads_ != nullptr) reads_->add(address, *value, true);
  return true;
}

void StackWalk::note_use_of_fp() {
  if (reads_ == nullptr) return;
  if (fp_slot_ == 0) {
    reads_->use_fp = true;
  } else {
    reads_->add(fp_slot_, state_.fp);
  }
}

// Reads a register that a frame has saved. What is in it may not matter.
bool StackWalk::read_saved(std::uint64_t address, std::uint64_t* value) {
  if (address % 8 != 0 || address < low_) return false;
  while (probing_ && address >= high_ && high_ < low_ + kProbedBytes) {
    unsigned char present;
    if (kernel_failed(kernel_call(SYS_mincore, static_cast<long>(high_), kPage,
                                  reinterpret_cast<long>(&present)))) {
      return false;
    }
    high_ += kPage;
  }
  if (high_ < 8 || address > high_ - 8) return false;  // address + 8 may wrap
  *value = *reinterpret_cast<const std::uint64_t*>(address);
  return true;
}

// Whether code may be at an address for which there is no table: in memory that can be read, and
// not on a stack.
bool StackWalk::may_be_code(std::uint64_t address) const {
  if (address < kPage || address >> arch::kUpperShift != 0) return false;
  const Stack* const stacks[] = {&thread_.main_stack, &thread_.signal_stack};
  for (const Stack* stack : stacks) {
    if (is_known(*stack) && stack->contains(address)) return false;
  }
  if (address >= low_ && address < high_) return false;
  const std::uint64_t page = (address - 1) / kPage;
  std::uint64_t& known = thread_.readable_pages[page % ThreadState::kReadablePages];
  if (known == page || !is_peek_harmless()) return true;
  std::uint8_t byte;
  if (!peek_anywhere(reinterpret_cast<const void*>(address - 1), &byte, sizeof byte)) return false;
  known = page;
  return true;
}

std::uint64_t StackWalk::register_value(std::uint8_t dwarf_number) const {
  if (dwarf_number == arch::kDwarfBase) return state_.base;
  // Callees may have changed the registers that they save.
  const int known = is_return_ ? arch::kDwarfCalleeSaved : 16;
  return state_.registers && dwarf_number < known ? state_.registers[arch::kGregOf[dwarf_number]]
                                                  : 0;
}

const FrameRule& StackWalk::rule() { return rule_at(thread_, state_.pc, is_return_); }

std::uint64_t StackWalk::needed_fp() {
  switch (rule().base) {
    case FrameRule::Base::kSp:
    case FrameRule::Base::kPltEntry:
    case FrameRule::Base::kDerefSp:
    case FrameRule::Base::kEnd:
      return 0;
    default:
      return state_.fp;
  }
}

// Finds the current frame's CFA and return-address slot.
void StackWalk::locate_frame() {
  cfa_ = return_slot_ = 0;
  const FrameRule& r = rule();
  const auto offset = static_cast<std::uint64_t>(std::int64_t{r.cfa_offset});
  switch (r.base) {
    case FrameRule::Base::kSp:
      cfa_ = state_.sp + offset;
      break;
    case FrameRule::Base::kFp:
    case FrameRule::Base::kLeaving:
      note_use_of_fp();
      cfa_ = state_.fp + offset;
      break;
    case FrameRule::Base::kPltEntry:
      cfa_ = state_.sp + 8 + (code_address() % 16 >= offset ? 8 : 0);
      break;
    case FrameRule::Base::kRegister:
    case FrameRule::Base::kLandingPad:
      reads_do_not_decide();
      cfa_ = register_value(r.cfa_register);
      if (cfa_ != 0) cfa_ += offset;
      break;
    case FrameRule::Base::kDerefFp:
      note_use_of_fp();
      if (!read(state_.fp + offset, &cfa_)) cfa_ = 0;
      break;
    case FrameRule::Base::kDerefSp:
      cfa_ = read(state_.sp + offset, &cfa_) ? cfa_ + 8 : 0;
      break;
    default:
      break;
  }
  if (cfa_ != 0) return_slot_ = cfa_ - 8;
}

// Whether there is a frame at `fp` on another stack: one whose caller's frame lies above, in the
// same stack, and whose return address follows a call in a module; or the frame of a goroutine's
// first function. `caller`: takes both; may be null.
bool StackWalk::is_frame_elsewhere(std::uint64_t fp, MachineState* caller) const {
  constexpr std::uint64_t kLargestFrame = 64 * 1024;
  struct {
    std::uint64_t fp, pc;
  } saved;
  if (!is_peek_harmless() || fp % 8 != 0 || (fp >= low_ && fp < high_) ||
      !peek_anywhere(reinterpret_cast<const void*>(fp), &saved, sizeof saved)) {
    return false;
  }
  LoadedObject object;
  if (!find_object(saved.pc, &object)) return false;
  const bool is_frame =
      saved.fp == 0 ? ends_goroutine(saved.pc)
                    : saved.fp > fp && saved.fp - fp < kLargestFrame && follows_call(saved.pc);
  if (is_frame && caller) {
    caller->fp = saved.fp;
    caller->pc = saved.pc;
  }
  return is_frame;
}

// Go's runtime does some work for a goroutine on the thread's own stack. The first function there
// keeps the frame pointer of the goroutine.
bool StackWalk::change_stack(MachineState* caller) {
  if (has_changed_stack_ || !is_frame_elsewhere(state_.fp, caller)) return false;
  if (!find_bounds(state_.fp)) return false;
  has_changed_stack_ = true;
  return true;
}

// A frame pointer points to the caller's, and the return address is above that. Other code uses
// that register for other values. So the caller's frame must lie above ours, and the caller must
// have an unwind table, or a frame pointer that leads further up, or one of 0: then it is the
// outermost frame (the first function of a goroutine).
bool StackWalk::next_by_frame_pointer() {
  reads_do_not_decide();
  if (is_outermost_) {
    complete_ = true;
    return false;
  }
  const MachineState before = state_;
  const std::uint64_t fp = state_.fp;
  MachineState caller = state_;
  const bool is_here = fp >= state_.sp && read(fp, &caller.fp) && read(fp + 8, &caller.pc);
  if (!is_here && !change_stack(&caller)) return false;
  caller.sp = fp + 16;
  caller.base = 0;
  const bool was_return = is_return_;
  state_ = caller;
  is_return_ = true;
  std::uint64_t saved;
  const bool is_unknown = rule().base == FrameRule::Base::kUnknown;
  is_outermost_ = is_unknown && caller.fp == 0;
  const bool leads_on = is_outermost_ || (caller.fp > fp && read(caller.fp, &saved)) ||
                        (is_here && is_frame_elsewhere(caller.fp, nullptr));
  if (is_unknown && !(leads_on && may_be_code(caller.pc))) {
    state_ = before;
    is_return_ = was_return;
    return false;
  }
  pc_slot_ = fp + 8;
  locate_frame();
  return true;
}

bool StackWalk::next_by_signal_frame() {
  reads_do_not_decide();
  const std::uint64_t gregs = state_.sp + arch::kGeneralRegisters;
  MachineState interrupted;
  std::uint64_t r8;
  // Check both ends of the array, so that everything in between is readable.
  if (!read(gregs + arch::kGregR8 * 8, &r8) || !read(gregs + arch::kGregPc * 8, &interrupted.pc))
    return false;
  // The frame of a displaced instruction is as where the instruction stood.
  if (const std::uint64_t origin = thread_.session->trampolines.origin_of(interrupted.pc)) {
    interrupted.pc = origin;
  }
  interrupted.registers = reinterpret_cast<const std::uint64_t*>(gregs);
  interrupted.sp = interrupted.registers[arch::kGregSp];
  interrupted.fp = interrupted.registers[arch::kGregFp];
  interrupted.base = interrupted.registers[arch::kGregBase];
  is_return_ = false;
  pc_slot_ = 0;
  state_ = interrupted;
  if (!find_bounds(interrupted.sp)) return false;
  locate_frame();
  return interrupted.pc != 0;
}

// Reads the registers that the caller goes on with, by the rule for the current frame at cfa_.
bool StackWalk::read_caller(const FrameRule& r, MachineState* caller) {
  // A frame above its caller would make a loop. An interrupted instruction may have left its frame
  // already (the unwinder's jump to a landing pad).
  if (cfa_ < state_.sp || (cfa_ == state_.sp && is_return_) ||
      !read_return(cfa_ - 8, &caller->pc)) {
    return false;
  }
  caller->sp = cfa_;
  caller->fp = state_.fp;
  caller->registers = state_.registers;
  const auto fp_offset = static_cast<std::uint64_t>(std::int64_t{r.fp_offset});
  std::uint64_t fp_slot = fp_slot_;
  if (r.saved_fp == FrameRule::SavedFp::kAtCfa) {
    fp_slot = cfa_ + fp_offset;
    if (!read_saved(fp_slot, &caller->fp)) return false;
  }
  if (r.saved_fp == FrameRule::SavedFp::kAtFp) {
    note_use_of_fp();
    fp_slot = state_.fp + fp_offset;
    if (!read_saved(fp_slot, &caller->fp)) {
      // gcc does not say when an epilogue has popped it; then the register holds the caller's
      // value.
      caller->fp = state_.fp;
      reads_do_not_decide();
    }
  }
  fp_slot_ = fp_slot;
  caller->base = r.saved_base == FrameRule::kBaseUnchanged ? state_.base : 0;
  if (r.saved_base < 0) {
    const auto base_offset = static_cast<std::uint64_t>(std::int64_t{r.saved_base} * 8);
    if (!read_saved(cfa_ + base_offset, &caller->base)) caller->base = 0;
  }
  if (r.base == FrameRule::Base::kLeaving) return find_caller_of_unwinder(caller);
  const bool needs_fp = r.base == FrameRule::Base::kFp || r.base == FrameRule::Base::kDerefFp;
  if (is_fp_doubtful_ && needs_fp && !is_called_at(caller->pc)) return false;
  if (needs_fp || r.saved_fp != FrameRule::SavedFp::kUnchanged) is_fp_doubtful_ = false;
  return true;
}

// Whether the call that returns to `site` names the current frame's function. Any function of its
// module, if the frame is in a part of one that the compiler put elsewhere.
bool StackWalk::is_called_at(std::uint64_t site) const {
  const CodeRange code = code_range_at(code_address());
  const std::uint64_t callee = callee_before(site);
  if (callee == 0 || callee == code.start) return callee != 0;
  const FrameRule first = frame_rule_at(code.start);
  const bool is_part =
      first.base != FrameRule::Base::kSp || first.cfa_offset != arch::kReturnAddressBytes;
  LoadedObject object;
  return is_part && find_object(callee, &object) && code.start >= object.begin &&
         code.start < object.end;
}

// Finds the first word above `from` for which is_wanted(word, its place) holds. The stack may end
// before its bound, so the words are peeked at, many at once.
template <typename IsWanted>
bool StackWalk::find_word(std::uint64_t from, std::uint64_t most_bytes, IsWanted is_wanted,
                          std::uint64_t* place) const {
  reads_do_not_decide();
  std::uint64_t words[32];
  if (high_ <= from && !probing_) return false;
  const bool is_near_end = !probing_ && high_ - from < most_bytes;
  const std::uint64_t end = is_near_end ? high_ : from + most_bytes;
  for (std::uint64_t at = from; at + sizeof words <= end; at += sizeof words) {
    if (!peek_anywhere(reinterpret_cast<const void*>(at), words, sizeof words)) return false;
    *place = at;
    for (const std::uint64_t word : words) {
      if (is_wanted(word, *place)) return true;
      *place += sizeof word;
    }
  }
  return false;
}

// The place for the current frame's end.
FrameEnd& StackWalk::frame_end() const {
  return thread_.frame_ends[arch::hash_of(state_.sp, state_.pc) % ThreadState::kFrameEnds];
}

bool StackWalk::is_from_here(const FrameEnd& end) const {
  return end.pc == state_.pc && end.sp == state_.sp;
}

// Finds the first return address above the frame for which is_return(word, its place) holds: first
// where an earlier walk from here found it. The word itself proves that it is still there.
template <typename IsReturn>
bool StackWalk::find_end(std::uint64_t most_bytes, bool is_of_interpreter, IsReturn is_return,
                         std::uint64_t* slot) {
  FrameEnd& end = frame_end();
  reads_do_not_decide();
  std::uint64_t word;
  if (is_from_here(end) && read(end.slot, &word) && is_return(word, end.slot)) {
    *slot = end.slot;
    return true;
  }
  if (!find_word(state_.sp, most_bytes, is_return, slot)) return false;
  end.pc = 0;  // a handler that walks must not find a half
  asm volatile("" ::: "memory");
  end.sp = state_.sp;
  end.slot = *slot;
  end.is_of_interpreter = is_of_interpreter;
  asm volatile("" ::: "memory");
  end.pc = state_.pc;
  return true;
}

// The unwinder overwrites its saved registers with those of the landing pad's function, one after
// the other, the return address last. Then that function's frame is the next one: where the return
// address was taken from. Frames in between have ended.
bool StackWalk::find_caller_of_unwinder(MachineState* caller) {
  reads_do_not_decide();
  if (!is_peek_harmless()) return false;
  if (callee_before(caller->pc) == code_range_at(code_address()).start) {
    is_fp_doubtful_ = true;
    caller->base = 0;
    return true;
  }
  constexpr std::uint64_t kMostBytes = 64 * 1024;
  const auto is_same = [&](std::uint64_t word, std::uint64_t) { return word == caller->pc; };
  std::uint64_t slot = 0;
  if (!find_word(cfa_, kMostBytes, is_same, &slot)) return false;
  caller->sp = slot + sizeof slot;
  return true;
}

// Whether the current frame can be a caller's, which the callee's table has led to. It is, if its
// code has a table, too. A wrong table leads anywhere, for example to a word of the stack.
bool StackWalk::may_be_caller() {
  if (rule().base != FrameRule::Base::kUnknown) return true;
  reads_do_not_decide();
  if (!may_be_code(state_.pc)) return false;
  // HotSpot's interpreter jumps to functions, and pushes where they return to.
  std::uint64_t older_fp, older_pc;
  return (is_peek_harmless() && follows_call(state_.pc)) ||
         (state_.fp >= state_.sp && read(state_.fp, &older_fp) && older_fp > state_.fp &&
          read(state_.fp + 8, &older_pc) && may_be_code(older_pc));
}

bool StackWalk::next_by_rule(const FrameRule& r) {
  const bool is_jump = r.base == FrameRule::Base::kLandingPad;
  const MachineState before = state_;
  const bool was_return = is_return_;
  MachineState caller;
  if (!read_caller(r, &caller)) return false;
  if (caller.pc == 0) {
    complete_ = true;
    return false;
  }
  state_ = caller;
  is_return_ = !is_jump;
  if (!may_be_caller()) {
    state_ = before;
    is_return_ = was_return;
    return false;
  }
  pc_slot_ = is_jump ? 0 : caller.sp - 8;
  if (rule().base == FrameRule::Base::kNoCaller) {
    complete_ = true;
    return false;
  }
  locate_frame();
  return true;
}

void StackWalk::continue_at(std::uint64_t pc, std::uint64_t sp) {
  state_ = {pc + 1, sp, 0, 0, nullptr};
  is_return_ = true;
  pc_slot_ = 0;
  locate_frame();
}

// Whether a call that returns to `site` enters an interpreter: code whose frame is there from its
// first instruction, which no function's is. `rule`: of that frame.
bool enters_interpreter(std::uint64_t site, FrameRule* rule) {
  LoadedObject object;
  if (!find_object(site, &object)) return false;
  const std::uint64_t entry = callee_before(site);
  if (entry < object.begin || entry >= object.end) return false;
  *rule = frame_rule_in(object, entry);
  return rule->base == FrameRule::Base::kSp && rule->cfa_offset > arch::kReturnAddressBytes;
}

// LuaJIT's interpreter calls nothing when it enters generated code. That code has no table and no
// frame pointer, but runs in the interpreter's frame, which it may have extended. So the frame ends
// at the next return address of a call that enters an interpreter.
bool StackWalk::next_by_interpreter() {
  constexpr std::uint64_t kMostBytes = 2048;
  if (thread_.searches_in_vain == kMostInVain || !is_peek_harmless()) return false;
  ++thread_.searches_in_vain;
  FrameRule entered;
  const auto ends_frame = [&](std::uint64_t word, std::uint64_t place) {
    return enters_interpreter(word, &entered) &&
           place + sizeof word - state_.sp >= static_cast<std::uint64_t>(entered.cfa_offset);
  };
  std::uint64_t slot = 0;
  if (!find_end(kMostBytes, true, ends_frame, &slot)) return false;
  thread_.searches_in_vain = 0;
  cfa_ = slot + sizeof slot;
  return next_by_rule(entered);
}

// Whether the code at `address` has no unwind table.
bool has_no_table(std::uint64_t address) {
  return frame_rule_at(address).base == FrameRule::Base::kUnknown;
}

// Hand-written code in Go's libraries uses the frame pointer for other values, but keeps the
// caller's below the return address. So the frame ends at a return address of a call that names a
// function at or before the current code, if a chain of frame pointers goes on below it.
bool StackWalk::ends_assembly(std::uint64_t site, std::uint64_t callee, std::uint64_t place,
                              MachineState* caller) {
  constexpr std::uint64_t kLongestFunction = 64 * 1024, kLargestFrame = 64 * 1024;
  std::uint64_t older_fp, older_pc, fp;
  if (callee > state_.pc || state_.pc - callee >= kLongestFunction || !has_no_table(callee) ||
      !read(place - 8, &fp) || fp <= place || fp - place >= kLargestFrame || !read(fp, &older_fp) ||
      !read(fp + 8, &older_pc) || older_fp <= fp || !follows_call(older_pc)) {
    return false;
  }
  *caller = {site, place + 8, fp, 0, state_.registers};
  return true;
}

// The thread of a Go program begins in C, which calls an assembly function that calls Go. So the
// walk goes on at the first return address of a call in code with a table that names code without
// one, if a return address in that code is below it.
bool StackWalk::begins_in_c(std::uint64_t site, std::uint64_t callee, std::uint64_t place,
                            MachineState* caller) {
  constexpr std::uint64_t kLongestFunction = 128, kMostSaved = 16;
  if (has_no_table(site - 1) || !has_no_table(callee)) return false;
  for (std::uint64_t at = place - 8; at >= state_.sp && at + kMostSaved * 8 >= place; at -= 8) {
    std::uint64_t word;
    if (!read(at, &word)) return false;
    if (word <= callee || word - callee > kLongestFunction || !follows_call(word)) continue;
    *caller = {site, place + 8, 0, 0, state_.registers};
    return true;
  }
  return false;
}

// A search for a return address above a frame that has neither a table nor a frame pointer.
bool StackWalk::next_by_call() {
  constexpr std::uint64_t kMostBytes = 4096;
  if (thread_.searches_in_vain == kMostInVain || !is_peek_harmless()) return false;
  MachineState caller;
  const auto is_return = [&](std::uint64_t word, std::uint64_t place) {
    LoadedObject object;
    if (place <= state_.sp || !find_object(word, &object)) return false;
    const std::uint64_t callee = callee_before(word);
    return callee >= object.begin && callee < object.end &&
           (ends_assembly(word, callee, place, &caller) ||
            begins_in_c(word, callee, place, &caller));
  };
  std::uint64_t slot = 0;
  if (!find_end(kMostBytes, false, is_return, &slot)) return false;
  thread_.searches_in_vain = 0;
  state_ = caller;
  is_return_ = true;
  pc_slot_ = slot;
  locate_frame();
  return true;
}

bool StackWalk::next_by_search() {
  const FrameEnd& end = frame_end();
  if (is_from_here(end) && end.is_of_interpreter) return next_by_interpreter() || next_by_call();
  return next_by_call() || next_by_interpreter();
}

bool StackWalk::next() {
  switch (rule().base) {
    case FrameRule::Base::kUnknown:
      return next_by_frame_pointer() || (!complete_ && next_by_search());
    case FrameRule::Base::kSignalFrame:
      return next_by_signal_frame();
    case FrameRule::Base::kEnd:
    case FrameRule::Base::kNoCaller:
      complete_ = true;
      return false;
    default:
      return next_by_rule(rule()) || (!complete_ && next_by_interpreter());
  }
}

}  // namespace fbleprof::signal_safe
