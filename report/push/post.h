// One HTTP request through libcurl: https, redirects, and the proxies that the environment names.
#pragma once

#include <string>

#include "report/push/request.h"
#include "report/push/retries.h"

namespace fbleprof::push {

// Posts once. Gives up after `timeout_s` seconds in all. Credentials for the server come from
// ~/.netrc. Not thread-safe.
Response post(const Request& request, const std::string& tenant, unsigned timeout_s);

}  // namespace fbleprof::push
