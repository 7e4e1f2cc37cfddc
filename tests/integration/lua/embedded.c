// embedded SCRIPT: runs it in two states, one after the other, with a hook of its own, which must
// be the only hook that it sees.
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdio.h>

static long calls;

static void count(lua_State* state, lua_Debug* call) {
  (void)state;
  if (call->event == LUA_HOOKCALL) ++calls;
}

int main(int argc, char** argv) {
  for (int i = 0; i < 2 * (argc - 1); ++i) {
    lua_State* state = luaL_newstate();
    luaL_openlibs(state);
    printf("%d %d\n", lua_gethook(state) == NULL, lua_gethookmask(state));
    lua_sethook(state, count, LUA_MASKCALL, 0);
    printf("%d %d\n", lua_gethook(state) == count, lua_gethookmask(state));
    if (luaL_dofile(state, argv[1])) puts(lua_tostring(state, -1));
    printf("%ld calls\n", calls);
    lua_close(state);
  }
  return 0;
}
