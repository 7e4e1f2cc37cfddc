#include "rewrite/jump_tables.h"

#include <algorithm>
#include <utility>

namespace fbleprof::rewrite {

JumpTables::JumpTables(const ElfImage& image, std::vector<Mention> mentions,
                       std::vector<Function>& functions, const TextMarks& starts,
                       HeldAddresses& held)
    : image_(image), mentions_(std::move(mentions)), in_own_table_(image) {
  std::sort(mentions_.begin(), mentions_.end());
  for (const Mention& table : mentions_) {
    if (!table.user->jumps_indirectly) continue;
    const auto read_from = [&](Address base) {
      read<std::int32_t>(table, base, functions, starts, held);
    };
    const auto read_wide_from = [&](Address base) {
      read<std::int64_t>(table, base, functions, starts, held);
    };
    read_from(table.address);
    read_wide_from(table.address);
    if (table.user->mentions_start) read_from(table.user->begin);
    if (image_.is_relocatable()) continue;
    read_from(0);
    read_wide_from(0);
  }
  std::sort(ways_out_.begin(), ways_out_.end());
}

// A function that jumps indirectly may use any data that it mentions as a table; a table ends where
// a distance leads out of the code.
template <typename Distance>
void JumpTables::read(const Mention& table, Address base, std::vector<Function>& functions,
                      const TextMarks& starts, HeldAddresses& held) {
  constexpr int kMostEntries = 4096, kMostOutside = 512;
  bool leads_to_start = false, leads_inside = false;
  for (int i = 0; i < kMostEntries; ++i) {
    Distance distance;
    if (!image_.read(table.address + sizeof distance * static_cast<Address>(i), &distance)) break;
    const Address target = base + static_cast<Address>(std::int64_t{distance});
    if (!image_.in_text(target)) break;
    if (!table.user->contains(target) && (i > kMostOutside || !function_at(functions, target))) {
      break;
    }
    // Other tables and strings follow a table: a real entry never leads into the middle of an
    // instruction.
    const Function* in = function_at(functions, target);
    if (in && in->decodes && !starts.has(target)) break;
    if (in == table.user) {
      in_own_table_.add(target);
      (target == in->begin ? leads_to_start : leads_inside) = true;
    } else {
      held.note_distance(target);
      ways_out_.push_back({table.user, target});
    }
  }
  if (leads_to_start && leads_inside) table.user->has_table_with_start = true;
}

std::vector<const Function*> JumpTables::users_of_places_in(const Function& function) const {
  std::vector<const Function*> users;
  const auto less = [](const Mention& mention, Address address) {
    return mention.address < address;
  };
  for (auto at = std::lower_bound(mentions_.begin(), mentions_.end(), function.begin + 1, less);
       at != mentions_.end() && at->address < function.end; ++at) {
    const Function* user = at->user;
    const bool is_part = user == &function || (!user->is_called && !user->is_pointed_at);
    if (is_part && user->jumps_indirectly) users.push_back(user);
  }
  return users;
}

// A table ends where a distance leads out of the code; a 0 is an entry that is not used.
std::vector<Address> JumpTables::named_by_distances() const {
  constexpr Address kMostEntries = 4096;
  std::vector<Address> named;
  Address last = 0;
  for (const Mention& table : mentions_) {
    if (table.address == last) continue;
    last = table.address;
    std::int32_t distance;
    for (Address i = 0; i < kMostEntries && image_.read(last + i * 4, &distance); ++i) {
      const Address target = last + static_cast<Address>(std::int64_t{distance});
      if (distance == 0) continue;
      if (!image_.in_text(target)) break;
      named.push_back(target);
    }
  }
  std::sort(named.begin(), named.end());
  return named;
}

}  // namespace fbleprof::rewrite
