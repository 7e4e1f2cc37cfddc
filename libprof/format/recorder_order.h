// What `fble-prof attach` and the recorder in the running program tell each other. A traced thread
// calls fbleprof_obey_order with an order, on a stack of fble-prof's.
//
// With --only and --not, before recording begins:
//   1. kNameUnfiltered: the recorder answers with its filter, and with the modules that lack a
//      table for it (plan/left_out_table.h). fble-prof puts tables into the program's memory.
//   2. kFilter: the recorder uses these tables from then on.
//
// If there are more modules than an order holds, kNameUnfiltered and kChooseModules come in rounds,
// in order of addresses, each with the step that follows.
//
// kWatch, at each attach: the recorder lists places where libc or the loader are to call it: at
// some system calls and, if the filter needs it, when libraries are loaded (text_changes.h).
// fble-prof changes these places while all threads are stopped, and takes that back at a detach.
// With --exact, the next steps do this, too. kUnwatch, at a detach, when recording is off and
// before the places are changed back: the program gets its own action for the sampling signal.
// The answer is kNotNow as long as a timer could be left.
//
// With --exact, the program's text changes while all its threads are stopped, so fble-prof writes
// it. The recorder prepares everything else: it chooses the modules, and writes the trampolines.
//   1. kChooseModules: the recorder answers with the chosen modules. fble-prof puts their plans
//      (plan/plan.h) into the program's memory, where they stay.
//   2. kPrepareCounting: the recorder writes the trampolines, and lists the changes of the text at
//      fbleprof_text_state (text_changes.h), which fble-prof then makes, and takes back at a
//      detach.
//   3. kFinishCounting, when the text is changed: functions whose entries fble-prof left alone are
//   not
//      counted, and libraries that were loaded meanwhile are only sampled.
// The recorder itself changes the text of libraries that are loaded later, before any thread runs
// there, and lists these changes, too: the loader's function that announces libraries is one of the
// changed places.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fbleprof::format {

inline constexpr char kOrderMagic[16] = "FBLEPROF ORDER";
inline constexpr std::uint32_t kOrderVersion = 6;

enum class OrderStep : std::uint32_t {
  kChooseModules,
  kPrepareCounting,
  kFinishCounting,
  kNameUnfiltered,
  kFilter,
  kWatch,
  kUnwatch
};
enum class OrderAnswer : std::uint32_t {
  kRefused,  // see RecorderOrder::reason
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

struct OrderModule {
  std::uint64_t begin;        // of its first mapping
  std::uint64_t given;        // fble-prof's answer: where the process has the plan, or the table
                              // of a filter; 0: nowhere
  std::uint64_t given_bytes;  // its length
  char path[2048];            // as the process sees it
  char plan_stem[1024];       // where fble-prof keeps the plan: its folder and the build-id
};
inline constexpr std::uint32_t kMostOrderModules = 128;

struct RecorderOrder {
  char magic[16];
  std::uint32_t version;
  OrderStep step;
  OrderAnswer answer;
  std::uint32_t tracer;  // fble-prof's process id: only one at a time
  std::uint32_t count;   // of modules
  std::uint64_t after;   // where the last module of the round before begins; 0: this is the first
  char reason[512];      // one line
  char choice[1024];     // the value of --exact
  char plan_folder[1024];
  char filter[4096];  // FBLEPROF_FILTER of the first attach
  char tool[1024];    // fble-prof, as the process sees it, which makes plans of libraries that are
                      // loaded later; empty: these are only sampled
  OrderModule modules[kMostOrderModules];
};

static_assert(sizeof(OrderModule) == 3096);

}  // namespace fbleprof::format
