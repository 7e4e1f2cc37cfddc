// Functions of scripts that LuaJIT has compiled into the code of their callers.
//
// Compiled code (a trace) begins in one function and contains the calls that were made while it was
// recorded, so Lua's stack does not have those functions. But LuaJIT can leave a trace at many
// points, and then needs all frames: a snapshot for each point says which. The adapter reads the
// last snapshot before the sampled instruction.
//
// All functions may run in the handler: they read by fbleprof_peek, and are bounded.
#pragma once

#include "adapters/luajit_memory.h"

namespace fbleprof::adapters::luajit {

// A function of a trace.
struct InlinedFrame {
  Address function;
  Address site;  // where its caller goes on; 0: it was not called by Lua code
};

// The functions on top of Lua's stack that only the trace's code knows, newest first.
struct InlinedFrames {
  static constexpr int kMost = 32;
  InlinedFrame frames[kMost];
  int count = 0;
  Address below = 0;  // the function of Lua's newest frame, if another one has replaced it; else 0
};

class Traces {
 public:
  // Finds the trace `number` of the LuaJIT whose global state is at `global`, and its frames at the
  // point where its machine code was left or interrupted. `pc`: the interrupted instruction; the
  // words from `low` to `high` are searched for a return address if it is not in the trace.
  void read(Address global, std::uint32_t number, Address pc, Address low, Address high,
            InlinedFrames* frames);

 private:
  Address find(Address global, std::uint32_t number);

  Address global_ = 0;
  Address table_ = 0;  // where LuaJIT keeps the address of its table of traces
};

}  // namespace fbleprof::adapters::luajit
