#include "transform/namesakes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>

#include "names/linkage.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// What a build without a symbol table shows of the functions of one name.
struct Seen {
  std::set<std::uint64_t> wholes;  // addresses
  std::map<std::string_view, std::uint64_t> parts;
  bool has_twins = false;  // two parts of one name

  bool has_namesakes() const { return wholes.size() > 1 || has_twins; }
};

class Group {
 public:
  Group(const Profile& profile, const std::vector<NamedCode>& code,
        std::span<const std::uint32_t> members)
      : functions_(profile.functions()), profile_(profile), code_(code), members_(members) {
    for (const std::uint32_t m : members_) look_at(code_[m]);
  }

  void distinguish(Distinctions& result) const {
    if (!has_namesakes_) return;
    for (const std::uint32_t m : members_) {
      const Distinction told = distinction(code_[m]);
      result.of_code[m] = told;
      const bool is_lone_part = is_unknown(code_[m]) && !is_whole(code_[m]) && told.address != 0 &&
                                seen_.at(code_[m].build).has_namesakes();
      if (told.is_of_build && (builds_.size() > 1 || is_lone_part)) {
        result.untold.push_back(code_[m].function);
      }
    }
  }

 private:
  bool is_unknown(const NamedCode& code) const {
    return functions_.namesakes[code.function.index()] == Namesakes::kNotKnown;
  }

  std::string_view whole_name(const NamedCode& code) const {
    const std::size_t f = code.function.index();
    const std::string_view linkage_name = profile_.text(functions_.linkage_name[f]);
    return linkage_name.empty() ? profile_.text(functions_.name[f]) : linkage_name;
  }

  bool is_whole(const NamedCode& code) const { return names::is_whole_function(whole_name(code)); }

  void look_at(const NamedCode& code) {
    const std::size_t f = code.function.index();
    builds_.insert(code.build);
    if (!is_unknown(code)) {
      has_namesakes_ |= functions_.namesakes[f] != Namesakes::kNone;
      const std::string_view unit = profile_.text(functions_.unit[f]);
      if (unit_.empty()) unit_ = unit;
      has_namesakes_ |= !unit.empty() && unit != unit_;
      return;
    }
    Seen& seen = seen_[code.build];
    if (!functions_.module[f]) return;
    const std::uint64_t address = functions_.address[f];
    if (is_whole(code)) {
      seen.wholes.insert(address);
    } else {
      seen.has_twins |= seen.parts.try_emplace(whole_name(code), address).first->second != address;
    }
    has_namesakes_ |= seen.has_namesakes();
  }

  Distinction distinction(const NamedCode& code) const {
    const std::size_t f = code.function.index();
    if (!is_unknown(code)) {
      return {functions_.namesakes[f] == Namesakes::kByPlace, profile_.text(functions_.unit[f]), 0};
    }
    const Seen& seen = seen_.at(code.build);
    const std::uint64_t address = functions_.module[f] ? functions_.address[f] : 0;
    if (is_whole(code) || seen.has_namesakes()) return {true, {}, address};
    return {true, {}, seen.wholes.empty() ? 0 : *seen.wholes.begin()};
  }

  const Functions& functions_;
  const Profile& profile_;
  const std::vector<NamedCode>& code_;
  std::span<const std::uint32_t> members_;
  std::set<std::string_view> builds_;
  std::map<std::string_view, Seen> seen_;  // by build
  std::string_view unit_;                  // the only one known so far
  bool has_namesakes_ = false;
};

}  // namespace

Distinctions distinguish(const Profile& profile, const std::vector<NamedCode>& code) {
  std::vector<std::uint32_t> order(code.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](std::uint32_t m) { return std::tie(code[m].name, code[m].module); };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  Distinctions result;
  result.of_code.resize(code.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && key(order[end]) == key(order[begin])) ++end;
    const std::span<const std::uint32_t> members(order.data() + begin, end - begin);
    if (members.size() > 1) Group(profile, code, members).distinguish(result);
    begin = end;
  }
  return result;
}

}  // namespace fbleprof::transform
