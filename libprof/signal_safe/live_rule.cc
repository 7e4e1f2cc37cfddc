#include "signal_safe/live_rule.h"

#include "arch/call_instruction.h"
#include "arch/hook_site.h"
#include "arch/registers.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

const format::Function& record_of(const ThreadState& thread, format::Ref function) {
  return *thread.session->arena.at<format::Function>(function);
}

bool has_hook(const ThreadState& thread, format::Ref function) {
  return function != 0 && (record_of(thread, function).flags & format::kFunctionHooked) != 0;
}

format::Ref function_of(const ThreadState& thread, const Entry* entry) {
  return thread.tree.function_of(node_of(thread, entry));
}

bool is_inlined(const Entry* entry) {
  if (!shares_frame_with_below(entry)) return false;
  return arch::block_of(entry->word) == arch::kNoBlock;
}

bool is_left_out(const ThreadState& thread, format::Ref function) {
  return function != 0 && thread.session->code_map.is_left_out(function);
}

bool is_rewritten(const ThreadState& thread, const format::Function& function) {
  if (function.module == 0) return false;
  const auto* module = thread.session->arena.at<format::Module>(function.module);
  return (__atomic_load_n(&module->flags, __ATOMIC_RELAXED) & format::kModuleIsExact) != 0;
}

// The first jump of a rewritten function may be in a trampoline, so its code proves nothing.
bool may_be_part(const ThreadState& thread, format::Ref code, format::Ref whole) {
  return is_rewritten(thread, record_of(thread, whole)) ||
         thread.session->code_map.is_part_of(code, whole);
}

// Whether the code at the address is a hook's own path, or a copy of it.
bool is_in_hook(const ThreadState& thread, std::uint64_t pc) {
  const auto begin = reinterpret_cast<std::uint64_t>(fbleprof_hooks_begin);
  const auto end = reinterpret_cast<std::uint64_t>(fbleprof_hooks_end);
  return (pc >= begin && pc < end) || thread.session->trampolines.holds_own_code(pc);
}

}  // namespace

bool always_has_entry(const ThreadState& thread, format::Ref function) {
  return has_hook(thread, function) &&
         (record_of(thread, function).flags & format::kFunctionNotCounted) == 0;
}

namespace {
// What the direct call that returns to `site` names, 0 if there is none. A trampoline stands for
// its function.
std::uint64_t target_of_call(const ThreadState& thread, std::uint64_t site) {
  Session& session = *thread.session;
  // Read only code that is known to exist: a return address may be anything (coroutines start with
  // 0), and generated code may be at the edge of its mapping.
  const format::Ref caller = session.code_map.function_at(site - 1);
  if (caller == 0) return 0;
  const format::Function& record = record_of(thread, caller);
  if (record.module == 0 || record.address > site - arch::kDirectCallBytes) return 0;
  std::uint64_t target = 0;
  if (!is_rewritten(thread, record) ||
      !session.trampolines.is_overwritten(record.address, site, target)) {
    target = arch::direct_call_target(site);
  }
  const std::uint64_t behind = session.trampolines.function_at(target);
  return behind != 0 ? behind : target;
}

format::Ref function_at(const ThreadState& thread, std::uint64_t target) {
  return target != 0 ? thread.session->code_map.function_at(target) : 0;
}
}  // namespace

format::Ref direct_callee(const ThreadState& thread, std::uint64_t site) {
  return function_at(thread, target_of_call(thread, site));
}

const void* jumped_from(const ThreadState& thread, std::uint64_t site) {
  const Session& session = *thread.session;
  const std::uint64_t target = target_of_call(thread, site);
  const format::Ref callee = function_at(thread, target);
  if (callee == 0) return nullptr;
  const format::Function& function = record_of(thread, callee);
  // The unwind table has PLTs as functions, and the wrapper itself.
  if (function.module == 0 || target != function.address || session.wrappers.contains(target))
    return nullptr;
  const auto* code = reinterpret_cast<const std::uint8_t*>(target);
  return arch::slot_of_stub(code) == 0 ? code : nullptr;
}

