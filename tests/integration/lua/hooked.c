// hooked: the hook of a state holds in each thread that runs it, a new coroutine inherits it, and
// it ends with its coroutine, whose address others get.
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <pthread.h>
#include <stdio.h>

static int calls;

static void count(lua_State* state, lua_Debug* call) {
  (void)state;
  (void)call;
  ++calls;
}

static void stop(lua_State* state, lua_Debug* call) {
  (void)call;
  if (++calls > 5) luaL_error(state, "too long");
}

static void* run(void* state) {
  const int failed = luaL_dostring(state, "for i = 1, 3000000 do local x = i end");
  printf("%s after %d\n", failed ? lua_tostring(state, -1) : "ran to its end", calls);
  return NULL;
}

static int hooked_coroutines(lua_State* state) {
  int hooked = 0;
  for (int i = 0; i < 20; ++i) {
    lua_State* made = lua_newthread(state);
    hooked += lua_gethook(made) != NULL;
    calls = 0;
    int results;
    lua_getglobal(made, "g");
    lua_resume(made, state, 0, &results);
    hooked += calls;
    if (!lua_gethook(state)) lua_sethook(made, count, LUA_MASKCALL, 0);
    lua_settop(state, 0);
    lua_gc(state, LUA_GCCOLLECT);
  }
  return hooked;
}

int main(void) {
  lua_State* state = luaL_newstate();
  luaL_openlibs(state);
  luaL_dostring(state, "function f() end function g() f() f() end");
  printf("%d without\n", hooked_coroutines(state));
  lua_sethook(state, count, LUA_MASKCALL, 0);
  printf("%d with the hook of their creator\n", hooked_coroutines(state));
  lua_sethook(state, stop, LUA_MASKCOUNT, 10000);
  printf("%d %d\n", lua_gethookmask(state) == LUA_MASKCOUNT, lua_gethookcount(state));
  calls = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, run, state);
  pthread_join(thread, NULL);
  lua_close(state);
  return 0;
}
