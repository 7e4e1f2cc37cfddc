// Reads the functions of scripts on a thread's stack, in the recorder's handler at a sample.
// Nothing is installed in Lua, which runs as without the profiler.
//
// A coroutine's calls are a list that begins in its lua_State. No variable names the running
// coroutine. But a coroutine that waits for another was left by coroutine.resume, whose first
// argument is the other one, or by the function that coroutine.wrap made, which has the other one
// as an upvalue. So the reader goes from the main thread down to the running coroutine. Every read
// may meet memory that is changing or freed, and uses fbleprof_peek.
//
// Lua does not store names of functions: it finds them in the caller's code. So when the handler
// meets a new function, it sets a hook, which Lua allows a signal handler to do. The hook runs
// before the next instruction, asks Lua for the names, and removes itself.
#pragma once

#include "adapters/lua_api.h"
#include "adapters/lua_mains.h"
#include "adapters/lua_prototypes.h"
#include "adapters/recorder.h"

namespace fbleprof::adapters {

// Finds Lua's loop, and compares the memory that the adapter reads with the API's answers: runs a
// line of Lua in `main`, its main thread. Null: they differ.
const void* find_loop(lua_State* main);

// Registers the C functions of all loaded modules, by the names that the modules give them.
void name_c_functions(lua_State* state);

class LuaStack {
 public:
  // Adds a main thread, which this thread runs.
  void add(lua_State* main) { mains_.add(main); }
  // Its end: others may get the addresses of its functions.
  void remove(lua_State* main) {
    mains_.remove(main);
    for (Known& known : known_) known = {};
  }

  // A reader for fbleprof_read_stack; runs in the handler.
  int read(void* state, fbleprof_frame* frame);

  // `ask` is the hook that the handler sets; it must call learn_names.
  void ask_by(LuaHook ask) { ask_ = ask; }

  // Asks Lua for the names of the functions that run in `state` and in the coroutines that wait for
  // it. Not in handlers.
  void learn_names(lua_State* state);

 private:
  static constexpr int kMostCoroutines = 64, kKnown = 512;

  // The reader's progress, in the recorder's memory, which is zeroed.
  struct Reading {
    bool has_begun;
    int coroutine;  // of chain_
    std::uint32_t frames;
    const char* call;
  };
  static_assert(sizeof(Reading) <= 128);

  struct Known {
    Prototype prototype;
    fbleprof_block block;
  };

  void find_chain();
  const char* waits_for(const char* state);
  bool next_call(Reading& reading);
  bool is_programs_own(const Reading& reading) const;
  fbleprof_block block_of(const char* closure);
  bool describe(const char* call, int coroutine, fbleprof_frame* frame);
  void ask_for_names(char* running);

  MainThreads mains_;
  const char* chain_[kMostCoroutines];  // from the main thread to the running coroutine
  int chain_count_;
  LuaHook ask_;
  int is_asking_;     // for how many samples
  bool has_unnamed_;  // since Lua was last asked
  Known known_[kKnown];
  Places places_;
};

}  // namespace fbleprof::adapters
