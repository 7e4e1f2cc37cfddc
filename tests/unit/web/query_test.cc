// What an address says, and what it must not.
#include "report/web/query.h"

#include <gtest/gtest.h>

#include <regex>

#include "report/web/pages.h"

namespace fbleprof::web {
namespace {

Query query_of(std::string_view address) {
  const auto target = parse_target(address);
  EXPECT_TRUE(target.has_value()) << address;
  auto query = parse_query(target.value_or(Target{"/", {}}));
  EXPECT_TRUE(query.ok()) << address;
  return query.ok() ? *query : Query();
}

TEST(Address, ReadsWhatItWrites) {
  const std::string address =
      "/block/id:0123456789ab?sel=a%20b&exc=%2A%3Cint%3E&fold=~&metric=calls&sort=self&n=20";
  const std::string again = url_of(query_of(address));
  EXPECT_EQ(url_of(query_of(again)), again);
  EXPECT_EQ(query_of(again).lists.size(), 3u);
  EXPECT_EQ(query_of(again).value, "id:0123456789ab");
}

TEST(Address, KeepsTheOrderOfTheLists) {
  const Query query = query_of("/self?exc=b&sel=a&exc=c");
  ASSERT_EQ(query.lists.size(), 3u);
  EXPECT_EQ(query.lists.back().pattern, "c");
  EXPECT_EQ(query.without(2).lists.size(), 2u);
}

TEST(Address, TakesAnEntryOnce) {
  EXPECT_EQ(query_of("/self?sel=a&sel=a").lists.size(), 1u);
  EXPECT_EQ(query_of("/self?sel=a").with({Listed::List::kSelect, "a"}).lists.size(), 1u);
}

TEST(Address, RefusesWhatIsNone) {
  for (const char* bad : {"", "self", "/%", "/%zz", "/%00", "/a b", "/\x01", "http://other/"}) {
    EXPECT_FALSE(parse_target(bad).has_value()) << bad;
  }
}

TEST(Address, RefusesWhatIsNoNumber) {
  for (const char* bad : {"/self?n=0", "/self?n=-1", "/self?n=x", "/self?n=99999999", "/tree?min=x",
                          "/tree?min=-1", "/tree?min=nan", "/self?format=xml"}) {
    EXPECT_FALSE(parse_query(*parse_target(bad)).ok()) << bad;
  }
}

TEST(Address, RefusesParametersThatItDoesNotKnow) {
  const auto refusal = [](std::string_view address) {
    const auto query = parse_query(*parse_target(address));
    return query.ok() ? "" : query.error().line();
  };
  EXPECT_EQ(refusal("/tree?select=a"), "there is no parameter select: it is called sel");
  EXPECT_EQ(refusal("/self?sel=a&newer=1"), "there is no parameter newer: docs/PAGE.md lists them");
  EXPECT_EQ(refusal("/self?=1"), "there is no parameter : docs/PAGE.md lists them");
  EXPECT_EQ(refusal("/self?token=abc&value=x&q=y"), "");
}

TEST(Address, OtherPagesKeepTheListsAndNotTheRest) {
  const Query other = query_of("/tree?sel=a&at=12&sort=self&metric=calls").to_page("self");
  EXPECT_EQ(url_of(other), "/self?sel=a&metric=calls");
}

// A form's fields, as the browser sends them.
std::string fields(const std::string& form) {
  static const std::regex kField("<input type=hidden name=([a-z]+) value=\"([^\"]*)\">");
  std::string out, rest = form;
  for (std::smatch field; std::regex_search(rest, field, kField); rest = field.suffix()) {
    out += "&" + field[1].str() + "=" + percent_encoded(field[2].str());
  }
  return out;
}

TEST(Address, FormsKeepEveryParameter) {
  const std::string state =
      "sel=a&exc=b&fold=c&keep=d&metric=calls&base=e&normalize=1&thread=f&from=1&to=2";
  const std::string address = "/self?" + state +
                              "&at=12&pivot=g&inverted=1&zoom=3&highlight=h&sort=self&option=i&n=9&"
                              "min=0.5&all=1";
  const Query query = query_of(address);
  EXPECT_EQ(url_of(query), address);
  EXPECT_EQ("/self?" + fields(hidden_inputs(query, "")).substr(1), address);
  EXPECT_EQ(fields(hidden_inputs(query, "page")), "&" + state);
  EXPECT_EQ(fields(hidden_inputs(query, "metric")).find("metric"), std::string::npos);
}

TEST(Address, ButtonsLeadBackToTheSamePartOfAFlameGraph) {
  const Query back =
      query_of("/flame?sel=a&at=12&zoom=3,0.1,0.2&highlight=x%7Cy&n=9").to_button("flame", "");
  EXPECT_EQ(url_of(back), "/flame?sel=a&at=12&zoom=3,0.1,0.2&highlight=x%7Cy");
}

}  // namespace
}  // namespace fbleprof::web
