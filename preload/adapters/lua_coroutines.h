// The coroutines that a thread runs, each with the calls that the hooks saw and the context of the
// C API for them.
//
// A call ends when Lua reports it, or when a later event shows that it must have ended: errors end
// calls without a report. Every event names its CallInfo and the caller's, and calls above the
// caller have ended.
#pragma once

#include <cstdint>

#include "adapters/lua_api.h"
#include "adapters/recorder.h"

namespace fbleprof::adapters {

struct LuaCall {
  const CallInfo* info;
  std::uint32_t block;
};

// The main thread of a Lua state, or a coroutine.
struct Coroutine {
  lua_State* state;
  const void* global;         // see kGlobalOfState
  Coroutine* next;            // in its bucket
  fbleprof_context* context;  // null: the thread's own stack, or none
  bool is_first;              // runs on the thread's own stack
  LuaCall* calls;
  std::uint32_t count, capacity;
  std::uint64_t mark;  // without a context: the depth below its blocks

  bool is_empty() const { return count == 0; }
  LuaCall& newest() { return calls[count - 1]; }

  // Ends the newest calls down to `info`, which stays; all calls, if `info` is not among them.
  void end_above(const CallInfo* info) {
    while (count != 0 && newest().info != info) fbleprof_leave(calls[--count].block);
  }
  // Ends the call of `info` and all above it. Does nothing if `info` is not among them.
  void end(const CallInfo* info);
  void enter(const CallInfo* info, std::uint32_t block) {
    if (count == capacity && !grow()) return;
    calls[count++] = {info, block};
    fbleprof_enter(block);
  }
  bool grow();
};

class Coroutines {
 public:
  Coroutine* current() const { return current_; }

  // The coroutine of `state`; made if it is new. Null: there is no memory.
  Coroutine* of(lua_State* state);

  // The thread continues in `state`. `is_new`: with its first call, so a known coroutine at that
  // address has ended. Null: there is no memory.
  Coroutine* switch_to(lua_State* state, bool is_new);

  // A Lua has been closed: forgets its coroutines, but for the one of the thread's own stack.
  void forget(const void* global);

  // The thread ends, and does not use this any more.
  void free_memory();

 private:
  static constexpr std::uint32_t kPooled = 64;

  void leave_current();
  void grow();
  fbleprof_context* take_context();
  void give_back_context(Coroutine& from);

  Coroutine** buckets_ = nullptr;
  std::uint32_t bucket_count_ = 0, count_ = 0;
  Coroutine* current_ = nullptr;
  bool has_first_ = false;
  fbleprof_context* pool_[kPooled];
  std::uint32_t pooled_ = 0;
};

}  // namespace fbleprof::adapters
