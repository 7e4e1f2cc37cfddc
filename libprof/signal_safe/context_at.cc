#include "signal_safe/context_at.h"

#include "signal_safe/live_rule.h"
#include "signal_safe/runtime_stack.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// How many functions around an entered block are marked: an adapter in a runtime's own hook is
// about five calls away from the interpreter's loop.
constexpr int kMarkedFrames = 8;

// A position in a shadow stack, which may not be the current one.
struct Place {
  Stack* stack;
  Entry* entry;
};

Ref node_of(const ThreadState& thread, const Place& place) {
  return is_gate(place.entry) ? place.stack->base : signal_safe::node_of(thread, place.entry);
}

// The newest entry that the address filter leaves. A handler on a signal stack may have returned,
// or run only code without hooks, so that no hook has set the current stack.
Place newest_at(const ThreadState& thread, std::uint64_t sp) {
  Stack* stack = stack_of_top(thread);
  Entry* top = thread.hot->top;
  if (!stack->contains(sp)) {
    auto* main = const_cast<Stack*>(&thread.main_stack);
    if (stack == main || !main->contains(sp) || main->gate == nullptr) return {stack, top};
    stack = main;
    top = main->saved_top;
  }
  return {stack, filter_by_address(stack->gate, top, sp)};
}

// A context of the C API runs on machine stacks of others: its bounds are the whole address space.
bool is_green_thread(const ThreadState& thread, const Stack* stack) {
  return stack == thread.current && thread.context != nullptr && stack->low == 0;
}

// Frames from the innermost to the one that the walk ended in, in thread.known.
struct Path {
  bool is_known = true;         // false: older frames are missing
  bool has_met = false;         // the last walk has the older frames
  std::uint64_t site_in_entry;  // where the entry's own code continues; 0: unknown
};

// The ground under the walked frames, if another walk can recognize it.
Ground ground_of(const ThreadState& thread, const Place& place, const RuntimeWalk& scripts) {
  if (place.stack != &thread.main_stack || is_entry_of_block(place.entry)) return {};
  return {place.entry,        place.entry->frame,
          place.entry->word,  node_of(thread, place),
          thread.tree.root(), thread.session->code_map.epoch(),
          scripts.is_active()};
}

// The other rules would make a context of each frame.
bool may_be_deep(const ThreadState& thread) {
  return thread.session->options.compaction == format::Compaction::kPair;
}

// Whether the walk goes on after a frame.
enum class Then { kGoOn, kMet, kFull };

// Adds the function of a script to the walked frames, and compares it with the last walk's.
Then add_script_frame(ThreadState& thread, const Place& place, const RuntimeWalk& scripts) {
  Session& session = *thread.session;
  const RuntimeFrame& taken = scripts.taken();
  KnownStack& known = thread.known;
  WalkedFrame* frame = known.next(session.pages, may_be_deep(thread));
  if (!frame) return Then::kFull;
  const Ref function = session.function_of_block(taken.block);
  *frame = taken.place[0] != 0 ? WalkedFrame::of_script(taken.place, taken.value, function)
                               : WalkedFrame{0, 0, 0, function, 0};
  return known.has_met(ground_of(thread, place, scripts)) ? Then::kMet : Then::kGoOn;
}

// Adds the functions of scripts that the walk's current frame runs.
Then add_script_frames(ThreadState& thread, const Place& place, RuntimeWalk& scripts,
                       const StackWalk& walk) {
  scripts.visit(walk.code_address(), walk.state().sp, walk.return_slot());
  Then then = Then::kGoOn;
  while (then == Then::kGoOn && scripts.next_block() != 0) {
    then = add_script_frame(thread, place, scripts);
  }
  return then;
}

// Adds the script functions whose machine frame the walk did not meet.
Then add_other_script_frames(ThreadState& thread, const Place& place, RuntimeWalk& scripts) {
  Then then = Then::kGoOn;
  while (then == Then::kGoOn && scripts.rest() != 0) {
    then = add_script_frame(thread, place, scripts);
  }
  return then;
}

// Ends a path at a frame after which the walk does not go on.
bool ends(Path& path, Then then) {
  path.is_known = path.is_known && then != Then::kFull;
  path.has_met = then == Then::kMet;
  return then != Then::kGoOn;
}

