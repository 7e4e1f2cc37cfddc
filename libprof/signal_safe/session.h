// The data that all threads share while a program is profiled. Plain data, constant-initialised,
// because hooks may run before our constructor and after our destructor.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/word.h"
#include "format/format.h"
#include "signal_safe/allocations.h"
#include "signal_safe/arena.h"
#include "signal_safe/call_rates.h"
#include "signal_safe/call_tree.h"
#include "signal_safe/code_map.h"
#include "signal_safe/options.h"
#include "signal_safe/pages.h"
#include "signal_safe/runtime_stack.h"
#include "signal_safe/trampolines.h"
#include "signal_safe/wakers.h"

namespace fbleprof::signal_safe {

struct Slot;
struct ThreadState;

// Nanoseconds of the calling thread's CPU clock and of the monotonic clock.
std::uint64_t thread_cpu_ns();
std::uint64_t monotonic_ns();

// The source of time: the system, or a test.
struct Clocks {
  std::uint64_t (*cpu_ns)() = thread_cpu_ns;
  std::uint64_t (*wall_ns)() = monotonic_ns;
};

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};
// Code of a few modules. One thread at a time adds to it; any may ask, handlers included.
class CodeRanges {
 public:
  bool add(std::uint64_t begin, std::uint64_t end) {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == kMost) return false;
    ranges_[count][0] = begin;
    ranges_[count][1] = end;
    count_.store(count + 1, std::memory_order_release);
    return true;
  }

  bool contains(std::uint64_t address) const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (address >= ranges_[i][0] && address < ranges_[i][1]) return true;
    }
    return false;
  }

 private:
  static constexpr std::uint32_t kMost = 4;
  std::uint64_t ranges_[kMost][2] = {};
  std::atomic<std::uint32_t> count_{0};
};

struct Session {
  Arena arena;
  Pages pages;
  CodeMap code_map;
  Options options;
  TreeBasis trees;
  Trampolines trampolines;
  Clocks clocks;
  Allocations allocations;
  Wakers wakers;
  Runtimes runtimes;
  std::uint64_t start_monotonic_ns = 0;
  // Identifies the file: a forked child has another one, in which its parent's nodes mean nothing.
  std::uint64_t this_file() const { return start_monotonic_ns; }

  // The function of a special node that is not a tree's own.
  format::Ref truncated = 0;

  std::atomic<std::uint32_t> block_count{0};
  // The record of a block, by its number; 0 for block 0 and for unknown numbers.
  format::Ref function_of_block(std::uint32_t block) {
    return block != 0 && block < arch::kNoBlock ? code_map.block(block) : 0;
  }

  // Makes an empty profile in `file`, whose header is already written. False: there is no memory.
  bool start(char* file, std::uint64_t cap_bytes, std::uint64_t populated_bytes,
             const Options& with, CodeSource code = {});

  // False while stopped: the slow path then records nothing.
  std::atomic<bool> recording{false};
  // When to turn recording on or off, on the monotonic clock; kNever: do not change it.
  std::atomic<std::uint64_t> due_ns{kNever};
  // Makes changes that are due, or requested in the file's header. Null: there never are any.
  // Called by samples, and by hooks while recording is off.
  void (*obey)() = nullptr;
  bool has_orders() const {
    if (!obey) return false;
    if (__atomic_load_n(&arena.header()->request, __ATOMIC_RELAXED) != format::Request::kNone) {
      return true;
    }
    const std::uint64_t due = due_ns.load(std::memory_order_relaxed);
    return due != kNever && clocks.wall_ns() >= due;
  }

  // The hooks' cache while recording is off: no call is found in it.
  Slot* empty_cache = nullptr;
  std::size_t empty_cache_slots = 0;  // a cache that hooks leave for it has no more

  // How often unloaded code emptied all edge caches. Incremented before they are emptied.
  std::atomic<std::uint32_t> caches_emptied{0};

