// Replays the corpus, so that fixed defects do not return.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "profile/reader.h"
#include "tests/fuzz/fuzz_targets.h"

namespace fbleprof::fuzz {
namespace {

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Corpus, IsReadWithoutACrash) {
  for (const NamedTarget& target : kTargets) {
    const auto folder = std::filesystem::path(FBLEPROF_CORPUS) / target.name;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path().string());
      target.run(bytes_of(entry.path()));
      ++count;
    }
    EXPECT_GT(count, 0u) << folder;
  }
}

// A mlmon.out cut off anywhere gives a profile with one warning, or one clear line.
TEST(Corpus, WholeProfileIsReadHoweverShort) {
  auto bytes = bytes_of(std::filesystem::path(FBLEPROF_CORPUS) / "native" / "everything");
  ASSERT_GT(bytes.size(), 4096u);
  for (std::size_t length = (bytes.size() - 1) / 64 * 64; length > 0; length -= 64) {
    bytes.resize(length);
    native(bytes);
    const auto read = profile::read_bytes(std::as_bytes(std::span(bytes)), "cut");
    if (read.ok()) {
      EXPECT_EQ(read->profile.warnings().size(), 1u) << length;
    } else {
      EXPECT_LT(length, 4096u);
      EXPECT_EQ(read.error().line().find("cut: "), 0u);
    }
  }
}

// Flips that need no fuzzer.
TEST(Corpus, IsReadWithAnyByteChanged) {
  for (const NamedTarget& target : kTargets) {
    const auto folder = std::filesystem::path(FBLEPROF_CORPUS) / target.name;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      auto bytes = bytes_of(entry.path());
      if (bytes.size() > 16384) continue;
      SCOPED_TRACE(entry.path().string());
      const std::size_t step = 1 + bytes.size() / 512;
      for (std::size_t i = 0; i < bytes.size(); i += step) {
        const std::uint8_t before = bytes[i];
        bytes[i] = static_cast<std::uint8_t>(before ^ (1u << (i % 8)));
        target.run(bytes);
        bytes[i] = before;
      }
    }
  }
}

}  // namespace
}  // namespace fbleprof::fuzz
