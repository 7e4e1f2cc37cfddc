// libFuzzer target: any bytes are read, verified and merged without a crash, in bounded memory.
#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/functions.h"
#include "analysis/pairs.h"
#include "profile/verify.h"
#include "transform/merge.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fbleprof;
  auto image = profile::FileImage::from_bytes(
      std::as_bytes(std::span<const std::uint8_t>(data, size)), "fuzz");
  if (!image) return 0;
  profile::ReadOptions options;
  options.look_for_process = false;
  const profile::ReadResult read = profile::read_image(*image, options);
  profile::verify(*image, read);
  const profile::Profile merged = transform::merge(read.profile);
  for (const profile::Metric& metric : merged.metrics()) {
    analysis::function_table({merged, metric});
    analysis::pair_table({merged, metric});
  }
  return 0;
}
