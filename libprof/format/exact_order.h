// What `fble-prof attach` with --exact, --only or --not, and the recorder in the running program
// tell each other. A traced thread calls fbleprof_prepare_exact with an order, on a stack of
// fble-prof's.
//
// With --only and --not, before recording begins:
//   1. kNameUnfiltered: the recorder answers with its filter, and with the modules that lack a
//      table for it (plan/left_out_table.h). fble-prof puts tables into the program's memory.
//   2. kFilter: the recorder uses these tables from then on.
//
// With --exact, the program's text changes while all its threads are stopped, so fble-prof writes
// it. The recorder prepares everything else: it chooses the modules, and writes the trampolines.
//   1. kChooseModules: the recorder answers with the chosen modules. fble-prof puts their plans
//      (plan/plan.h) into the program's memory, where they stay.
//   2. kPrepare: the recorder writes the trampolines, and lists the changes of the text at
//      fbleprof_exact_state, which fble-prof then makes, and takes back at a detach.
//   3. kFinish, when the text is changed: functions whose entries fble-prof left alone are not
//      counted, and libraries that were loaded meanwhile are only sampled.
// The recorder itself changes the text of libraries that are loaded later, before any thread runs
// there, and lists these changes, too: the loader's function that announces libraries is one of the
// changed places.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fbleprof::format {

inline constexpr char kExactMagic[16] = "FBLEPROF EXACT";
inline constexpr std::uint32_t kExactVersion = 3;

enum class ExactStep : std::uint32_t {
  kChooseModules,
  kPrepare,
  kFinish,
  kNameUnfiltered,
  kFilter
};
enum class ExactAnswer : std::uint32_t {
  kRefused,  // see ExactOrder::reason
  kDone,
  kNotNow,  // the program is loading a library, for example
};

// Writes a text into a field of these structures. False: it is too long, and the field is as
// before.
template <std::size_t kBytes>
bool put_text(char (&field)[kBytes], const char* text) {
  const std::size_t length = __builtin_strlen(text);
  if (length >= kBytes) return false;
  __builtin_memcpy(field, text, length + 1);
  return true;
}

struct ExactModule {
  std::uint64_t begin;       // of its first mapping
  std::uint64_t plan;        // fble-prof's answer: where the process has the plan, or the table
                             // of a filter; 0: nowhere
  std::uint64_t plan_bytes;  // its length
  char path[2048];           // as the process sees it
  char plan_path[1024];      // where fble-prof keeps the plan
};
inline constexpr std::uint32_t kMostExactModules = 128;

struct ExactOrder {
  char magic[16];
  std::uint32_t version;
  ExactStep step;
  ExactAnswer answer;
  std::uint32_t tracer;  // fble-prof's process id: only one at a time
  std::uint32_t count;   // of modules
  char reason[512];      // one line
  char choice[1024];     // the value of --exact
  char plan_folder[1024];
  char filter[4096];  // FBLEPROF_FILTER of the first attach
  char tool[1024];    // fble-prof, as the process sees it, which makes plans of libraries that are
                      // loaded later; empty: these are only sampled
  ExactModule modules[kMostExactModules];
};

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
  std::uint32_t is_chosen;     // by the last order
  std::uint32_t capacity;      // the most changes for which there is room
  std::uint32_t is_of_loader;  // the place where the loader calls us; it counts no calls
};

// While fble-prof reads the lists, and changes text, they must stay as they are: it takes
// is_counting back, and waits until no thread is changing anything.
struct ExactState {
  std::uint64_t lists;        // the address of the first one; 0: there is none
  std::uint32_t is_counting;  // fble-prof's: the text is changed, and may be in new libraries, too
  std::uint32_t is_changing;  // the recorder's: a thread is changing the text of a new library
};

static_assert(sizeof(TextChange) == 32 && sizeof(TextChanges) == 32 && sizeof(ExactState) == 16);
static_assert(sizeof(ExactModule) == 3096);

}  // namespace fbleprof::format
