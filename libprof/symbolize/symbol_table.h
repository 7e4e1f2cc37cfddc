// Which function an address of a file belongs to: all information from symbol tables, the PLT and
// unwind tables, as ranges that do not overlap. Plain data that owns its names: it can outlive the
// file it came from, stored under the file's build-id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/namesakes.h"
#include "symbolize/unwind_ranges.h"

namespace fbleprof::symbolize {

enum class NameOrigin : std::uint8_t {
  kNone,         // nothing is known of the address
  kUnwindTable,  // bounds, but no name
  kStartCode,    // what the program's first instructions call
  kPythonTable,  // what tables of Python call it
  kPlt,
  kDynsym,
  kSymtab,
  kDwarf,  // a name from debug info where the symbol tables had none
};

// The name of PLT code that belongs to no single stub. Stubs are called "target@plt".
inline constexpr std::string_view kWholePlt = "[plt]";

// A symbol as read, before the table is laid out.
struct RawSymbol {
  std::uint64_t begin;
  std::uint64_t size;     // 0 = unknown
  std::uint64_t limit;    // the end of its section
  std::string_view name;  // a version ("@@GLIBC_2.14") is taken off
  NameOrigin origin;
  bool is_function;  // STT_FUNC or STT_GNU_IFUNC; else a label of assembler code
  bool is_local;
  bool is_weak;
  // Of a local symbol: the number of the object file it came from, and the name of that file's
  // source file. 0 and "" = unknown.
  std::uint32_t file = 0;
  std::string_view unit = {};
};

class SymbolTable {
 public:
  struct Function {
    std::uint64_t begin;
    std::uint64_t size;
    std::string_view name;  // the linkage name; "" if the origin is kUnwindTable
    NameOrigin origin;
    profile::Namesakes namesakes;
    std::string_view unit;  // see profile/namesakes.h
  };

  SymbolTable() = default;

  // Of several names for one address the most familiar wins: functions before labels, exported
  // before local, `write` before `__write`. A symbol of size 0 ends where the unwind tables, the
  // next symbol or its section end. Inside nested symbols the innermost counts. `unwind` covers
  // addresses without a symbol.
  static SymbolTable build(std::vector<RawSymbol> symbols, const std::vector<AddressRange>& unwind);

  // Converts the table to bytes for storage, and back. Damaged bytes, or bytes of another version,
  // give no table.
  std::string to_bytes() const;
  static std::optional<SymbolTable> from_bytes(std::string_view bytes);

  // nullptr: nothing is known about this address.
  const Function* find(std::uint64_t address) const;

  const std::vector<Function>& functions() const { return functions_; }
  bool has_names() const { return has_names_; }

  SymbolTable(SymbolTable&&) = default;
  SymbolTable& operator=(SymbolTable&&) = default;

 private:
  struct Range {
    std::uint64_t begin, end;
    std::uint32_t function;
  };

  std::vector<Range> ranges_;  // disjoint, sorted
  std::vector<Function> functions_;
  std::vector<char> names_;  // what the views of functions_ point into
  bool has_names_ = false;
};

}  // namespace fbleprof::symbolize
