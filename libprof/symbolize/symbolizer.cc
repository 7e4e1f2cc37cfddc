#include "symbolize/symbolizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <string>
#include <unordered_set>

#include "symbolize/all_functions.h"
#include "symbolize/demangle.h"
#include "symbolize/module_files.h"
#include "symbolize/plt.h"
#include "symbolize/python_methods.h"
#include "symbolize/relocations.h"
#include "symbolize/start_code.h"
#include "symbolize/symbol_reader.h"

namespace fbleprof::symbolize {
namespace {

// Adds the symbols for code that has no better name.
void add_where_nameless(std::vector<RawSymbol>& symbols, const std::vector<RawSymbol>& more) {
  std::unordered_set<std::uint64_t> named;
  for (const RawSymbol& symbol : symbols) named.insert(symbol.begin);
  for (const RawSymbol& told : more) {
    if (!named.contains(told.begin)) symbols.push_back(told);
  }
}

SymbolTable read_table(const ModuleFiles& files) {
  std::vector<RawSymbol> symbols;
  std::deque<std::string> names;
  std::uint32_t last_file = 0;
  for (const auto* file : {&files.debug, &files.mini, &files.object}) {
    if (!*file) continue;
    const std::uint32_t before = last_file;
    for (RawSymbol symbol : read_symbols(**file)) {
      if (symbol.file != 0) symbol.file += before;
      last_file = std::max(last_file, symbol.file);
      symbols.push_back(symbol);
    }
  }
  std::vector<AddressRange> unwind;
  if (files.object) {
    const Relocations relocations = Relocations::read(*files.object, symbols);
    const std::vector<RawSymbol> stubs = read_plt(*files.object, relocations);
    symbols.insert(symbols.end(), stubs.begin(), stubs.end());
    add_where_nameless(symbols, read_start_code(*files.object, relocations));
    add_where_nameless(symbols, read_python_methods(*files.object, &names));
    unwind = unwind_ranges(*files.object);
  }
  return SymbolTable::build(std::move(symbols), unwind);
}

constexpr const char* kWithDebugFile = "+debug";

// The symbol table of the files, from the kept ones if possible. Only a table made from the file
// that ran is kept: a debug file alone lacks the PLT and the unwind tables.
SymbolTable table_of(const ModuleFile& module, const ModuleFiles& files, const Options& options) {
  // The key includes the debug file: a file says more once its debug file is installed.
  const std::string key =
      !files.object ? "" : files.object->build_id() + (files.debug ? kWithDebugFile : "");
  const bool may_keep = files.object && !files.object->build_id().empty() && !module.is_vdso;
  if (may_keep && options.find_table) {
    if (auto kept = options.find_table(key)) return std::move(*kept);
  }
  SymbolTable table = read_table(files);
  if (may_keep && options.keep_table) options.keep_table(key, table, module.is_own);
  return table;
}

// The table of a build that is gone, kept when an earlier report read it.
std::optional<SymbolTable> kept_table_of(const ModuleFile& module, const Options& options) {
  if (module.is_vdso || module.build_id.empty() || !options.find_table) return std::nullopt;
  auto kept = options.find_table(module.build_id + kWithDebugFile);
  return kept ? std::move(kept) : options.find_table(module.build_id);
}

std::string display_name(const SymbolTable::Function& function) {
  if (function.origin == NameOrigin::kPlt && function.name != kWholePlt) {
    constexpr std::string_view kSuffix = "@plt";
    std::string_view base = function.name;
    base.remove_suffix(kSuffix.size());
    return demangle(base) + std::string(kSuffix);
  }
  return demangle(function.name);
}

FunctionSymbol describe(const SymbolTable::Function& function) {
  FunctionSymbol symbol;
  symbol.begin = function.begin;
  symbol.size = function.size;
  symbol.origin = function.origin;
  symbol.linkage_name = function.name;
  symbol.unit = function.unit;
  symbol.namesakes = function.namesakes;
  if (!function.name.empty()) symbol.name = display_name(function);
  return symbol;
}

// Reports progress, counting names and lines as half of the work each.
class Reporter {
 public:
  Reporter(const ModuleFile& module, std::size_t total, Progress* progress)
      : step_("symbols of " + module.path), total_(total), progress_(progress) {}
  void update(std::size_t done) {
    if (progress_ != nullptr) progress_->update(step_, done, total_);
  }

