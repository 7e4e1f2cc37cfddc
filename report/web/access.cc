#include "report/web/access.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <cctype>
#include <cstdint>

namespace fbleprof::web {
namespace {

// Takes as long for a wrong text as for the right one.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

bool is_address(const std::string& host) {
  unsigned char out[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), out) == 1 || inet_pton(AF_INET6, host.c_str(), out) == 1;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

HttpResponse refused(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n", {}};
}

}  // namespace

std::string make_token() {
  std::uint64_t bits[2] = {};
  if (getrandom(bits, sizeof bits, 0) != sizeof bits) return {};
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

bool Access::is_our_host(std::string_view header) const {
  const std::size_t colon = header.ends_with(']') ? std::string_view::npos : header.rfind(':');
  if (colon != std::string_view::npos &&
      header.substr(colon + 1).find_first_not_of("0123456789") != std::string_view::npos) {
    return false;
  }
  std::string name = lower_case(header.substr(0, colon));
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  return name == "localhost" || name == lower_case(host) || is_address(name);
}

std::string Access::cookie_name() const { return fmt::format("fbleprof_{}", port); }

bool Access::has_cookie(std::string_view cookies) const {
  const std::string name = cookie_name() + "=";
  for (std::size_t begin = 0; begin < cookies.size();) {
    std::size_t end = std::min(cookies.find(';', begin), cookies.size());
    std::string_view one = cookies.substr(begin, end - begin);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name) && is_same(one.substr(name.size()), token)) return true;
    begin = end + 1;
  }
  return false;
}

std::optional<HttpResponse> Access::refusal(const HttpRequest& request,
                                            std::string_view token_given) const {
  if (!is_our_host(request.host)) {
    return refused(421, "this server answers under its address only");
  }
  const bool is_ours = request.origin.empty() || request.origin == "http://" + request.host;
  if (!is_ours || request.fetch_site == "cross-site") {
    // Following a link from another site reads nothing: the browser shows the page only to its
    // user.
    if (!is_ours || request.method == "POST" ||
        request.accept.find("text/html") == std::string::npos) {
      return refused(403, "no other site may ask this server");
    }
  }
  if (request.method == "POST" && request.origin.empty()) {
    return refused(403, "a form must say where it comes from");
  }
  const bool has_header = request.authorization.starts_with("Bearer ") &&
                          is_same(std::string_view(request.authorization).substr(7), token);
  if (has_cookie(request.cookie) || is_same(token_given, token) || has_header) return std::nullopt;
  return refused(401, "open the link that fble-prof-report printed: it holds the token");
}

}  // namespace fbleprof::web
