// No disassembler is needed: a call of a hook is an opcode and a distance, and unrelated bytes that
// look like one would have to hit a hook's stub or slot exactly.
#include "symbolize/hooked_functions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "symbolize/module_files.h"
#include "symbolize/patchable.h"
#include "symbolize/plt.h"
#include "symbolize/relocations.h"
#include "symbolize/symbol_reader.h"

namespace fbleprof::symbolize {
namespace {

bool is_hook(std::string_view name) {
  constexpr std::array<std::string_view, 4> kHooks = {"mcount", "_mcount", "__fentry__",
                                                      "__cyg_profile_func_enter"};
  return std::find(kHooks.begin(), kHooks.end(), name) != kHooks.end();
}

struct Hooks {
  std::unordered_set<std::uint64_t> stubs;  // PLT stubs and slots of hooks
  Relocations relocations;

  bool is_slot(std::uint64_t address) const { return is_hook(relocations.name_of_slot(address)); }
};

// Finds calls and jumps in `code` at `begin`: call and jmp with a distance (e8, e9), and through a
// slot (ff 15, ff 25). Returns the return addresses, less one, of those that lead to hooks.
void find_calls(std::string_view code, std::uint64_t begin, const Hooks& hooks,
                std::vector<std::uint64_t>& found) {
  const auto distance = [&](std::size_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, code.data() + at, sizeof value);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  for (std::size_t i = 0; i + 5 <= code.size(); ++i) {
    const auto byte = static_cast<unsigned char>(code[i]);
    if (byte == 0xe8 || byte == 0xe9) {
      if (hooks.stubs.count(begin + i + 5 + distance(i + 1)) != 0) found.push_back(begin + i + 4);
    } else if (byte == 0xff && i + 6 <= code.size()) {
      const auto next = static_cast<unsigned char>(code[i + 1]);
      if (next != 0x15 && next != 0x25) continue;
      if (hooks.is_slot(begin + i + 6 + distance(i + 2))) found.push_back(begin + i + 5);
    }
  }
}

}  // namespace

HookedFunctions hooked_functions(const ModuleFile& module, const Options& options) {
  HookedFunctions result;
  const ModuleFiles files = open_module(module, options);
  if (!files.object) {
    result.warning = files.warning;
    return result;
  }
  if (files.object->machine() != EM_X86_64) return result;
  const std::vector<RawSymbol> symbols = read_symbols(*files.object);
  // The providers of hooks are not hooked: the recorder itself, and libc.
  for (const RawSymbol& symbol : symbols) {
    if (is_hook(symbol.name)) return result;
  }
  Hooks hooks{{}, Relocations::read(*files.object, symbols)};
  for (const RawSymbol& stub : read_plt(*files.object, hooks.relocations)) {
    if (is_hook(stub.name)) hooks.stubs.insert(stub.begin);
  }
  std::vector<std::uint64_t> calls;
  for (const Section& section : files.object->sections()) {
    // The stubs themselves jump through the slots.
    if (!section.is_code() || section.name.starts_with(".plt")) continue;
    find_calls(section.bytes(), section.header.sh_addr, hooks, calls);
  }
  for (const std::uint64_t start : patchable_functions(*files.object, symbols)) {
    calls.push_back(start);
  }
  if (calls.empty()) return result;
  ModuleSymbols named = symbolize_module(module, calls, options);
  result.functions = std::move(named.functions);
  result.warning = std::move(named.warning);
  return result;
}

}  // namespace fbleprof::symbolize
