// Maps functions of LuaJIT to their blocks. As for other versions of Lua, a function of a script is
// its prototype, whatever names it is called by, and its key is a hash of what was compiled. A
// function of C is its address.
#pragma once

#include "adapters/lua_api.h"
#include "adapters/lua_prototypes.h"
#include "adapters/luajit_memory.h"
#include "adapters/luajit_names.h"
#include "adapters/recorder.h"

namespace fbleprof::adapters::luajit {

// Registers the C functions of all loaded modules, by the names that the modules give them. Not in
// handlers.
void name_c_functions(lua_State* state);

// A thread's table of known functions.
class Functions {
 public:
  // The block of the function that `call` calls; 0: it cannot be read, or there is no space. May
  // run in the handler.
  fbleprof_block block_of(const Call& call);

  // A Lua has ended: others may get the addresses of its functions.
  void forget() {
    for (Known& known : known_) known = {};
  }

 private:
  static constexpr int kKnown = 512;
  struct Known {
    Address prototype, source;
    std::uint32_t instructions;
    std::int32_t line;
    fbleprof_block block;
    int tries;          // left to find its name
    std::uint64_t sum;  // of its beginning: all else may be that of a dead one
  };

  fbleprof_block block_of_c(const Call& call, const RawFunction& function);
  fbleprof_block block_of_lua(const Call& call, const RawFunction& function);

  Known known_[kKnown];
  Places places_;
};

}  // namespace fbleprof::adapters::luajit
