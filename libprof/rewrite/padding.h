// Padding as compilers and linkers put between functions.
#pragma once

#include "rewrite/decoder.h"

namespace fbleprof::rewrite {

// Zeros can also be constants.
enum class Zeros { kArePadding, kAreData };

// Whether [begin, end) is padding. Decodes other instructions.
bool is_padding(const ElfImage& image, Decoder& decoder, Address begin, Address end, Zeros zeros);

}  // namespace fbleprof::rewrite
