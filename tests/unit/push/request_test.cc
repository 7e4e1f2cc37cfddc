#include "report/push/request.h"
#include "tests/support/text.h"

#include <gtest/gtest.h>

namespace fbleprof::push {
namespace {

TEST(IngestRequest, ParametersAreAsDocumented) {
  Upload upload;
  upload.name = "app";
  upload.labels = {{"env", "staging"}};
  upload.from_s = 10;
  upload.until_s = 20;
  upload.rate_hz = 100;
  EXPECT_EQ(ingest_request("https://h/base", upload).url,
            "https://h/base/"
            "ingest?name=app%7Benv%3Dstaging%7D&from=10&until=20&format=pprof&sampleRate=100"
            "&spyName=fbleprof");
}

TEST(IngestRequest, ProfileIsAFieldOfAForm) {
  Upload upload;
  upload.profile = "fbleprof-form in the profile itself";
  upload.sample_types = {{"cpu", "ns"}, {"inuse_space", "bytes"}};
  const Request request = ingest_request("", upload);
  EXPECT_EQ(request.content_type, "multipart/form-data; boundary=fbleprof-form-x");
  EXPECT_TRUE(test::holds(request.body, "name=\"profile\""));
  EXPECT_TRUE(test::holds(request.body, "\r\n\r\nfbleprof-form in the profile itself\r\n--"));
  EXPECT_TRUE(test::holds(request.body, "\"inuse_space\":{\"units\":\"bytes\""));
  EXPECT_TRUE(request.body.ends_with("--fbleprof-form-x--\r\n"));
}

TEST(OtlpPost, BodyIsTheProfile) {
  Upload upload;
  upload.profile = "packed";
  const Request request = otlp_post("http://h/base", upload);
  EXPECT_EQ(request.url, "http://h/base/v1development/profiles");
  EXPECT_EQ(request.content_type, "application/x-protobuf");
  EXPECT_EQ(request.content_encoding, "gzip");
  EXPECT_EQ(request.body, "packed");
}

TEST(ApplicationName, CharactersWithAMeaningAreReplaced) {
  EXPECT_EQ(application_name("a{b}", {}), "a_b_");
  EXPECT_EQ(application_name("a", {{"k-1", "x=y,z"}, {"l", "ok"}}), "a{k_1=x_y_z,l=ok}");
}

TEST(PercentEncode, OnlyPlainCharactersStay) {
  EXPECT_EQ(percent_encode("aZ9-._~ /ä"), "aZ9-._~%20%2F%C3%A4");
}

}  // namespace
}  // namespace fbleprof::push
