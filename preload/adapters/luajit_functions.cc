#include "adapters/luajit_functions.h"

#include <string.h>

#include "adapters/lua_names.h"

namespace fbleprof::adapters::luajit {

namespace {

constexpr int kMostTries = 100;

std::uint64_t key_of_c(const RawFunction& function) {
  constexpr std::uint64_t kOwn = std::uint64_t{1} << 55;  // no address
  const std::uint8_t which = function.header.detail[0];
  return which == 1 ? function.first : kOwn | which;
}

std::uint64_t key_of_c_at(lua_State* state, int index) {
  RawFunction raw;
  if (lua.type(state, index) != kFunctionType || !peek(address(lua.topointer(state, index)), &raw))
    return 0;
  return is_of_lua(raw) ? 0 : key_of_c(raw);
}

// LuaJIT replaces the instructions of loops, and those at the start of functions, while it runs.
bool is_constant(Instruction code) {
  constexpr std::uint8_t kIterate = 69, kIterateTable = 70, kIsNext = 72, kFirstLoop = 77;
  const std::uint8_t what = operation(code);
  return what < kFirstLoop && what != kIterate && what != kIterateTable && what != kIsNext;
}

// The constants of each kind, and the code.
void add_parts(Hash& hash, Address prototype, const RawPrototype& raw, std::uint32_t most_constants,
               std::uint32_t most_instructions) {
  const std::uint32_t numbers[] = {static_cast<std::uint32_t>(raw.line),
                                   static_cast<std::uint32_t>(raw.lines), raw.objects, raw.numbers};
  hash.add(numbers, sizeof numbers);
  for (std::uint32_t i = 0; i < raw.objects && i < most_constants; ++i) {
    Address object = 0;
    Header header;
    if (!peek(raw.constants - (i + 1) * sizeof object, &object) || !peek(object, &header)) break;
    hash.add(&header.kind, sizeof header.kind);
    if (header.kind == kIsString) hash.add_letters(reinterpret_cast<const char*>(object), 8);
  }
  for (std::uint32_t i = 0; i < raw.numbers && i < most_constants; ++i) {
    std::uint64_t number = 0;
    if (!peek(raw.constants + i * sizeof number, &number)) break;
    hash.add(&number, sizeof number);
  }
  for (std::uint32_t i = 0; i < raw.header.more && i < most_instructions; ++i) {
    Instruction code = 0;
    if (!peek(prototype + sizeof raw + i * sizeof code, &code)) break;
    if (is_constant(code)) hash.add(&code, sizeof code);
  }
}

std::uint64_t key_of(Address prototype, const RawPrototype& raw, const Source& source) {
  constexpr std::uint32_t kMostConstants = 64, kMostInstructions = 512;
  Hash hash;
  hash.add(source.bytes, strlen(source.bytes));
  add_parts(hash, prototype, raw, kMostConstants, kMostInstructions);
  return hash.as_key();
}

// What tells a prototype from a dead one that had its address, in the time of a sample.
std::uint64_t sum_of(Address prototype, const RawPrototype& raw) {
  constexpr std::uint32_t kFirstConstants = 4, kFirstInstructions = 12;
  constexpr std::size_t kFirstLetters = 64;
  Hash hash;
  hash.add_letters(reinterpret_cast<const char*>(raw.source), kFirstLetters);
  add_parts(hash, prototype, raw, kFirstConstants, kFirstInstructions);
  return hash.as_key();
}

void rename(fbleprof_block block, const Name& name, int number) {
  Text text;
  text.add(name.text);
  add_number(text, number);
  fbleprof_block_rename(block, text.text());
}

}  // namespace

void name_c_functions(lua_State* state) { adapters::name_c_functions(state, key_of_c_at); }

fbleprof_block Functions::block_of(const Call& call) {
  RawFunction function;
  if (!peek(call.callee, &function) || function.header.kind != kIsFunction) return 0;
  return is_of_lua(function) ? block_of_lua(call, function) : block_of_c(call, function);
}

// One that no module has gets the name by which it is called.
fbleprof_block Functions::block_of_c(const Call& call, const RawFunction& function) {
  const std::uint64_t key = key_of_c(function);
  fbleprof_block block = fbleprof_block_of_key(key);
  Name name;
  if (block == 0 && called_name(call, &name)) {
    const fbleprof_source told = {name.text, nullptr, 0, 0, "Lua"};
    block = fbleprof_block_with_key(key, &told);
  }
  return block;
}

fbleprof_block Functions::block_of_lua(const Call& call, const RawFunction& function) {
  const Address prototype = prototype_of(function);
  RawPrototype raw;
  if (!peek(prototype, &raw)) return 0;
  Known& known = known_[(prototype >> 4) % kKnown];
  const std::uint64_t sum = sum_of(prototype, raw);
  const bool is_known = known.prototype == prototype && known.source == raw.source &&
                        known.instructions == raw.header.more && known.line == raw.line &&
                        known.sum == sum;
  if (is_known && known.tries == 0) return known.block;
  Name name;
  const bool has_name = raw.line != 0 && called_name(call, &name);
  if (is_known && !has_name) {
    --known.tries;
    return known.block;
  }
  Source source;
  if (!source.read(reinterpret_cast<const char*>(raw.source))) return 0;
  const std::uint64_t key = key_of(prototype, raw, source);
  fbleprof_block block = fbleprof_block_of_key(key);
  const bool is_new = block == 0;
  if (is_new) block = add_function(source.bytes, raw.line, key, places_);
  if (has_name && (is_new || is_known)) {
    rename(block, name, places_.number_of(name.text, source.bytes, raw.line, key));
  }
  const int tries = is_new && !has_name && raw.line != 0 ? kMostTries : 0;
  known = {prototype, raw.source, raw.header.more, raw.line, block, tries, sum};
  return block;
}

}  // namespace fbleprof::adapters::luajit
