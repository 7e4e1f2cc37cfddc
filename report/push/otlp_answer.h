// What an OTLP server answers: protobuf, whether it took the profile or not.
#pragma once

#include <cstdint>
#include <string>

#include "report/push/retries.h"

namespace fbleprof::push {

// Of a success: the profiles that were not taken all the same, and the server's remark; 0 and "" if
// all is well, or if the answer cannot be read.
struct OtlpAnswer {
  std::int64_t rejected = 0;
  std::string message;
};
OtlpAnswer otlp_answer(const Response& response);

// Of a refusal: the server's reason. A proxy's answer, which is no protobuf, is taken as it is.
std::string otlp_reason(const Response& response);

}  // namespace fbleprof::push
