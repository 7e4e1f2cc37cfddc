// The name of a function of LuaJIT, as its caller's code tells it. LuaJIT finds names in the same
// way, but takes a function that was tail-called for the one that called it. So where the value
// that the caller named can still be found, it must be the function.
//
// All functions may run in the handler: they read by fbleprof_peek, and are bounded.
#pragma once

#include "adapters/luajit_memory.h"

namespace fbleprof::adapters::luajit {

// A call from Lua code.
struct Call {
  Address site;         // where the caller goes on
  Address caller;       // its function
  Address caller_base;  // its first slot; 0: not on Lua's stack
  Address callee;       // the function
};

// A name, cut to the available room: handlers have little stack.
struct Name {
  char text[64] = {};
};

// Finds the name by which the caller calls the function. False: it has none there.
bool called_name(const Call& call, Name* name);

}  // namespace fbleprof::adapters::luajit
