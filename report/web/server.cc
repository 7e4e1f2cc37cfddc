// The only file that uses Beast.
#include "report/web/server.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>
#include <chrono>
#include <csignal>
#include <deque>
#include <exception>
#include <optional>
#include <set>

namespace fbleprof::web {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using std::chrono::seconds;

namespace {

constexpr std::size_t kMostConnections = 1000;  // or half of the descriptors that there may be
constexpr std::chrono::milliseconds kUntilNextTry{100};  // to accept a connection, if that fails
constexpr std::uint32_t kMostHeader = 32 * 1024;
constexpr std::uint64_t kMostBody = 64 * 1024;
constexpr int kMostInKernel = 128 * 1024;  // bytes of an answer that are not on their way
constexpr seconds kHeartbeat{15};          // of event streams
constexpr std::size_t kMostUnsent = 64;    // events of a stream that nobody reads

// Headers of every answer: it must not be framed, sniffed, stored, or read by another site.
constexpr std::pair<const char*, const char*> kAlways[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    // Without any referrer, forms of the page itself would appear to come from nowhere.
    {"Referrer-Policy", "same-origin"},
    {"Cache-Control", "no-store"}};

// The rest is for the files that answers are made of.
std::size_t most_connections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMostConnections;
  return std::min<rlim_t>(kMostConnections, limit.rlim_cur / 2);
}

// A browser that the server opens, or dot, would keep the port and the connections.
void keep_from_children(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

class Connection;

class BeastServer : public Server {
 public:
  explicit BeastServer(std::chrono::steady_clock::duration patience)
      : patience_(patience),
        acceptor_(context_),
        next_try_(context_),
        signals_(context_),
        workers_(3) {}
  ~BeastServer() override {
    workers_.stop();
    workers_.join();
  }

  Status bind(const std::string& host, unsigned short port) {
    beast::error_code error;
    const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
    const std::string where = host + ":" + std::to_string(port);
    if (error) {
      return Error{"--serve " + where, std::nullopt, "no address of this machine",
                   "HOST is a number: 127.0.0.1, ::1, 0.0.0.0"};
    }
    const tcp::endpoint endpoint(address, port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) keep_from_children(acceptor_.native_handle());
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) return std::nullopt;
    return Error{"--serve " + where, std::nullopt, "cannot listen: " + error.message(),
                 host.find(':') == std::string::npos
                     ? "choose another port, or none: --serve takes a free one"
                     : "choose another port; an IPv6 address with one needs brackets: [::1]:8080"};
  }

  unsigned short port() const override { return acceptor_.local_endpoint().port(); }
  void run(Handler handler) override;
  void publish(const std::string& event) override;
  std::size_t listeners() const override { return listeners_; }

  const Handler& handler() const { return handler_; }
  std::chrono::steady_clock::duration patience() const { return patience_; }
  asio::thread_pool& workers() { return workers_; }
  void add(const std::shared_ptr<Connection>& connection) { open_.insert(connection); }
  void remove(const std::shared_ptr<Connection>& connection) { open_.erase(connection); }
  void count_listeners(int change) { listeners_ += static_cast<std::size_t>(change); }

 private:
  void accept();

  const std::chrono::steady_clock::duration patience_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer next_try_;
  asio::signal_set signals_;
  asio::thread_pool workers_;
  Handler handler_;
  const std::size_t most_connections_ = most_connections();
  std::set<std::shared_ptr<Connection>> open_;  // used only by the thread of context_
  std::atomic<std::size_t> listeners_ = 0;
};

// One browser's connection: request, answer, request. Everything except making answers runs on the
// server's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(BeastServer& server, tcp::socket socket)
      : server_(server), stream_(std::move(socket)), heartbeat_(stream_.get_executor()) {
    keep_from_children(stream_.socket().native_handle());
    // Else the kernel takes megabytes at once, and a slow browser seems to take nothing for
    // minutes.
    setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMostInKernel,
               sizeof kMostInKernel);
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(kMostHeader);
    parser_->body_limit(kMostBody);
    stream_.expires_after(server_.patience());
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       self->have_read(error);
                     });
  }

  void send_event(const std::string& event) {
    if (!is_stream_) return;
    if (events_.size() >= kMostUnsent) return close();
    events_.push_back(event);
    if (events_.size() == 1) write_event();
  }

  void close() {
    beast::error_code ignored;
    heartbeat_.cancel();
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
    if (is_stream_) server_.count_listeners(-1);
    is_stream_ = false;
    server_.remove(shared_from_this());
  }

 private:
  void have_read(beast::error_code error) {
    if (error == http::error::header_limit)
      return answer({431, "text/plain", "headers too long\n"});
    if (error == http::error::body_limit) return answer({413, "text/plain", "too long\n"});
    if (error.category() == beast::error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      keep_ = false;
      return answer({400, "text/plain", "this is no HTTP request\n"});
    }
    if (error) return close();
    const auto& message = parser_->get();
    keep_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    const auto text = [&](http::field field) { return std::string(message[field]); };
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    if (message.count(http::field::host) != 1) {
      return answer({400, "text/plain", "one Host header, please\n"});
    }
    if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
      HttpResponse response{405, "text/plain", "GET, HEAD, POST\n", {}};
      response.headers.emplace_back("Allow", "GET, HEAD, POST");
      return answer(std::move(response));
    }
    request.host = text(http::field::host);
    request.origin = text(http::field::origin);
    request.cookie = text(http::field::cookie);
    request.accept = text(http::field::accept);
    request.authorization = text(http::field::authorization);
    request.fetch_site = std::string(message["Sec-Fetch-Site"]);
    stream_.expires_never();  // making an answer has no time limit
    asio::post(server_.workers(), [self = shared_from_this(), request = std::move(request)] {
      HttpResponse response;
      try {
        response = self->server_.handler()(request);
      } catch (const std::bad_alloc&) {
        response = {503, "text/plain", "not enough memory\n"};
      } catch (const std::exception& failure) {
        response = {500, "text/plain", std::string("failed: ") + failure.what() + "\n"};
      }
      asio::post(self->stream_.get_executor(), [self, response = std::move(response)]() mutable {
        self->answer(std::move(response));
      });
    });
  }

  void answer(HttpResponse response) {
    message_.emplace();
    message_->result(response.status);
    message_->version(11);
    message_->set(http::field::content_type, response.type);
    for (const auto& [name, value] : kAlways) message_->set(name, value);
    for (const auto& [name, value] : response.headers) message_->set(name, value);
    if (response.status >= 500 || response.status == 431 || response.status == 413) keep_ = false;
    message_->keep_alive(keep_ || (response.is_event_stream && !is_head_));
    if (response.is_event_stream && !is_head_) return begin_stream(response.body);
    message_->body() = std::move(response.body);
    if (!response.is_event_stream) message_->prepare_payload();  // a stream has no length
    if (is_head_) message_->body().clear();
    serializer_.emplace(*message_);
    write_some();
  }

  // A large answer may take long on a slow way: only a browser that takes nothing is left.
  void write_some() {
    stream_.expires_after(server_.patience());
    http::async_write_some(stream_, *serializer_,
                           [self = shared_from_this()](beast::error_code error, std::size_t) {
                             if (error) return self->close();
                             if (!self->serializer_->is_done()) return self->write_some();
                             if (!self->keep_) return self->close();
                             self->read();
                           });
  }

  void begin_stream(const std::string& first) {
    message_->chunked(false);
    serializer_.emplace(*message_);
    stream_.expires_after(server_.patience());
    http::async_write_header(
        stream_, *serializer_,
        [self = shared_from_this(), first](beast::error_code error, std::size_t) {
          if (error) return self->close();
          self->is_stream_ = true;
          self->server_.count_listeners(1);
          self->stream_.expires_never();
          self->send_event(first);
          self->beat();
          self->watch();
        });
  }

  // Notices a browser that leaves by the end of its data.
  void watch() {
    stream_.async_read_some(asio::buffer(&ignored_, 1),
                            [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (!self->is_stream_) return;
                              if (error) return self->close();
                              self->watch();
                            });
  }

  void beat() {
    heartbeat_.expires_after(kHeartbeat);
    heartbeat_.async_wait([self = shared_from_this()](beast::error_code error) {
      if (error || !self->is_stream_) return;
      self->send_event(": still there\n\n");
      self->beat();
    });
  }

  void write_event() {
    asio::async_write(stream_, asio::buffer(events_.front()),
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        if (error || !self->is_stream_) return self->close();
                        self->events_.pop_front();
                        if (!self->events_.empty()) self->write_event();
                      });
  }

  BeastServer& server_;
  beast::tcp_stream stream_;
  asio::steady_timer heartbeat_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> message_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  // The first is being sent. More come meanwhile, and must not move it: a short text is in the
  // string itself.
  std::deque<std::string> events_;
  char ignored_ = 0;
  bool keep_ = false, is_head_ = false, is_stream_ = false;
};

