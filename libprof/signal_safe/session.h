// What all threads share while a program is profiled. Plain data, constant-initialised: hooks may
// run before our constructor and after our destructor.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/word.h"
#include "format/format.h"
#include "signal_safe/arena.h"
#include "signal_safe/call_tree.h"
#include "signal_safe/code_map.h"
#include "signal_safe/options.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

struct ThreadState;

// Nanoseconds of the calling thread's CPU clock and of the monotonic clock.
std::uint64_t thread_cpu_ns();
std::uint64_t monotonic_ns();

// What tells the time: the system, or a test.
struct Clocks {
  std::uint64_t (*cpu_ns)() = thread_cpu_ns;
  std::uint64_t (*wall_ns)() = monotonic_ns;
};

struct Session {
  Arena arena;
  Pages pages;
  CodeMap code_map;
  Options options;
  TreeBasis trees;
  Clocks clocks;
  std::uint64_t start_monotonic_ns = 0;

  // Functions of special nodes that are not a tree's own.
  format::Ref unwound = 0, truncated = 0;

  std::atomic<std::uint32_t> block_count{0};
  // The record of a block, asked for by its number: 0 is none, as is what was never named.
  format::Ref function_of_block(std::uint32_t block) const {
    return block != 0 && block < arch::kNoBlock ? code_map.block(block) : 0;
  }

  // Makes an empty profile in `file`, whose header is written. False: there is no memory.
  bool start(char* file, std::uint64_t cap_bytes, std::uint64_t populated_bytes,
             const Options& with, CodeSource code = {});

  // False while stopped: the slow path then records nothing.
  std::atomic<bool> recording{false};
  // How often all edge caches were emptied, as code was unloaded. Counted before they are.
  std::atomic<std::uint32_t> caches_emptied{0};

  // The program forbade itself to read the time-stamp counter (PR_SET_TSC), which libc's
  // clock_gettime does: clocks are read by system call.
  std::atomic<bool> clocks_by_system_call{false};

  // Text of this library: a sample in it is our own cost.
  std::uint64_t text_begin = 0, text_end = 0;

  // Supplied by the capture layer, which may use more of the system than this layer.
  // A thread's first hook: gives it a state or marks it as not to be profiled.
  void (*attach_thread)() = nullptr;
  // First slow path in a process that was forked without our fork handler: leaves `thread` attached
  // to a profile of the new process's own, or detached.
  void (*adopt_forked_child)(ThreadState* thread) = nullptr;
};

// The one of this process. Hooks find it through their thread; tests make others.
extern Session session;

}  // namespace fbleprof::signal_safe

extern "C" {
// Whether a thread that no wrapper of ours started may be attached at its first hook.
extern std::uint8_t fbleprof_attach_lazily __attribute__((visibility("hidden")));
// Calls function(argument) with all vector registers kept: foreign code, from a hook.
long fbleprof_preserving_vectors(long (*function)(void*), void* argument)
    __attribute__((visibility("hidden")));
// The hooks' text.
extern const char fbleprof_hooks_begin[] __attribute__((visibility("hidden")));
extern const char fbleprof_hooks_end[] __attribute__((visibility("hidden")));
}
