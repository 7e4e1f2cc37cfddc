#include "rewrite/references.h"

#include <algorithm>

#include "rewrite/red_zones.h"

namespace fbleprof::rewrite {

using Kind = Instruction::Kind;

References::References(const ElfImage& image, std::vector<Function>& functions,
                       void (*progress)(double))
    : image_(image),
      decoder_(image),
      held_(image),
      code_(image, functions, held_, progress),
      tables_(image, code_.take_mentions(), functions, code_.starts(), held_) {
  held_.read_file(functions, code_.starts());
  describe(functions);
  find_red_zones(image, code_.branches(), tables_.ways_out(), functions);
  find_kept_memory(code_.branches(), code_.calls_over_memory(), functions);
  code_.kept_flags().mark(functions, code_.branches());
}

References::Range References::into(Address begin, Address end) const {
  const std::vector<Branch>& branches = code_.branches();
  const auto less = [](const Branch& branch, Address address) { return branch.target < address; };
  const auto first = std::lower_bound(branches.begin(), branches.end(), begin, less);
  auto last = first;
  while (last != branches.end() && last->target < end) ++last;
  const Branch* all = branches.data();
  return {all + (first - branches.begin()), all + (last - branches.begin())};
}

References::Range References::to(Address target) const { return into(target, target + 1); }

std::vector<IndirectJump> References::indirect_jumps_of(const Function& function) const {
  const std::vector<IndirectJump>& jumps = code_.indirect_jumps();
  const auto less = [](const IndirectJump& jump, Address address) { return jump.at < address; };
  const auto at = [&](Address address) {
    return std::lower_bound(jumps.begin(), jumps.end(), address, less);
  };
  return {at(function.begin), at(function.end)};
}

std::vector<Address> References::known_places_in(const Function& function) const {
  std::vector<Address> places;
  for (Address at = function.begin + 1; at < function.end; ++at) {
    if (held_.is_held(at) && code_.starts().has(at)) places.push_back(at);
  }
  return places;
}

// What leads to the functions' starts, and where their jumps and their ends lead.
void References::describe(std::vector<Function>& functions) {
  for (Function& function : functions) {
    function.is_pointed_at =
        held_.is_led_to(function.begin) || tables_.is_in_own_table(function.begin);
    function.is_only_in_tables =
        function.is_pointed_at && !held_.is_held_outside_tables(function.begin);
    for (const Branch& branch : to(function.begin)) {
      if (branch.kind == Kind::kCall) {
        function.is_called = true;
      } else if (function.contains(branch.from)) {
        ++function.jumps_to_itself;
      } else if (branch.kind == Kind::kJump) {
        ++function.jumps_from_others;
      } else {
        ++function.branches_from_others;
      }
    }
  }
  for (std::size_t i = 1; i < functions.size(); ++i) {
    const Function& before = functions[i - 1];
    functions[i].is_fallen_into =
        before.falls_through && is_padding(before.end, functions[i].begin, Zeros::kAreData);
  }
  // A part of a function jumps back into it.
  for (const Branch& branch : code_.branches()) {
    if (branch.kind == Kind::kCall || !image_.in_text(branch.target)) continue;
    const Function* into = function_at(functions, branch.target);
    Function* from = function_at(functions, branch.from);
    if (!into || !from || into == from || into->begin == branch.target) continue;
    const std::uint8_t* code = image_.at(branch.target, kStubBytes);
    if (!code || !is_stub(code)) from->jumps_into_others = true;
  }
}

}  // namespace fbleprof::rewrite
