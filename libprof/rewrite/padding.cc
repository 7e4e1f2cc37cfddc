#include "rewrite/padding.h"

namespace fbleprof::rewrite {

bool is_padding(const ElfImage& image, Decoder& decoder, Address begin, Address end, Zeros zeros) {
  while (begin < end) {
    const std::uint8_t* byte = image.at(begin);
    if (!byte) return false;
    if (*byte == 0xcc || *byte == 0x90 || (*byte == 0 && zeros == Zeros::kArePadding)) {
      ++begin;
      continue;
    }
    Instruction instruction;
    if (!decoder.decode(begin, end, &instruction) || !instruction.is_nop) return false;
    begin = instruction.end();
  }
  return true;
}

}  // namespace fbleprof::rewrite
