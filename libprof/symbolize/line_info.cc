#include "symbolize/line_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <optional>

#include "symbolize/die_names.h"
#include "symbolize/source_files.h"

// All addresses of a file are located at once, so that only compilation units that hold an address
// are visited, each once: first a list of the units' ranges (from their top entries), then for each
// unit its line table, and one walk through the functions that hold an address. .debug_aranges
// would give the units' ranges, but clang does not write it.

namespace fbleprof::symbolize {
namespace {

struct UnitRange {
  std::uint64_t begin, end;
  std::uint32_t unit;
};

struct Unit {
  Dwarf_Die top;    // has the line table
  Dwarf_Die split;  // has the functions; the same entry unless they are in a .dwo file
};

// An address on its way to its functions.
struct Wanted {
  std::uint64_t address;
  std::size_t index;  // in the caller's list
  std::optional<Dwarf_Die> function;
  std::vector<Dwarf_Die> inlined;  // outermost first
};

bool holds_code(int tag) { return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine; }

std::uint32_t number(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, attribute, &found), &value) != 0) return 0;
  return value <= UINT32_MAX ? static_cast<std::uint32_t>(value) : 0;
}

// Finds for the addresses of one unit the functions that contain them.
class FunctionWalk {
 public:
  // `thorough`: also searches where compilers do not usually put code.
  FunctionWalk(std::span<Wanted> wanted, bool thorough) : wanted_(wanted), thorough_(thorough) {}

  void visit_children(Dwarf_Die* parent, int nesting) {
    Dwarf_Die child;
    if (nesting > kMaxNesting || dwarf_child(parent, &child) != 0) return;
    do visit(&child, nesting);
    while (dwarf_siblingof(&child, &child) == 0);
  }

 private:
  void visit(Dwarf_Die* die, int nesting) {
    const int tag = dwarf_tag(die);
    if (holds_code(tag)) {
      if (claim(die, tag) || thorough_) visit_children(die, nesting + 1);
    } else if (tag == DW_TAG_lexical_block) {
      visit_children(die, nesting + 1);
    } else if (tag == DW_TAG_namespace || tag == DW_TAG_module || (thorough_ && is_scope(tag))) {
      visit_children(die, nesting + 1);
    }
  }

  // Notes the entry for the addresses in its ranges. False: there are none.
  bool claim(Dwarf_Die* die, int tag) {
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    bool any = false;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
      auto found = std::lower_bound(
          wanted_.begin(), wanted_.end(), begin,
          [](const Wanted& wanted, std::uint64_t address) { return wanted.address < address; });
      for (; found != wanted_.end() && found->address < end; ++found) {
        any = true;
        if (tag == DW_TAG_inlined_subroutine) {
          if (found->inlined.size() < kMaxNesting) found->inlined.push_back(*die);
        } else {
          found->function = *die;
          found->inlined.clear();
        }
      }
    }
    return any;
  }

  std::span<Wanted> wanted_;
  bool thorough_;
};

}  // namespace

struct LineInfo::Impl {
  Dwarf* dwarf = nullptr;
  bool indexed = false;
  std::vector<Unit> units;
  std::vector<UnitRange> ranges;  // sorted
  DieNames names;

  ~Impl() {
    if (dwarf != nullptr) dwarf_end(dwarf);
  }

