// The answer of an OTLP server: protobuf, for success and failure.
#pragma once

#include <cstdint>
#include <string>

#include "report/push/retries.h"

namespace fbleprof::push {

// For a success: the number of profiles that were rejected all the same, and the server's remark; 0
// and "" if there are none, or if the answer cannot be read.
struct OtlpAnswer {
  std::int64_t rejected = 0;
  std::string message;
};
OtlpAnswer otlp_answer(const Response& response);

// For a refusal: the server's reason. A proxy's answer, which is not protobuf, is used as it is.
std::string otlp_reason(const Response& response);

}  // namespace fbleprof::push
