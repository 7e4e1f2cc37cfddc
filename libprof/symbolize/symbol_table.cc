#include "symbolize/symbol_table.h"

#include <algorithm>

#include "symbolize/namesakes.h"

namespace fbleprof::symbolize {
namespace {

// Marks the vDSO's "clock_gettime" and the like, which are not libc's functions of the same name.
std::size_t leading_underscores(std::string_view name) {
  if (name.starts_with("__vdso_")) return 0;
  return std::min(name.find_first_not_of('_'), name.size());
}

// Whether `a` is the better name for an address that has both.
bool better_name(const RawSymbol& a, const RawSymbol& b) {
  if (a.is_function != b.is_function) return a.is_function;
  const bool a_vdso = a.name.starts_with("__vdso_");
  if (a_vdso != b.name.starts_with("__vdso_")) return a_vdso;
  if (a.is_local != b.is_local) return b.is_local;
  const auto a_underscores = leading_underscores(a.name);
  const auto b_underscores = leading_underscores(b.name);
  if (a_underscores != b_underscores) return a_underscores < b_underscores;
  if (a.is_weak != b.is_weak) return b.is_weak;
  if (a.size != b.size) return a.size > b.size;
  if (a.origin != b.origin) return a.origin > b.origin;
  if (a.name.size() != b.name.size()) return a.name.size() < b.name.size();
  if (a.name != b.name) return a.name < b.name;
  return a.file < b.file;
}

std::string_view without_version(std::string_view name) {
  const std::size_t at = name.find('@', 1);
  return at == std::string_view::npos ? name : name.substr(0, at);
}

// Sorted by address, the best name first; then reduced to one symbol per address.
void choose_names(std::vector<RawSymbol>* symbols) {
  std::sort(symbols->begin(), symbols->end(), [](const RawSymbol& a, const RawSymbol& b) {
    return a.begin != b.begin ? a.begin < b.begin : better_name(a, b);
  });
  auto same_address = [](RawSymbol& kept, const RawSymbol& dropped) {
    if (kept.begin != dropped.begin) return false;
    if (kept.size == 0) kept.size = dropped.size;
    return true;
  };
  auto out = symbols->begin();
  for (auto in = symbols->begin(); in != symbols->end(); ++in) {
    if (out != symbols->begin() && same_address(*(out - 1), *in)) continue;
    *out++ = *in;
  }
  symbols->erase(out, symbols->end());
}

// Labels inside a function of known size are places in it, not functions.
void drop_inner_labels(std::vector<RawSymbol>* symbols) {
  std::uint64_t function_end = 0;
  std::erase_if(*symbols, [&](const RawSymbol& symbol) {
    if (symbol.size == 0 && symbol.begin < function_end) return true;
    if (symbol.is_function && symbol.size != 0) {
      function_end = std::max(function_end, symbol.begin + symbol.size);
    }
    return false;
  });
}

void bound_sizes(std::vector<RawSymbol>* symbols, const std::vector<AddressRange>& unwind) {
  for (std::size_t i = 0; i < symbols->size(); ++i) {
    RawSymbol& symbol = (*symbols)[i];
    std::uint64_t end = symbol.limit;
    if (symbol.size != 0) {
      end = std::min(end, symbol.begin + std::min(symbol.size, UINT64_MAX - symbol.begin));
    } else {
      if (i + 1 < symbols->size()) end = std::min(end, (*symbols)[i + 1].begin);
      auto next = std::upper_bound(
          unwind.begin(), unwind.end(), symbol.begin,
          [](std::uint64_t address, const AddressRange& range) { return address < range.begin; });
      if (next != unwind.end()) end = std::min(end, next->begin);
      if (next != unwind.begin() && (next - 1)->end > symbol.begin) {
        end = std::min(end, (next - 1)->end);
      }
    }
    symbol.size = end > symbol.begin ? end - symbol.begin : 0;
  }
  std::erase_if(*symbols, [](const RawSymbol& symbol) { return symbol.size == 0; });
}

}  // namespace

SymbolTable SymbolTable::build(std::vector<RawSymbol> symbols,
                               const std::vector<AddressRange>& unwind) {
  for (RawSymbol& symbol : symbols) {
    if (symbol.origin != NameOrigin::kPlt) symbol.name = without_version(symbol.name);
  }
  choose_names(&symbols);
  drop_inner_labels(&symbols);
  bound_sizes(&symbols, unwind);

  SymbolTable table;
  const ToldApart told = tell_apart(symbols);
  std::size_t name_bytes = 0;
  for (const std::string& unit : told.units) name_bytes += unit.size();
  for (const RawSymbol& symbol : symbols) name_bytes += symbol.name.size() + 4;
  table.names_.reserve(name_bytes);  // so that the views below stay true
  std::vector<std::string_view> units;
  for (const std::string& unit : told.units) {
    const std::size_t begin = table.names_.size();
    table.names_.insert(table.names_.end(), unit.begin(), unit.end());
    units.emplace_back(table.names_.data() + begin, unit.size());
  }
  table.functions_.reserve(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const RawSymbol& symbol = symbols[i];
    const char* begin = table.names_.data() + table.names_.size();
    table.names_.insert(table.names_.end(), symbol.name.begin(), symbol.name.end());
    if (symbol.origin == NameOrigin::kPlt && symbol.name != kWholePlt) {
      constexpr std::string_view kPltSuffix = "@plt";
      table.names_.insert(table.names_.end(), kPltSuffix.begin(), kPltSuffix.end());
    }
    const char* end = table.names_.data() + table.names_.size();
    table.functions_.push_back({symbol.begin,
                                symbol.size,
                                {begin, static_cast<std::size_t>(end - begin)},
                                symbol.origin,
                                told.symbols[i].namesakes,
                                units[told.symbols[i].unit]});
  }
  table.has_names_ = !symbols.empty();

  // Turns nested symbols into disjoint ranges with a stack of the symbols that cover the current
  // address, the one that began last on top.
  std::vector<std::uint32_t> covering;
  std::uint64_t at = 0;
  const auto end_of = [&](std::uint32_t f) {
    return table.functions_[f].begin + table.functions_[f].size;
  };
  const auto emit = [&](std::uint64_t to, std::uint32_t function) {
    if (to > at) table.ranges_.push_back({at, to, function});
    at = std::max(at, to);
  };
  const auto advance = [&](std::uint64_t to) {
    while (!covering.empty() && at < to) {
      const std::uint32_t top = covering.back();
      emit(std::min(to, end_of(top)), top);
      if (end_of(top) <= to) covering.pop_back();
    }
    at = to;
  };
  for (std::uint32_t f = 0; f < table.functions_.size(); ++f) {
    advance(table.functions_[f].begin);
    covering.push_back(f);
  }
  while (!covering.empty()) {
    const std::uint32_t top = covering.back();
    emit(end_of(top), top);
    covering.pop_back();
  }

  // Fills the gaps with the functions of unwind tables.
  std::vector<Range> gaps;
  std::size_t next = 0;
  std::uint64_t covered_to = 0;
  for (const AddressRange& range : unwind) {
    std::uint64_t begin = std::max(range.begin, covered_to);
    std::uint64_t function_begin = begin;
    bool is_new = true;
    while (next < table.ranges_.size() && table.ranges_[next].end <= begin) ++next;
    for (std::size_t r = next; begin < range.end;) {
      const bool symbol_follows = r < table.ranges_.size() && table.ranges_[r].begin < range.end;
      const std::uint64_t gap_end = symbol_follows ? table.ranges_[r].begin : range.end;
      if (symbol_follows && begin == range.begin && gap_end == begin + 1) {
        // glibc's signal trampoline: unwinders look up the byte before a return address.
        gaps.push_back({begin, gap_end, table.ranges_[r].function});
      } else if (gap_end > begin) {
        if (is_new) {
          table.functions_.push_back(
              {function_begin, range.end - function_begin, {}, NameOrigin::kUnwindTable, {}, {}});
          is_new = false;
        }
        gaps.push_back({begin, gap_end, static_cast<std::uint32_t>(table.functions_.size() - 1)});
      }
      if (!symbol_follows) break;
      begin = std::max(begin, table.ranges_[r++].end);
      if (is_new) function_begin = begin;
    }
    covered_to = std::max(covered_to, range.end);
  }
  table.ranges_.insert(table.ranges_.end(), gaps.begin(), gaps.end());
  std::sort(table.ranges_.begin(), table.ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  return table;
}

const SymbolTable::Function* SymbolTable::find(std::uint64_t address) const {
  auto next =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t value, const Range& range) { return value < range.begin; });
  if (next == ranges_.begin() || (next - 1)->end <= address) return nullptr;
  return &functions_[(next - 1)->function];
}

}  // namespace fbleprof::symbolize
