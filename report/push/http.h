// One HTTP request, and when to try it again.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "report/push/options.h"
#include "report/push/request.h"

namespace fbleprof::push {

struct Response {
  unsigned status = 0;  // of HTTP; 0 = there was none: `problem` says why
  std::string content_type;
  std::string body;
  unsigned retry_after_s = 0;
  std::string problem;
};

// Posts once. Never throws; gives up after `timeout_s` seconds in all.
Response post(const Url& url, const Request& request, const std::string& tenant,
              unsigned timeout_s);

// Whether another try may help: nobody there, too slow, busy (429), or ill (5xx; of these OTLP
// allows it for 502 to 504 only).
bool worth_another_try(const Response& response, Format format);

// How long to wait before try number `next` (1 = the second): half a second, doubled each time, or
// what the server asks for; half a minute at the most.
std::chrono::milliseconds pause_before(unsigned next, const Response& response);

// Posts until the server takes it, refuses it, or `retries` more tries were of no use.
Response post_with_retries(const std::function<Response()>& post_once, Format format,
                           unsigned retries,
                           const std::function<void(std::chrono::milliseconds)>& sleep);

}  // namespace fbleprof::push
