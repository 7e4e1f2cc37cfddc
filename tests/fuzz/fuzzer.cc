// The entry of libFuzzer: FUZZ_TARGET names one of fuzz_targets.h.
#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fbleprof::fuzz::FUZZ_TARGET({data, size});
  return 0;
}
