#include "adapters/lua_prototypes.h"

#include <string.h>

#include "adapters/recorder.h"

namespace fbleprof::adapters {

namespace {

constexpr std::size_t kBytesOfString = 24;
// What tells a prototype from a dead one that had its address, in the time of a sample.
constexpr int kFirstConstants = 4, kFirstInstructions = 12;
constexpr std::size_t kFirstLetters = 64;
constexpr std::uint8_t kTypeBits = 0x0f, kNumber = 3, kString = 4;

template <typename Value>
bool peek(const char* from, Value* value) {
  return from && fbleprof_peek(from, value, sizeof *value) != 0;
}

// Strings by their first bytes: Lua may move them, and their addresses differ from run to run.
void add_constants(Hash& hash, const char* constants, int count) {
  for (int i = 0; i < count; ++i) {
    StackSlot slot{};
    if (!peek(constants + static_cast<std::size_t>(i) * sizeof slot, &slot)) return;
    hash.add(&slot.kind, 1);
    if ((slot.kind & kTypeBits) == kNumber) hash.add(&slot.value, sizeof slot.value);
    if ((slot.kind & kTypeBits) == kString) hash.add_letters(slot.value, 8);
  }
}

void add_code(Hash& hash, const char* code, int instructions) {
  for (int i = 0; i < instructions; ++i) {
    std::uint32_t instruction = 0;
    if (!peek(code + static_cast<std::size_t>(i) * sizeof instruction, &instruction)) return;
    hash.add(&instruction, sizeof instruction);
  }
}

void add_parts(Hash& hash, const Prototype& prototype, int most_constants, int most_instructions) {
  int constants = 0, instructions = 0;
  const char* first = nullptr;
  peek(prototype.address + lua.layout.constant_count, &constants);
  peek(prototype.address + lua.layout.code_count, &instructions);
  peek(prototype.address + lua.layout.constants, &first);
  add_constants(hash, first, constants < most_constants ? constants : most_constants);
  add_code(hash, prototype.code,
           instructions < most_instructions ? instructions : most_instructions);
}

}  // namespace

void Hash::add_letters(const char* string, std::size_t most) {
  for (std::size_t at = 0; at < most; at += 8) {
    char letters[8];
    if (!fbleprof_peek(string + kBytesOfString + at, letters, sizeof letters)) return;
    const std::size_t length = strnlen(letters, sizeof letters);  // what follows is left over
    add(letters, length);
    if (length < sizeof letters) return;
  }
}

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
  if (!peek(closure + kPrototypeOfClosure, &address) ||
      !peek(address + lua.layout.line_defined, &line) ||
      !peek(address + lua.layout.source, &source) || !source || line < 0 ||
      !peek(address + lua.layout.code, &code)) {
    return false;
  }
  Hash hash;
  hash.add_letters(source, kFirstLetters);
  add_parts(hash, *this, kFirstConstants, kFirstInstructions);
  sum = hash.as_key();
  return true;
}

std::uint64_t key_of(const Prototype& prototype, const Source& source) {
  Hash hash;
  hash.add(source.bytes, strlen(source.bytes));
  int lines[2] = {};
  peek(prototype.address + lua.layout.line_defined, &lines);
  hash.add(lines, sizeof lines);
  constexpr int kMostConstants = 64, kMostInstructions = 512;
  add_parts(hash, prototype, kMostConstants, kMostInstructions);
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