// Goes to the caller of the frame of `function`, which may be 0. False: the walk ends.
bool go_to_caller(const ThreadState& thread, StackWalk& walk, Ref function) {
  const bool by_frame_pointer = walk.needs_frame_pointer();
  if (!walk.next()) return false;
  if (by_frame_pointer && function != 0) {
    std::uint16_t* flags = &thread.session->arena.at<format::Function>(function)->flags;
    constexpr auto kMark = format::kFunctionLeftByFramePointer;
    // Most of these are marked already, and other threads read the line.
    if (!(__atomic_load_n(flags, __ATOMIC_RELAXED) & kMark)) {
      __atomic_fetch_or(flags, kMark, __ATOMIC_RELAXED);
    }
  }
  return true;
}

// Generated code without a table, in the frame of its runtime's loop: goes on as if the loop ran.
// The same for helpers of the loop that have its table, but a return address more on the stack.
void go_to_loop(StackWalk& walk, const RuntimeWalk& scripts) {
  std::uint64_t pc, sp;
  const MachineState& at = walk.state();
  if (scripts.runs_in_loop(at.sp, &pc, &sp) &&
      (walk.needs_frame_pointer() || (sp != at.sp && scripts.is_loop(walk.code_address())))) {
    walk.continue_at(pc, sp);
  }
}

// Walks from the innermost frame to that of the newest live entry, which it leaves in `place`.
Path walk_to_entry(ThreadState& thread, Place& place, StackWalk& walk, RuntimeWalk& scripts) {
  Path path;
  path.site_in_entry = 0;
  Session& session = *thread.session;
  CodeMap& code = session.code_map;
  KnownStack& known = thread.known;
  known.begin(thread.last_cpu_ns);
  const bool is_green = is_green_thread(thread, place.stack);
  const bool is_deep = may_be_deep(thread);
  bool was_on_stack = false;
  for (;;) {
    if (scripts.is_active()) go_to_loop(walk, scripts);
    const std::uint64_t sp = walk.state().sp;
    const bool is_on_stack = place.stack->contains(sp);
    // The caller of the first function on a separate stack is that stack's base.
    if (was_on_stack && !is_on_stack && !walk.has_changed_stack()) break;
    was_on_stack = is_on_stack;
    if (session.is_own_code(walk.code_address())) {
      if (!walk.next()) break;
      continue;
    }
    // A signal has interrupted the call of a hook. The function's own frame is the same one.
    const bool is_in_trampoline = session.trampolines.contains(walk.code_address());
    const Ref function = code.place_at(walk.code_address());
    if (is_on_stack) {
      // Entries between this frame and the previous one belong to neither, so they are dead.
      place.entry = filter_by_address(place.stack->gate, place.entry, sp);
      if (Entry* own = entry_of_frame(thread, place.entry, function, walk)) {
        place.entry = own;
        // The entry of a left-out function is its caller's, whose code this is not.
        if (!code.is_left_out(function) && !is_in_trampoline) {
          path.site_in_entry = walk.state().pc;
        }
        return path;
      }
    }
    if (is_in_trampoline) {
      if (!walk.next()) break;
      continue;
    }
    if (scripts.is_active() && ends(path, add_script_frames(thread, place, scripts, walk))) {
      return path;
    }
    WalkedFrame* frame = known.next(session.pages, is_deep);
    if (!frame) {
      path.is_known = false;
      return path;
    }
    *frame = {is_on_stack ? walk.pc_slot() : 0, walk.state().pc, walk.needed_fp(), function, 0};
    const bool is_block = is_entry_of_block(place.entry);
    const bool is_hidden = scripts.hides() || (is_block && scripts.is_loop(walk.code_address()));
    const bool is_shown = !is_hidden || session.options.runtime_frames;
    if (!is_shown) known.drop();
    if ((is_block || (is_green && is_gate(place.entry))) && function != 0 &&
        code.is_entering(function)) {
      return path;
    }
    if (is_shown && known.has_met(ground_of(thread, place, scripts))) {
      path.has_met = true;
      return path;
    }
    if (!go_to_caller(thread, walk, function)) {
      // The runtime's own list has the callers, even where the walk could not continue.
      path.is_known = walk.is_complete() || scripts.is_active();
      break;
    }
  }
  ends(path, add_other_script_frames(thread, place, scripts));
  return path;
}

// Whether functions of scripts are missing between the walked frames. A walk that met the last
// one's scripts has the others from there.
bool misses_scripts(KnownStack& known, const Path& path, const RuntimeWalk& scripts) {
  if (!scripts.is_cut()) return false;
  return !path.has_met || !known.walked(known.walked() - 1).is_script();
}

