#include "symbolize/namesakes.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "names/linkage.h"

namespace fbleprof::symbolize {
namespace {

using profile::Namesakes;

constexpr std::uint32_t kEnd = UINT32_MAX;

// Where a symbol's function is defined.
enum class Home : std::uint8_t {
  kModule,   // one for the whole module
  kFile,     // in a source file that is known
  kRenamed,  // in a file that is not known: link-time optimization made its name unique
  kUnknown,  // in a file that is not known
};

struct Place {
  Home home = Home::kModule;
  std::uint32_t file = 0;     // of kFile and kUnknown
  std::string_view word;      // of kRenamed
  std::uint64_t address = 0;  // of one of several functions of this name that are at home there

  auto operator<=>(const Place&) const = default;
};

// Names that link-time optimization gives to what it made of all files.
bool is_of_all_files(std::string_view file) { return file.starts_with('<') || file == "ld-temp.o"; }

// The linker writes global symbols that became local behind a file without a name.
bool is_of_module(const RawSymbol& symbol) {
  return !symbol.is_local || (symbol.file != 0 && symbol.unit.empty());
}

Place home_of(const RawSymbol& symbol, std::string_view suffix) {
  if (symbol.is_local && !symbol.unit.empty() && !is_of_all_files(symbol.unit)) {
    return {Home::kFile, symbol.file, {}, 0};
  }
  if (const std::string_view word = names::renaming_word(suffix); !word.empty()) {
    return {Home::kRenamed, 0, word, 0};
  }
  return is_of_module(symbol) ? Place{} : Place{Home::kUnknown, symbol.file, {}, 0};
}

// Whether all of a program's functions of this name are one: C++ says so, unless the name tells of
// a static function ("_ZL1fv"), of an anonymous namespace, or of a type that has no name.
bool is_one_in_a_program(std::string_view name) {
  if (!name.starts_with("_Z") || name.find("_GLOBAL__N") != std::string_view::npos) return false;
  for (std::size_t i = 2; i + 1 < name.size(); ++i) {
    const char next = name[i + 1];
    if (name[i] == 'L' && next >= '0' && next <= '9') return false;
    if (name[i] == 'U' && (next == 'l' || next == 't')) return false;
  }
  return true;
}

// The symbols of one name.
class Group {
 public:
  struct Member {
    std::uint32_t symbol;
    std::string_view suffix;
    Place place;  // of its function
  };

  explicit Group(std::string_view name) : name_(name) {}

  void add(std::uint32_t index, const RawSymbol& symbol, std::string_view suffix) {
    const Place home = home_of(symbol, suffix);
    const bool is_whole = suffix == names::renaming_word(suffix);
    Contents& contents = at_[home];
    if (is_whole) {
      contents.wholes.push_back(symbol.begin);
    } else {
      contents.has_twins |= !contents.suffixes.try_emplace(suffix, index).second;
    }
    members_.push_back({index, is_whole ? std::string_view() : suffix, home});
  }

  // Where each one's function is defined.
  const std::vector<Member>& places(std::span<const RawSymbol> symbols) {
    for (const auto& [home, contents] : at_) {
      if (home.home == Home::kModule) continue;
      ++other_homes_;
      any_static_ |= !contents.wholes.empty();
    }
    for (Member& member : members_) {
      const std::uint64_t address = symbols[member.symbol].begin;
      member.place = member.suffix.empty() ? place_of_whole(member.place, address)
                                           : place_of_part(member.place, address);
    }
    return members_;
  }

 private:
  struct Contents {
    std::vector<std::uint64_t> wholes;  // addresses
    std::map<std::string_view, std::uint32_t> suffixes;
    bool has_twins = false;  // two parts have the same suffix
  };

  Place place_of_whole(Place home, std::uint64_t address) const {
    if (at_.at(home).wholes.size() > 1) home.address = address;
    return home;
  }

  Place place_of_part(Place home, std::uint64_t address) const {
    const Contents& here = at_.at(home);
    const bool is_alone = here.wholes.size() > 1 || (home.home != Home::kModule && here.has_twins);
    if (!is_alone && here.wholes.size() == 1) return home;
    if (!is_alone && is_of_modules_function(home)) return {};
    if (is_alone) home.address = address;
    return home;
  }

