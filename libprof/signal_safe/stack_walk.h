// Walks a machine stack, from a hook or from the signal handler, by the unwind tables (.eh_frame)
// of the code on the stack.
//
// The walk finds only return addresses and the extent of each frame. So a frame's rule is four
// numbers (the base of the CFA, its offset, where the caller's rbp and rbx are saved), computed
// once for each address and remembered by the thread. Every read of the stack is checked against
// the stack's bounds first. Unwind tables are read only from objects that the loader knows. No
// lock, no allocation, and no system call on stacks whose bounds are known.
//
// Code without an unwind table (generated code, hand-written assembly) is left through its frame
// pointer, as a last resort, if the memory there can be a frame: see next_by_frame_pointer.
//
// The tests use libunwind as the oracle. The recorder does not use it: its fast walk
// (unw_backtrace) reads memory unchecked and crashed in nearly every run that sampled C++
// exceptions being thrown (1.6.2). Its safe walk takes 400 to 700 ns per frame, and takes the
// loader's lock for each new object.
#pragma once

#include <cstdint>

#include "arch/registers.h"

namespace fbleprof::signal_safe {

struct ThreadState;

using arch::MachineState;

// How to get from a frame to its caller's.
struct FrameRule {
  enum class Base : std::uint8_t {
    kUnknown,      // no unwind table, or a rule that is not handled
    kEnd,          // the outermost frame
    kNoCaller,     // for an address that no call returns to: makecontext put it under its function
    kSp,           // CFA = sp + cfa_offset
    kFp,           // CFA = fp + cfa_offset
    kRegister,     // CFA = another register + cfa_offset
    kDerefFp,      // CFA = *(fp + cfa_offset): a function that realigns its stack
    kDerefSp,      // CFA = *(sp + cfa_offset) + 8: hand-written code that realigns its stack
    kPltEntry,     // CFA = sp + 8, + 8 from the cfa_offset'th byte of the entry on
    kSignalFrame,  // the kernel's signal trampoline: the registers are in the ucontext at sp
    kLeaving,     // CFA = fp + cfa_offset; it has saved a landing pad's registers, not its caller's
    kLandingPad,  // CFA = a register + cfa_offset; the instructions that jump to a landing pad
  };
  enum class SavedFp : std::uint8_t { kUnchanged, kAtCfa, kAtFp };
  std::uint64_t pc = 0;
  std::int32_t cfa_offset = 0;
  std::int32_t fp_offset = 0;  // of the saved frame pointer from the CFA, or from fp
  std::uint32_t epoch = 0;
  Base base = Base::kUnknown;
  SavedFp saved_fp = SavedFp::kUnchanged;
  std::uint8_t cfa_register = 0;  // of kRegister and kLandingPad, by its DWARF number
  // Where the caller's base register is, in words from the CFA.
  static constexpr std::int8_t kBaseUnchanged = 0, kBaseLost = 1;
  std::int8_t saved_base = kBaseUnchanged;

  // Whether it is the same rule, for another address.
  bool leads_as(const FrameRule& other) const {
    return base == other.base && cfa_offset == other.cfa_offset && saved_fp == other.saved_fp &&
           fp_offset == other.fp_offset && cfa_register == other.cfa_register &&
           saved_base == other.saved_base;
  }
};
static_assert(sizeof(FrameRule) == 24);

struct RuleCache {
  static constexpr std::uint32_t kRules = 2048;
  FrameRule rules[kRules];
};

// Where a frame without a table was found to end, for the next walk from the same place of the code
// and of the stack: compiled code of a script calls the same functions again and again.
struct FrameEnd {
  std::uint64_t pc = 0, sp = 0;
  std::uint64_t slot = 0;  // of the return address
  bool is_of_interpreter = false;
};

// The words of the stack that decided where a walk went; saved registers only if a frame's place
// depended on them, because most hold anything. If only the rules of its frames decided where it
// went, another walk from the same state goes the same way as long as they are the same.
struct WalkReads {
  static constexpr std::uint32_t kMost = 64;
  std::uint64_t sp;   // where the walk began
  std::uint64_t end;  // behind the highest place
  std::uint32_t count;
  std::uint64_t returns;        // the n-th bit: the n-th word is a return address
  bool use_fp;                  // the frame pointer with which it began decided, too
  bool decide;                  // false: more than these words decided, or they are too many
  std::int32_t offsets[kMost];  // of the places, from sp
  std::uint64_t values[kMost];

