// The suffixes of sizes in options and variables: 64K, 256M, 1G.
#pragma once

namespace fbleprof::format {

// The number of bits by which the letter shifts a number left; 0 if it is no suffix.
constexpr int shift_of_suffix(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    default:
      return 0;
  }
}

}  // namespace fbleprof::format
