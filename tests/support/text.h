// Assertions about texts that show the text when they fail.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fbleprof::test {

// EXPECT_TRUE(holds(text, "part")), EXPECT_FALSE(holds(text, "part")).
inline testing::AssertionResult holds(std::string_view text, std::string_view part) {
  const bool is_there = text.find(part) != std::string_view::npos;
  return (is_there ? testing::AssertionSuccess() : testing::AssertionFailure())
         << (is_there ? "\"" : "no \"") << part << "\" in:\n"
         << text;
}

}  // namespace fbleprof::test