 private:
  std::string step_;
  std::size_t total_;
  Progress* progress_;
};

// The key under which the lines of this file are kept; "" = they are not. Without inlined calls the
// line of an address differs: see SourceFrame.
std::string lines_key(const ElfObject& object, const Options& options) {
  const Section* info = object.section(".debug_info");
  const bool is_large = info != nullptr && info->header.sh_size >= options.large_debug_info;
  if (!is_large || object.build_id().empty() || !options.find_lines || !options.keep_lines)
    return "";
  return object.build_id() + (options.inlines ? "+inlines" : "+lines");
}

// What the debug info says of addresses (sorted); reads only those not known yet.
std::vector<SourceLocation> locate(const ElfObject& object,
                                   const std::vector<std::uint64_t>& addresses,
                                   const Options& options,
                                   const std::function<void(std::size_t)>& progress) {
  const std::string key = lines_key(object, options);
  KnownLines known;
  if (!key.empty()) known = options.find_lines(key).value_or(KnownLines());
  std::vector<std::uint64_t> unknown;
  for (const std::uint64_t address : addresses) {
    if (known.find(address) == nullptr) unknown.push_back(address);
  }
  if (!unknown.empty()) {
    const std::size_t before = addresses.size() - unknown.size();
    std::vector<SourceLocation> found = LineInfo(object).locate(
        unknown, options.inlines, [&](std::size_t done) { progress(before + done); });
    if (key.empty()) return found;
    for (std::size_t i = 0; i < unknown.size(); ++i) known.add(unknown[i], std::move(found[i]));
    options.keep_lines(key, known);
  }
  std::vector<SourceLocation> locations;
  locations.reserve(addresses.size());
  for (const std::uint64_t address : addresses) locations.push_back(*known.find(address));
  return locations;
}

void add_lines(const ElfObject& object, std::span<const std::uint64_t> addresses,
               std::span<const std::size_t> order, const Options& options, Reporter* reporter,
               ModuleSymbols* symbols) {
  std::vector<std::uint64_t> sorted;
  sorted.reserve(order.size());
  for (std::size_t index : order) sorted.push_back(addresses[index]);
  std::vector<SourceLocation> locations = locate(
      object, sorted, options, [&](std::size_t done) { reporter->update(sorted.size() + done); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    AddressSymbol& address = symbols->addresses[order[i]];
    SourceLocation& location = locations[i];
    address.file = std::move(location.function.file);
    address.line = location.function.line;
    address.inlined = std::move(location.inlined);
    FunctionSymbol& function = symbols->functions[address.function];
    if (function.line == 0) {
      function.file = std::move(location.function.declared_file);
      function.line = location.function.declared_line;
    }
    if (function.name.empty() && !location.function.name.empty()) {
      function.name = location.function.name;
      function.linkage_name = location.function.linkage_name;
      function.origin = NameOrigin::kDwarf;
    }
  }
}

// What is known of a module's functions, and where the rest can be found.
struct Sources {
  ModuleFiles files;
  SymbolTable table;
  std::string warning;
};

Sources open_sources(const ModuleFile& module, const Options& options) {
  Sources sources{open_module(module, options), {}, {}};
  const ModuleFiles& files = sources.files;
  sources.warning = files.warning;
  auto kept = files.object ? std::nullopt : kept_table_of(module, options);
  if (kept) {
    sources.table = std::move(*kept);
    const bool wants_lines = options.lines || options.inlines;
    sources.warning =
        wants_lines && !files.debug
            ? fmt::format(
                  "{}: {}: names that the profile lacks are known from an earlier report, "
                  "its lines are not",
                  module.path, files.reason)
            : "";
  } else if (files.object || files.debug) {
    sources.table = table_of(module, files, options);
  }
  return sources;
}

ModuleSymbols look_up(const ModuleFile& module, const Sources& sources,
                      std::span<const std::uint64_t> addresses, const Options& options) {
  const auto& [files, table, warning] = sources;
  ModuleSymbols symbols;
  symbols.warning = warning;
  symbols.addresses.resize(addresses.size());
  std::vector<std::size_t> order(addresses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });

  const bool lines = options.lines || options.inlines;
  Reporter reporter(module, addresses.size() * (lines ? 2 : 1), options.progress);
  reporter.update(0);

  // Addresses are sorted, so those of one function are adjacent, except in nested functions.
  std::vector<std::uint32_t> known(table.functions().size(), UINT32_MAX);
  constexpr std::size_t kReportEvery = 4096;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint64_t address = addresses[order[i]];
    const auto next = static_cast<std::uint32_t>(symbols.functions.size());
    std::uint32_t& function = symbols.addresses[order[i]].function;
    if (const SymbolTable::Function* found = table.find(address)) {
      std::uint32_t& id = known[static_cast<std::size_t>(found - table.functions().data())];
      if (id == UINT32_MAX) {
        id = next;
        symbols.functions.push_back(describe(*found));
      }
      function = id;
    } else if (i > 0 && addresses[order[i - 1]] == address) {
      function = symbols.addresses[order[i - 1]].function;
    } else {
      function = next;
      symbols.functions.push_back({.begin = address});
    }
    if (i % kReportEvery == 0) reporter.update(i);
  }

  if (lines) {
    // DWARF is in the debug file of a stripped program, else in the program itself.
    for (const auto* file : {&files.debug, &files.object}) {
      if (!*file || (*file)->section(".debug_info") == nullptr) continue;
      add_lines(**file, addresses, order, options, &reporter, &symbols);
      break;
    }
  }
  return symbols;
}

}  // namespace

ModuleSymbols symbolize_module(const ModuleFile& module, std::span<const std::uint64_t> addresses,
                               const Options& options) {
  return look_up(module, open_sources(module, options), addresses, options);
}

ModuleSymbols symbolize_all(const ModuleFile& module, const Options& options) {
  const Sources sources = open_sources(module, options);
  std::vector<std::uint64_t> starts;
  for (const SymbolTable::Function& function : sources.table.functions()) {
    starts.push_back(function.begin);
  }
  return look_up(module, sources, starts, options);
}

std::string unnamed(const ModuleFile& module, std::uint64_t address) {
  const std::size_t slash = module.path.rfind('/');
  return fmt::format("{}+0x{:x}",
                     slash == std::string::npos ? module.path : module.path.substr(slash + 1),
                     address);
}

}  // namespace fbleprof::symbolize
