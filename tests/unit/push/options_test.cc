#include "report/push/options.h"
#include "tests/support/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fbleprof::push {
namespace {

TEST(PushUrl, PartsAreToldApart) {
  const auto url = parse_url("http://profiles.example:4040/some/path/");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "profiles.example");
  EXPECT_EQ(url->port, "4040");
  EXPECT_EQ(url->path, "/some/path");
}

TEST(PushUrl, PortAndPathHaveDefaults) {
  const auto url = parse_url("http://[::1]");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, "80");
  EXPECT_EQ(url->path, "");
  EXPECT_EQ(parse_url("http://[::1]:99/")->port, "99");
}

TEST(PushUrl, HttpsSaysThatItIsNotSupported) {
  const auto url = parse_url("https://x");
  ASSERT_FALSE(url.ok());
  EXPECT_TRUE(test::holds(url.error().line(), "https is not supported"));
}

TEST(PushUrl, WhatIsNoneIsAnError) {
  for (const char* wrong : {"", "x", "ftp://x", "http://", "http://x:", "http://x:y", "http://[::1",
                            "http://u@x", "http://x/?q", "http://x/a b", "http://x:123456"}) {
    EXPECT_FALSE(parse_url(wrong).ok()) << wrong;
  }
}

Result<Options> options_of(std::vector<std::string> arguments) {
  std::vector<char*> argv = {const_cast<char*>("push")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(PushOptions, AttributesOfOtlpMayHaveDots) {
  EXPECT_EQ(options_of({"--format", "otlp", "--label", "a.b=c", "f", "http://x"})->format,
            Format::kOtlp);
  EXPECT_FALSE(options_of({"--label", "a.b=c", "f", "http://x"}).ok());
  EXPECT_FALSE(options_of({"--format", "otlp", "--label", ".b=c", "f", "http://x"}).ok());
  EXPECT_FALSE(options_of({"--format", "xml", "f", "http://x"}).ok());
}

}  // namespace
}  // namespace fbleprof::push
