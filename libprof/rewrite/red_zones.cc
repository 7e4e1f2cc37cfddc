#include "rewrite/red_zones.h"

#include <algorithm>

namespace fbleprof::rewrite {
namespace {

// Follows the jumps from code that uses the red zone: into the middle of another range, which is
// then of the same function, and to the start of a range that may be a part of it.
class RedZones {
 public:
  RedZones(const ElfImage& image, const std::vector<Branch>& branches, const std::vector<Way>& ways,
           std::vector<Function>& functions)
      : functions_(functions), ways_(ways) {
    for (const Branch& branch : branches) {
      if (branch.kind != Instruction::Kind::kCall && image.in_text(branch.target)) {
        jumps_.push_back(branch);
      }
    }
    std::sort(jumps_.begin(), jumps_.end(),
              [](const Branch& a, const Branch& b) { return a.from < b.from; });
  }

  void find() {
    for (Function& function : functions_) {
      if (function.uses_red_zone || function.may_find_red_zone) follow(&function);
    }
    while (!reached_.empty()) {
      Function* next = reached_.back();
      reached_.pop_back();
      follow(next);
    }
  }

 private:
  void reach(Function* into, Address target) {
    if (!into || into->may_find_red_zone || (into->begin == target && !into->may_be_part())) return;
    into->may_find_red_zone = true;
    reached_.push_back(into);
  }

  void follow(Function* from) {
    const auto first = std::lower_bound(
        jumps_.begin(), jumps_.end(), from->begin,
        [](const Branch& branch, Address address) { return branch.from < address; });
    for (auto jump = first; jump != jumps_.end() && jump->from < from->end; ++jump) {
      if (!from->contains(jump->target)) {
        reach(function_at(functions_, jump->target), jump->target);
      }
    }
    Function* const next = from + 1;
    if (next != functions_.data() + functions_.size() && next->is_fallen_into) {
      reach(next, next->begin);
    }
    for (auto way = std::lower_bound(ways_.begin(), ways_.end(), Way{from, 0});
         way != ways_.end() && way->from == from; ++way) {
      reach(function_at(functions_, way->to), way->to);
    }
  }

  std::vector<Function>& functions_;
  const std::vector<Way>& ways_;
  std::vector<Branch> jumps_;  // in order of the place that they come from
  std::vector<Function*> reached_;
};

}  // namespace

void find_red_zones(const ElfImage& image, const std::vector<Branch>& branches,
                    const std::vector<Way>& ways, std::vector<Function>& functions) {
  RedZones(image, branches, ways, functions).find();
}

void find_kept_memory(const std::vector<Branch>& branches, const std::vector<Address>& called,
                      std::vector<Function>& functions) {
  bool is_done = true;
  const auto mark_start = [&](Address address) {
    Function* function = function_at(functions, address);
    if (!function || function->begin != address || function->leaves_memory) return;
    function->leaves_memory = true;
    is_done = false;
  };
  for (const Address address : called) mark_start(address);
  while (!is_done) {
    is_done = true;
    for (const Branch& branch : branches) {
      const Function* from = function_at(functions, branch.from);
      if (from && from->leaves_memory) mark_start(branch.target);
    }
  }
}

}  // namespace fbleprof::rewrite
