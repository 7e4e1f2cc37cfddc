/* A complete adapter: the functions of Lua scripts, for programs that use the library liblua5.4,
 * without any change of Lua or of the program.
 *
 *     gcc -O2 -shared -fPIC -I/usr/include/lua5.4 adapter.c -o adapter.so
 *     LD_PRELOAD=libfbleprof.so:$PWD/adapter.so ./program
 *
 * It calls only public functions, so it costs more than the adapter that is installed (102 ns a
 * call, not 39). Copy it, and replace what belongs to Lua: how to notice that the runtime begins,
 * what it calls at a call and a return, and what identifies a function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fbleprof/fbleprof.h>
#include <lua.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One running coroutine of Lua: a stack of the C API's, and the calls on it. Lua names a call by
 * the address of its CallInfo, which is the same for all calls at one depth. */
struct call {
  const void* info;
  fbleprof_block block;
};
struct coroutine {
  lua_State* state;
  fbleprof_context* context; /* NULL: the stack that the thread began with */
  struct call* calls;
  size_t count, room;
  struct coroutine* next;
};
static __thread struct coroutine *coroutines, *current;

static uint64_t hash(uint64_t seed, const char* text) {
  while (*text) {
    seed = (seed ^ (unsigned char)*text++) * 0x9e3779b97f4a7c15u;
    seed ^= seed >> 32;
  }
  return seed;
}

/* One function is one name, file and line: addresses of functions are used again. A key has 56
 * bits. */
static fbleprof_block block_of(lua_State* state, lua_Debug* about) {
  if (!lua_getinfo(state, "nS", about)) return 0;
  const char* name = about->name;
  if (strcmp(about->what, "main") == 0) name = "main chunk";
  if (name == NULL) name = "(anonymous)";
  const int is_c = strcmp(about->what, "C") == 0;
  const fbleprof_source source = {name, is_c ? NULL : about->short_src,
                                  is_c ? 0u : (uint32_t)about->linedefined, 0, "Lua"};
  const uint64_t key = hash(hash(source.line + 1, name), about->short_src) >> 8 | 1;
  const fbleprof_block known = fbleprof_block_of_key(key);
  return known ? known : fbleprof_block_with_key(key, &source);
}

/* The coroutine of an event; the C API's stack follows when another one runs. */
static struct coroutine* switch_to(lua_State* state) {
  if (current && current->state == state) return current;
  struct coroutine* one = coroutines;
  while (one && one->state != state) one = one->next;
  if (one == NULL) {
    one = calloc(1, sizeof *one);
    if (one == NULL) return NULL;
    one->state = state;
    one->context = coroutines ? fbleprof_context_new(0) : NULL;
    one->next = coroutines;
    coroutines = one;
  }
  if (current != NULL) fbleprof_context_switch(one->context);
  return current = one;
}

static void end_newest(struct coroutine* at) { fbleprof_leave(at->calls[--at->count].block); }

/* Ends all calls above this one (NULL: all): those that an error ended had no event. */
static void end_above(struct coroutine* at, const void* info) {
  while (at->count > 0 && at->calls[at->count - 1].info != info) end_newest(at);
}

static void begin(struct coroutine* at, const void* info, fbleprof_block block) {
  if (at->count == at->room) {
    const size_t room = at->room ? 2 * at->room : 64;
    struct call* calls = realloc(at->calls, room * sizeof *calls);
    if (calls == NULL) return;
    at->calls = calls;
    at->room = room;
  }
  at->calls[at->count++] = (struct call){info, block};
  fbleprof_enter(block);
}

static void hook(lua_State* state, lua_Debug* event) {
  struct coroutine* at = switch_to(state);
  if (at == NULL) return;
  const void* info = event->i_ci;
  if (event->event == LUA_HOOKCALL) {
    lua_Debug caller;
    end_above(at, lua_getstack(state, 1, &caller) ? caller.i_ci : NULL);
    begin(at, info, block_of(state, event));
    return;
  }
  end_above(at, info);
  if (at->count == 0) return; /* it began before the hook was set */
  if (event->event == LUA_HOOKRET) {
    end_newest(at);
    return;
  }
  const fbleprof_block block = block_of(state, event);
  at->calls[at->count - 1].block = block;
  fbleprof_replace(block);
}

/* Every program with liblua makes its states by this function. */
lua_State* lua_newstate(lua_Alloc allocate, void* data) {
  lua_State* (*original)(lua_Alloc, void*) =
      (lua_State * (*)(lua_Alloc, void*)) dlsym(RTLD_NEXT, "lua_newstate");
  lua_State* state = original(allocate, data);
  if (state && fbleprof_is_enabled()) lua_sethook(state, hook, LUA_MASKCALL | LUA_MASKRET, 0);
  return state;
}
