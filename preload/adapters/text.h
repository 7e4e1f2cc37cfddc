// A short text, built without the program's allocator. Text that does not fit is cut off.
#pragma once

#include <string.h>
#include <unistd.h>

namespace fbleprof::adapters {

class Text {
 public:
  Text() { text_[0] = 0; }

  Text& add(const char* more) {
    if (!more) return *this;
    while (*more && size_ < sizeof text_ - 1) text_[size_++] = *more++;
    text_[size_] = 0;
    return *this;
  }

  Text& add(int number) {
    char digits[12];
    char* at = digits + sizeof digits;
    *--at = 0;
    auto rest = static_cast<unsigned>(number < 0 ? -number : number);
    do *--at = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    return add(number < 0 ? "-" : "").add(at);
  }

  // Adds the working directory. False: it is unknown.
  bool add_directory() {
    if (!getcwd(text_ + size_, sizeof text_ - size_)) {
      text_[size_] = 0;
      return false;
    }
    size_ += strlen(text_ + size_);
    return true;
  }

  bool is_empty() const { return size_ == 0; }
  bool is_full() const { return size_ == sizeof text_ - 1; }
  const char* text() const { return text_; }

 private:
  unsigned long size_ = 0;
  char text_[4096];
};

}  // namespace fbleprof::adapters