bool is_entry_of(const ThreadState& thread, const Entry* entry, format::Ref function) {
  return function_of(thread, entry) == function;
}

namespace {

// Whether the entry was pushed for the walk's current frame, whose code belongs to `owner`.
bool is_frame_of(const ThreadState& thread, const Entry* entry, format::Ref owner,
                 const StackWalk& walk) {
  const std::uint64_t slot = entry->frame + FRAME_BIAS;
  // A part has its function's name, and is left out with it.
  if (owner == 0 || is_left_out(thread, owner)) return false;
  // First what is quickly known: hundreds of thousands of blocks may share a frame.
  const bool is_hooked = has_hook(thread, owner);
  if (is_hooked ? slot > walk.return_slot()
                : slot != walk.return_slot() && slot != walk.state().sp) {
    return false;
  }
  const Entry* native = native_below(entry);
  if (is_gate(native)) return false;
  // Functions without hooks have entries where recording began below them.
  if (slot == walk.return_slot() && is_entry_of(thread, native, owner)) return true;
  if (is_hooked) return is_entry_of(thread, native, owner);
  // A part of a function that the compiler put elsewhere (.cold: catch blocks) has its own unwind
  // entry and no hook; its frame identifies it. A function without hooks whose call is as deep as a
  // dead entry's is not mistaken for such a part: it is in another module, or its call names it, or
  // it is no function's part.
  if (slot == walk.return_slot() &&
      direct_callee(thread, *reinterpret_cast<const std::uint64_t*>(slot)) == owner) {
    return false;
  }
  const format::Ref whole = function_of(thread, native);
  return record_of(thread, whole).module == record_of(thread, owner).module &&
         may_be_part(thread, owner, whole);
}

// Whether the walk's current frame is in a trampoline, and the entry is that of its function. A
// hook for tail calls gives the callee the entry of the function that jumped: until then the entry
// is that one's.
bool is_frame_of_trampoline(const ThreadState& thread, const Entry* entry, const StackWalk& walk) {
  if (entry->frame + FRAME_BIAS != walk.return_slot()) return false;
  Session& session = *thread.session;
  const auto* function = session.trampolines.rewritten_at(walk.code_address());
  if (function == nullptr) return false;
  const Entry* native = native_below(entry);
  const auto is_of = [&](std::uint64_t code) {
    return code != 0 && is_entry_of(thread, native, session.code_map.function_at(code));
  };
  return is_of(function->address) || is_of(function->jumps_from);
}

// The entry of a left-out function with a hook, whose frame is the walk's current one. The entry
// has the context of the function's caller, so it is known by its frame: the first one pushed
// there. Null: `owner` is another kind of function, or has no entry.
Entry* entry_of_left_out(const ThreadState& thread, Entry* top, format::Ref owner,
                         const StackWalk& walk) {
  if (!is_left_out(thread, owner) || !has_hook(thread, owner)) return nullptr;
  Entry* newest_of_frame = nullptr;
  for (Entry* entry = top; !is_gate(entry) && entry->frame + FRAME_BIAS <= walk.return_slot();
       --entry) {
    if (!newest_of_frame || entry->frame != newest_of_frame->frame) newest_of_frame = entry;
  }
  return newest_of_frame;
}

// `top` may be the entry of another call of `owner`, which this one made and which has ended. The
// frame's own entry is where the frame returns, unless a hook pushed it later than at the
// function's first instruction: then there is no such entry.
Entry* own_entry(const ThreadState& thread, Entry* top, format::Ref owner, const StackWalk& walk) {
  Entry* entry = top;
  for (int steps = 0; steps < kProofDepth && !is_gate(entry); ++steps, --entry) {
    const std::uint64_t slot = entry->frame + FRAME_BIAS;
    if (slot > walk.return_slot()) break;
    if (slot == walk.return_slot()) {
      const Entry* native = native_below(entry);
      return !is_gate(native) && is_entry_of(thread, native, owner) ? entry : top;
    }
  }
  return top;
}

}  // namespace

