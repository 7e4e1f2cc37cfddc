// The lists of text changes in a program to which `fble-prof attach --exact` attached
// (format/text_changes.h), and who may add to them.
#pragma once

#include <cstdint>

#include "capture/rewriting.h"
#include "format/text_changes.h"

namespace fbleprof::capture {

extern format::TextState text_state;

inline format::TextChanges* first_list() {
  return reinterpret_cast<format::TextChanges*>(text_state.lists);
}
inline format::TextChanges* list_behind(const format::TextChanges& list) {
  return reinterpret_cast<format::TextChanges*>(list.next);
}
inline format::TextChange* changes_of(format::TextChanges& list) {
  return reinterpret_cast<format::TextChange*>(&list + 1);
}

// Calls function(format::TextChanges&) for the lists of modules.
template <typename Function>
void for_each_list(Function function) {
  for (auto* list = first_list(); list; list = list_behind(*list)) {
    if (!list->is_watch) function(*list);
  }
}

// Lists the changes that lead to the region's trampolines, before they are made. False: there is no
// memory.
bool list_changes(const Work& work, const Region& region);

// Places where code of the loader or libc is to call us; no calls are counted there.
struct Watch {
  static constexpr std::uint32_t kMostPlaces = 16;
  format::TextChanges head;
  format::TextChange places[kMostPlaces];
};
// Adds a place of one instruction of at least five bytes, or where more may be overwritten
// (`is_entry`). All places of a watch are in one module. The watch stays listed for good.
void add_place(Watch& watch, std::uint8_t* at, std::uint64_t trampoline, bool is_entry);
// Whether fble-prof is to change these places, or to take that back.
inline void choose(Watch& watch, bool is_chosen) { watch.head.is_chosen = is_chosen; }

// Forgets the changes of modules that were unloaded: others may be in their places.
void drop_lists_of_unloaded();

// One at a time prepares or changes text: a fble-prof whose order is obeyed, or a thread that loads
// a library. `pid` is that process. An order can end in the middle: another thread unloads the
// module that it reads, and fble-prof lets the traced thread go on where it was. So the turn of a
// process that has ended does not count, and nobody waits for a turn without end.
bool take_turn(std::uint32_t pid);
void end_turn();

// In a forked child: threads that had a turn are not there.
void forget_turns();

}  // namespace fbleprof::capture