void BeastServer::accept() {
  acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Without descriptors or memory, it would fail again at once.
      next_try_.expires_after(kUntilNextTry);
      next_try_.async_wait([this](beast::error_code ended) {
        if (!ended) accept();
      });
      return;
    }
    if (open_.size() < most_connections_) {
      auto connection = std::make_shared<Connection>(*this, std::move(socket));
      add(connection);
      connection->read();
    }
    accept();
  });
}

void BeastServer::run(Handler handler) {
  handler_ = std::move(handler);
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) signals_.add(SIGHUP);  // nohup ignores it
  signals_.async_wait([this](beast::error_code error, int) {
    if (error) return;
    // A second Ctrl-C ends it at once, whatever it still does. Of a closed terminal, both the
    // kernel and the shell tell.
    beast::error_code ignored;
    signals_.remove(SIGINT, ignored);
    signals_.remove(SIGTERM, ignored);
    context_.stop();
  });
  accept();
  context_.run();
  workers_.stop();
  workers_.join();
  const auto open = open_;
  for (const auto& connection : open) connection->close();
}

void BeastServer::publish(const std::string& event) {
  asio::post(context_, [this, event] {
    const auto open = open_;
    for (const auto& connection : open) connection->send_event(event);
  });
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const std::string& host, unsigned short port,
                                               std::chrono::steady_clock::duration patience) {
  auto server = std::make_unique<BeastServer>(patience);
  if (Status bad = server->bind(host, port)) return *bad;
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace fbleprof::web
