// Finds functions, source lines and inlined calls for addresses in object files.
//
// All addresses of a file are looked up at once. Names come from the symbol tables and cost one
// pass over them; debug info is opened only if lines or inlined calls are wanted. A file that is
// not the one that ran gives no names, only a warning: a wrong name is worse than none.
//
// Only Options::ask_debuginfod allows network access.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "symbolize/known_lines.h"
#include "symbolize/line_info.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// An object file as the recorder saw it.
struct ModuleFile {
  std::string path;
  std::string build_id;  // raw bytes, "" = it had none
  bool is_vdso = false;  // the kernel's: read from this process, if that has the same
  // Likely to be rebuilt, and so worth remembering: the program itself, and files that no package
  // installed.
  bool is_own = false;
};

struct Options {
  bool lines = false;    // file and line of each address
  bool inlines = false;  // and the functions inlined there; implies lines
  bool offsets = false;  // name sampled addresses apart: "f+0x1f"; inlined ones "g (f+0x1f)"
  std::vector<std::string> debug_roots = {"/usr/lib/debug"};
  // Ask the servers in DEBUGINFOD_URLS for debug files that are not on this machine.
  bool ask_debuginfod = false;
  // The time since which a file without a build-id must not have changed: ns since 1970, 0 = don't
  // check.
  std::uint64_t recorded_ns = 0;
  Progress* progress = nullptr;

  // Stored tables, by build-id (raw bytes, and a mark that tells whether there was a debug file).
  // `find_table` returns a stored one, also of a build that is gone; `keep_table` receives each new
  // one, and whether its module is_own. Either may be absent.
  std::function<std::optional<SymbolTable>(const std::string& key)> find_table;
  std::function<void(const std::string& key, const SymbolTable&, bool is_own)> keep_table;
  // The same for what debug info said of addresses. Debug info of less than `large_debug_info`
  // bytes is not stored: walking it is as fast.
  std::uint64_t large_debug_info = std::uint64_t{16} << 20;
  std::function<std::optional<KnownLines>(const std::string& key)> find_lines;
  std::function<void(const std::string& key, const KnownLines&)> keep_lines;
};

// A function of a module.
struct FunctionSymbol {
  std::uint64_t begin = 0;   // its first byte; if unknown, the address itself
  std::uint64_t size = 0;    // bytes, 0 = unknown
  std::string name;          // display name, without the suffix of a clone; "" = unknown
  std::string linkage_name;  // as in the symbol table, with its suffix
  NameOrigin origin = NameOrigin::kNone;
  std::string file;        // where the source defines it, if lines were requested; "" = unknown
  std::uint32_t line = 0;  // 0 = unknown
  std::string unit;        // see profile/namesakes.h
  profile::Namesakes namesakes = profile::Namesakes::kNotKnown;
};

// What is known of one address.
struct AddressSymbol {
  std::uint32_t function = 0;        // index into ModuleSymbols::functions
  std::string file;                  // "" = unknown
  std::uint32_t line = 0;            // in `function` (where that has inlined calls: of the call)
  std::vector<SourceFrame> inlined;  // innermost first
};

struct ModuleSymbols {
  std::vector<FunctionSymbol> functions;  // by `begin`, each once
  std::vector<AddressSymbol> addresses;   // one per requested address, in that order
  std::string warning;                    // one line for the user, "" = none
};

// `addresses` are virtual addresses in the file (run-time address minus load bias), in any order.
// For a return address, pass the address of the byte before it.
ModuleSymbols symbolize_module(const ModuleFile& module, std::span<const std::uint64_t> addresses,
                               const Options& options);

// "libfoo.so+0x1234": a place in a module that has no name.
std::string unnamed(const ModuleFile& module, std::uint64_t address);

}  // namespace fbleprof::symbolize