  void begin(std::uint64_t at) {
    sp = end = at;
    count = 0;
    returns = 0;
    use_fp = false;
    decide = true;
  }
  void add(std::uint64_t place, std::uint64_t value, bool is_return = false) {
    const auto offset = static_cast<std::int64_t>(place - sp);
    decide = decide && count < kMost && offset == static_cast<std::int32_t>(offset);
    if (!decide) return;
    if (place + sizeof value > end) end = place + sizeof value;
    returns |= std::uint64_t{is_return} << count;
    offsets[count] = static_cast<std::int32_t>(offset);
    values[count++] = value;
  }
  std::uint64_t place(std::uint32_t i) const {
    return sp + static_cast<std::uint64_t>(std::int64_t{offsets[i]});
  }
  bool is_return(std::uint32_t i) const { return (returns >> i & 1) != 0; }
};

// Whether a walk goes on in the same way from a frame that returns to the one address as to the
// other.
bool leads_alike(ThreadState& thread, std::uint64_t pc, std::uint64_t other);

// One frame after the other, innermost first.
class StackWalk {
 public:
  // `is_return`: `at` is the state that a call returns to, not an interrupted instruction. `reads`
  // (may be null) gets what is read.
  StackWalk(ThreadState& thread, const MachineState& at, bool is_return = false,
            WalkReads* reads = nullptr);

  // The current frame.
  const MachineState& state() const { return state_; }
  // An address inside the instruction that the frame is in: that of the call, for a caller.
  std::uint64_t code_address() const { return state_.pc - (is_return_ ? 1 : 0); }
  // The address on the stack of the frame's pc; 0: it was not found, or it belongs to a signal.
  std::uint64_t pc_slot() const { return pc_slot_; }
  // The frame pointer, if the extent of the frame depends on it; else 0.
  std::uint64_t needed_fp();
  // The address of the frame's return-address slot; 0 if unknown.
  std::uint64_t return_slot() const { return return_slot_; }

  // Moves on to the caller; false at the outermost frame or where the walk cannot continue.
  bool next();
  // Takes the current frame for one that ends with the frame of the code at `pc`, whose stack
  // pointer is `sp`.
  void continue_at(std::uint64_t pc, std::uint64_t sp);
  // After next(): whether a signal interrupted the frame.
  bool is_interrupted() const { return !is_return_; }
  // Whether next() goes to the caller by the frame pointer alone.
  bool needs_frame_pointer() { return rule().base == FrameRule::Base::kUnknown; }
  // Whether the frame pointer has led to another stack.
  bool has_changed_stack() const { return has_changed_stack_; }
  // Whether the walk reached the outermost frame.
  bool is_complete() const { return complete_; }

 private:
  bool read(std::uint64_t address, std::uint64_t* value);
  bool read_saved(std::uint64_t address, std::uint64_t* value);
  bool read_return(std::uint64_t address, std::uint64_t* value);
  void note_use_of_fp();
  std::uint64_t register_value(std::uint8_t dwarf_number) const;
  bool next_by_frame_pointer();
  bool is_frame_elsewhere(std::uint64_t fp, MachineState* caller) const;
  bool change_stack(MachineState* caller);
  bool next_by_signal_frame();
  bool next_by_rule(const FrameRule& r);
  bool next_by_search();
  bool next_by_interpreter();
  bool next_by_call();
  bool ends_assembly(std::uint64_t site, std::uint64_t callee, std::uint64_t place,
                     MachineState* caller);
  bool begins_in_c(std::uint64_t site, std::uint64_t callee, std::uint64_t place,
                   MachineState* caller);
  bool find_bounds(std::uint64_t sp);
  const FrameRule& rule();
  void locate_frame();
  bool read_caller(const FrameRule& r, MachineState* caller);
  bool is_called_at(std::uint64_t site) const;
  bool find_caller_of_unwinder(MachineState* caller);
  template <typename IsWanted>
  bool find_word(std::uint64_t from, std::uint64_t most_bytes, IsWanted is_wanted,
                 std::uint64_t* place) const;
  FrameEnd& frame_end() const;
  bool is_from_here(const FrameEnd& end) const;
  template <typename IsReturn>
  bool find_end(std::uint64_t most_bytes, bool is_of_interpreter, IsReturn is_return,
                std::uint64_t* slot);
  bool may_be_caller();
  bool may_be_code(std::uint64_t address) const;
  void reads_do_not_decide() const {
    if (reads_ != nullptr) reads_->decide = false;
  }

  ThreadState& thread_;
  WalkReads* reads_;
  std::uint64_t fp_slot_ = 0;  // where the frame pointer was read; 0: it is that of the begin
  MachineState state_;
  std::uint64_t low_ = 0, high_ = 0;  // readable stack
  std::uint64_t cfa_ = 0, return_slot_ = 0, pc_slot_ = 0;
  bool is_return_ = false, complete_ = false, probing_ = false;
  bool is_outermost_ = false;  // by its frame pointer
  bool has_changed_stack_ = false;
  bool is_fp_doubtful_ = false;  // it may be a landing pad's
};

}  // namespace fbleprof::signal_safe
