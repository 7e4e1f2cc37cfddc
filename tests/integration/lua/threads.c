// threads: a server with a thread and a Lua for each request, whose coroutines do not end. Says
// whether the process grows.
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <pthread.h>
#include <stdio.h>

static void* serve(void* nothing) {
  lua_State* state = luaL_newstate();
  luaL_openlibs(state);
  if (luaL_dostring(state,
                    "local function f() coroutine.yield() end "
                    "for i = 1, 20 do coroutine.wrap(f)() end")) {
    puts(lua_tostring(state, -1));
  }
  lua_close(state);
  return nothing;
}

// In pages: of addresses, or of memory.
static long size(int is_memory) {
  long sizes[2] = {0, 0};
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &sizes[0], &sizes[1]) != 2) puts("no statm");
  if (file) fclose(file);
  return sizes[is_memory];
}

int main(void) {
  long before[2] = {0, 0};
  for (int i = 0; i < 300; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, serve, NULL);
    pthread_join(thread, NULL);
    if (i == 99) before[0] = size(0), before[1] = size(1);
  }
  const long addresses = size(0) - before[0], memory = size(1) - before[1];
  printf("addresses grow: %d\n", addresses > 200 * 16);
  printf("memory grows: %d\n", memory > 200 * 4);
  return 0;
}
