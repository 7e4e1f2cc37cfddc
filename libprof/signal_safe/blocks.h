// The calls of the C API that change the shadow stack or charge ticks; fbleprof/fbleprof.h has
// their contracts. fbleprof_enter and fbleprof_leave are in hooks.S.
//
// A block's entry has the frame of the entry below it, so it lives until the program leaves it or
// until the native function around it ends. Calls that end or replace blocks act on the newest
// block. Entries of native functions above it are either dead, or of a function with hooks that
// wraps the call; they stay in place.
//
// All functions: any thread, signal handlers included; no allocation; no system call.
#pragma once

#include <cstddef>
#include <cstdint>

#define FBLEPROF_CALL extern "C" __attribute__((visibility("default")))

FBLEPROF_CALL void fbleprof_enter(std::uint32_t block);
FBLEPROF_CALL void fbleprof_enter_from(std::uint32_t block, std::uint32_t place);
FBLEPROF_CALL void fbleprof_enter_all(const std::uint32_t* blocks, std::size_t count);
FBLEPROF_CALL void fbleprof_redo(std::uint32_t block);
FBLEPROF_CALL void fbleprof_leave(std::uint32_t block);
FBLEPROF_CALL void fbleprof_leave_newest();
FBLEPROF_CALL void fbleprof_replace(std::uint32_t block);
FBLEPROF_CALL void fbleprof_replace_below(std::uint32_t block);
FBLEPROF_CALL std::uint64_t fbleprof_mark();
FBLEPROF_CALL void fbleprof_rewind(std::uint64_t mark);
FBLEPROF_CALL void fbleprof_tick(std::uint64_t count);
FBLEPROF_CALL std::uint64_t* fbleprof_tick_counter();

namespace fbleprof::signal_safe {

struct ThreadState;
struct Entry;
struct HookState;
using Frame = std::uint64_t;

// The entry in whose context a function of the API was called: `frame` is the function's own, `at`
// the state at its return.
Entry* caller_of_api(ThreadState& thread, Frame frame, const HookState& at);

}  // namespace fbleprof::signal_safe

// In a function of the API: its own frame, as hooks.S forms it, and the state at its return.
#define FBLEPROF_OWN_FRAME (reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()) - 8 - FRAME_BIAS)
#define FBLEPROF_RETURN_STATE                                          \
  {                                                                    \
    reinterpret_cast<std::uint64_t>(__builtin_return_address(0)),      \
        reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()),        \
        *static_cast<const std::uint64_t*>(__builtin_frame_address(0)) \
  }
