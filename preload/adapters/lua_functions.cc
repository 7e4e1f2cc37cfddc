#include "adapters/lua_functions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/lua_names.h"
#include "adapters/recorder.h"

namespace fbleprof::adapters {

namespace {

constexpr std::uint32_t kFirstCapacity = 1024;
// How many calls of a function without a name may look for one: pcall and the like give none.
constexpr std::uint32_t kMostUnnamedCalls = 16;

template <typename Value>
Value read(const char* address) {
  Value value;
  memcpy(&value, address, sizeof value);
  return value;
}

bool is_lua_function(const StackSlot& slot) { return (slot.kind & kKindBits) == kLuaFunction; }

// The identity of the code: the prototype, or the address of a C function.
const char* key_of(const StackSlot& slot) {
  if ((slot.kind & kKindBits) == kCFunction) return slot.value;
  const std::size_t at = is_lua_function(slot) ? kPrototypeOfClosure : kCodeOfCClosure;
  return read<const char*>(slot.value + at);
}

// Every collectable object has these two bytes; see lua_functions.h.
constexpr std::size_t kKindOfObject = 8, kMarksOfObject = 9;
constexpr std::uint8_t kOurMark = 1 << 7;

std::uint8_t kind_of_prototypes() { return lua.version == 504 ? 10 : 9; }
bool is_marked(const char* prototype) {
  return (read<std::uint8_t>(prototype + kMarksOfObject) & kOurMark) != 0;
}
void mark(const char* prototype) {
  *const_cast<char*>(prototype + kMarksOfObject) |= static_cast<char>(kOurMark);
}

std::uint64_t hash(std::uint64_t seed, const void* bytes, std::size_t size) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  const auto* at = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < size; ++i) seed = (seed ^ at[i]) * kPrime;
  return seed;
}

int hash_dump(lua_State*, const void* bytes, std::size_t size, void* seed) {
  auto* value = static_cast<std::uint64_t*>(seed);
  *value = hash(*value, bytes, size);
  return 0;
}

constexpr std::uint64_t as_key(std::uint64_t hashed) {
  const std::uint64_t key = hashed >> 8;  // keys have 56 bits
  return key != 0 ? key : 1;
}

// For the Lua function on top of the stack.
template <typename Debug>
std::uint64_t key_of_code(lua_State* state, const Debug& debug) {
  std::uint64_t seed = 0xcbf29ce484222325;
  seed = hash(seed, debug.source, strlen(debug.source));
  seed = hash(seed, &debug.line_defined, sizeof debug.line_defined);
  seed = hash(seed, &debug.last_line_defined, sizeof debug.last_line_defined);
  lua.dump(state, hash_dump, &seed, 1);
  return as_key(seed);
}

}  // namespace

LuaFunctions::Known* LuaFunctions::find(const char* key) {
  if (3 * used_ >= 2 * capacity_ && !grow()) return nullptr;
  const auto hashed = reinterpret_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15;
  std::uint32_t at = static_cast<std::uint32_t>(hashed >> 32) & (capacity_ - 1);
  while (known_[at].key && known_[at].key != key) at = (at + 1) & (capacity_ - 1);
  return &known_[at];
}

bool LuaFunctions::grow() {
  const std::uint32_t capacity = capacity_ != 0 ? 2 * capacity_ : kFirstCapacity;
  auto* table = static_cast<Known*>(calloc(capacity, sizeof(Known)));
  if (!table) return capacity_ > used_ + 1;
  Known* const before = known_;
  const std::uint32_t count = capacity_;
  known_ = table;
  capacity_ = capacity;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (before[i].key) *find(before[i].key) = before[i];
  }
  free(before);
  return true;
}

void LuaFunctions::free_memory() { free(known_); }

template <typename Debug>
std::uint32_t LuaFunctions::block_of(lua_State* state, Debug* debug, const CallInfo* call) {
  const StackSlot& function = *call->function;
  const char* key = key_of(function);
  Known* known = find(key);
  if (!known) return 0;
  const bool is_known =
      known->key &&
      (!is_lua_function(function) || (is_marked(key) &&
                                      // Another thread that ran this Lua may have marked it.
                                      read<int>(key + lua.layout.line_defined) == known->line &&
                                      read<const char*>(key + lua.layout.source) == known->source));
  if (is_known && known->unnamed_calls == 0) return known->block;
  if (!is_known) known->unnamed_calls = kMostUnnamedCalls;
  return learn(state, debug, function, known);
}

// Asks Lua for all facts, and compares them with the values read from memory.
template <typename Debug>
std::uint32_t LuaFunctions::learn(lua_State* state, Debug* debug, const StackSlot& function,
                                  Known* known) {
  const char* key = key_of(function);
  const bool is_lua = is_lua_function(function);
  const int top = lua.gettop(state);
  lua.getinfo(state, "nSf", debug);
  const bool is_main = *debug->what == 'm';
  const auto* closure = static_cast<const char*>(lua.topointer(state, -1));
  if (is_lua != (*debug->what != 'C') || (is_lua && closure != function.value) ||
      (is_lua && (read<int>(key + lua.layout.line_defined) != debug->line_defined ||
                  read<std::uint8_t>(key + kKindOfObject) != kind_of_prototypes()))) {
    is_wrong_ = true;
    lua.settop(state, top);
    return 0;
  }
  Text name;
  const bool has_name = is_main || (is_lua ? called_name(*debug, name)
                                           : module_name(state, name) || called_name(*debug, name));
  const std::uint64_t block_key =
      is_lua ? key_of_code(state, *debug) : reinterpret_cast<std::uint64_t>(key);
  std::uint32_t block = fbleprof_block_of_key(block_key);
  if (is_main || !has_name) name_by_place(*debug, is_main, name);
  if (is_lua && !is_main) {
    add_number(name, places_.number_of(name.text(), debug->source, debug->line_defined, block_key));
  }
  if (block == 0) {
    Text file;
    file_of(*debug, file);
    const fbleprof_source source = {
        name.text(), is_lua ? file.text() : nullptr,
        debug->line_defined > 0 ? static_cast<std::uint32_t>(debug->line_defined) : 0, 0, "Lua"};
    block = fbleprof_block_with_key(block_key, &source);
  } else if (has_name && known->unnamed_calls < kMostUnnamedCalls) {
    fbleprof_block_rename(block, name.text());
  }
  lua.settop(state, top);
  if (!known->key) ++used_;
  if (is_lua) mark(key);
  *known = {key, is_lua ? read<const char*>(key + lua.layout.source) : nullptr, debug->line_defined,
            block, has_name ? 0 : known->unnamed_calls - 1};
  return block;
}

template std::uint32_t LuaFunctions::block_of(lua_State*, DebugOf52*, const CallInfo*);
template std::uint32_t LuaFunctions::block_of(lua_State*, DebugOf54*, const CallInfo*);

}  // namespace fbleprof::adapters