Entry* entry_of_frame(const ThreadState& thread, Entry* top, format::Ref owner,
                      const StackWalk& walk) {
  if (is_frame_of(thread, top, owner, walk)) return own_entry(thread, top, owner, walk);
  if (is_frame_of_trampoline(thread, top, walk)) return top;
  if (Entry* own = entry_of_left_out(thread, top, owner, walk)) return own;
  // Callees that have ended may have left entries in the frame, above its stack pointer: the frame
  // has arguments of a call at its end.
  if (top->frame + FRAME_BIAS >= walk.return_slot()) return nullptr;
  Entry* older = find_owner(thread, top, owner);
  return older != nullptr && older->frame + FRAME_BIAS <= walk.return_slot() ? older : nullptr;
}

bool may_be_entry_of(const ThreadState& thread, const Entry* entry, format::Ref owner) {
  if (is_gate(entry) || shares_frame_with_below(entry)) return true;
  const format::Ref function = function_of(thread, entry);
  const format::Ref module = record_of(thread, owner).module;
  if (function == owner || module == 0) return true;
  return record_of(thread, function).module == module && may_be_part(thread, owner, function);
}

Entry* filter_by_address(const Entry* gate, Entry* top, std::uint64_t sp) {
  // Frames never rise from the gate to the top.
  const Entry* low = gate;  // not below sp
  const Entry* high = top + 1;
  if (top->frame + FRAME_BIAS >= sp) return top;
  while (high - low > 1) {
    const Entry* middle = low + (high - low) / 2;
    if (middle->frame + FRAME_BIAS >= sp) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return top - (top - low);
}

Entry* find_by_walk(ThreadState& thread, Entry* top, const MachineState& at,
                    const Learned& learned) {
  StackWalk walk(thread, at, false, learned.reads);
  Entry* entry = top;
  for (int i = 0; i < kWalkFrames; ++i) {
    // Entries between this frame and the previous one belong to neither, so they are dead.
    entry = filter_by_address(thread.current->gate, entry, walk.state().sp);
    if (is_gate(entry)) return entry;
    const format::Ref owner = thread.session->code_map.function_at(walk.code_address());
    if (Entry* own = entry_of_frame(thread, entry, owner, walk)) {
      // That code without a hook is a part of a function depends on what called it, too.
      if (learned.reads != nullptr && !has_hook(thread, owner)) learned.reads->decide = false;
      return own;
    }
    // Older entries may have decided that it has none. The first frame is the callee's.
    if (i > 0 && learned.reads != nullptr && has_hook(thread, owner)) learned.reads->decide = false;
    if (!walk.next()) break;
    const MachineState& state = walk.state();
    Interrupted* interrupted = learned.interrupted;
    if (interrupted != nullptr && walk.is_interrupted() && state.registers != nullptr) {
      interrupted->is_known = true;
      if (is_in_hook(thread, state.pc)) {
        interrupted->is_hook = true;
        interrupted->word = state.registers[arch::kGregPushed];
      }
    }
  }
  if (learned.reads != nullptr) learned.reads->decide = false;
  return entry;
}

Entry* find_owner(const ThreadState& thread, Entry* top, format::Ref owner) {
  if (!always_has_entry(thread, owner) || thread.session->code_map.is_leaf(owner)) return nullptr;
  Entry* newest_of_frame = top;
  int steps = 0;
  for (Entry* entry = top; !is_gate(entry) && steps < kProofDepth; --entry, ++steps) {
    if (entry->frame != newest_of_frame->frame) newest_of_frame = entry;
    if (is_entry_of(thread, entry, owner)) return newest_of_frame;
  }
  return nullptr;
}

Entry* without_left_behind(Entry* top) {
  Entry* entry = top;
  while (is_inlined(entry)) --entry;
  return top - entry > kInlinedDepth ? entry : top;
}

Entry* find_host(ThreadState& thread, Entry* top, Frame frame, format::Ref function,
                 std::uint64_t hook_return) {
  const format::Ref body = thread.session->code_map.function_at(hook_return - 1);
  if (body == 0 || body == function || is_gate(top)) return nullptr;
  // A part elsewhere (.cold), or a clone, has no hook; its first hooked callee revealed its frame.
  const bool same_frame = top->frame == frame;
  if (!has_hook(thread, body)) return same_frame ? top : nullptr;
  Entry* host = find_owner(thread, top, body);
  return host && same_frame ? top : host;
}

Stack* stack_of_top(const ThreadState& thread) {
  Stack* current = thread.current;
  if (current != &thread.signal_stack) return current;
  const Entry* top = thread.hot->top;
  const bool is_there = top >= current->gate && top < current->limit + kSlackEntries;
  return is_there ? current : const_cast<Stack*>(&thread.main_stack);
}

void follow_top(ThreadState& thread) {
  Stack* stack = stack_of_top(thread);
  if (stack == thread.current) return;
  thread.current = stack;
  thread.hot->limit = stack->limit;
}

namespace {

// The entry of the function that a signal has interrupted whose handler runs on another stack, from
// where the machine state `at` is.
__attribute__((noinline)) Entry* find_interrupted(ThreadState& thread, const MachineState& at) {
  Entry* top = thread.hot->top;
  StackWalk walk(thread, at);
  for (int i = 0; i < kWalkFrames; ++i) {
    if (!walk.next()) return top;
    const MachineState& state = walk.state();
    if (!walk.is_interrupted() || !thread.current->contains(state.sp)) continue;
    const Entry* gate = thread.current->gate;
    if (top < gate || is_gate(top)) return top;
    return find_by_walk(thread, filter_by_address(gate, top, state.sp), state);
  }
  return top;
}

}  // namespace

bool switch_stack(ThreadState& thread, std::uint64_t address, const MachineState& at) {
  if (thread.current->contains(address)) return false;
  Stack* other = thread.current == &thread.main_stack ? &thread.signal_stack : &thread.main_stack;
  if (!other->contains(address) || other->gate == nullptr) return false;
  thread.current->saved_top = thread.hot->top;
  if (other == &thread.signal_stack) {
    // A handler's first function: a child of the function that the signal interrupted.
    other->base = node_of(thread, find_interrupted(thread, at));
    other->saved_top = other->gate;
  }
  thread.current = other;
  thread.hot->top = other->saved_top;
  thread.hot->limit = other->limit;
  return true;
}

Entry* prove_caller(ThreadState& thread, Entry* top, Frame frame, std::uint64_t site,
                    const MachineState& at, const Learned& learned) {
  follow_top(thread);
  const bool same_stack = thread.current->contains(frame + FRAME_BIAS);
  if (!is_gate(top)) {
    const format::Ref owner = thread.session->code_map.function_at(site - 1);
    // The function whose code the top entry runs: its own, or that of the frame it shares.
    const Entry* native = native_below(top);
    if (is_gate(native) || is_entry_of(thread, native, owner) || is_entry_of(thread, top, owner)) {
      if (learned.is_in_tops_code != nullptr) *learned.is_in_tops_code = true;
      return top;
    }
    if (Entry* found = find_owner(thread, top, owner)) return found;
    if (same_stack) {
      return always_has_entry(thread, owner) ? top : find_by_walk(thread, top, at, learned);
    }
  } else if (same_stack) {
    return top;
  }
  if (!switch_stack(thread, frame + FRAME_BIAS, at)) return top;
  Entry* entry = thread.hot->top;
  while (entry->frame <= frame) --entry;
  return is_gate(entry) ? entry : prove_caller(thread, entry, frame, site, at, learned);
}

}  // namespace fbleprof::signal_safe
