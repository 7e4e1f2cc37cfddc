// A plan: how to make the functions of one file count their calls, without changing what they do.
//
// `fble-prof` makes a plan (libprof/rewrite), and the recorder applies it in memory
// (capture/exact). A plan holds addresses in the file, and the bytes that it expects there: if it
// does not match the loaded code, the recorder does not apply it at all.
//
// A counted function has a trampoline, which calls the hook and continues with the function. There
// are two ways to reach it:
//   1. A jump of five bytes over the start of the function. The trampoline holds the
//      instructions that were there.
//   2. If the start must stay as it is, the calls and jumps that name the function lead to the
//      trampoline instead. Calls through pointers are then not counted.
// A function for which neither works is refused, with a reason.
//
// Jumps from one function to the start of another are tail calls. If each entry into the function
// that jumps is counted, these jumps lead to a trampoline of their own, so that the hook knows the
// true caller.
//
// In the file: Header, Trampoline[], Site[], Refusal[].
#pragma once

#include <cstdint>

namespace fbleprof::plan {

inline constexpr char kMagic[8] = {'F', 'B', 'L', 'E', 'P', 'L', 'A', 'N'};
// Changes with the layout, with the rules for refusing functions, and when plans were wrong.
inline constexpr std::uint32_t kVersion = 20;

// How the recorder's remark begins on a file of code for which there is no plan. Its path and the
// reason follow.
inline constexpr char kNotCountedRemark[] = "not counted exactly, only sampled: ";

using Address = std::uint32_t;  // in the file; files beyond 4 GB are refused

// A segment of code.
struct Range {
  Address begin, end;
};
inline constexpr std::uint32_t kMostSegments = 4;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t trampolines, sites, refusals;
  std::uint32_t segment_count;
  Range segments[kMostSegments];  // executable, in order
  std::uint32_t instructions;     // number of decoded instructions, for information
  char error[60];                 // why there are no trampolines
};

enum class FixupKind : std::uint8_t {
  kAddress,        // a 32-bit distance to `target`
  kTrampoline,     // the same, to the trampoline with this number
  kBehindHook,     // the same, to what that trampoline does after the hook
  kReturnAddress,  // the same, to the trampoline's word for the return address `target`
};

struct Fixup {
  std::uint32_t target;
  std::uint8_t at;        // where the distance is in the code
  std::uint8_t trailing;  // bytes of the instruction after it
  FixupKind kind;
  std::uint8_t reserved;
};

inline constexpr int kMostFixups = 4;
inline constexpr std::uint32_t kMostCode = 40;
inline constexpr std::uint32_t kJumpBytes = 5;

struct Trampoline {
  Address function;
  Address window;            // where the jump is written; 0: nowhere, other code leads here
  std::uint8_t expected[8];  // the original bytes of the window
  std::uint8_t code_bytes;   // what the trampoline does after the hook
  std::uint8_t fixup_count;
  std::uint8_t is_leaf;        // 1: the function never leaves its code but by returning
  std::uint8_t pushes_return;  // 1: it calls by push and jump: not for shadow stacks
  std::uint8_t code[kMostCode];
  Fixup fixups[kMostFixups];
  Address jumps_from;  // of the tail calls that lead here; 0: any code leads here
};

// A direct call or jump (e8, e9) to a function, to be redirected to its trampoline. A prefix that
// changes nothing may stand before it.
struct Site {
  Address at;
  std::uint32_t trampoline;
};

// Why a function is not counted. Only append to the list: profiles hold these numbers.
enum class Reason : std::uint16_t {
  kNone = 0,
  kPart,          // not a function, but a part of one that the compiler put elsewhere
  kNotAnEntry,    // the unwind table does not describe an ordinary call's frame at its start
  kUndecodable,   // contains bytes that are not instructions
  kStub,          // a stub or a thunk that only jumps elsewhere
  kResolver,      // chooses an implementation while the loader runs
  kUnreferenced,  // no known reference to it
  kTooShort,      // shorter than a jump, and without padding behind it
  kLoop,          // jumps back to its start
  kTarget,        // something jumps or points into its first instructions
  kCall,          // a call stands among its first instructions
  kUnmovable,     // its first instructions do not work elsewhere
  kOddEntry,      // relies on flags or memory that ordinary callers do not pass
  kIndirectOnly,  // its start must stay as it is, and nothing calls it by name
  kShadowStack,   // the processor checks return addresses
  kPartly,        // counted when called by name, but not through pointers
  kLeftOut,       // the user's filter leaves it out; set by the recorder, never in a plan
  kThrottled,     // --throttle took its hook back; set by the recorder, never in a plan
  kOccupied,      // a thread was in its first instructions; set by the recorder, never in a plan
  kUnlisted,      // it has a symbol, or a call, but the unwind table does not list it
  kKeepsFlags,    // callers rely on flags that it leaves as they are
  kKeepsMemory,   // callers keep memory below the stack pointer while it runs
  kReasons,
};

constexpr const char* explain(Reason reason) {
  constexpr const char* kTexts[] = {
      "",
      "a part of another function",
      "its start is not that of an ordinary function",
      "it contains bytes that are no instructions",
      "a stub that only jumps elsewhere",
      "it chooses an implementation while the loader works",
      "nothing is known to call it",
      "it is shorter than a jump",
      "it jumps back to its start",
      "something jumps or points into its first instructions",
      "a call stands among its first instructions",
      "its first instructions work only where they are",
      "it relies on flags or memory that callers do not hand over",
      "its start must stay as it is, and it is called only through pointers",
      "the processor checks its return address",
      "calls through pointers are not counted, since its start must stay as it is",
      "left out by --only or --not",
      "called more often than --throttle allows",
      "a thread was in its first instructions when the recorder was attached",
      "the unwind table does not list it",
      "callers rely on flags that it leaves as they are",
      "callers rely on memory below the stack pointer that it leaves as it is",
  };
  static_assert(sizeof kTexts / sizeof *kTexts == static_cast<int>(Reason::kReasons));
  const auto index = static_cast<std::uint16_t>(reason);
  return index < static_cast<std::uint16_t>(Reason::kReasons) ? kTexts[index] : "unknown";
}

// Whether some of the function's calls are counted all the same.
constexpr bool counts_some(Reason reason) {
  return reason == Reason::kPartly || reason == Reason::kThrottled || reason == Reason::kOccupied;
}

struct Refusal {
  Address function;
  std::uint32_t size;
  Reason reason;
  std::uint16_t reserved;
};

// Whether the bytes are a plan of this version, with all of its parts and no more. What the parts
// say, the recorder compares with the code.
inline bool is_whole(const void* bytes, std::uint64_t size) {
  Header header;
  if (size < sizeof header) return false;
  __builtin_memcpy(&header, bytes, sizeof header);
  const std::uint64_t wanted =
      sizeof header + std::uint64_t{header.trampolines} * sizeof(Trampoline) +
      std::uint64_t{header.sites} * sizeof(Site) + std::uint64_t{header.refusals} * sizeof(Refusal);
  return __builtin_memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.version == kVersion &&
         header.segment_count <= kMostSegments && header.error[sizeof header.error - 1] == 0 &&
         wanted == size;
}

static_assert(sizeof(Header) == 124 && sizeof(Fixup) == 8 && sizeof(Site) == 8);
static_assert(sizeof(Trampoline) == 96 && sizeof(Refusal) == 12);

}  // namespace fbleprof::plan
