// Lua's C API and the parts of Lua's memory that the adapter reads, for Lua 5.2 to 5.4. LuaJIT has
// the API of 5.1, and other memory (luajit_memory.h). The adapter
// links no Lua and uses none of its headers: one adapter serves all versions, and finds their
// functions in the process. The offsets are those of 64-bit builds; lua_functions.cc compares each
// with the API's answer before use.
#pragma once

#include <cstddef>
#include <cstdint>

struct lua_State;

namespace fbleprof::adapters {

// The argument of a hook; 5.4 added the length of the source.
struct DebugOf52 {
  int event;
  const char *name, *name_what, *what, *source;
  int current_line, line_defined, last_line_defined;
  unsigned char upvalues, parameters;
  char is_vararg, is_tail_call;
  char short_source[60];
  void* call_info;
};

struct DebugOf54 {
  int event;
  const char *name, *name_what, *what, *source;
  std::size_t source_length;
  int current_line, line_defined, last_line_defined;
  unsigned char upvalues, parameters;
  char is_vararg, is_tail_call;
  unsigned short first_transferred, transferred;
  char short_source[60];
  void* call_info;
};

using LuaHook = void (*)(lua_State*, void* debug);
using LuaFunction = int (*)(lua_State*);

enum Event : int { kCall = 0, kReturn = 1, kTailCall = 4 };
inline constexpr int kMaskOfCalls = 1 << kCall | 1 << kReturn, kMaskOfCount = 1 << 3;

// A slot of a Lua stack. The lower bits of the kind: a Lua function, a C function, one with
// upvalues.
struct StackSlot {
  const char* value;
  std::uint8_t kind;
};
inline constexpr std::uint8_t kKindBits = 0x3f, kLuaFunction = 0x06, kCFunction = 0x16,
                              kCClosure = 0x26;

// One call. The calls of one coroutine are a list, and the next call at the same depth reuses each.
struct CallInfo {
  StackSlot* function;
  void* stack_top;
  CallInfo* previous;  // null: what the coroutine itself began with
};

inline constexpr std::size_t kPrototypeOfClosure = 24, kCodeOfCClosure = 24;

// Of a lua_State: what it shares with all coroutines of its Lua, and with no other.
inline constexpr std::size_t kGlobalOfState = 24;

// Where Lua keeps the fields of a function's prototype that the adapter needs.
struct Layout {
  std::size_t line_defined, source;
  std::size_t constant_count, code_count, constants, code;
};

struct LuaApi {
  int version = 0;   // 501 (LuaJIT) to 504; 0: an unknown Lua or none
  int registry = 0;  // its index
  Layout layout{};   // not of LuaJIT
  bool is_jit() const { return version == 501; }

  void (*sethook)(lua_State*, LuaHook, int mask, int count);
  LuaHook (*gethook)(lua_State*);
  int (*gethookmask)(lua_State*);
  int (*gethookcount)(lua_State*);
  int (*getinfo)(lua_State*, const char* what, void* debug);
  int (*getstack)(lua_State*, int level, void* debug);
  int (*gettop)(lua_State*);
  void (*settop)(lua_State*, int index);
  const void* (*topointer)(lua_State*, int index);
  LuaFunction (*tocfunction)(lua_State*, int index);
  const char* (*tolstring)(lua_State*, int index, std::size_t* length);
  lua_State* (*tothread)(lua_State*, int index);
  int (*type)(lua_State*, int index);
  int (*rawequal)(lua_State*, int index, int other);
  void (*getfield)(lua_State*, int index, const char* name);
  void (*setfield)(lua_State*, int index, const char* name);
  void (*pushnil)(lua_State*);
  void (*pushcclosure)(lua_State*, LuaFunction, int upvalues);
  int (*next)(lua_State*, int index);
  void (*createtable)(lua_State*, int items, int fields);
  int (*setmetatable)(lua_State*, int index);
  // 5.4 has one more argument.
  void* (*newuserdata)(lua_State*, std::size_t bytes, int values);
  int (*load)(lua_State*, const char* (*reader)(lua_State*, void*, std::size_t*), void* data,
              const char* name, const char* mode);
  // Not of LuaJIT:
  void (*getglobal)(lua_State*, const char* name);
  void (*rawsetp)(lua_State*, int index, const void* key);
  int (*pcallk)(lua_State*, int arguments, int results, int handler, std::ptrdiff_t context,
                void* continuation);
  int (*dump)(lua_State*, int (*writer)(lua_State*, const void*, std::size_t, void*), void* data,
              int strip);

  // Only of LuaJIT:
  lua_State* (*newthread)(lua_State*);
  int (*resume)(lua_State*, int arguments);
};

enum Type : int { kString = 4, kTable = 5, kFunctionType = 6, kThread = 8 };

// The Lua of this process, which the first call finds. `near` is an address in the library or
// program that holds Lua. False: there is no Lua that the adapter knows.
extern LuaApi lua;
bool find_lua(const void* near);

// A function of the Lua that holds `near`, other than the adapter's own of that name.
void* function_of_lua(const char* name, const void* near);

}  // namespace fbleprof::adapters