  // Whether the parts that are at home there, without a whole function, can only be those of the
  // function of the whole module.
  bool is_of_modules_function(const Place& home) const {
    if (is_one_in_a_program(name_) && !any_static_) return true;
    const auto module = at_.find(Place{});
    if (module == at_.end() || module->second.wholes.size() != 1) return false;
    return other_homes_ == (home.home == Home::kModule ? 0 : 1);
  }

  std::string_view name_;
  std::vector<Member> members_;
  std::map<Place, Contents> at_;  // by home
  std::size_t other_homes_ = 0;   // than the whole module
  bool any_static_ = false;
};

class Telling {
 public:
  explicit Telling(std::span<const RawSymbol> symbols) : symbols_(symbols) {
    told_.units.emplace_back();
    told_.symbols.resize(symbols.size());
  }

  ToldApart run() && {
    find_groups();
    for (const auto& [name, list] : groups_) {
      if (next_[list.first] == kEnd) {
        const RawSymbol& symbol = symbols_[list.first];
        const Place place = home_of(symbol, symbol.name.substr(name.size()));
        told_.symbols[list.first] = {unit(unit_of(place, list.first)), Namesakes::kNone};
      } else {
        tell(name, list.first);
      }
    }
    return std::move(told_);
  }

 private:
  struct List {
    std::uint32_t first, last;
  };

  void find_groups() {
    next_.assign(symbols_.size(), kEnd);
    groups_.reserve(symbols_.size());
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
      if (symbols_[i].origin == NameOrigin::kPlt) continue;  // a stub's name is its target's
      const std::string_view name = names::split_linkage_name(symbols_[i].name).function;
      const auto [at, added] = groups_.try_emplace(name, List{i, i});
      if (added) continue;
      next_[at->second.last] = i;
      at->second.last = i;
    }
  }

  void tell(std::string_view name, std::uint32_t first) {
    Group group(name);
    for (std::uint32_t i = first; i != kEnd; i = next_[i]) {
      group.add(i, symbols_[i], symbols_[i].name.substr(name.size()));
    }
    const std::vector<Group::Member>& members = group.places(symbols_);
    std::map<Place, std::uint32_t> functions;  // a symbol of each
    for (const auto& member : members) functions.try_emplace(member.place, member.symbol);
    std::map<Place, ToldApart::Symbol> told;
    if (functions.size() == 1) {
      const auto& [place, symbol] = *functions.begin();
      told[place] = {unit(unit_of(place, symbol)), Namesakes::kNone};
    } else {
      told = tell(functions);
    }
    for (const auto& member : members) told_.symbols[member.symbol] = told[member.place];
  }

  // Functions of files of one name (in several folders) are told apart by the order in which they
  // were linked, if other builds have as many of them.
  std::map<Place, ToldApart::Symbol> tell(const std::map<Place, std::uint32_t>& functions) {
    std::map<std::string_view, std::size_t> counts, numbers;
    for (const auto& [place, symbol] : functions) {
      if (is_told(place)) ++counts[unit_of(place, symbol)];
    }
    std::map<Place, ToldApart::Symbol> told;
    for (const auto& [place, symbol] : functions) {
      if (!is_told(place)) {
        const std::string text = fmt::format("0x{:x}", symbols_[symbol].begin);
        told[place] = {unit(text), Namesakes::kByPlace};
        continue;
      }
      const std::string_view file = unit_of(place, symbol);
      const std::size_t number = ++numbers[file], count = counts[file];
      const std::string text =
          count == 1 ? std::string(file) : fmt::format("{} ({} of {})", file, number, count);
      told[place] = {unit(text), Namesakes::kByUnit};
    }
    return told;
  }

  static bool is_told(const Place& place) {
    return place.home == Home::kModule || place.home == Home::kFile;
  }

  std::string_view unit_of(const Place& place, std::uint32_t symbol) const {
    return place.home == Home::kFile ? symbols_[symbol].unit : std::string_view();
  }

  std::uint32_t unit(std::string_view text) {
    const auto [at, added] = unit_index_.try_emplace(std::string(text), told_.units.size());
    if (added) told_.units.emplace_back(text);
    return at->second;
  }

  std::span<const RawSymbol> symbols_;
  ToldApart told_;
  std::unordered_map<std::string_view, List> groups_;
  std::vector<std::uint32_t> next_;  // by symbol: the next one of its name
  std::unordered_map<std::string, std::uint32_t> unit_index_ = {{"", 0}};
};

}  // namespace

ToldApart tell_apart(std::span<const RawSymbol> symbols) { return Telling(symbols).run(); }

}  // namespace fbleprof::symbolize
