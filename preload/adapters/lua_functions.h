// Maps functions of Lua to their blocks.
//
// A function is its prototype: the code that Lua compiled for one piece of the source, under any
// name. Prototypes are garbage collected, and so are chunks that a program compiles again and
// again. So a block's key is a hash of the source, the lines and the code, and a source that was
// compiled twice is one function. The prototype's address only speeds up the search for the block.
//
// A new prototype may differ in one constant from a dead one that had its address, and a comparison
// of all constants would take too long for a call. So each known prototype is marked: in the bit of
// its collector's byte that is free in Lua 5.2 to 5.4 (its own tests use it, and 5.4.0 in tables).
// The collector keeps this bit, and a new object does not have it.
#pragma once

#include <cstdint>

#include "adapters/lua_api.h"
#include "adapters/lua_prototypes.h"

namespace fbleprof::adapters {

// A thread's table of known functions.
class LuaFunctions {
 public:
  // The block of the function that `call` runs; `debug` is the hook's argument. 0: there is no
  // space. Registers a new function, with the name by which it is called. Only in hooks and other
  // calls from Lua.
  template <typename Debug>
  std::uint32_t block_of(lua_State* state, Debug* debug, const CallInfo* call);

  // Lua's memory layout is not as expected: record nothing more.
  bool is_wrong() const { return is_wrong_; }

  void free_memory();

 private:
  struct Known {
    const char* key;  // the prototype, or the code of a C function
    const char* source;
    int line;
    std::uint32_t block;
    std::uint32_t unnamed_calls;  // left until the name is not looked up any more
  };

  Known* find(const char* key);
  bool grow();
  template <typename Debug>
  std::uint32_t learn(lua_State* state, Debug* debug, const StackSlot& function, Known* known);

  Known* known_ = nullptr;
  std::uint32_t capacity_ = 0, used_ = 0;
  bool is_wrong_ = false;
  Places places_;
};

extern template std::uint32_t LuaFunctions::block_of(lua_State*, DebugOf52*, const CallInfo*);
extern template std::uint32_t LuaFunctions::block_of(lua_State*, DebugOf54*, const CallInfo*);

}  // namespace fbleprof::adapters
