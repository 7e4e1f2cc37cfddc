// libfbleprof_lua.so: the functions of Lua scripts as blocks of the C API, counted exactly.
//
// Lua calls a hook for each call, return and tail call, which become enter, leave and replace. The
// program's own hook still gets the events that it asked for, and debug.gethook still shows it.
//
// How it starts: Lua's interpreter runs the text of LUA_INIT before the script. The adapter adds a
// call of its own before that text, and changes no environment variable. Where liblua is a library,
// a new state gets the hook when it is made.
//
// All code here runs in the program's threads, outside of signal handlers.
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#include "adapters/lua_api.h"
#include "adapters/lua_coroutines.h"
#include "adapters/lua_functions.h"
#include "adapters/lua_hooks.h"
#include "adapters/lua_stack.h"
#include "adapters/luajit_stack.h"
#include "adapters/recorder.h"
#include "adapters/text.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace fbleprof::adapters {

namespace {

struct Thread {
  Coroutines coroutines;
  LuaFunctions functions;
  LuaStack stack;
  LuaJitStack jit_stack;
  int rounds_of_end;  // of the thread's destructors, so far
};

__thread Thread* this_thread;

// Threads' ends. Without libpthread, which older libcs have apart, there are no other threads.
pthread_key_t end_key;
decltype(pthread_setspecific)* set_at_end;

// Waits for the last round but one, so that Luas that other destructors close are counted. In the
// last one, the recorder leaves the thread.
void free_thread(void* ending) {
  auto* thread = static_cast<Thread*>(ending);
  if (++thread->rounds_of_end < PTHREAD_DESTRUCTOR_ITERATIONS - 1 &&
      set_at_end(end_key, thread) == 0) {
    return;
  }
  this_thread = nullptr;
  asm volatile("" ::: "memory");  // the handler reads it
  thread->coroutines.free_memory();
  thread->functions.free_memory();
  free(thread);
}

__attribute__((constructor)) void watch_ends() {
  auto* make =
      reinterpret_cast<decltype(pthread_key_create)*>(dlsym(RTLD_DEFAULT, "pthread_key_create"));
  auto* set =
      reinterpret_cast<decltype(pthread_setspecific)*>(dlsym(RTLD_DEFAULT, "pthread_setspecific"));
  if (make && set && make(&end_key, free_thread) == 0) set_at_end = set;
}

Thread* thread() {
  if (this_thread) return this_thread;
  this_thread = static_cast<Thread*>(calloc(1, sizeof(Thread)));
  if (this_thread && set_at_end) set_at_end(end_key, this_thread);
  return this_thread;
}

// See kGlobalOfState.
const void* global_of(const lua_State* state) {
  const void* global;
  memcpy(&global, reinterpret_cast<const char*>(state) + kGlobalOfState, sizeof global);
  return global;
}

// The original debug.sethook and debug.gethook, which our functions replace.
LuaFunction original_sethook, original_gethook;
bool is_interposed;  // our lua_sethook receives the program's calls

LuaHooks hooks();

__attribute__((noinline)) Coroutine* change(Thread& thread, lua_State* state, int event,
                                            const CallInfo* call) {
  const CallInfo* caller = call->previous;
  const bool is_new = event != kReturn && caller && !caller->previous;
  Coroutine* coroutine = thread.coroutines.switch_to(state, is_new);
  if (coroutine) coroutine->global = global_of(state);
  return coroutine;
}

// The hook of states in which the program has none.
template <typename Debug>
void record(lua_State* state, void* data) {
  auto* debug = static_cast<Debug*>(data);
  const int event = debug->event;
  Thread* thread = this_thread ? this_thread : adapters::thread();
  if (!thread) return;
  const auto* call = static_cast<const CallInfo*>(debug->call_info);
  Coroutine* coroutine = thread->coroutines.current();
  if (!coroutine || coroutine->state != state) {
    coroutine = change(*thread, state, event, call);
    if (!coroutine) return;
  }
  if (event == kCall || event == kTailCall) {
    const bool is_tail = event == kTailCall && (coroutine->end_above(call), !coroutine->is_empty());
    if (event == kCall) coroutine->end_above(call->previous);
    const std::uint32_t block = thread->functions.block_of(state, debug, call);
    if (__builtin_expect(thread->functions.is_wrong(), false)) {
      hooks().restore(state);
    } else if (is_tail) {
      coroutine->newest().block = block;
      fbleprof_replace(block);
    } else {
      coroutine->enter(call, block);
    }
  } else if (event == kReturn) {
    coroutine->end(call);
  }
}

// The hook before one of the program's.
template <typename Debug, int number>
void record_and_pass_on(lua_State* state, void* data) {
  const int event = static_cast<Debug*>(data)->event;
  // A tail call is a call, too.
  const int asked = event == kTailCall ? 1 << kCall : 1 << event;
  const bool is_asked = (LuaHooks::mask_of(state) & asked) != 0;
  record<Debug>(state, data);
  if (is_asked) LuaHooks::programs(number)(state, data);
}

template <typename Debug, typename Numbers = std::make_integer_sequence<int, kOurHooks - 1>>
constexpr LuaHook kHooks[] = {};
template <typename Debug, int... number>
constexpr LuaHook kHooks<Debug, std::integer_sequence<int, number...>>[] = {
    record<Debug>, record_and_pass_on<Debug, number + 1>...};

LuaHooks hooks() { return LuaHooks(lua.version == 504 ? kHooks<DebugOf54> : kHooks<DebugOf52>); }

// The coroutine that a call of a function of the library `debug` asks about.
lua_State* asked_about(lua_State* state) {
  return lua.type(state, 1) == kThread ? lua.tothread(state, 1) : state;
}

// The hook that the handler sets to learn names.
void ask(lua_State* state, void*) {
  if (this_thread) this_thread->stack.learn_names(state);
}

bool is_exact();

// Restores the program's own hook, or none.
void stop_asking(lua_State* state) {
  if (lua.gethook(state) == ask) lua.sethook(state, nullptr, 0, 0);
}

int sethook_of_script(lua_State* state) {
  if (!is_exact()) return original_sethook(state);
  lua_State* target = asked_about(state);
  const int results = original_sethook(state);
  hooks().set(target, lua.gethook(target), lua.gethookmask(target), lua.gethookcount(target));
  return results;
}

int gethook_of_script(lua_State* state) {
  lua_State* target = asked_about(state);
  stop_asking(target);
  const int ours = hooks().number_of(lua.gethook(target));
  if (ours == kNoHook) return original_gethook(state);
  hooks().restore(target);
  const int results = original_gethook(state);
  hooks().set(target, lua.gethook(target), lua.gethookmask(target), lua.gethookcount(target));
  return results;
}

// Replaces a function of the library `debug` by ours.
void stand_for(lua_State* state, const char* name, LuaFunction ours, LuaFunction* original) {
  const int top = lua.gettop(state);
  lua.getglobal(state, "debug");
  if (lua.type(state, top + 1) == kTable) {
    lua.getfield(state, top + 1, name);
    LuaFunction found = lua.tocfunction(state, top + 2);
    if (found && found != ours) {
      *original = found;
      lua.pushcclosure(state, ours, 0);
      lua.setfield(state, top + 1, name);
    }
  }
  lua.settop(state, top);
}

using GetEnv = char*(const char*);

GetEnv* libc_getenv() {
  static GetEnv* found;
  if (!found) found = reinterpret_cast<GetEnv*>(dlsym(RTLD_NEXT, "getenv"));
  return found;
}

// Every call is counted only then. LuaJIT calls no hooks in compiled code.
bool is_exact() {
  if (lua.is_jit()) return false;
  const char* exact = libc_getenv()("FBLEPROF_EXACT");
  return exact && strcmp(exact, "on") == 0;
}

int read_stack(void* state, fbleprof_frame* frame) {
  return this_thread ? this_thread->stack.read(state, frame) : 0;
}

int read_jit_stack(void* state, fbleprof_frame* frame) {
  return this_thread ? this_thread->jit_stack.read(state, frame) : 0;
}

int forget(lua_State* main) {
  if (!this_thread) return 0;
  if (lua.is_jit()) {
    this_thread->jit_stack.remove(main);
  } else {
    this_thread->stack.remove(main);
    this_thread->coroutines.forget(global_of(main));
  }
  return 0;
}

// Makes an object that Lua frees when it closes the state.
void note_end(lua_State* main) {
  static const char key = 0;
  const int top = lua.gettop(main);
  lua.newuserdata(main, 1, 0);
  lua.createtable(main, 0, 1);
  lua.pushcclosure(main, forget, 0);
  lua.setfield(main, -2, "__gc");
  lua.setmetatable(main, -2);
  if (lua.is_jit()) {
    lua.setfield(main, lua.registry, "fbleprof");
  } else {
    lua.rawsetp(main, lua.registry, &key);
  }
  lua.settop(main, top);
}

// Tells the recorder where Lua's loop is. False: Lua is not as expected.
bool knows_loop(lua_State* main) {
  static const void* loop = nullptr;
  if (!loop && (loop = find_loop(main)) != nullptr) fbleprof_read_stack(loop, read_stack);
  return loop != nullptr;
}

void start_sampling(lua_State* main) {
  Thread* thread = adapters::thread();
  if (!thread || !knows_loop(main)) return;
  name_c_functions(main);
  note_end(main);
  thread->stack.ask_by(ask);
  thread->stack.add(main);
}

void start_sampling_jit(lua_State* main) {
  static const void* loop = nullptr;
  Thread* thread = adapters::thread();
  if (!thread) return;
  interrupted_registers();
  if (!loop && (loop = find_loop(main, &thread->jit_stack)) != nullptr) {
    fbleprof_read_stack(loop, read_jit_stack);
  }
  if (!loop) return;
  luajit::name_c_functions(main);
  note_end(main);
  thread->jit_stack.add(main);
}

void start(lua_State* main) {
  static bool is_known;
  if (!is_known) own_code(&lua);
  is_known = true;
  if (lua.is_jit()) return start_sampling_jit(main);
  if (!is_exact()) return start_sampling(main);
  Thread* thread = adapters::thread();
  Coroutine* coroutine = thread ? thread->coroutines.switch_to(main, true) : nullptr;
  if (!coroutine) return;
  knows_loop(main);  // the time in the loop is that of the script's functions
  note_end(main);
  coroutine->global = global_of(main);
  coroutine->end_above(nullptr);
  hooks().set(main, nullptr, 0, 0);
}

// -- Start by LUA_INIT --

// The text for the interpreter: our call and, on the same line, the user's own text.
Text first_text;
bool has_given;

// With lua -E, only the script could read LUA_INIT. A program that loads this library later may
// have taken words away.
bool forbids_environment(int count, char** words) {
  for (int i = 1; i < count && words[i] && words[i][0] == '-' && words[i][1]; ++i) {
    if (strcmp(words[i], "-E") == 0) return true;
    if (strcmp(words[i], "--") == 0) return false;
    // The value is the next word.
    if (strcmp(words[i], "-e") == 0 || strcmp(words[i], "-l") == 0) ++i;
  }
  return false;
}

__attribute__((constructor)) void look_at_arguments(int count, char** words) {
  has_given = forbids_environment(count, words);
}

// As a Lua string in double quotes.
void add_quoted(Text& text, const char* value) {
  text.add("\"");
  for (char one[2] = {}; *value; ++value) {
    if (*value == '"' || *value == '\\') text.add("\\");
    one[0] = *value;
    text.add(one);
  }
  text.add("\"");
}

// The name that this version looks up first: LUA_INIT_5_4.
bool is_versioned(const char* name) {
  constexpr char kPrefix[] = "LUA_INIT_5_";
  return strncmp(name, kPrefix, sizeof kPrefix - 1) == 0 &&
         name[sizeof kPrefix - 1] - '0' == lua.version - 500 && name[sizeof kPrefix] == 0;
}

// An interpreter that calls our lua_newstate has been started there.
bool is_asked_for_text(const char* name) {
  return !is_interposed && !has_given && strncmp(name, "LUA_INIT", 8) == 0 &&
         function_of_lua("lua_newstate", nullptr) && find_lua(nullptr) &&
         (name[8] == 0 || is_versioned(name)) && has_recorder();
}

// Our text for the interpreter; null: return the variable's own value.
char* text_for_interpreter(const char* name, const char* own) {
  // The user's text must run under the name of its variable, which messages show.
  if (!own && name[8] != 0 && libc_getenv()("LUA_INIT")) return nullptr;
  has_given = true;
  Dl_info info{};
  dladdr(&first_text, &info);
  first_text.add("package.loadlib(");
  add_quoted(first_text, info.dli_fname);
  first_text.add(",\"fbleprof_lua_start\")() ");
  if (own && *own == '@') {
    first_text.add("dofile(");
    add_quoted(first_text, own + 1);
    first_text.add(")");
  } else if (own) {
    first_text.add(own);
  }
  // A text that was cut off would run as half of a program.
  return first_text.is_full() ? nullptr : const_cast<char*>(first_text.text());
}

}  // namespace

}  // namespace fbleprof::adapters