  // Read clocks by system call: the program forbade itself to read the time-stamp counter
  // (PR_SET_TSC), which libc's clock_gettime does.
  std::atomic<bool> clocks_by_system_call{false};

  // The program has confined itself: any system call might end it.
  std::atomic<bool> is_confined{false};

  // Shows readers, and allocations, the time. It never goes back: a thread may be interrupted
  // between its look at the clock and this.
  void show_clock(std::uint64_t wall) {
    std::uint64_t* shown = &arena.header()->end_monotonic_ns;
    std::uint64_t before = __atomic_load_n(shown, __ATOMIC_RELAXED);
    while (before < wall && !__atomic_compare_exchange_n(shown, &before, wall, true,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }

  // The largest frame that the kernel makes for a signal.
  std::uint64_t signal_frame_bytes = 2048;

  // This library's code: a sample in it is our own cost.
  std::uint64_t text_begin = 0, text_end = 0;
  // The code of functions that the program calls in place of libc's, and that call these: its
  // frames are on no path.
  CodeRanges wrappers;
  CodeRanges adapters;  // their code counts as overhead
  // Both of these: it is on no path.
  bool is_own_code(std::uint64_t pc) const {
    return (pc >= text_begin && pc < text_end) || wrappers.contains(pc);
  }

  // For Options::throttle. Called by samples. Null: no hook can be taken back.
  Unhook unhook = nullptr;

  // The capture layer supplies these; it may use more of the system than this layer. On a thread's
  // first hook: gives the thread a state, or marks it as not to be profiled.
  void (*attach_thread)() = nullptr;
  // On the first slow path in a process that was forked without our fork handler: attaches `thread`
  // to the new process's own profile, or detaches it.
  void (*adopt_forked_child)(ThreadState* thread) = nullptr;
};

// While recording is off: whether this call turned it on, because that was due or requested. Keeps
// vector registers.
bool starts_recording(Session& session);
// Whether the caller may record. For hooks and the API.
inline bool is_recording(Session& session) {
  return session.recording.load(std::memory_order_relaxed) || starts_recording(session);
}

// The session of this process. Hooks find it through their thread; tests make their own.
extern Session session;

}  // namespace fbleprof::signal_safe

extern "C" {
// Attaches a thread that our wrappers did not start, at its first hook. Keeps vector registers.
// False: it has no self, and must not try again at once, for this is not the recorded process.
bool fbleprof_attach_slow() __attribute__((visibility("hidden")));
// Whether a thread that our wrappers did not start may be attached at its first hook.
extern std::uint8_t fbleprof_attach_lazily __attribute__((visibility("hidden")));
// Whether the processor saves its vector registers by xsave; otherwise by fxsave.
extern std::uint8_t fbleprof_has_xsave __attribute__((visibility("hidden")));
// Calls function(argument) and keeps all vector registers: for foreign code, from a hook.
long fbleprof_preserving_vectors(long (*function)(void*), void* argument)
    __attribute__((visibility("hidden")));
// The hook of rewritten functions, which their trampolines call.
extern const char fbleprof_exact_hook[] __attribute__((visibility("hidden")));
extern const char fbleprof_exact_hook_missed[] __attribute__((visibility("hidden")));
// The hook of those trampolines that only tail calls of one function reach.
extern const char fbleprof_tail_hook[] __attribute__((visibility("hidden")));
extern const char fbleprof_tail_hook_missed[] __attribute__((visibility("hidden")));
// The hook of functions with a patchable entry.
extern const char fbleprof_patched_hook[] __attribute__((visibility("hidden")));
extern const char fbleprof_patched_hook_missed[] __attribute__((visibility("hidden")));
// The hooks' text.
extern const char fbleprof_hooks_begin[] __attribute__((visibility("hidden")));
extern const char fbleprof_hooks_end[] __attribute__((visibility("hidden")));
}
