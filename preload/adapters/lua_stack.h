// The functions of scripts on a thread's stack, as the recorder's handler reads them at a sample:
// nothing is installed in Lua, which runs as without us.
//
// A coroutine's calls are a list that begins in its lua_State. Which coroutine runs stands in no
// variable; but one that waits for another was left by coroutine.resume, which has the other one as
// its first argument, or by the function that coroutine.wrap made, which has it as an upvalue. So
// the way leads from the main thread down to the coroutine that runs. Every read may meet memory
// that is in the middle of a change or gone, and goes through fbleprof_peek.
//
// Lua's names for functions are not kept anywhere: Lua finds them in the caller's code. So when the
// handler meets a new function, it sets a hook, which Lua allows a signal handler to do. The hook
// runs before the next instruction, asks Lua for the names, and is gone.
#pragma once

#include "adapters/lua_api.h"
#include "adapters/recorder.h"

namespace fbleprof::adapters {

// Finds Lua's loop, and compares what the adapter reads with what the API says: runs a line of Lua
// in `main`, its main thread. Null: they differ.
const void* find_loop(lua_State* main);

// Registers the C functions of all loaded modules, by the modules' names for them.
void name_c_functions(lua_State* state);

class LuaStack {
 public:
  // A main thread, which this thread runs.
  void add(lua_State* main);
  void remove(lua_State* main);

  // A reader of fbleprof_read_stack: in the handler.
  int read(void* state, fbleprof_frame* frame);

  // `ask` is the hook that the handler sets; it is to call learn_names.
  void ask_by(LuaHook ask) { ask_ = ask; }

  // Asks Lua for the names of the functions that run in `state` and in those that wait for it. Not
  // in handlers.
  void learn_names(lua_State* state);

 private:
  static constexpr int kMostMains = 8, kMostCoroutines = 64, kMostOldest = 256, kKnown = 512;

  // How far the reader is; in the recorder's memory, which is zeroed.
  struct Reading {
    bool has_begun, is_at_oldest;
    int coroutine;  // of chain_
    std::uint32_t frames;
    std::uint32_t oldest_left;  // of oldest_
    const char* call;
  };
  static_assert(sizeof(Reading) <= 128);

  struct Known {
    const char* prototype;
    const char* source;
    int line;
    fbleprof_block block;
  };

  void find_chain();
  const char* waits_for(const char* state);
  bool next_call(Reading& reading);
  bool is_programs_own(const Reading& reading) const;
  bool skip_middle(Reading& reading);
  fbleprof_block block_of(const char* closure);
  bool describe(const char* call, int coroutine, fbleprof_frame* frame);
  void ask_for_names(char* running);

  const char* mains_[kMostMains];
  int main_count_;
  const char* chain_[kMostCoroutines];  // from the main thread to the coroutine that runs
  int chain_count_;
  const char* oldest_[kMostOldest];  // calls of one coroutine that stand before those left out
  LuaHook ask_;
  int is_asking_;  // for how many samples
  bool has_unnamed_;
  Known known_[kKnown];
};

}  // namespace fbleprof::adapters
