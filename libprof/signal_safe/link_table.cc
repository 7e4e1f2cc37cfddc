#include "signal_safe/link_table.h"

namespace fbleprof::signal_safe {

namespace {

// A doubled table is 3/8 full and has room for as many additions again before it doubles next, so
// moving eight entries with each addition empties the old part in time.
constexpr std::uint32_t kMovedAtOnce = 8;

}  // namespace

void LinkTable::adopt(Pages* pages, Item* first) {
  *this = LinkTable{};
  pages_ = pages;
  first_ = first;
  now_ = {first, kFirstItems - 1};
}

void LinkTable::put(const Part& part, const Item& item) {
  std::uint32_t i = home(item.from, item.key) & part.mask;
  while (part.items[i].target != 0) i = (i + 1) & part.mask;
  part.items[i] = item;
}

void LinkTable::move_some(std::uint32_t most) {
  if (before_.items == nullptr) return;
  // Moved entries also stay where they were, so a lookup from a signal handler finds them in one
  // part or the other at any moment.
  for (; most > 0 && next_to_move_ <= before_.mask; --most, ++next_to_move_) {
    const Item& item = before_.items[next_to_move_];
    if (item.target != 0) put(now_, item);
  }
  if (next_to_move_ <= before_.mask) return;
  const Part done = before_;
  before_ = {};
  if (done.items != first_) {
    pages_->give_back(done.items, (std::uint64_t{done.mask} + 1) * sizeof(Item));
  }
}

bool LinkTable::make_room() {
  if (count_ < (now_.mask + 1) / 4 * 3) return true;
  move_some(~0u);
  const std::uint64_t items = (std::uint64_t{now_.mask} + 1) * 2;
  if (items > 1u << 31) return false;
  auto* memory = static_cast<Item*>(pages_->take_table(items * sizeof(Item)));
  if (memory == nullptr) return count_ < now_.mask;  // keep one empty slot: it ends each search
  before_ = now_;
  now_ = {memory, static_cast<std::uint32_t>(items - 1)};
  next_to_move_ = 0;
  return true;
}

void LinkTable::add(format::Ref from, std::uint32_t key, std::uint32_t target) {
  put(now_, {from, key, target, 0});
  ++count_;
  move_some(kMovedAtOnce);
}

}  // namespace fbleprof::signal_safe
