// Identifies the functions of scripts by their prototypes, as the handler reads them.
//
// Prototypes are garbage collected, and a program may compile one source again and again. So a key
// is a hash of what Lua compiled: the source's name, the lines, the code and the constants.
//
// All functions may run in the handler: they read by fbleprof_peek, and are bounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adapters/lua_api.h"

namespace fbleprof::adapters {

// A hash for the C API's keys.
class Hash {
 public:
  void add(const void* bytes, std::size_t size) {
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ at[i]) * 0x100000001b3;
  }
  // The letters of a string of Lua or LuaJIT, up to `most`, a multiple of 8.
  void add_letters(const char* string, std::size_t most);
  std::uint64_t as_key() const { return value_ >> 8 | 1; }  // keys have 56 bits

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// A source ("@script.lua", or a text), cut to the available room.
struct Source {
  static constexpr std::size_t kMost = 1024;
  char bytes[kMost];

  // Reads a string of Lua. False: there is none at that address.
  bool read(const char* string);
};

// A function's prototype.
struct Prototype {
  const char* address = nullptr;
  const char* source = nullptr;  // a string of Lua
  const char* code = nullptr;
  int line = 0;           // 0: of a main chunk
  std::uint64_t sum = 0;  // of its beginning: all else may be that of a dead one

  // Reads the prototype of a closure. False: there is none.
  bool read(const char* closure);
  bool operator==(const Prototype&) const = default;
};

// A key for the C API's blocks. `source` is the prototype's.
std::uint64_t key_of(const Prototype& prototype, const Source& source);

// Numbers the functions of one name that begin on one line, because Lua tells no columns.
class Places {
 public:
  // 1 for the first such function that is asked for, 2 for the next, ...
  int number_of(const char* name, const char* source, int line, std::uint64_t key);

 private:
  static constexpr std::uint32_t kMost = 1024;
  struct Item {
    std::uint64_t place, key;
  };
  Item items_[kMost];
  std::uint32_t count_;
};

}  // namespace fbleprof::adapters
