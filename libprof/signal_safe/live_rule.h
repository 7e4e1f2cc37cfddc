// The live rule: which entry of a shadow stack is the context of a call or a sample.
//
// The rule has two halves, a filter and a proof. The filter goes by address: an entry whose frame
// lies below the current stack pointer is dead. That leaves stale entries: f calls g, g returns, f
// pushes arguments for h, and h's frame lies below g's old one. So the proof goes by code: the
// address that control will return to (or, for a sample, the interrupted instruction) must lie in
// the function of the entry taken for live. If not, the address's owner may have an entry further
// down the shadow stack; then the entries above are stale. Or the owner has no hook (qsort calling
// back, memcpy); then the machine stack is walked to the nearest frame that has an entry.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// How far down the shadow stack the proof by code searches. Above the true caller there are only
// the dead callees of one frame, which are few.
inline constexpr int kProofDepth = 512;
// How many frames without hooks a walk passes.
inline constexpr int kWalkFrames = 1024;

bool is_entry_of(const ThreadState& thread, const Entry* entry, format::Ref function);

// Whether each call of the function has an entry: it has a hook, no filter leaves it out,
// --throttle has not taken its hook back, and nothing calls it past its hook. Not so for 0.
bool always_has_entry(const ThreadState& thread, format::Ref function);

// The function that the direct call returning to `site` names; 0 if the call is indirect, or in no
// known module.
format::Ref direct_callee(const ThreadState& thread, std::uint64_t site);

// For a wrapper that returns to `site`: the start of the function that jumped to it as its last
// step, as compilers let functions end that release a lock last. `site` is then in that function's
// caller. Null: there is none, or it was called indirectly. If it jumped to a function that jumped
// to the wrapper, the first one.
const void* jumped_from(const ThreadState& thread, std::uint64_t site);

// Whether entry_of_frame could be this entry where a frame of `owner`, which has no hook, has it at
// its place.
bool may_be_entry_of(const ThreadState& thread, const Entry* entry, format::Ref owner);

// The newest entry whose frame is not below `sp`. A binary search, since entries are in the order
// of their frames and a deep stack may just have returned.
Entry* filter_by_address(const Entry* gate, Entry* top, std::uint64_t sp);

// The newest entry of `owner`, the function that owns an address, searched from `top` (which the
// filter left) down: it is live. Null: the owner is not on the stack, or not each of its calls has
// an entry.
Entry* find_owner(const ThreadState& thread, Entry* top, format::Ref owner);

// The entry that was pushed for the walk's current frame, whose code belongs to `owner`. `top` is
// the newest entry that the frame's stack pointer leaves. Null: the frame has no entry.
Entry* entry_of_frame(const ThreadState& thread, Entry* top, format::Ref owner,
                      const StackWalk& walk);

// What a signal has interrupted whose handler makes a call.
struct Interrupted {
  bool is_known = false;  // false: the call is not the first one of a handler, as far as known
  bool is_hook = false;   // a hook, which may be pushing an entry above the caller's
  Word word = 0;          // the word of that entry, if the hook has come to it
};

// What prove_caller learns besides the caller; all may be null.
struct Learned {
  Interrupted* interrupted = nullptr;
  // Whether the code at the site is that of the top entry's function: then a call from there is one
  // of that function, whatever was called before. Not set if it is not.
  bool* is_in_tops_code = nullptr;
  // If it walks: what the answer depends on, besides the entries from the answer to `top`.
  WalkReads* reads = nullptr;
};

// The entry in whose context code without hooks calls a hook. Walks the machine stack from `at` to
// the nearest frame that has an entry. Tells what was interrupted there or above. If the walk ends
// before, the newest entry that may be live.
Entry* find_by_walk(ThreadState& thread, Entry* top, const MachineState& at,
                    const Learned& learned = {});

// The entry of the caller of a hooked function that will return to `site`. `top` is the newest
// entry that the filter leaves, `at` the state at the hook's return. May switch thread.current to
// another stack.
Entry* prove_caller(ThreadState& thread, Entry* top, Frame frame, std::uint64_t site,
                    const MachineState& at, const Learned& learned = {});

// `top`, or the entry below those that longjmp out of inlined functions has left in a frame that is
// still live. Inlining is never nested deeper than this.
inline constexpr int kInlinedDepth = 64;
Entry* without_left_behind(Entry* top);

// The entry of the function into which `function`, just entered, was inlined. An inlined function's
// hook returns (to `hook_return`) to code that is not its own. Such a call has no site: compilers
// pass the site of the function around it. Null: it was not inlined.
Entry* find_host(ThreadState& thread, Entry* top, Frame frame, format::Ref function,
                 std::uint64_t hook_return);

// The stack whose shadow holds the newest entry. A handler's hooks make its signal stack current,
// but a hook that the signal interrupted then goes on where it was, and sets the top there.
Stack* stack_of_top(const ThreadState& thread);
// Makes that stack current.
void follow_top(ThreadState& thread);

// Makes the stack that contains `address` current; true if this changed the current stack. `at`:
// the state of a hook there, or one that it returns to.
bool switch_stack(ThreadState& thread, std::uint64_t address, const MachineState& at);

inline bool is_gate(const Entry* entry) { return is_gate_word(entry->word); }

// Entries of the C API and of inlined functions share the frame of the entry below.
inline bool shares_frame_with_below(const Entry* entry) {
  return !is_gate(entry) && entry[-1].frame == entry->frame;
}

// The entry of the native function in whose frame this one was entered; a gate if there is none.
inline const Entry* native_below(const Entry* entry) {
  while (shares_frame_with_below(entry)) --entry;
  return entry;
}

inline bool is_entry_of_block(const Entry* entry) {
  return !is_gate(entry) && arch::block_of(entry->word) != arch::kNoBlock;
}

// Whether the entry is of a block that has the context of the entry below: it is left out, or was
// entered while recording was off.
inline bool has_callers_context(const ThreadState& thread, const Entry* entry) {
  return is_entry_of_block(entry) &&
         arch::block_of(entry->word) != thread.tree.block_of(node_of_word(entry->word));
}

}  // namespace fbleprof::signal_safe
