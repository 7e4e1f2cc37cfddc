// The interpreter's strings, in UTF-8. Any thread, the signal handler included.
#pragma once

#include "adapters/python_interpreter.h"

namespace fbleprof::adapters::python {

constexpr int kLength = 16, kTextState = 32;        // of a string
constexpr size_t kMostName = 256, kMostFile = 512;  // bytes; what is longer is cut

// A string of the interpreter's in UTF-8.
template <size_t kMost>
class Text {
 public:
  bool read(Address string) {
    char head[40];
    if (!peek(string, head, sizeof head) || at<Address>(head, kTypeOf) != string_type) return false;
    const auto state = at<uint32_t>(head, kTextState);
    const unsigned kind = state >> 2 & 7;  // bytes to a character
    const bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    uint64_t length = at<uint64_t>(head, kLength);
    if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return false;
    const uint64_t room = is_ascii ? kMost - 1 : (kMost - 1) / 4;
    if (length > room) length = room;
    Address characters = string + (is_ascii ? layout->ascii : layout->wide);
    if (is_ascii) {
      length_ = length;
      if (!peek(characters, bytes_, length)) return false;
    } else {
      uint32_t wide[(kMost - 1) / 4];
      if (!peek(characters, wide, length * kind)) return false;
      encode(reinterpret_cast<Address>(wide), kind, length);
    }
    bytes_[length_] = 0;
    return true;
  }
  // The seed is mixed first, because one that is small, as a line is, would only change letters.
  uint64_t hash(uint64_t seed) const {
    seed = mixed(seed);
    for (size_t i = 0; i < length_; i += 8) {
      uint64_t word = 0;
      memcpy(&word, bytes_ + i, length_ - i < 8 ? length_ - i : 8);
      seed = mixed(seed ^ word);
    }
    return seed + length_;
  }
  const char* c_str() const { return bytes_; }

 private:
  static uint64_t mixed(uint64_t value) {
    value *= 0x9e3779b97f4a7c15u;
    return value ^ value >> 32;
  }
  void add(uint32_t byte) { bytes_[length_++] = static_cast<char>(byte); }
  void encode(Address wide, unsigned kind, uint64_t count) {
    length_ = 0;
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t c = 0;
      memcpy(&c, wide + i * kind, kind);
      if (c < 0x80) {
        add(c);
      } else if (c < 0x800) {
        add(0xc0 | c >> 6), add(0x80 | (c & 63));
      } else if (c >= 0xdc80 && c <= 0xdcff) {
        add(c & 0xff);  // a byte of a path that is not UTF-8 (surrogateescape)
      } else if (c < 0x10000) {
        add(0xe0 | c >> 12), add(0x80 | (c >> 6 & 63)), add(0x80 | (c & 63));
      } else {
        add(0xf0 | (c >> 18 & 7)), add(0x80 | (c >> 12 & 63));
        add(0x80 | (c >> 6 & 63)), add(0x80 | (c & 63));
      }
    }
  }

  char bytes_[kMost];
  size_t length_ = 0;
};

}  // namespace fbleprof::adapters::python
