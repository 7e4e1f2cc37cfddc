#include "capture/text_changes.h"

#include <errno.h>

#include <atomic>

#include "arch/kernel.h"
#include "arch/trampoline.h"
#include "capture/modules.h"
#include "capture/own_memory.h"

namespace fbleprof::capture {

using format::Module;
using format::TextChange;
using format::TextChanges;

constinit format::TextState text_state = {};

namespace {

static_assert(format::kTextChangeBytes == plan::kJumpBytes &&
              format::kTextChangeBytes == arch::kDirectBytes);

std::atomic<std::uint32_t> holder{0};

bool is_running(std::uint32_t pid) {
  return arch::kernel_call(SYS_kill, static_cast<long>(pid), 0) != -ESRCH;
}

void fill(TextChange& change, const TextPlace& place) {
  change = {};
  change.address = reinterpret_cast<std::uint64_t>(place.at);
  change.function = place.function;
  change.is_entry = place.is_entry;
  __builtin_memcpy(change.original, place.at, sizeof change.original);
  __builtin_memcpy(change.changed, place.at, sizeof change.changed);
  if (place.is_entry) {
    arch::replace_by_jump(change.changed, change.address, place.trampoline);
  } else {
    arch::redirect(change.changed, change.address, place.trampoline);
  }
}

void publish(TextChanges& list) {
  list.next = text_state.lists;
  text_state.lists = reinterpret_cast<std::uint64_t>(&list);
}

// An empty list with room for so many changes: that of an unloaded module, or a new one. A program
// that loads and unloads a library all the time has one list for it.
TextChanges* take_list(std::uint32_t capacity) {
  TextChanges* taken = nullptr;
  for_each_list([&](TextChanges& list) {
    if (list.count == 0 && list.capacity >= capacity) taken = &list;
  });
  if (taken) return taken;
  auto* list = static_cast<TextChanges*>(
      take_memory(sizeof(TextChanges) + capacity * sizeof(TextChange), InChild::kCopied));
  if (!list) return nullptr;
  *list = {};
  list->capacity = capacity;
  publish(*list);
  return list;
}

std::uint64_t begin_of_module_at(std::uint64_t address) {
  std::uint64_t begin = 0;
  for_each_loaded_module([&](const Module& module) {
    if (address >= module.begin && address < module.end) begin = module.begin;
  });
  return begin;
}

}  // namespace

bool list_changes(const Work& work, const Region& region) {
  std::uint32_t count = 0;
  for_each_text_place(work, region, [&](const TextPlace&) { ++count; });
  TextChanges* list = take_list(count);
  if (!list) return false;
  list->module_begin = work.module.begin;
  list->is_chosen = 1;
  for_each_text_place(
      work, region, [&](const TextPlace& place) { fill(changes_of(*list)[list->count++], place); });
  return true;
}

void add_place(Watch& watch, std::uint8_t* at, std::uint64_t trampoline, bool is_entry) {
  TextChanges& head = watch.head;
  if (head.count == Watch::kMostPlaces) return;
  const auto place = reinterpret_cast<std::uint64_t>(at);
  TextChange& change = watch.places[head.count];
  fill(change, {at, trampoline, place, true});
  change.is_entry = is_entry;
  ++head.count;
  if (head.count != 1) return;
  head.module_begin = begin_of_module_at(place);
  head.capacity = Watch::kMostPlaces;
  head.is_watch = 1;
  publish(head);
}

void drop_lists_of_unloaded() {
  for_each_list([](TextChanges& list) {
    const Module* module = loaded_module_at(list.module_begin);
    if (!module || (module->flags & format::kModuleIsExact) == 0) list.count = 0;
  });
}

bool take_turn(std::uint32_t pid) {
  std::uint32_t now = holder.load();
  return (now == 0 || now == pid || !is_running(now)) && holder.compare_exchange_strong(now, pid);
}

void end_turn() { holder.store(0); }

void forget_turns() {
  holder.store(0);
  text_state.is_changing = 0;
}

}  // namespace fbleprof::capture
