// The functions of Lua 5.4's API, as a program with Lua in it has them. They call those of FakeLua.
#include "fake_lua.h"

namespace fbleprof::adapters {

constinit LuaApi lua{};

namespace {
lua_State* new_state = nullptr;
}
void set_new_state(lua_State* state) { new_state = state; }

}  // namespace fbleprof::adapters

using namespace fbleprof::adapters;  // NOLINT: the functions below are C's

#define FUNCTION(result, name, parameters, arguments)                              \
  extern "C" __attribute__((visibility("default"))) result lua_##name parameters { \
    return lua.name arguments;                                                     \
  }

FUNCTION(void, sethook, (lua_State * s, LuaHook hook, int mask, int count), (s, hook, mask, count))
FUNCTION(LuaHook, gethook, (lua_State * s), (s))
FUNCTION(int, gethookmask, (lua_State * s), (s))
FUNCTION(int, gethookcount, (lua_State * s), (s))
FUNCTION(int, getinfo, (lua_State * s, const char* what, void* debug), (s, what, debug))
FUNCTION(int, getstack, (lua_State * s, int level, void* debug), (s, level, debug))
FUNCTION(int, gettop, (lua_State * s), (s))
FUNCTION(void, settop, (lua_State * s, int index), (s, index))
FUNCTION(const void*, topointer, (lua_State * s, int index), (s, index))
FUNCTION(LuaFunction, tocfunction, (lua_State * s, int index), (s, index))
FUNCTION(const char*, tolstring, (lua_State * s, int index, std::size_t* length),
         (s, index, length))
FUNCTION(lua_State*, tothread, (lua_State * s, int index), (s, index))
FUNCTION(int, type, (lua_State * s, int index), (s, index))
FUNCTION(int, rawequal, (lua_State * s, int one, int other), (s, one, other))
FUNCTION(void, getfield, (lua_State * s, int index, const char* name), (s, index, name))
FUNCTION(void, setfield, (lua_State * s, int index, const char* name), (s, index, name))
FUNCTION(void, pushnil, (lua_State * s), (s))
FUNCTION(void, pushcclosure, (lua_State * s, LuaFunction code, int values), (s, code, values))
FUNCTION(int, next, (lua_State * s, int index), (s, index))
FUNCTION(void, createtable, (lua_State * s, int items, int fields), (s, items, fields))
FUNCTION(int, setmetatable, (lua_State * s, int index), (s, index))
FUNCTION(int, load,
         (lua_State * s, const char* (*reader)(lua_State*, void*, std::size_t*), void* data,
          const char* name, const char* mode),
         (s, reader, data, name, mode))
FUNCTION(void, getglobal, (lua_State * s, const char* name), (s, name))
FUNCTION(void, rawsetp, (lua_State * s, int index, const void* key), (s, index, key))
FUNCTION(int, pcallk,
         (lua_State * s, int arguments, int results, int handler, std::ptrdiff_t context,
          void* continuation),
         (s, arguments, results, handler, context, continuation))
FUNCTION(int, dump,
         (lua_State * s, int (*writer)(lua_State*, const void*, std::size_t, void*), void* data,
          int strip),
         (s, writer, data, strip))

extern "C" {
__attribute__((visibility("default"))) void* lua_newuserdatauv(lua_State* s, std::size_t bytes,
                                                               int values) {
  return lua.newuserdata(s, bytes, values);
}
__attribute__((visibility("default"))) void lua_callk() {}
__attribute__((visibility("default"))) void lua_toclose() {}
__attribute__((visibility("default"))) lua_State* lua_newstate(void*, void*) { return new_state; }
}
