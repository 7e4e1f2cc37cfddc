#include "report/push/post.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace fbleprof::push {

namespace {

constexpr std::size_t kMostOfAnswer = 1024 * 1024;
constexpr long kMostRedirects = 5;

// Only the beginning of a server's answer is used, but all of it is read.
std::size_t take(const char* data, std::size_t, std::size_t bytes, void* body) {
  auto& text = *static_cast<std::string*>(body);
  text.append(data, std::min(bytes, kMostOfAnswer - std::min(text.size(), kMostOfAnswer)));
  return bytes;
}

const char* what_failed(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "cannot be resolved";
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
      return "cannot be reached";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "is not trusted";
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "sends the profile elsewhere";
    case CURLE_OPERATION_TIMEDOUT:
      return "did not answer in time";
    default:
      return "did not answer";
  }
}

bool lasts(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_UNSUPPORTED_PROTOCOL;
}

class Exchange {
 public:
  Exchange(const Request& request, const std::string& tenant, unsigned timeout_s)
      : handle_(curl_easy_init(), curl_easy_cleanup), headers_(nullptr, curl_slist_free_all) {
    if (!handle_) return;
    add_header("Content-Type: " + request.content_type);
    if (!request.content_encoding.empty()) {
      add_header("Content-Encoding: " + request.content_encoding);
    }
    if (!tenant.empty()) add_header("X-Scope-OrgID: " + tenant);
    add_header("Expect:");  // or libcurl asks first whether it may send, and waits for a second
    const bool is_safe = request.url.starts_with("https:");
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_USERAGENT, "fble-prof");
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_POSTFIELDS, request.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kMostRedirects);
    set(CURLOPT_REDIR_PROTOCOLS_STR, is_safe ? "https" : "http,https");
    set(CURLOPT_POSTREDIR, long{CURL_REDIR_POST_ALL});  // else a redirect turns it into a GET
    set(CURLOPT_NETRC, long{CURL_NETRC_OPTIONAL});
    set(CURLOPT_TIMEOUT, static_cast<long>(timeout_s));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_WRITEFUNCTION, take);
    set(CURLOPT_WRITEDATA, &response_.body);
    set(CURLOPT_ERRORBUFFER, reason_);
    // The curl command and OpenSSL read this variable; libcurl does not.
    if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && *file != 0) {
      set(CURLOPT_CAINFO, file);
    }
  }

  Response run() {
    if (!handle_) return failed(CURLE_FAILED_INIT);
    const CURLcode code = curl_easy_perform(handle_.get());
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    // A server that has answered has decided, even if the rest of its answer is lost. A redirect is
    // not an answer.
    const bool answered = status >= 200 && (status < 300 || status >= 400);
    if (code != CURLE_OK && !answered) return failed(code);
    response_.status = static_cast<unsigned>(status);
    const char* type = nullptr;
    curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_TYPE, &type);
    if (type != nullptr) response_.content_type = type;
    curl_off_t after = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RETRY_AFTER, &after);
    response_.retry_after_s = static_cast<unsigned>(std::clamp<curl_off_t>(after, 0, 3600));
    return std::move(response_);
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  void add_header(const std::string& line) {
    if (curl_slist* all = curl_slist_append(headers_.get(), line.c_str())) {
      headers_.release();
      headers_.reset(all);
    }
  }

  Response failed(CURLcode code) const {
    Response response;
    response.problem = what_failed(code);
    if (code != CURLE_OPERATION_TIMEDOUT) {
      response.problem += ": ";
      response.problem += reason_[0] != 0 ? reason_ : curl_easy_strerror(code);
    }
    response.lasts = lasts(code);
    return response;
  }

  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
  char reason_[CURL_ERROR_SIZE] = {};
  Response response_;
};

}  // namespace

Response post(const Request& request, const std::string& tenant, unsigned timeout_s) {
  return Exchange(request, tenant, timeout_s).run();
}

}  // namespace fbleprof::push