using namespace fbleprof::adapters;  // NOLINT: the functions below are C's

EXPORTED char* getenv(const char* name) {
  char* value = libc_getenv()(name);
  if (name[0] != 'L' || !is_asked_for_text(name)) return value;
  char* ours = text_for_interpreter(name, value);
  return ours ? ours : value;
}

// Called by the interpreter, in its main thread, before the user's own text.
EXPORTED int fbleprof_lua_start(lua_State* state) {
  if (!find_lua(nullptr)) return 0;
  if (!is_interposed && !lua.is_jit()) {
    stand_for(state, "sethook", sethook_of_script, &original_sethook);
    stand_for(state, "gethook", gethook_of_script, &original_gethook);
  }
  start(state);
  return 0;
}

// -- Start where liblua is a library --

// The third argument is 5.5's.
EXPORTED lua_State* lua_newstate(void* allocator, void* data, unsigned seed) {
  const void* caller = __builtin_return_address(0);
  using NewState = lua_State*(void*, void*, unsigned);
  auto* next = reinterpret_cast<NewState*>(function_of_lua("lua_newstate", caller));
  lua_State* state = next ? next(allocator, data, seed) : nullptr;
  if (state && find_lua(caller) && has_recorder()) {
    is_interposed = true;
    start(state);
  }
  return state;
}

