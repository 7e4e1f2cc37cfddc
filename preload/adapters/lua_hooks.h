// The program's own hooks, in whose place Lua has ours.
//
// What the program has set belongs to the lua_State: it holds in any thread that runs the state, a
// new coroutine inherits it, and it ends with the state, whose address others get. So the state
// itself keeps it, as Lua does:
// - The function: Lua has one of several hooks of ours, one for each function that the program has
//   ever set in any state. They are few, because hooks are C functions.
// - The mask: Lua stores a byte and reads its lower half. The upper half is the program's mask.
// - The count is Lua's own; we ask for no counts.
//
// All functions may run in a signal handler, as lua_sethook may.
#pragma once

#include "adapters/lua_api.h"

namespace fbleprof::adapters {

inline constexpr int kOurHooks = 16, kNoHook = -1;
inline constexpr int kMasks = 0xf, kProgramsMask = 4;  // the bits of Lua's masks; their place

class LuaHooks {
 public:
  // `ours`: kOurHooks functions. The first is for states without a hook of the program.
  explicit constexpr LuaHooks(const LuaHook* ours) : ours_(ours) {}

  // Gives the state our hook, with the program's behind it; null: with none. The program's alone,
  // if it has set too many functions.
  void set(lua_State* state, LuaHook programs, int mask, int count) const;

  // Leaves only the program's hook.
  void restore(lua_State* state) const {
    if (const int number = number_of(lua.gethook(state)); number != kNoHook) {
      lua.sethook(state, programs(number), mask_of(state), lua.gethookcount(state));
    }
  }

  // Which of ours the function is, or kNoHook.
  int number_of(LuaHook hook) const {
    for (int i = 0; i < kOurHooks; ++i) {
      if (ours_[i] == hook) return i;
    }
    return kNoHook;
  }

  // The program's hook behind one of ours, and its mask in a state that has one of ours.
  static LuaHook programs(int number) {
    return __atomic_load_n(&programs_[number], __ATOMIC_RELAXED);
  }
  static int mask_of(lua_State* state) { return lua.gethookmask(state) >> kProgramsMask & kMasks; }

 private:
  static int number_for(LuaHook programs);

  static LuaHook programs_[kOurHooks];
  const LuaHook* ours_;
};

}  // namespace fbleprof::adapters
