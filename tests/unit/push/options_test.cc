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

TEST(PushOptions, WhatIsWrongIsSaidInOneLine) {
  struct Case {
    std::vector<std::string> arguments;
    std::string_view part;
  };
  const Case cases[] = {
      {{}, "give a profile and a URL"},
      {{"f"}, "give a profile and a URL"},
      {{"f", "http://x", "more"}, "give a profile and a URL"},
      {{"f", "x"}, "a URL begins with http:// or https://"},
      {{"f", "http://x/\x7f"}, "no query, fragment or blanks"},
      {{"--nothing", "f", "http://x"}, "see fble-prof push --help"},
      {{"--time", "5", "f", "http://x"}, "see fble-prof push --help"},
      {{"--timeout", "soon", "f", "http://x"}, "see fble-prof push --help"},
      {{"--timeout", "0", "f", "http://x"}, "--timeout: 1 to 3600"},
      {{"--timeout", "3601", "f", "http://x"}, "--timeout: 1 to 3600"},
      {{"--retries", "101", "f", "http://x"}, "--retries: 0 to 100"},
      {{"--tenant", "a\r\nb", "f", "http://x"}, "bad --tenant"},
      {{"--label", "a", "f", "http://x"}, "--label a: KEY=VALUE"},
      {{"--label", "=a", "f", "http://x"}, "--label =a: KEY=VALUE"},
      {{"--label", "1a=b", "f", "http://x"}, "letters, digits and _: see"},
      {{"--label", "a-b=c", "f", "http://x"}, "letters, digits and _: see"},
      {{"--label", "a{=c", "f", "http://x"}, "letters, digits and _: see"},
      {{"--label", "a:=c", "f", "http://x"}, "letters, digits and _: see"},
      {{"--label", "a[=c", "f", "http://x"}, "letters, digits and _: see"},
      {{"--format", "otlp", "--label", "a/b=c", "f", "http://x"}, "letters, digits and _ and .:"},
  };
  for (const Case& each : cases) {
    const auto options = options_of(each.arguments);
    ASSERT_FALSE(options.ok()) << each.part;
    EXPECT_TRUE(test::holds(options.error().line(), each.part));
  }
}

TEST(PushOptions, EverythingThatIsGivenIsTaken) {
  const auto options = options_of({"--format", "pprof", "--name", "shop", "--tenant", "me",
                                   "--label", "Zone_9=a=b", "--label", "a0=", "--since-last",
                                   "--timeout", "3600", "--retries", "100", "f", "http://x"});
  ASSERT_TRUE(options.ok()) << options.error().line();
  EXPECT_EQ(options->format, Format::kPprof);
  EXPECT_EQ(options->name + " " + options->tenant, "shop me");
  ASSERT_EQ(options->labels.size(), 2U);
  EXPECT_EQ(options->labels[0].first + "," + options->labels[0].second, "Zone_9,a=b");
  EXPECT_TRUE(options->since_last);
  EXPECT_EQ(options->timeout_s + options->retries, 3700U);
  EXPECT_EQ(options_of({"--help"})->action, Options::Action::kHelp);
  EXPECT_EQ(options_of({"--version"})->action, Options::Action::kVersion);
  EXPECT_TRUE(test::holds(help_text(), "--since-last"));
}

}  // namespace
}  // namespace fbleprof::push
