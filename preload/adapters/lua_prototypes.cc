#include "adapters/lua_prototypes.h"

#include <string.h>

#include "adapters/recorder.h"

namespace fbleprof::adapters {

namespace {

constexpr std::size_t kBytesOfString = 24;
constexpr std::uint8_t kTypeBits = 0x0f, kNumber = 3, kString = 4;

template <typename Value>
bool peek(const char* from, Value* value) {
  return from && fbleprof_peek(from, value, sizeof *value) != 0;
}

// Strings by their first bytes: Lua may move them, and their addresses differ from run to run.
void add_constants(Hash& hash, const char* constants, int count) {
  constexpr int kMostConstants = 64;
  for (int i = 0; i < count && i < kMostConstants; ++i) {
    StackSlot slot{};
    if (!peek(constants + static_cast<std::size_t>(i) * sizeof slot, &slot)) return;
    hash.add(&slot.kind, 1);
    std::uint64_t value = 0;
    if ((slot.kind & kTypeBits) == kNumber) memcpy(&value, &slot.value, sizeof value);
    if ((slot.kind & kTypeBits) == kString) peek(slot.value + kBytesOfString, &value);
    hash.add(&value, sizeof value);
  }
}

void add_code(Hash& hash, const char* code, int instructions) {
  constexpr int kMostInstructions = 512;
  for (int i = 0; i < instructions && i < kMostInstructions; ++i) {
    std::uint32_t instruction = 0;
    if (!peek(code + static_cast<std::size_t>(i) * sizeof instruction, &instruction)) return;
    hash.add(&instruction, sizeof instruction);
  }
}

}  // namespace

bool Source::read(const char* string) {
  std::size_t done = 0;
  while (done < sizeof bytes - 8) {
    if (!fbleprof_peek(string + kBytesOfString + done, bytes + done, 8)) break;
    const void* end = memchr(bytes + done, 0, 8);
    if (end) return true;
    done += 8;
  }
  bytes[done] = 0;
  return done != 0;
}

bool Prototype::read(const char* closure) {
  return peek(closure + kPrototypeOfClosure, &address) &&
         peek(address + lua.layout.line_defined, &line) &&
         peek(address + lua.layout.source, &source) && source && line >= 0 &&
         peek(address + lua.layout.code, &code);
}

std::uint64_t key_of(const Prototype& prototype, const Source& source) {
  Hash hash;
  hash.add(source.bytes, strlen(source.bytes));
  int lines[2] = {};
  peek(prototype.address + lua.layout.line_defined, &lines);
  hash.add(lines, sizeof lines);
  int constants = 0, instructions = 0;
  const char* first = nullptr;
  peek(prototype.address + lua.layout.constant_count, &constants);
  peek(prototype.address + lua.layout.code_count, &instructions);
  peek(prototype.address + lua.layout.constants, &first);
  add_constants(hash, first, constants);
  add_code(hash, prototype.code, instructions);
  return hash.as_key();
}

int Places::number_of(const char* name, const char* source, int line, std::uint64_t key) {
  Hash hash;
  hash.add(name, strlen(name) + 1);
  hash.add(source, strlen(source));
  hash.add(&line, sizeof line);
  const std::uint64_t place = hash.as_key();
  int number = 1;
  std::uint32_t at = place % kMost;
  for (; items_[at].place != 0; at = (at + 1) % kMost) {
    if (items_[at].place != place) continue;
    if (items_[at].key == key) return number;
    ++number;
  }
  if (count_ >= kMost / 2) return number;
  ++count_;
  items_[at] = {place, key};
  return number;
}

}  // namespace fbleprof::adapters
