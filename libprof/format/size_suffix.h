// The letters behind sizes in options and variables: 64K, 256M, 1G.
#pragma once

namespace fbleprof::format {

// By how many bits the letter shifts a number to the left; 0: it is no such letter.
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
