#include "report/push/options.h"
#include "tests/support/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fbleprof::push {
namespace {

TEST(PushUrl, SlashesAtTheEndAreCutOff) {
  EXPECT_EQ(*server_url("http://profiles.example:4040/some/path//"),
            "http://profiles.example:4040/some/path");
  EXPECT_EQ(*server_url("https://[::1]:99/"), "https://[::1]:99");
  EXPECT_EQ(*server_url("https://x"), "https://x");
}

TEST(PushUrl, CredentialsAreRefusedAndNotShown) {
  const auto url = server_url("https://me:secret@x");
  ASSERT_FALSE(url.ok());
  EXPECT_TRUE(test::holds(url.error().line(), "~/.netrc"));
  EXPECT_FALSE(url.error().line().find("secret") != std::string::npos);
}

TEST(PushUrl, WhatIsNoneIsAnError) {
  for (const char* wrong : {"", "x", "ftp://x", "http://", "http://x:y", "http://[::1",
                            "http://u@x", "http://x/?q", "http://x/a b", "http://x:123456"}) {
    EXPECT_FALSE(server_url(wrong).ok()) << wrong;
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
