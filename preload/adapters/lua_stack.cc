#include "adapters/lua_stack.h"

#include <string.h>

#include "adapters/lua_names.h"

namespace fbleprof::adapters {

namespace {

// A call and its neighbours, as in CallInfo; then what differs between the versions.
struct RawCall {
  const char* function;
  const char* top;
  const char *previous, *next;
  char rest[48];
};
constexpr std::size_t kCallOfState = 32;
constexpr std::size_t kMostOfState = 512;
constexpr std::size_t kUpvalueOfCClosure = 32;
constexpr std::uint8_t kThreadKind = 8;
constexpr std::uint8_t kKindOfObject = 8;  // byte of every collectable object

// Where a call records whether its loop was entered for it.
struct CallLayout {
  std::size_t status;           // of RawCall
  std::uint8_t bit;             // of the status
  bool fresh;                   // the bit's value if the loop was entered for this call
  std::size_t status_of_state;  // 0: it runs, waits for another, or has ended

  bool is_fresh(const char* call) const { return (call[status] >> bit & 1) == (fresh ? 1 : 0); }
};
CallLayout layout_of_calls() {
  switch (lua.version) {
    case 504:
      return {62, 2, true, 10};
    case 503:
      return {66, 3, true, 12};
    default:
      return {34, 2, false, 10};
  }
}

template <typename Value>
bool peek(const char* from, Value* value) {
  return from && fbleprof_peek(from, value, sizeof *value) != 0;
}

const char* address(const void* pointer) { return static_cast<const char*>(pointer); }

// The value in a slot of a stack, if it is of this kind.
const char* object_in(const char* slot, std::uint8_t kind) {
  StackSlot value{};
  return peek(slot, &value) && (value.kind & kKindBits) == kind ? value.value : nullptr;
}

bool is_c(std::uint8_t kind) { return kind == kCFunction || kind == kCClosure; }

// -- Finding the interpreter's loop --

constexpr int kMostCallers = 8;
const void* from_lua[kMostCallers];
const void* from_c[kMostCallers];
bool is_laid_out;
std::size_t base_of_state;  // the first call of a coroutine

template <typename Debug>
bool is_as_told(lua_State* state) {
  Debug called{}, caller{};
  if (!lua.getstack(state, 0, &called) || !lua.getstack(state, 1, &caller)) return false;
  RawCall call{}, before{};
  const char* at = nullptr;
  if (!peek(address(state) + kCallOfState, &at) || at != called.call_info || !peek(at, &call) ||
      call.previous != caller.call_info || !peek(call.previous, &before) || before.next != at) {
    return false;
  }
  StackSlot ours{}, chunk{};
  const CallLayout layout = layout_of_calls();
  for (RawCall older = call; older.previous; peek(older.previous, &older)) {
    base_of_state = static_cast<std::size_t>(older.previous - address(state));
  }
  return base_of_state < kMostOfState && peek(call.function, &ours) &&
         is_c(ours.kind & kKindBits) && peek(before.function, &chunk) &&
         (chunk.kind & kKindBits) == kLuaFunction && layout.is_fresh(address(&before));
}

int look_from_lua(lua_State* state) {
  callers(from_lua, kMostCallers);
  is_laid_out = lua.version == 504 ? is_as_told<DebugOf54>(state) : is_as_told<DebugOf52>(state);
  return 0;
}

int look_from_c(lua_State*) {
  callers(from_c, kMostCallers);
  return 0;
}

const char* read_line(lua_State*, void* line, std::size_t* size) {
  auto** text = static_cast<const char**>(line);
  const char* now = *text;
  *size = now ? strlen(now) : 0;
  *text = nullptr;
  return now;
}

// -- Names --

std::uint64_t key_of_c_function(lua_State* state, int index) {
  return reinterpret_cast<std::uintptr_t>(lua.tocfunction(state, index));
}

// The C function on top of the stack, which no module has.
template <typename Debug>
void name_other_c_function(lua_State* state, const Debug& debug) {
  Text name;
  const std::uint64_t key = key_of_c_function(state, -1);
  if (!called_name(debug, name)) name_by_place(debug, false, name);
  if (key != 0) name_c_function(name.text(), key);
}

template <typename Debug>
void name_function(const Debug& debug, const char* closure, Places& places) {
  Text name;
  Prototype prototype;
  Source source;
  if (!called_name(debug, name) || !prototype.read(closure) || !source.read(prototype.source)) {
    return;
  }
  const std::uint64_t key = key_of(prototype, source);
  const fbleprof_block block = fbleprof_block_of_key(key);
  if (block == 0) return;
  add_number(name, places.number_of(name.text(), source.bytes, prototype.line, key));
  fbleprof_block_rename(block, name.text());
}

// Gives the function of the call that `debug` describes the name by which it is called.
template <typename Debug>
void learn(lua_State* state, Debug& debug, Places& places) {
  const int top = lua.gettop(state);
  lua.getinfo(state, "nSf", &debug);
  if (*debug.what == 'C') {
    name_other_c_function(state, debug);
  } else {
    name_function(debug, static_cast<const char*>(lua.topointer(state, -1)), places);
  }
  lua.settop(state, top);
}

// The same for the newest and the oldest calls of a coroutine.
template <typename Debug>
void learn(lua_State* state, Places& places) {
  constexpr int kMostLevels = 256;
  Debug debug{};
  int level = 0;
  for (; level < kMostLevels && lua.getstack(state, level, &debug); ++level) {
    learn(state, debug, places);
  }
  if (level < kMostLevels) return;
  const void* const oldest_of_newest = debug.call_info;
  const char* call = address(state) + base_of_state;
  for (int i = 0; i < kMostLevels; ++i) {
    if (!peek(call + offsetof(RawCall, next), &call) || call == oldest_of_newest) return;
    debug.call_info = const_cast<char*>(call);
    learn(state, debug, places);
  }
}

}  // namespace

void name_c_functions(lua_State* state) { name_c_functions(state, key_of_c_function); }

const void* find_loop(lua_State* main) {
  constexpr char kLine[] = "local f = ... f()";
  const int top = lua.gettop(main);
  const char* text = kLine;
  is_laid_out = false;
  const auto call = [main](int arguments) {
    return lua.pcallk(main, arguments, 0, 0, 0, nullptr) == 0;
  };
  bool is_run = lua.load(main, read_line, &text, "=fbleprof", "t") == 0;
  if (is_run) {
    lua.pushcclosure(main, look_from_lua, 0);
    is_run = call(1);
  }
  if (is_run) {
    lua.pushcclosure(main, look_from_c, 0);
    is_run = call(0);
  }
  lua.settop(main, top);
  if (!is_run || !is_laid_out) return nullptr;
  // Above themselves, both have the same functions of Lua, up to the one that the loop called.
  int at = 1;
  while (at < kMostCallers && from_lua[at] && from_lua[at] == from_c[at]) ++at;
  return at < kMostCallers ? from_lua[at] : nullptr;
}

// The coroutine for which this one waits, of the same Lua; null: it does not wait.
const char* LuaStack::waits_for(const char* state) {
  const char *call = nullptr, *global = nullptr, *slot = nullptr;
  StackSlot function{};
  if (!peek(state + kCallOfState, &call) || !peek(call, &slot) || !peek(slot, &function) ||
      !is_c(function.kind & kKindBits)) {
    return nullptr;
  }
  const char* candidates[] = {object_in(slot + sizeof(StackSlot), kThreadKind), nullptr};
  if ((function.kind & kKindBits) == kCClosure) {
    candidates[1] = object_in(function.value + kUpvalueOfCClosure, kThreadKind);
  }
  peek(state + kGlobalOfState, &global);
  for (const char* candidate : candidates) {
    char head[kCallOfState + 8];
    const char* previous = nullptr;
    if (!candidate || !fbleprof_peek(candidate, head, sizeof head)) continue;
    const char *its_global, *its_call;
    memcpy(&its_global, head + kGlobalOfState, sizeof its_global);
    memcpy(&its_call, head + kCallOfState, sizeof its_call);
    // A coroutine that has yielded has that status; one that has ended, or not begun, has no call.
    if (head[kKindOfObject] != kThreadKind || its_global != global ||
        head[layout_of_calls().status_of_state] != 0 ||
        !peek(its_call + offsetof(RawCall, previous), &previous) || !previous) {
      continue;
    }
    return candidate;
  }
  return nullptr;
}

// A main thread in a call; the newest of them, if one runs within another's call.
void LuaStack::find_chain() {
  chain_count_ = 0;
  for (int i = mains_.count(); i-- > 0 && chain_count_ == 0;) {
    const char *main = address(mains_[i]), *call = nullptr, *previous = nullptr;
    if (peek(main + kCallOfState, &call) && peek(call + offsetof(RawCall, previous), &previous) &&
        previous) {
      chain_[chain_count_++] = main;
    }
  }
  while (chain_count_ != 0 && chain_count_ < kMostCoroutines) {
    const char* next = waits_for(chain_[chain_count_ - 1]);
    // A coroutine may ask about one that waits for it.
    for (int i = 0; i < chain_count_ && next; ++i) {
      if (chain_[i] == next) next = nullptr;
    }
    if (!next) return;
    chain_[chain_count_++] = next;
  }
}

// Moves on to the next call, newest first, also to that of the coroutine that waits for this one.
bool LuaStack::next_call(Reading& reading) {
  for (;;) {
    const char* previous = nullptr;
    if (reading.call && peek(reading.call + offsetof(RawCall, previous), &previous) && previous) {
      reading.call = previous;
    } else {
      if (reading.coroutine == 0) return false;
      --reading.coroutine;
      reading.call = nullptr;
      if (!peek(chain_[reading.coroutine] + kCallOfState, &reading.call)) continue;
    }
    const char* before = nullptr;
    // The first entry of a coroutine is not a call.
    if (peek(reading.call + offsetof(RawCall, previous), &before) && before) return true;
  }
}

fbleprof_block LuaStack::block_of(const char* closure) {
  Prototype prototype;
  if (!prototype.read(closure)) return 0;
  Known& known = known_[(reinterpret_cast<std::uintptr_t>(prototype.address) >> 4) % kKnown];
  if (known.prototype == prototype) return known.block;
  Source source;
  if (!source.read(prototype.source)) return 0;
  const std::uint64_t key = key_of(prototype, source);
  fbleprof_block block = fbleprof_block_of_key(key);
  if (block == 0) {
    block = add_function(source.bytes, prototype.line, key, places_);
    has_unnamed_ |= prototype.line != 0;
  }
  known = {prototype, block};
  return block;
}

// False: the call has ended, or cannot be read. A resumed coroutine has one invocation of the loop
// for all of its calls, until the newest one returns.
bool LuaStack::describe(const char* call, int coroutine, fbleprof_frame* frame) {
  RawCall raw{};
  StackSlot function{};
  *frame = {};
  if (!peek(call, &raw) || !peek(raw.function, &function)) return false;
  const std::uint8_t kind = function.kind & kKindBits;
  frame->goes_on = 1;
  frame->place[0] = reinterpret_cast<std::uint64_t>(call);
  frame->value[0] = reinterpret_cast<std::uint64_t>(raw.function);
  frame->place[1] = reinterpret_cast<std::uint64_t>(raw.function);
  frame->value[1] = reinterpret_cast<std::uint64_t>(function.value);
  if (kind == kLuaFunction) {
    frame->block = block_of(function.value);
    frame->goes_on = coroutine == 0 ? !layout_of_calls().is_fresh(address(&raw))
                                    : raw.previous != chain_[coroutine] + base_of_state;
  } else if (is_c(kind)) {
    const char* code = function.value;
    if (kind == kCClosure && !peek(function.value + kCodeOfCClosure, &code)) return true;
    frame->block = fbleprof_block_of_key(reinterpret_cast<std::uintptr_t>(code));
    has_unnamed_ |= frame->block == 0;
  }
  return true;
}

bool LuaStack::is_programs_own(const Reading& reading) const {
  RawCall raw{};
  StackSlot function{};
  return reading.coroutine == 0 && peek(reading.call, &raw) &&
         raw.previous == chain_[0] + base_of_state && peek(raw.function, &function) &&
         is_c(function.kind & kKindBits);
}

void LuaStack::ask_for_names(char* running) {
  constexpr int kPatience = 256;  // samples, after which no answer is expected
  auto* state = reinterpret_cast<lua_State*>(running);
  if (is_asking_ != 0 && ++is_asking_ < kPatience) return;
  if (lua.gethook(state)) return;  // the program's own
  is_asking_ = 1;
  lua.sethook(state, ask_, kMaskOfCount, 1);
}

void LuaStack::learn_names(lua_State* state) {
  if (lua.gethook(state) == ask_) lua.sethook(state, nullptr, 0, 0);
  is_asking_ = 0;
  has_unnamed_ = false;
  name_c_functions(state);
  find_chain();
  for (int i = 0; i < chain_count_; ++i) {
    auto* one = reinterpret_cast<lua_State*>(const_cast<char*>(chain_[i]));
    lua.version == 504 ? learn<DebugOf54>(one, places_) : learn<DebugOf52>(one, places_);
  }
}

int LuaStack::read(void* state, fbleprof_frame* frame) {
  constexpr std::uint32_t kMostCalls = 1 << 20;  // a list may lead back to itself
  auto& reading = *static_cast<Reading*>(state);
  if (!reading.has_begun) {
    reading.has_begun = true;
    find_chain();
    if (chain_count_ == 0) return 0;
    reading.coroutine = chain_count_;
  }
  // The machine stack shows that a C function called by the program itself comes next.
  if (!next_call(reading) || is_programs_own(reading)) {
    if (has_unnamed_) ask_for_names(const_cast<char*>(chain_[chain_count_ - 1]));
    return 0;
  }
  if (++reading.frames > kMostCalls) return 0;
  const bool was_unnamed = has_unnamed_;
  const bool is_read = describe(reading.call, reading.coroutine, frame);
  // Walks of a deep stack seldom come to its end.
  if (has_unnamed_ && !was_unnamed) ask_for_names(const_cast<char*>(chain_[chain_count_ - 1]));
  // While Lua moves its stack, older calls still have their functions at the old place.
  return is_read ? 1 : -1;
}

}  // namespace fbleprof::adapters
