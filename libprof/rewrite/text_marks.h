// Marks on addresses of a file's code.
#pragma once

#include <vector>

#include "rewrite/elf_image.h"

namespace fbleprof::rewrite {

class TextMarks {
 public:
  explicit TextMarks(const ElfImage& image)
      : image_(image), marks_(image.text_end() - image.text_begin()) {}

  // Does nothing outside of the code.
  void add(Address address) {
    if (image_.in_text(address)) marks_[address - image_.text_begin()] = true;
  }
  bool has(Address address) const {
    return image_.in_text(address) && marks_[address - image_.text_begin()];
  }

 private:
  const ElfImage& image_;
  std::vector<bool> marks_;
};

}  // namespace fbleprof::rewrite
