#include "adapters/lua_hooks.h"

namespace fbleprof::adapters {

constinit LuaHook LuaHooks::programs_[kOurHooks] = {};

int LuaHooks::number_for(LuaHook programs) {
  if (!programs) return 0;
  for (int i = 1; i < kOurHooks; ++i) {
    LuaHook known = nullptr;
    if (__atomic_compare_exchange_n(&programs_[i], &known, programs, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) ||
        known == programs) {
      return i;
    }
  }
  return kNoHook;
}

void LuaHooks::set(lua_State* state, LuaHook programs, int mask, int count) const {
  mask &= kMasks;
  if (mask == 0) programs = nullptr;
  if (!programs) mask = 0;
  const int number = number_for(programs);
  if (number == kNoHook) return lua.sethook(state, programs, mask, count);
  lua.sethook(state, ours_[number], mask << kProgramsMask | mask | kMaskOfCalls, count);
}

}  // namespace fbleprof::adapters
