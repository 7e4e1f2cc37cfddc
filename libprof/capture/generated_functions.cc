#include "capture/generated_functions.h"

#include <algorithm>

#include "capture/profile.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using format::FunctionKind;
using signal_safe::CodeMap;
using signal_safe::session;

namespace {

// With --leaves, instructions have records of their own.
bool is_nameless_code(const format::Function& function) {
  return (function.kind == FunctionKind::kNative || function.kind == FunctionKind::kInstruction) &&
         function.module == 0 && function.name == 0 && function.address != 0;
}

template <typename Visit>
void for_each_nameless(Visit visit) {
  session.arena.for_each(format::Kind::kFunction, [&](format::Ref ref) {
    const auto* function = session.arena.at<format::Function>(ref);
    return !is_nameless_code(*function) || visit(ref, *function);
  });
}

// What a function that was met at this moment could be named by, if it was there before.
std::uint64_t moment_of(const format::Function& function) {
  if (function.flags & format::kFunctionMapBytes) return function.map_bytes;
  // Before the program made its map, or at an unknown time: a confined program's map is not looked
  // at then.
  return function.first_met_ns != 0 && profile.perf_allowed ? 0 : UINT64_MAX;
}

}  // namespace

GeneratedFunctions::GeneratedFunctions() {
  for_each_nameless([&](format::Ref, const format::Function&) { return ++room_ != 0; });
  if (room_ == 0) return;
  items_ = static_cast<Item*>(session.pages.take(room_ * sizeof(Item)));
  if (items_ == nullptr) return;
  for_each_nameless([&](format::Ref ref, const format::Function& function) {
    Item& item = items_[count_++];
    item.stretch = function.address;
    item.moment = moment_of(function);
    item.record = ref;
    return count_ < room_;
  });
  std::sort(items_, items_ + count_,
            [](const Item& a, const Item& b) { return a.stretch < b.stretch; });
}

// A process that tries exec again and again comes here each time.
GeneratedFunctions::~GeneratedFunctions() {
  if (items_ != nullptr) session.pages.give_back(items_, room_ * sizeof(Item));
}

void GeneratedFunctions::count_moments_in_time() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto* function = session.arena.at<format::Function>(items_[i].record);
    const bool is_known =
        (function->flags & format::kFunctionMapBytes) == 0 && function->first_met_ns != 0;
    items_[i].moment = is_known ? function->first_met_ns : UINT64_MAX;
  }
}

GeneratedFunctions::Item* GeneratedFunctions::first_in(std::uint64_t begin) const {
  // The stretch that `begin` lies in counts, too.
  const std::uint64_t first = begin / CodeMap::kStretchBytes * CodeMap::kStretchBytes;
  return std::lower_bound(items_, items_ + count_, first,
                          [](const Item& a, std::uint64_t b) { return a.stretch < b; });
}

bool GeneratedFunctions::has_any_in(std::uint64_t begin, std::uint64_t bytes) const {
  const Item* item = first_in(begin);
  return item != items_ + count_ && item->stretch < begin + bytes;
}

void GeneratedFunctions::offer(const Item& offered) {
  const std::uint64_t begin = offered.begin, bytes = offered.bytes;
  if (bytes == 0 || begin + bytes < begin || offered.name_bytes == 0) return;
  for (Item* item = first_in(begin); item != items_ + count_ && item->stretch < begin + bytes;
       ++item) {
    const bool was_there = offered.moment < item->moment;
    const bool holds = item->stretch >= begin;
    const auto rank = static_cast<std::uint8_t>(1 + was_there + 2 * holds);
    // Of several that were there the last one counts, of several that came later the first one.
    if (rank < item->rank || (rank == item->rank && !was_there)) continue;
    const Item before = *item;
    *item = offered;
    item->stretch = before.stretch;
    item->moment = before.moment;
    item->record = before.record;
    item->rank = rank;
  }
}

void GeneratedFunctions::name_function(const Item& item, const char* name, std::uint32_t bytes) {
  const format::Ref text = session.code_map.shared_string(name, bytes);
  if (text == 0) return;
  auto* function = session.arena.at<format::Function>(item.record);
  __atomic_store_n(&function->name, text, __ATOMIC_RELEASE);
  if (function->kind == FunctionKind::kInstruction) return;
  function->address = item.begin;
  function->size = static_cast<std::uint32_t>(std::min<std::uint64_t>(item.bytes, UINT32_MAX));
  __atomic_store_n(&function->kind, FunctionKind::kJit, __ATOMIC_RELEASE);
}

void GeneratedFunctions::note_line(const Item& item, const char* file, std::uint32_t bytes) {
  auto* function = session.arena.at<format::Function>(item.record);
  function->line = item.line;
  __atomic_store_n(&function->file, session.code_map.shared_string(file, bytes), __ATOMIC_RELEASE);
}

}  // namespace fbleprof::capture