// About how many frames a walk left out between the frames that it saw, which end at `end`, and the
// oldest ones: a power of two, so that the tree stays bounded. 0: unknown.
std::uint64_t frames_left_out(KnownStack& known, std::uint64_t begin, std::uint64_t end) {
  const WalkedFrame& older = known.older();
  if (older.is_script() || older.slot <= end || end <= begin) return 0;
  const std::uint64_t frames = (older.slot - end) * known.walked() / (end - begin);
  std::uint64_t rounded = 64;
  if (frames < rounded) return 0;
  while (rounded <= frames / 2) rounded *= 2;
  return rounded;
}

// The innermost frame of a function that has a hook, but no entry: it is about to run its hook, has
// run its exit hook, or its entry was lost. Its context is the counted one, which leaves out
// callers without hooks.
std::uint32_t innermost_hooked_frame(ThreadState& thread) {
  KnownStack& known = thread.known;
  // All functions lost their entries where recording began below them, and which of them have hooks
  // is not known yet.
  if (__atomic_load_n(&thread.is_behind, __ATOMIC_RELAXED) != 0) return known.walked();
  for (std::uint32_t i = 0; i < known.walked(); ++i) {
    if (always_has_entry(thread, known.walked(i).function)) return i;
  }
  return known.walked();
}

}  // namespace

Ref counted_context_at(const ThreadState& thread, std::uint64_t sp) {
  return node_of(thread, newest_at(thread, sp));
}

Ref context_at(const BusyGuard& guard, ThreadState& thread, const MachineState& at, Reached reached,
               For purpose) {
  Session& session = *thread.session;
  const bool is_return = reached == Reached::kByReturn;
  Place place = newest_at(thread, at.sp);
  const bool is_for_entries = purpose == For::kEntries;
  while (is_for_entries && has_callers_context(thread, place.entry)) --place.entry;
  const Entry* native = native_below(place.entry);
  if (!is_gate(native) && place.stack->contains(at.sp)) {
    const Ref owner = session.code_map.function_at(at.pc - (is_return ? 1 : 0));
    if (is_entry_of(thread, native, owner)) return node_of(thread, place);
    if (Entry* found = find_owner(thread, place.entry, owner)) {
      return node_of(thread, {place.stack, found});
    }
  }
  const Place newest = place;
  StackWalk walk(thread, at, is_return);
  thread.interrupted_registers = is_return ? nullptr : at.registers;
  RuntimeWalk scripts(session.runtimes);
  Path path = walk_to_entry(thread, place, walk, scripts);
  thread.interrupted_registers = nullptr;
  // Such a stack must not be remembered: the next walks would take it for the whole one.
  if (misses_scripts(thread.known, path, scripts)) path.is_known = false;
  // The walk saw nothing that proves another entry, so the address filter decides.
  if (!path.is_known) place = newest;
  Ref context = node_of(thread, place);
  if (!is_gate(place.entry) && !session.options.native_below) return context;
  CallTree& tree = thread.tree;
  KnownStack& known = thread.known;
  auto step = [&](Ref function, std::uint64_t site) {
    if (function != 0)
      context = tree.enter(guard, context, function, site, format::kEdgeSampled).to;
  };
  const Ground ground = ground_of(thread, place, scripts);
  const std::uint32_t frames = known.walked(), innermost_hooked = innermost_hooked_frame(thread);
  // Known contexts are sampled, and those above a hooked frame do not count.
  const bool has_hooked = innermost_hooked != frames;
  std::uint64_t site = path.site_in_entry;
  std::uint64_t left_out = 0;
  if (path.is_known ? path.has_met : known.confirms_oldest(ground, walk.state().sp)) {
    if (!path.is_known) left_out = frames_left_out(known, at.sp, walk.state().sp);
    site = known.older().site();
    if (!has_hooked) context = known.older().context;
  }
  if (!path.is_known) {
    step(session.truncated, 0);
    if (left_out != 0) {
      step(session.code_map.function_with_key(left_out, format::FunctionKind::kTruncated), 0);
    }
    site = 0;
  }
  for (std::uint32_t i = frames; i-- > 0;) {
    WalkedFrame& frame = known.walked(i);
    if (i <= innermost_hooked || always_has_entry(thread, frame.function))
      step(frame.function, site);
    frame.context = context;
    site = frame.site();
  }
  if (path.is_known && !has_hooked && (ground.entry || is_for_entries)) known.remember(ground);
  return context;
}

void mark_entering_functions(ThreadState& thread, const MachineState& at) {
  CodeMap& code = thread.session->code_map;
  StackWalk walk(thread, at, true);
  for (int i = 0; i < kMarkedFrames; ++i) {
    const Ref function = code.place_at(walk.code_address());
    if (function == 0 || always_has_entry(thread, function)) return;
    code.mark_entering(function);
    if (!walk.next()) return;
  }
}

}  // namespace fbleprof::signal_safe
