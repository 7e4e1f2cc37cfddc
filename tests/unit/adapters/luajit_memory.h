// LuaJIT's functions, laid out in a test's memory.
#pragma once

#include <string>
#include <vector>

#include "adapters/luajit_memory.h"
#include "memory.h"

namespace fbleprof::adapters::luajit {

constexpr Instruction op_ad(std::uint8_t op, std::uint8_t a, std::uint16_t d) {
  return op | static_cast<Instruction>(a) << 8 | static_cast<Instruction>(d) << 16;
}
constexpr Instruction op_abc(std::uint8_t op, std::uint8_t a, std::uint8_t b, std::uint8_t c) {
  return op_ad(op, a, static_cast<std::uint16_t>(b << 8 | c));
}
// Operations of LuaJIT 2.1.
enum : std::uint8_t {
  kOpMove = 18,
  kOpGetUpvalue = 45,
  kOpGetGlobal = 54,
  kOpGetField = 57,
  kOpCallMany = 65,
  kOpCall = 66,
  kOpReturn = 75,
  kOpLoop = 85,
  kOpJump = 88,
  kOpFunction = 89,
};

inline constexpr std::uint64_t kIsFunctionValue = std::uint64_t{0x1fff7} << 47;
inline std::uint64_t value_of(Raw& object) { return kIsFunctionValue | object.address(); }

// A string; its id is that of its place in tables of names.
inline Raw string_of(const std::string& text, std::uint32_t id = 0) {
  Raw string(24 + text.size() + 9);
  string.put(12, id);
  std::memcpy(string.at(24), text.c_str(), text.size() + 1);
  return string;
}

// A function of a script: closure, prototype and code.
class Script {
 public:
  static constexpr std::size_t kPrototypeBytes = sizeof(RawPrototype), kConstantSlots = 16;

  explicit Script(int line, std::vector<Instruction> code = {op_ad(kOpFunction, 0, 0)},
                  const std::string& name = "@/j.lua")
      : source_(string_of(name)) {
    RawPrototype& raw = prototype();
    raw = {};
    raw.header.more = static_cast<std::uint32_t>(code.size());
    raw.constants = constants_.address() + kConstantSlots * 8;
    raw.source = source_.address();
    raw.line = line;
    for (std::size_t i = 0; i < code.size(); ++i) prototype_.put(kPrototypeBytes + 4 * i, code[i]);
    function().header.kind = kIsFunction;
    function().code = prototype_.address() + kPrototypeBytes;
  }

  RawPrototype& prototype() { return *reinterpret_cast<RawPrototype*>(prototype_.at()); }
  RawFunction& function() { return *reinterpret_cast<RawFunction*>(closure_.at()); }
  Raw& closure() { return closure_; }
  Address address() { return closure_.address(); }
  Address code(std::size_t instruction) { return function().code + 4 * instruction; }
  void set_code(std::size_t instruction, Instruction code) {
    prototype_.put(kPrototypeBytes + 4 * instruction, code);
  }
  // The collectable constant of this number.
  void set_constant(std::size_t number, Address object) {
    constants_.put((kConstantSlots - 1 - number) * 8, object);
  }

 private:
  Raw closure_, prototype_{kPrototypeBytes + 4 * 2048}, constants_{kConstantSlots * 8}, source_;
};

// A function of C.
class CFunction {
 public:
  explicit CFunction(Address code, std::uint8_t which = 1) {
    auto& raw = *reinterpret_cast<RawFunction*>(closure_.at());
    raw.header.kind = kIsFunction;
    raw.header.detail[0] = which;
    raw.first = code;
  }
  Raw& closure() { return closure_; }
  Address address() { return closure_.address(); }

 private:
  Raw closure_;
};

}  // namespace fbleprof::adapters::luajit
