// A request and its answer, independent of transport.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fbleprof::web {

struct HttpRequest {
  std::string method;  // GET, HEAD, POST; others are refused earlier
  std::string target;
  std::string host, origin, cookie, fetch_site, accept, authorization;  // headers; "" = not sent
};

struct HttpResponse {
  unsigned status = 200;
  std::string type = "text/html; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool is_event_stream = false;  // stays open; Server::publish() writes to it
};

}  // namespace fbleprof::web
