#include "report/push/retries.h"

#include <algorithm>

namespace fbleprof::push {

bool worth_another_try(const Response& response, Format format) {
  if (response.status == 0) return !response.lasts;
  if (response.status == 429) return true;
  if (format == Format::kOtlp) return response.status >= 502 && response.status <= 504;
  return response.status >= 500;
}

std::chrono::milliseconds pause_before(unsigned next, const Response& response) {
  constexpr std::chrono::milliseconds kFirst(500), kLongest(30'000);
  const std::chrono::milliseconds asked(response.retry_after_s * 1000);
  const std::chrono::milliseconds doubled = kFirst * (1 << std::min(next - 1, 8u));
  return std::min(std::max(asked, doubled), kLongest);
}

Response post_with_retries(const std::function<Response()>& post_once, Format format,
                           unsigned retries,
                           const std::function<void(std::chrono::milliseconds)>& sleep) {
  Response response = post_once();
  for (unsigned next = 1; next <= retries && worth_another_try(response, format); ++next) {
    sleep(pause_before(next, response));
    response = post_once();
  }
  return response;
}

}  // namespace fbleprof::push
