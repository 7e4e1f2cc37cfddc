#include "adapters/luajit_stack.h"

#include <string.h>

#include <bit>

namespace fbleprof::adapters {

using namespace luajit;  // NOLINT: all of this file is about its memory

namespace {

// Two places of the global state: what LuaJIT does and its main thread, and the running coroutine.
struct MainInGlobal {
  std::int32_t state, unused;  // the number of the running trace, or one of those below
  Address main;
};
struct RunningInGlobal {
  Address running, compiled_base;  // the stack of compiled code, while it runs
};
std::size_t main_in_global, running_in_global;
constexpr std::int32_t kInInterpreter = -1, kInFunctionOfC = -2;

// How far the interpreter's own helpers extend its frame.
constexpr Address kHelperBytes = 16;

// Of gregs in ucontext_t.
constexpr int kRbp = 10, kRdx = 12, kRsp = 15, kRip = 16;

bool read_thread(Address at, RawThread* thread) {
  return peek(at, thread) && thread->header.kind == kIsThread;
}

Address machine_frame_of(const RawThread& thread) { return thread.machine_frame & ~kFrameFlags; }

// Whether a function's slots begin at `base`.
bool is_base(const RawThread& thread, Address base) {
  Address function;
  RawFunction raw;
  return base % 8 == 0 && base > thread.stack + 8 && base < thread.stack_end &&
         read_function(base - 8, &function, &raw);
}

// The newest function's first slot, where no compiled code runs. The interpreter keeps it in rdx.
// Before it calls C, it mostly stores it in the thread; when it calls libm, it keeps it in rbp.
Address base_in_registers(const RawThread& thread, const std::uint64_t* registers,
                          std::int32_t state) {
  const Address sp = registers[kRsp], frame = machine_frame_of(thread);
  if (sp > frame || state != kInInterpreter) return thread.base;
  const Address base = registers[sp + kHelperBytes >= frame ? kRdx : kRbp];
  return is_base(thread, base) ? base : thread.base;
}

// -- The check at the start --

bool find_fields(Address global, Address main, Address running) {
  constexpr std::size_t kMostBytes = 1024;
  main_in_global = running_in_global = 0;
  for (std::size_t at = 0; at < kMostBytes; at += 8) {
    struct {
      std::uint64_t words[2];
    } here;
    if (!peek(global + at, &here)) return false;
    const auto of_main = std::bit_cast<MainInGlobal>(here);
    const auto of_running = std::bit_cast<RunningInGlobal>(here);
    if (main_in_global == 0 && of_main.main == main && of_main.state == kInFunctionOfC) {
      main_in_global = at;
    }
    if (main_in_global != 0 && of_running.running == running && of_running.compiled_base == 0) {
      running_in_global = at;
    }
  }
  return main_in_global != 0 && running_in_global != 0;
}

struct Check {
  lua_State* main;
  LuaJitStack* stack;
  const void* loop;
};
Check* running_check;

int look(lua_State* state) {
  const void* found[2];
  callers(found, 2);
  Check& check = *running_check;
  if (check.stack->is_as_told(state, check.main)) check.loop = found[1];
  return 0;
}

const char* read_line(lua_State*, void* line, std::size_t* size) {
  auto** text = static_cast<const char**>(line);
  const char* now = *text;
  *size = now ? strlen(now) : 0;
  *text = nullptr;
  return now;
}

}  // namespace

bool LuaJitStack::is_as_told(lua_State* state, lua_State* main) {
  alignas(8) char debug[512] = {};  // lua_Debug has some 100 bytes
  RawThread thread;
  if (!read_thread(address(state), &thread) || lua.getstack(state, 1, debug) == 0 ||
      !find_fields(thread.global, address(main), address(state))) {
    return false;
  }
  lua.getinfo(state, "f", debug);
  const Address line = address(lua.topointer(state, -1));
  lua.settop(state, -2);
  Reading reading{};
  Frame ours, caller;
  if (!begin_in(address(main), reading) || !next_frame(reading, &ours)) return false;
  const Call call = call_of(reading, ours);
  RawFunction function;
  RawPrototype prototype;
  Source source;
  Name name;
  return call.caller == line && next_frame(reading, &caller) && caller.function == line &&
         peek(line, &function) && is_of_lua(function) && peek(prototype_of(function), &prototype) &&
         prototype.line == 0 && source.read(reinterpret_cast<const char*>(prototype.source)) &&
         strcmp(source.bytes, "=fbleprof") == 0 && called_name(call, &name) &&
         strcmp(name.text, "f") == 0;
}

const void* find_loop(lua_State* main, LuaJitStack* stack) {
  constexpr char kLine[] = "local f = ... f()";
  const int top = lua.gettop(main);
  const char* text = kLine;
  Check check{main, stack, nullptr};
  running_check = &check;
  lua_State* coroutine = lua.newthread(main);
  if (lua.load(coroutine, read_line, &text, "=fbleprof", "t") == 0) {
    lua.pushcclosure(coroutine, look, 0);
    lua.resume(coroutine, 1);
  }
  lua.settop(main, top);
  return check.loop;
}

bool LuaJitStack::begin_in(Address main, Reading& reading) {
  RawThread thread;
  MainInGlobal of_main;
  RunningInGlobal now;
  if (!read_thread(main, &thread)) return false;
  const Address global = thread.global;
  if (!peek(global + main_in_global, &of_main) || of_main.main != main ||
      !peek(global + running_in_global, &now) || !read_thread(now.running, &thread) ||
      thread.global != global || machine_frame_of(thread) == 0) {
    return false;
  }
  const std::uint64_t* registers = interrupted_registers();
  const Address sp = registers ? registers[kRsp] : address(__builtin_frame_address(0));
  Address base = thread.base;
  reading.thread = now.running;
  reading.machine_frame = machine_frame_of(thread);
  if (now.compiled_base != 0) {
    base = now.compiled_base;
    // The collector of garbage, called by compiled code, hides the number.
    if (of_main.state > 0) {
      const Address pc = registers ? registers[kRip] : 0;
      traces_.read(global, static_cast<std::uint32_t>(of_main.state), pc, sp, reading.machine_frame,
                   &inlined_);
    }
  } else if (registers) {
    base = base_in_registers(thread, registers, of_main.state);
  }
  reading.link = base - 8;
  return true;
}

// In the newest main thread that runs, if one runs within another's call.
bool LuaJitStack::begin(Reading& reading) {
  inlined_.count = 0;
  inlined_.below = 0;
  for (int i = mains_.count(); i-- > 0;) {
    if (begin_in(address(mains_[i]), reading)) return true;
  }
  return false;
}

// Goes to the coroutine that waits for this one: the interpreter's frame that resumed it is right
// above its own on the machine stack.
bool LuaJitStack::go_to_waiting(Reading& reading) const {
  const Address frame = reading.machine_frame + kFrameBytes;
  Address waiting = 0;
  RawThread now, then;
  if (!peek(frame + kThreadInFrame, &waiting) || waiting == reading.thread ||
      !read_thread(waiting, &then) || !read_thread(reading.thread, &now) ||
      then.global != now.global || machine_frame_of(then) != frame) {
    return false;
  }
  reading.thread = waiting;
  reading.machine_frame = frame;
  reading.link = then.base - 8;
  return true;
}

// Moves on to the next function, newest first. False: there is none, or it cannot be read.
bool LuaJitStack::next_frame(Reading& reading, Frame* frame) const {
  constexpr std::uint32_t kMostFrames = 1 << 20;  // a list may lead back to itself
  RawThread thread;
  while (++reading.frames < kMostFrames && read_thread(reading.thread, &thread)) {
    if (reading.link <= thread.stack + 8) {
      if (go_to_waiting(reading)) continue;
      reading.is_at_end = true;
      return false;
    }
    Address function = 0, previous = 0;
    std::uint64_t link = 0;
    if (!peek(reading.link, &link) || !peek(reading.link - 8, &function)) return false;
    const std::uint64_t distance = distance_to_caller(link);
    if (distance == 0) return false;
    *frame = {object_of(function), function, reading.link, link, reading.machine_frame};
    reading.link -= distance;
    if (type_of(link) == Link::kFromC &&
        peek(reading.machine_frame + kPreviousInFrame, &previous) &&
        (previous & ~kFrameFlags) != 0) {
      reading.machine_frame = previous & ~kFrameFlags;
    }
    // A function with variable arguments has two frames, and some frames have no function.
    if (type_of(link) != Link::kVarArgs && frame->function != reading.thread) return true;
  }
  return false;
}

// `reading`: after the frame.
Call LuaJitStack::call_of(const Reading& reading, const Frame& frame) const {
  Call call{0, 0, 0, frame.function};
  RawFunction caller;
  if (type_of(frame.link) != Link::kFromLua || !read_function(reading.link, &call.caller, &caller))
    return call;
  call.site = frame.link;
  call.caller_base = reading.link + 8;
  return call;
}

// The functions that compiled code has in itself.
bool LuaJitStack::read_inlined(Reading& reading, fbleprof_frame* frame) {
  if (reading.inlined == inlined_.count) return false;
  const InlinedFrame& now = inlined_.frames[reading.inlined++];
  Call call{now.site, 0, 0, now.function};
  RawFunction below;
  if (reading.inlined != inlined_.count) {
    call.caller = inlined_.frames[reading.inlined].function;
  } else if (inlined_.below != 0) {
    call.caller = inlined_.below;
  } else if (!read_function(reading.link, &call.caller, &below)) {
    call.site = 0;
  }
  frame->block = functions_.block_of(call);
  frame->mark = reading.machine_frame;
  frame->goes_on = FBLEPROF_IN_LOOP;
  return true;
}

int LuaJitStack::read(void* state, fbleprof_frame* to) {
  auto& reading = *static_cast<Reading*>(state);
  *to = {};
  const bool is_first = !reading.has_begun;
  reading.has_begun = true;
  if (is_first && !begin(reading)) {
    reading.is_at_end = true;
    return 0;
  }
  if (reading.is_at_end) return 0;
  if (read_inlined(reading, to)) return 1;
  const bool is_newest = reading.frames == 0;
  Frame frame;
  if (!next_frame(reading, &frame)) return reading.is_at_end ? 0 : -1;
  Call call = call_of(reading, frame);
  if (is_newest && inlined_.below != 0) {
    call.callee = inlined_.below;
    call.site = 0;  // which function was called there is not known any more
  }
  to->block = functions_.block_of(call);
  to->mark = frame.machine_frame;
  to->goes_on = FBLEPROF_IN_LOOP;
  to->place[0] = frame.at;
  to->value[0] = frame.link;
  to->place[1] = frame.at - 8;
  to->value[1] = frame.value;
  return 1;
}

}  // namespace fbleprof::adapters
