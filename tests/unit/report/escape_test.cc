#include "report/text/escape.h"

#include <gtest/gtest.h>

namespace fbleprof::report {
namespace {

TEST(Escape, TextOfAnyLanguageIsKept) {
  EXPECT_EQ(escape("operator<< <int>"), "operator<< <int>");
  EXPECT_EQ(escape("größe 関数 🙂"), "größe 関数 🙂");
}

TEST(Escape, ControlAndAnsiSequencesAreEscaped) {
  EXPECT_EQ(escape("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(escape("a\nb\tc\r\x7f"), "a\\nb\\tc\\x0d\\x7f");
  EXPECT_EQ(escape(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape("\xc2\x9b"
                   "31m"),
            "\\x9b31m");  // CSI in one byte, as UTF-8
}

TEST(Escape, BidirectionalAndInvisibleCharactersAreEscaped) {
  EXPECT_EQ(escape("a\u202eb"), "a\\u202eb");
  EXPECT_EQ(escape("a\u2066b\u200bc\ufeff"), "a\\u2066b\\u200bc\\ufeff");
  EXPECT_EQ(escape("a\U000e0001b"), "a\\U000e0001b");
}

TEST(Escape, InvalidUtf8IsEscaped) {
  EXPECT_EQ(escape("a\xff"
                   "b"),
            "a\\xffb");
  EXPECT_EQ(escape("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(escape("\xe2\x82"), "\\xe2\\x82");                    // cut short
}

TEST(Cut, CountsCharactersNotBytes) {
  EXPECT_EQ(cut("größe", 5), "größe");
  EXPECT_EQ(cut("größere", 5), "größ…");
  EXPECT_EQ(cut("abc", 1), "…");
  EXPECT_EQ(cut("abc", 0), "");
  EXPECT_EQ(pad_left("ö", 3), "  ö");
  EXPECT_EQ(pad_right("ö", 3), "ö  ");
}

}  // namespace
}  // namespace fbleprof::report
