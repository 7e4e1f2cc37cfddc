#include "report/push/otlp_answer.h"

#include <gtest/gtest.h>

namespace fbleprof::push {
namespace {

Response answer_of(std::string body, const char* type = "application/x-protobuf") {
  Response response;
  response.status = 200;
  response.content_type = type;
  response.body = std::move(body);
  return response;
}

TEST(OtlpAnswer, EmptyIsSuccess) {
  const OtlpAnswer answer = otlp_answer(answer_of(""));
  EXPECT_EQ(answer.rejected, 0);
  EXPECT_EQ(answer.message, "");
}

TEST(OtlpAnswer, PartialSuccessIsTold) {
  // partial_success { rejected_profiles: 2 error_message: "old" }
  const OtlpAnswer answer = otlp_answer(answer_of("\x0a\x07\x08\x02\x12\x03old"));
  EXPECT_EQ(answer.rejected, 2);
  EXPECT_EQ(answer.message, "old");
}

TEST(OtlpAnswer, WhatCannotBeReadIsNoRemark) {
  EXPECT_EQ(otlp_answer(answer_of("\x0a\x7f")).rejected, 0);
  EXPECT_EQ(otlp_answer(answer_of("{}", "application/json")).message, "");
}

TEST(OtlpReason, IsTheStatusMessageOrAProxysText) {
  // code: 3 message: "bad"
  EXPECT_EQ(otlp_reason(answer_of("\x08\x03\x12\x03"
                                  "bad")),
            "bad");
  EXPECT_EQ(otlp_reason(answer_of("\x12\x7f")), "");
  EXPECT_EQ(otlp_reason(answer_of("<h1>Bad gateway", "text/html")), "<h1>Bad gateway");
}

}  // namespace
}  // namespace fbleprof::push
