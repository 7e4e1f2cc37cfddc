#include "launch/library.h"

#include <gtest/gtest.h>

namespace fbleprof::launch {
namespace {

TEST(Preload, TheRecorderComesFirstAndTheOthersStay) {
  EXPECT_EQ(with_preloaded("/l.so", nullptr), "/l.so");
  EXPECT_EQ(with_preloaded("/l.so", ""), "/l.so");
  EXPECT_EQ(with_preloaded("/l.so", "/a.so"), "/l.so:/a.so");
  EXPECT_EQ(with_preloaded("/l.so", " /a.so /b.so:"), "/l.so:/a.so:/b.so");
}

TEST(Preload, TheRecorderIsThereOnce) {
  EXPECT_EQ(with_preloaded("/l.so", "/a.so:/l.so /b.so"), "/l.so:/a.so:/b.so");
}

}  // namespace
}  // namespace fbleprof::launch
