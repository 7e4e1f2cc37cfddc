// An HTTP server on one address. One thread that never blocks serves connections; other threads
// make the answers.
#pragma once

#include <chrono>
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

  // Binds. Port 0: any that is free. `patience`: for a request to come, and for a browser that
  // takes nothing of its answer.
  static Result<std::unique_ptr<Server>> listen(
      const std::string& host, unsigned short port,
      std::chrono::steady_clock::duration patience = std::chrono::seconds(30));
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
