#include "report/push/http.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>

#include <algorithm>
#include <cstdlib>

namespace fbleprof::push {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

// The steps of one post, each with a time limit: connect, write, read.
class Exchange {
 public:
  Exchange(const Url& url, const Request& request, const std::string& tenant, unsigned timeout_s)
      : resolver_(context_), stream_(context_), timeout_(timeout_s) {
    const bool is_v6 = url.host.find(':') != std::string::npos;
    request_.version(11);
    request_.method(http::verb::post);
    request_.target(request.target);
    request_.set(http::field::host, (is_v6 ? "[" + url.host + "]" : url.host) + ":" + url.port);
    request_.set(http::field::user_agent, "fble-prof");
    request_.set(http::field::content_type, request.content_type);
    if (!request.content_encoding.empty()) {
      request_.set(http::field::content_encoding, request.content_encoding);
    }
    request_.set(http::field::connection, "close");
    if (!tenant.empty()) request_.set("X-Scope-OrgID", tenant);
    request_.body() = request.body;
    request_.prepare_payload();
    parser_.body_limit(kMostOfAnswer);
    host_ = url.host;
    port_ = url.port;
  }

  Response run() {
    beast::error_code failure;
    const auto places = resolver_.resolve(host_, port_, failure);
    if (failure) return failed("cannot be resolved", failure);
    stream_.expires_after(timeout_);
    stream_.async_connect(places, [&](beast::error_code error, const auto&) {
      if (error) return finish("cannot be reached", error);
      http::async_write(stream_, request_, [&](beast::error_code error, std::size_t) {
        if (error) return finish("did not take the profile", error);
        http::async_read(stream_, buffer_, parser_, [&](beast::error_code error, std::size_t) {
          finish("did not answer", error);
        });
      });
    });
    context_.run();
    return std::move(response_);
  }

 private:
  static constexpr std::uint64_t kMostOfAnswer = 1024 * 1024;

  static Response failed(const char* what, beast::error_code error) {
    Response response;
    response.problem = std::string(what) + ": " +
                       (error == beast::error::timeout ? "no answer in time" : error.message());
    return response;
  }

  void finish(const char* what, beast::error_code error) {
    // Once the head is there the server has decided, whatever becomes of the rest.
    if (error && !parser_.is_header_done()) {
      response_ = failed(what, error);
      return;
    }
    const auto& answer = parser_.get();
    response_.status = answer.result_int();
    response_.content_type = std::string(answer[http::field::content_type]);
    response_.body = answer.body();
    const std::string after(answer[http::field::retry_after]);
    response_.retry_after_s =
        static_cast<unsigned>(std::clamp(std::strtol(after.c_str(), nullptr, 10), 0L, 3600L));
  }

  asio::io_context context_;
  asio::ip::tcp::resolver resolver_;
  beast::tcp_stream stream_;
  std::chrono::seconds timeout_;
  std::string host_, port_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  beast::flat_buffer buffer_;
  Response response_;
};

}  // namespace

Response post(const Url& url, const Request& request, const std::string& tenant,
              unsigned timeout_s) {
  try {
    return Exchange(url, request, tenant, timeout_s).run();
  } catch (const std::exception& error) {
    Response response;
    response.problem = error.what();
    return response;
  }
}

bool worth_another_try(const Response& response, Format format) {
  if (response.status == 0 || response.status == 429) return true;
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
