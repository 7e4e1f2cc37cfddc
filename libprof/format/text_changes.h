// The changes of a running program's text that the recorder in it lists, from fbleprof_text_state
// on, and fble-prof makes and takes back (recorder_order.h).
#pragma once

#include <cstdint>

namespace fbleprof::format {

// A jump, or a call or jump with another distance, that replaces the same number of bytes.
inline constexpr std::uint32_t kTextChangeBytes = 5;

struct TextChange {
  std::uint64_t address;
  std::uint64_t function;  // whose calls this counts
  std::uint8_t original[kTextChangeBytes];
  std::uint8_t changed[kTextChangeBytes];
  std::uint8_t is_entry;     // it replaces several instructions: no thread may be between them
  std::uint8_t is_kept_out;  // fble-prof's answer: a thread was there
  std::uint32_t reserved;
};

// The changes of one module's text. They follow this head.
struct TextChanges {
  std::uint64_t next;  // the address of another list; 0: none
  std::uint64_t module_begin;
  std::uint32_t count;
  std::uint32_t is_chosen;  // by the last order
  std::uint32_t capacity;   // the most changes for which there is room
  std::uint32_t is_watch;   // places where libc or the loader call us; they count no calls
};

// While fble-prof reads the lists, and changes text, they must stay as they are: it takes
// is_counting back, and waits until no thread is changing anything.
struct TextState {
  std::uint64_t lists;        // the address of the first one; 0: there is none
  std::uint32_t is_counting;  // fble-prof's: the text is changed, and may be in new libraries, too
  std::uint32_t is_changing;  // the recorder's: a thread is changing the text of a new library
};

static_assert(sizeof(TextChange) == 32 && sizeof(TextChanges) == 32 && sizeof(TextState) == 16);

}  // namespace fbleprof::format
