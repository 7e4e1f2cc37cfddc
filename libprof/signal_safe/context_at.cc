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

// A left-out function does not count: no context is its.
bool has_hook(const ThreadState& thread, Ref function) {
  if (function == 0) return false;
  const auto* record = thread.session->arena.at<format::Function>(function);
  return (record->flags & (format::kFunctionHooked | format::kFunctionLeftOut)) ==
         format::kFunctionHooked;
}

// The newest entry that the address filter leaves. A handler on a signal stack may have returned,
// or run only code without hooks, so that no hook has set the current stack.
Place newest_at(const ThreadState& thread, std::uint64_t sp) {
  Stack* stack = thread.current;
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
Ground ground_of(const ThreadState& thread, const Place& place) {
  if (place.stack != &thread.main_stack || is_entry_of_block(place.entry)) return {};
  return {place.entry,        place.entry->frame,
          place.entry->word,  node_of(thread, place),
          thread.tree.root(), thread.session->code_map.epoch()};
}

// The other rules would make a context of each frame.
bool may_be_deep(const ThreadState& thread) {
  return thread.session->options.compaction == format::Compaction::kPair;
}

// Adds the function of a script to the walked frames; false if there is no more room.
bool add_script_frame(ThreadState& thread, std::uint32_t block) {
  Session& session = *thread.session;
  const Ref function = session.function_of_block(block);
  WalkedFrame* frame = thread.known.next(session.pages, may_be_deep(thread));
  if (frame) *frame = {0, 0, 0, function, 0};
  return frame != nullptr;
}

// Adds the functions of scripts that the walk's current frame runs.
bool add_script_frames(ThreadState& thread, RuntimeWalk& scripts, const StackWalk& walk) {
  scripts.visit(walk.code_address(), walk.state().sp, walk.return_slot());
  while (const std::uint32_t block = scripts.next_block()) {
    if (!add_script_frame(thread, block)) return false;
  }
  return true;
}

// Adds the script functions whose machine frame the walk did not meet.
bool add_other_script_frames(ThreadState& thread, RuntimeWalk& scripts) {
  while (const std::uint32_t block = scripts.rest()) {
    if (!add_script_frame(thread, block)) return false;
  }
  return true;
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
    const std::uint64_t sp = walk.state().sp;
    const bool is_on_stack = place.stack->contains(sp);
    // The caller of the first function on a separate stack is that stack's base.
    if (was_on_stack && !is_on_stack) break;
    was_on_stack = is_on_stack;
    if (session.is_wrapper(walk.code_address())) {
      if (!walk.next()) break;
      continue;
    }
    const Ref function = code.place_at(walk.code_address());
    if (is_on_stack) {
      // Entries between this frame and the previous one belong to neither, so they are dead.
      place.entry = filter_by_address(place.stack->gate, place.entry, sp);
      if (is_frame_of(thread, place.entry, function, walk)) {
        path.site_in_entry = walk.state().pc;
        return path;
      }
      if (Entry* own = entry_of_left_out(thread, place.entry, function, walk)) {
        place.entry = own;
        return path;
      }
    }
    const bool is_full = scripts.is_active() && !add_script_frames(thread, scripts, walk);
    WalkedFrame* frame = is_full ? nullptr : known.next(session.pages, is_deep);
    if (!frame) {
      path.is_known = false;
      return path;
    }
    *frame = {is_on_stack ? walk.pc_slot() : 0, walk.state().pc, walk.needed_fp(), function, 0};
    const bool is_block = is_entry_of_block(place.entry);
    const bool is_hidden = scripts.hides() || (is_block && scripts.is_loop(walk.code_address()));
    if (is_hidden && !session.options.runtime_frames) *frame = {};
    if ((is_block || (is_green && is_gate(place.entry))) && function != 0 &&
        code.is_entering(function)) {
      return path;
    }
    // Where scripts run, machine frames do not show everything.
    if (!scripts.is_active() && known.has_met(ground_of(thread, place))) {
      path.has_met = true;
      return path;
    }
    if (!walk.next()) {
      // The runtime's own list has the callers, even where the walk could not continue.
      path.is_known = walk.is_complete() || scripts.is_active();
      break;
    }
  }
  if (!add_other_script_frames(thread, scripts)) path.is_known = false;
  return path;
}

// The innermost frame of a function that has a hook, but no entry: it is about to run its hook, has
// run its exit hook, or its entry was lost. Its context is the counted one, which leaves out
// callers without hooks.
std::uint32_t innermost_hooked_frame(ThreadState& thread) {
  KnownStack& known = thread.known;
  for (std::uint32_t i = 0; i < known.walked(); ++i) {
    if (has_hook(thread, known.walked(i).function)) return i;
  }
  return known.walked();
}

}  // namespace

Ref counted_context_at(const ThreadState& thread, std::uint64_t sp) {
  return node_of(thread, newest_at(thread, sp));
}

Ref context_at(const BusyGuard& guard, ThreadState& thread, const MachineState& at,
               Reached reached) {
  Session& session = *thread.session;
  const bool is_return = reached == Reached::kByReturn;
  Place place = newest_at(thread, at.sp);
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
  RuntimeWalk scripts(session.runtimes);
  Path path = walk_to_entry(thread, place, walk, scripts);
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
  const Ground ground = ground_of(thread, place);
  const std::uint32_t frames = known.walked(), innermost_hooked = innermost_hooked_frame(thread);
  // Known contexts are sampled, and those above a hooked frame do not count.
  const bool has_hooked = innermost_hooked != frames;
  std::uint64_t site = path.site_in_entry;
  if (path.is_known ? path.has_met : known.confirms_oldest(ground, walk.state().sp)) {
    site = known.older().pc;
    if (!has_hooked) context = known.older().context;
  }
  if (!path.is_known) {
    step(session.truncated, 0);
    site = 0;
  }
  for (std::uint32_t i = frames; i-- > 0;) {
    WalkedFrame& frame = known.walked(i);
    if (i <= innermost_hooked || has_hook(thread, frame.function)) step(frame.function, site);
    frame.context = context;
    site = frame.pc;
  }
  if (scripts.is_active()) {
    known.forget();
  } else if (path.is_known && !has_hooked && ground.entry) {
    known.remember(ground);
  }
  return context;
}

void mark_entering_functions(ThreadState& thread, const MachineState& at) {
  CodeMap& code = thread.session->code_map;
  StackWalk walk(thread, at, true);
  for (int i = 0; i < kMarkedFrames; ++i) {
    const Ref function = code.place_at(walk.code_address());
    if (function == 0 || has_hook(thread, function)) return;
    code.mark_entering(function);
    if (!walk.next()) return;
  }
}

}  // namespace fbleprof::signal_safe