// The program sees only its own hook.
EXPORTED void lua_sethook(lua_State* state, LuaHook hook, int mask, int count) {
  const void* caller = __builtin_return_address(0);
  if (!find_lua(caller)) {
    using SetHook = void(lua_State*, LuaHook, int, int);
    if (void* next = function_of_lua("lua_sethook", caller)) {
      reinterpret_cast<SetHook*>(next)(state, hook, mask, count);
    }
    return;
  }
  if (!is_interposed || !is_exact()) return lua.sethook(state, hook, mask, count);
  hooks().set(state, hook, mask, count);
}

namespace {

// Which of our hooks the state has; stops our questions for names.
int number_of_hook(lua_State* state) {
  stop_asking(state);
  return hooks().number_of(lua.gethook(state));
}

// The library's own answer.
template <typename Result>
Result answer(const char* name, lua_State* state, const void* caller) {
  auto* next = reinterpret_cast<Result (*)(lua_State*)>(function_of_lua(name, caller));
  return next ? next(state) : Result{};
}

}  // namespace

EXPORTED LuaHook lua_gethook(lua_State* state) {
  if (!is_interposed) return answer<LuaHook>("lua_gethook", state, __builtin_return_address(0));
  const int ours = number_of_hook(state);
  return ours != kNoHook ? LuaHooks::programs(ours) : lua.gethook(state);
}

EXPORTED int lua_gethookmask(lua_State* state) {
  if (!is_interposed) return answer<int>("lua_gethookmask", state, __builtin_return_address(0));
  return number_of_hook(state) != kNoHook ? LuaHooks::mask_of(state) : lua.gethookmask(state);
}

EXPORTED int lua_gethookcount(lua_State* state) {
  if (!is_interposed) return answer<int>("lua_gethookcount", state, __builtin_return_address(0));
  stop_asking(state);
  return lua.gethookcount(state);
}
