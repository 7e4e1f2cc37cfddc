// One HTTP request, by libcurl: https, redirects, and the proxies that the environment names.
#pragma once

#include <string>

#include "report/push/request.h"
#include "report/push/retries.h"

namespace fbleprof::push {

// Posts once. Gives up after `timeout_s` seconds in all. Credentials for the server come from
// ~/.netrc. Not to be called by several threads.
Response post(const Request& request, const std::string& tenant, unsigned timeout_s);

}  // namespace fbleprof::push
