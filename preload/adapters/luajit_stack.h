// Reads the functions of LuaJIT's scripts on a thread's stack, in the recorder's handler at a
// sample. Nothing is installed in LuaJIT, which interprets and compiles as without the profiler.
//
// LuaJIT's global state names the running coroutine and, while compiled code runs, that code
// (luajit_traces.h). In the interpreter, a register holds the place of the newest function's frame.
// One frame of the machine stack runs all functions up to one that C code called; compiled code
// runs in the same frame. Every read may meet memory that is changing or freed, and uses
// fbleprof_peek.
#pragma once

#include "adapters/lua_api.h"
#include "adapters/lua_mains.h"
#include "adapters/luajit_functions.h"
#include "adapters/luajit_memory.h"
#include "adapters/luajit_traces.h"
#include "adapters/recorder.h"

namespace fbleprof::adapters {

class LuaJitStack {
 public:
  // Adds a main thread, which this thread runs.
  void add(lua_State* main) { mains_.add(main); }
  void remove(lua_State* main) {
    mains_.remove(main);
    functions_.forget();
  }

  // A reader for fbleprof_read_stack; runs in the handler.
  int read(void* state, fbleprof_frame* frame);

  // Compares the memory that the reader reads with the API's answers. A function `f` that a line of
  // Lua called in a new coroutine of `main` must make this call, and return then. Not in handlers.
  bool is_as_told(lua_State* state, lua_State* main);

 private:
  // The reader's progress, in the recorder's memory, which is zeroed.
  struct Reading {
    bool has_begun;
    bool is_at_end;
    std::int32_t inlined;  // functions taken from inlined_
    std::uint32_t frames;
    luajit::Address thread, link, machine_frame;
  };
  static_assert(sizeof(Reading) <= 128);

  // One function on Lua's stack.
  struct Frame {
    luajit::Address function;
    std::uint64_t value;  // the slot that has it
    luajit::Address at;   // where its link is, behind that slot
    std::uint64_t link;
    luajit::Address machine_frame;
  };

  bool begin(Reading& reading);
  bool begin_in(luajit::Address main, Reading& reading);
  bool go_to_waiting(Reading& reading) const;
  bool next_frame(Reading& reading, Frame* frame) const;
  luajit::Call call_of(const Reading& reading, const Frame& frame) const;
  bool read_inlined(Reading& reading, fbleprof_frame* frame);

  MainThreads mains_;
  luajit::Traces traces_;
  luajit::InlinedFrames inlined_;
  luajit::Functions functions_;
};

// Finds LuaJIT's interpreter, and calls is_as_told. Null: this LuaJIT is not as expected. Not in
// handlers.
const void* find_loop(lua_State* main, LuaJitStack* stack);

}  // namespace fbleprof::adapters
