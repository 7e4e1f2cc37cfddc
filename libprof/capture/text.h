// A string of bounded length without allocation: the recorder may have to print or open something
// in a forked child of a threaded program, where malloc is forbidden. Text that does not fit is
// cut.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fbleprof::capture {

template <std::size_t kCapacity>
class Text {
 public:
  constexpr Text() = default;
  constexpr Text(const char* s) { add(s); }  // NOLINT: a string is a text

  constexpr Text& add(const char* s) {
    while (s && *s) add(*s++);
    return *this;
  }
  constexpr Text& add(char c) {
    if (length_ + 1 < kCapacity) {
      bytes_[length_++] = c;
      bytes_[length_] = 0;
    } else {
      cut_ = true;
    }
    return *this;
  }
  Text& add_number(std::uint64_t value) {
    char digits[20];
    int n = 0;
    do digits[n++] = static_cast<char>('0' + value % 10);
    while (value /= 10);
    while (n > 0) add(digits[--n]);
    return *this;
  }
  void clear() {
    length_ = 0;
    bytes_[0] = 0;
    cut_ = false;
  }
  void cut_to(std::size_t length) {
    if (length < length_) bytes_[length_ = length] = 0;
  }
  void set_length(std::size_t length) { bytes_[length_ = length] = 0; }
  constexpr const char* c_str() const { return bytes_; }
  char* data() { return bytes_; }
  std::size_t size() const { return length_; }
  bool empty() const { return length_ == 0; }
  bool was_cut() const { return cut_; }
  static constexpr std::size_t capacity() { return kCapacity; }

 private:
  char bytes_[kCapacity] = {};
  std::size_t length_ = 0;
  bool cut_ = false;
};

using Path = Text<4096>;

// The value of a hexadecimal digit; -1: it is none.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

inline bool equal(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

inline bool begins(const char* text, const char* with) {
  while (*with && *text == *with) ++text, ++with;
  return *with == 0;
}
inline bool contains(const char* text, const char* part) {
  while (*text && !begins(text, part)) ++text;
  return *text != 0;
}

// The value of NAME=value; null if `variable` has another name.
inline const char* value_of(const char* variable, const char* name) {
  while (*name && *variable == *name) ++variable, ++name;
  return *name == 0 && *variable == '=' ? variable + 1 : nullptr;
}

}  // namespace fbleprof::capture
