// An HTTP server on one address. One thread that never blocks serves connections; other threads
// make the answers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "report/web/http.h"

namespace fbleprof::web {

class Server {
 public:
  // Must be thread-safe.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Binds. Port 0: any that is free.
  static Result<std::unique_ptr<Server>> listen(const std::string& host, unsigned short port);
  virtual ~Server() = default;

  virtual unsigned short port() const = 0;
  // Serves until SIGINT or SIGTERM.
  virtual void run(Handler handler) = 0;
  // Sends an event to all open streams. Thread-safe.
  virtual void publish(const std::string& event) = 0;
  // The number of open streams.
  virtual std::size_t listeners() const = 0;
};

}  // namespace fbleprof::web
