// Who may ask.
#include "report/web/access.h"

#include <gtest/gtest.h>

namespace fbleprof::web {
namespace {

const Access kAccess{"0123456789abcdef0123456789abcdef", "127.0.0.1", 8080};

HttpRequest request(std::string host) {
  HttpRequest made;
  made.method = "GET";
  made.target = "/self";
  made.host = std::move(host);
  made.cookie = "a=b; fbleprof_8080=0123456789abcdef0123456789abcdef";
  return made;
}

unsigned status(const HttpRequest& request, std::string_view token = "") {
  const auto refused = kAccess.refusal(request, token);
  return refused ? refused->status : 200;
}

TEST(Access, TheLinkOpensThePage) {
  EXPECT_EQ(status(request("127.0.0.1:8080")), 200u);
  EXPECT_EQ(status(request("localhost:8080")), 200u);
  EXPECT_EQ(status(request("[::1]:8080")), 200u);
  HttpRequest fresh = request("127.0.0.1:8080");
  fresh.cookie.clear();
  EXPECT_EQ(status(fresh), 401u);
  EXPECT_EQ(status(fresh, kAccess.token), 200u);
  fresh.authorization = "Bearer " + kAccess.token;
  EXPECT_EQ(status(fresh), 200u);
}

TEST(Access, AWrongTokenIsNone) {
  HttpRequest other = request("127.0.0.1:8080");
  for (const char* cookie : {"fbleprof_8080=", "fbleprof_8080=0123456789abcdef0123456789abcdeF",
                             "fbleprof_8081=0123456789abcdef0123456789abcdef",
                             "fbleprof_8080=0123456789abcdef0123456789abcdef0"}) {
    other.cookie = cookie;
    EXPECT_EQ(status(other), 401u) << cookie;
  }
}

TEST(Access, NamesThatSomebodyElseCanPointHereAreRefused) {
  for (const char* host : {"evil.example:8080", "evil.example:9000", "evil.example", "",
                           "localhost.evil:8080", "127.0.0.1.evil:8080", "127.0.0.1:8080:8080",
                           "127.0.0.1:evil", "localhost:8080.evil", "[::1]evil"}) {
    EXPECT_EQ(status(request(host)), 421u) << host;
  }
}

TEST(Access, AForwardedPortLeadsHere) {
  for (const char* host : {"127.0.0.1:9000", "localhost:9000", "LocalHost:9000", "[::1]:9000",
                           "127.0.0.1", "localhost", "[::1]"}) {
    EXPECT_EQ(status(request(host)), 200u) << host;
    HttpRequest post = request(host);
    post.method = "POST";
    post.origin = std::string("http://") + host;
    EXPECT_EQ(status(post), 200u) << host;
    // Another server of this machine.
    post.origin = "http://localhost:3000";
    EXPECT_EQ(status(post), 403u) << host;
    post.cookie.clear();
    post.origin = std::string("http://") + host;
    EXPECT_EQ(status(post), 401u) << host;
  }
}

TEST(Access, OtherSitesMayNotAsk) {
  HttpRequest other = request("127.0.0.1:8080");
  other.origin = "http://evil.example";
  EXPECT_EQ(status(other), 403u);
  other.origin = "null";
  EXPECT_EQ(status(other), 403u);
  other.origin.clear();
  other.fetch_site = "cross-site";
  EXPECT_EQ(status(other), 403u);
  other.accept = "text/html";  // somebody followed a link
  EXPECT_EQ(status(other), 200u);
}

TEST(Access, PostsSayWhereTheyComeFrom) {
  HttpRequest post = request("127.0.0.1:8080");
  post.method = "POST";
  EXPECT_EQ(status(post), 403u);
  post.origin = "http://127.0.0.1:8080";
  EXPECT_EQ(status(post), 200u);
}

}  // namespace
}  // namespace fbleprof::web
