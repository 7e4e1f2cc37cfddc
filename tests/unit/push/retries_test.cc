#include "report/push/retries.h"

#include <gtest/gtest.h>

#include <vector>

namespace fbleprof::push {
namespace {

Response status(unsigned code) {
  Response response;
  response.status = code;
  return response;
}

// The statuses of the tries that were made when the server answers so.
std::vector<unsigned> tries(std::vector<unsigned> answers, unsigned retries,
                            Format format = Format::kPprof) {
  std::vector<unsigned> made;
  post_with_retries(
      [&] {
        made.push_back(answers[made.size()]);
        return status(made.back());
      },
      format, retries, [](std::chrono::milliseconds) {});
  return made;
}

TEST(Retries, OnlyWhatMayPassIsTriedAgain) {
  EXPECT_EQ(tries({503, 0, 429, 200}, 5), (std::vector<unsigned>{503, 0, 429, 200}));
  EXPECT_EQ(tries({400}, 5), (std::vector<unsigned>{400}));
  EXPECT_EQ(tries({200}, 5), (std::vector<unsigned>{200}));
  EXPECT_EQ(tries({500, 500, 500, 500}, 2), (std::vector<unsigned>{500, 500, 500}));
}

TEST(Retries, AProblemThatLastsIsNotTriedAgain) {
  Response untrusted;
  untrusted.lasts = true;
  EXPECT_FALSE(worth_another_try(untrusted, Format::kPprof));
  EXPECT_TRUE(worth_another_try(Response(), Format::kPprof));
}

TEST(Retries, OtlpTriesFewerErrorsAgain) {
  EXPECT_EQ(tries({502, 503, 504, 429, 0, 200}, 5, Format::kOtlp),
            (std::vector<unsigned>{502, 503, 504, 429, 0, 200}));
  EXPECT_EQ(tries({500}, 5, Format::kOtlp), (std::vector<unsigned>{500}));
}

TEST(Retries, PausesGrowUpToALimitAndHeedTheServer) {
  Response response = status(503);
  EXPECT_EQ(pause_before(1, response).count(), 500);
  EXPECT_EQ(pause_before(3, response).count(), 2000);
  EXPECT_EQ(pause_before(90, response).count(), 30000);
  response.retry_after_s = 7;
  EXPECT_EQ(pause_before(1, response).count(), 7000);
  response.retry_after_s = 3600;
  EXPECT_EQ(pause_before(1, response).count(), 30000);
}

}  // namespace
}  // namespace fbleprof::push
