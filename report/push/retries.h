// What a server answered, and when to try again.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "report/push/options.h"

namespace fbleprof::push {

struct Response {
  unsigned status = 0;  // of HTTP; 0 = there was none: `problem` says why
  std::string content_type;
  std::string body;
  unsigned retry_after_s = 0;
  std::string problem;
  bool lasts = false;  // the problem will not go away (a certificate that is not trusted)
};

// Whether another try may help: the server is unreachable, slow, busy (429) or failing (5xx; OTLP
// allows another try for 502 to 504 only).
bool worth_another_try(const Response& response, Format format);

// How long to wait before try number `next` (1 = the second): half a second, doubled each time, or
// what the server requests; half a minute at most.
std::chrono::milliseconds pause_before(unsigned next, const Response& response);

// Posts until the server takes the profile or refuses it, or until `retries` more tries failed.
Response post_with_retries(const std::function<Response()>& post_once, Format format,
                           unsigned retries,
                           const std::function<void(std::chrono::milliseconds)>& sleep);

}  // namespace fbleprof::push
