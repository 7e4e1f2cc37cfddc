// The stacks of runtimes: functions of scripts, which are not on the machine stack.
//
// An interpreter's loop is one function of the machine stack, and runs one or many functions of a
// script. The runtime's adapter gives us a function that reads the runtime's own list of them
// (fbleprof_read_stack), newest first, while the machine stack is walked from the same end. A
// script's function belongs to the machine frame that holds its mark, an address on the machine
// stack; if the runtime has no marks, each frame of the loop runs one function.
//
// The tree leaves out the loop, and the runtime's own functions between one script's function and
// the next. Otherwise the pair rule would fold at them: all calls from script to script take the
// same way through the runtime. It keeps the functions that scripts call, those that called the
// outermost script, and those of other modules (libc, extension modules).
//
// All functions: the thread itself, in a hook or in the handler; no lock, no allocation.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

// The next function of a runtime's stack, as fbleprof_frame in fbleprof.h.
struct RuntimeFrame {
  std::uint32_t block;               // 0: do not show it
  std::uint32_t goes_on;             // kInLoop: it may be generated code in the loop's frame
  std::uint64_t mark;                // 0: none
  std::uint64_t place[2], value[2];  // words that tell whether it is still there; 0: none
};
inline constexpr std::uint32_t kInLoop = 2;
inline constexpr int kReaderWords = 16;
using ReadRuntimeFrame = int (*)(void* state, RuntimeFrame* frame);

struct Runtime {
  std::atomic<ReadRuntimeFrame> read{nullptr};  // set last
  std::uint64_t loop_begin = 0, loop_end = 0;   // the interpreter's loop
  std::uint64_t text_begin = 0, text_end = 0;   // the module that it is in
};

// The runtimes of a process. New ones are added at the end; none is removed.
struct Runtimes {
  static constexpr std::uint32_t kMost = 4;
  Runtime all[kMost];
  std::atomic<std::uint32_t> count{0};

  // False: there are too many, or `loop` is not in loaded code. Not in handlers.
  bool add(const void* loop, ReadRuntimeFrame read);
};

// The stacks of the calling thread in all runtimes, read during one walk of its machine stack.
class RuntimeWalk {
 public:
  explicit RuntimeWalk(Runtimes& runtimes);

  // Whether the thread runs functions of a script, or did so in this walk.
  bool is_active() const { return is_active_; }
  // Whether a reader could not read its older functions: the runtime was changing its stack.
  bool is_cut() const { return is_cut_; }

  // Visits the machine frame of the code at `pc`, whose memory is from `low` to `high`. Call
  // next_block until it returns 0, then hides.
  void visit(std::uint64_t pc, std::uint64_t low, std::uint64_t high);
  // The block of the next script function that the visited frame runs, newest first; 0 at the end.
  std::uint32_t next_block();
  // What the reader said of the last one.
  const RuntimeFrame& taken() const { return taken_; }
  // Whether the tree leaves out the visited frame.
  bool hides() const;
  // Whether generated code at `sp` runs the next script function, in the frame of a loop. Takes an
  // address in that loop, and its stack pointer.
  bool runs_in_loop(std::uint64_t sp, std::uint64_t* pc, std::uint64_t* loop_sp) const;
  // Whether the code is that of a loop. Where a runtime reports its calls, a loop counts as a
  // script's function, too.
  bool is_loop(std::uint64_t pc) const;

  // After the walk: the next script function whose machine frame was not met; 0 at the end.
  std::uint32_t rest();

 private:
  struct One {
    Runtime* runtime = nullptr;
    ReadRuntimeFrame read = nullptr;
    RuntimeFrame frame{};
    bool has_frame = false;
    bool has_taken = false, is_above = false;  // the visited frame runs scripts; an earlier one did
    bool is_open = false;                      // the visited frame may run `frame`
    std::uint64_t state[kReaderWords] = {};
  };
  void read_next(One& one);
  std::uint32_t take(One& one);

  One all_[Runtimes::kMost];
  RuntimeFrame taken_{};
  std::uint32_t count_ = 0;
  bool is_active_ = false, is_cut_ = false;
  std::uint64_t pc_ = 0, low_ = 0, high_ = 0;
};

}  // namespace fbleprof::signal_safe
