// The parts of LuaJIT's memory that the adapter reads: LuaJIT 2.1 with 64-bit references (GC64, its
// default on x86-64). Only the handler reads it, by fbleprof_peek; luajit_stack.cc compares it with
// the API's answers before the first sample.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adapters/recorder.h"

namespace fbleprof::adapters::luajit {

using Address = std::uint64_t;  // 0: none
using Instruction = std::uint32_t;

template <typename Value>
bool peek(Address from, Value* value) {
  return from != 0 && fbleprof_peek(reinterpret_cast<const void*>(from), value, sizeof *value) != 0;
}

inline Address address(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// The first bytes of each collectable object; what `detail` and `more` mean depends on the kind.
struct Header {
  Address next;
  std::uint8_t marks, kind, detail[2];
  std::uint32_t more;
};
enum Kind : std::uint8_t {
  kIsString = 4,
  kIsThread = 6,
  kIsFunction = 8,
  kIsTrace = 9,
  kIsTable = 11
};

// lua_State.
struct RawThread {
  Header header;
  Address global, gc_list;
  Address base, top, stack_end, stack;  // base: of the newest function, while C code runs
  Address open_upvalues, environment;
  Address machine_frame;  // of the newest invocation of the interpreter, with flags
};
inline constexpr Address kFrameFlags = 3;

// The interpreter's frame on the machine stack, from its stack pointer on: the thread, the
// thread's invocation before (or 0), and the end.
inline constexpr std::size_t kThreadInFrame = 16, kPreviousInFrame = 32, kFrameBytes = 80;

// A function of Lua or C. `detail[0]` tells which: 0 of Lua, 1 of C, else one of LuaJIT's own.
struct RawFunction {
  Header header;
  Address environment, gc_list, code;  // the first instruction
  Address first;                       // C: its address. Lua: its first upvalue
};
inline bool is_of_lua(const RawFunction& function) { return function.header.detail[0] == 0; }

// A prototype; its instructions follow, as many as the header's `more` says.
struct RawPrototype {
  Header header;
  Address unused, gc_list;
  Address constants;  // collectable ones are in front of it
  Address upvalues;
  std::uint32_t objects, numbers, bytes;
  std::uint8_t upvalue_count, flags;
  std::uint16_t trace;
  Address source;  // a string
  std::int32_t line, lines;
  Address line_info, upvalue_names, variables;
};
static_assert(sizeof(RawPrototype) == 104);
inline Address prototype_of(const RawFunction& function) {
  return function.code - sizeof(RawPrototype);
}

// A value's lower bits are the object, the upper ones its type.
inline Address object_of(std::uint64_t value) { return value & ((Address{1} << 47) - 1); }

// Reads the function whose frame has its link at `link`; the function is in the slot before.
inline bool read_function(Address link, Address* function, RawFunction* raw) {
  std::uint64_t value = 0;
  if (!peek(link - 8, &value)) return false;
  *function = object_of(value);
  return peek(*function, raw) && raw->header.kind == kIsFunction;
}

// -- Frames on Lua's stack --

// A frame's link leads to its caller's: the address in the caller's code where it goes on, or a
// distance in bytes and a type.
enum class Link : std::uint8_t { kFromLua, kFromC, kContinuation, kVarArgs, kProtected };
inline Link type_of(std::uint64_t link) {
  if ((link & 3) == 0) return Link::kFromLua;
  if ((link & 3) == 1) return Link::kFromC;
  return (link & 7) == 2   ? Link::kContinuation
         : (link & 7) == 3 ? Link::kVarArgs
                           : Link::kProtected;
}
constexpr std::uint8_t operation(Instruction code) { return code & 0xff; }
constexpr std::uint8_t operand_a(Instruction code) { return code >> 8 & 0xff; }
constexpr std::uint8_t operand_b(Instruction code) { return code >> 24; }
constexpr std::uint8_t operand_c(Instruction code) { return code >> 16 & 0xff; }
constexpr std::uint16_t operand_d(Instruction code) { return code >> 16; }

// How far below a frame its caller's is, in bytes; 0: unreadable.
inline std::uint64_t distance_to_caller(std::uint64_t link) {
  if (type_of(link) != Link::kFromLua) return link & ~std::uint64_t{7};
  Instruction call = 0;
  return peek(link - sizeof call, &call) ? (2u + operand_a(call)) * 8 : 0;
}

}  // namespace fbleprof::adapters::luajit