  void index_units() {
    if (indexed) return;
    indexed = true;
    Dwarf_CU* cu = nullptr;
    Dwarf_CU* next = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    Unit unit{};
    while (dwarf_get_units(dwarf, cu, &next, &version, &type, &unit.top, &unit.split) == 0) {
      cu = next;
      if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
      if (unit.split.addr == nullptr) unit.split = unit.top;
      const auto id = static_cast<std::uint32_t>(units.size());
      Dwarf_Addr base = 0;
      Dwarf_Addr begin = 0;
      Dwarf_Addr end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(&unit.top, at, &base, &begin, &end)) > 0;) {
        // Functions that the linker dropped still have a range at 0.
        if (begin != 0 && begin < end) ranges.push_back({begin, end, id});
      }
      units.push_back(unit);
    }
    std::sort(ranges.begin(), ranges.end(), [](const UnitRange& a, const UnitRange& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  }

  // The unit of an address, or nullptr. Units overlap where one was linked in twice; then the one
  // that begins last is used.
  const UnitRange* range_of(std::uint64_t address) const {
    auto next = std::upper_bound(
        ranges.begin(), ranges.end(), address,
        [](std::uint64_t value, const UnitRange& range) { return value < range.begin; });
    constexpr int kOverlaps = 8;
    for (int tries = 0; tries < kOverlaps && next != ranges.begin(); ++tries) {
      --next;
      if (address < next->end) return &*next;
    }
    return nullptr;
  }

  void set_line(Dwarf_Die* unit, std::uint64_t address, SourceFrame* frame) {
    Dwarf_Line* line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (line == nullptr) return;
    frame->file = file_name(unit, dwarf_linesrc(line, nullptr, nullptr));
    if (dwarf_lineno(line, &number) == 0 && number > 0) {
      frame->line = static_cast<std::uint32_t>(number);
    }
  }

  void set_call(Dwarf_Die* unit, Dwarf_Die* inlined, SourceFrame* frame) {
    Dwarf_Attribute attribute;
    if (dwarf_attr(inlined, DW_AT_call_file, &attribute) != nullptr) {
      frame->file = file_by_number(unit, &attribute);
    }
    frame->line = number(inlined, DW_AT_call_line);
  }

  // All wanted addresses of one unit, sorted.
  void locate_in_unit(Unit* unit, std::span<Wanted> wanted, bool inlines,
                      std::vector<SourceLocation>* locations) {
    FunctionWalk(wanted, false).visit_children(&unit->split, 0);
    const auto is_lost = [](const Wanted& one) { return !one.function; };
    if (std::any_of(wanted.begin(), wanted.end(), is_lost)) {
      for (Wanted& one : wanted) one.inlined.clear();
      FunctionWalk(wanted, true).visit_children(&unit->split, 0);
    }
    for (Wanted& one : wanted) {
      SourceLocation& location = (*locations)[one.index];
      if (one.function) location.function = names.of(&*one.function);
      SourceFrame place;  // of the frame that comes next, going outward
      set_line(&unit->top, one.address, &place);
      if (inlines) {
        for (auto die = one.inlined.rbegin(); die != one.inlined.rend(); ++die) {
          SourceFrame frame = names.of(&*die);
          frame.file = std::move(place.file);
          frame.line = place.line;
          location.inlined.push_back(std::move(frame));
          set_call(&unit->top, &*die, &place);
        }
      }
      location.function.file = std::move(place.file);
      location.function.line = place.line;
    }
  }
};

LineInfo::LineInfo(const ElfObject& object) {
  if (Dwarf* dwarf = dwarf_begin_elf(object.elf(), DWARF_C_READ, nullptr)) {
    dwarf_ = std::make_unique<Impl>();
    dwarf_->dwarf = dwarf;
  }
}

LineInfo::~LineInfo() = default;

std::vector<SourceLocation> LineInfo::locate(std::span<const std::uint64_t> addresses, bool inlines,
                                             const std::function<void(std::size_t)>& progress) {
  std::vector<SourceLocation> locations(addresses.size());
  if (!available()) return locations;
  dwarf_->index_units();

  struct Place {
    std::uint32_t unit;
    std::size_t index;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (const UnitRange* range = dwarf_->range_of(addresses[i])) places.push_back({range->unit, i});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.unit < b.unit; });
  std::vector<Wanted> wanted;
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin;
    wanted.clear();
    for (; end < places.size() && places[end].unit == places[begin].unit; ++end) {
      wanted.push_back({addresses[places[end].index], places[end].index, {}, {}});
    }
    dwarf_->locate_in_unit(&dwarf_->units[places[begin].unit], wanted, inlines, &locations);
    if (progress) progress(end);
    begin = end;
  }
  return locations;
}

}  // namespace fbleprof::symbolize
