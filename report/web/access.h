// Who may send requests: users of the link, at its address, but no other site's pages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/web/http.h"

namespace fbleprof::web {

// 128 random bits as text.
std::string make_token();

struct Access {
  std::string token;
  std::string host;  // that the server listens on
  unsigned short port = 0;

  // "localhost:8080" and the like: an address, not a name that someone else could direct to this
  // one. Any port: ssh -L gives the server another one.
  bool is_our_host(std::string_view host_header) const;
  std::string cookie_name() const;
  bool has_cookie(std::string_view cookies) const;
  // The answer to a request without permission; nothing: it is permitted.
  std::optional<HttpResponse> refusal(const HttpRequest& request,
                                      std::string_view token_given) const;
};

}  // namespace fbleprof::web
