#include "profile/file_image.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::profile {
namespace {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string error_of(const std::vector<std::byte>& bytes) {
  auto image = FileImage::from_bytes(bytes, "f");
  return image ? "" : image.error().line();
}

TEST(FileImage, MissingFileSaysHowToGetOne) {
  auto image = FileImage::load("/nonexistent/mlmon.out");
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().line(),
            "/nonexistent/mlmon.out: cannot open: No such file or directory: run the program "
            "first: fble-prof ./prog; if --out or attach named another file, name that");
}

TEST(FileImage, DirectoryIsRefused) {
  const TempDir dir;
  auto image = FileImage::load(dir / "");
  ASSERT_FALSE(image.ok());
  EXPECT_TRUE(test::holds(image.error().line(), "is a directory"));
}

TEST(FileImage, FifoIsRefusedWithoutWaitingForAWriter) {
  const TempDir dir;
  const std::string path = dir / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto image = FileImage::load(path);
  ASSERT_FALSE(image.ok());
  EXPECT_TRUE(test::holds(image.error().line(), "not a regular file"));
}

TEST(FileImage, EmptyFileIsRefused) {
  const TempDir dir;
  std::ofstream(dir / "empty").close();
  auto image = FileImage::load(dir / "empty");
  ASSERT_FALSE(image.ok());
  EXPECT_TRUE(test::holds(image.error().line(), "empty file"));
}

TEST(FileImage, FilesOfOtherFormatsAreRefusedByName) {
  const auto bytes = [](std::string_view text) {
    std::vector<std::byte> out(8192);
    std::memcpy(out.data(), text.data(), text.size());
    return out;
  };
  EXPECT_EQ(error_of(bytes("hello")),
            "f: not a profile of fbleprof: give the mlmon.out that a profiled program wrote");
  EXPECT_TRUE(test::holds(error_of(bytes("\x7f"
                                         "ELF")),
                          "program or library"));
  EXPECT_TRUE(test::holds(error_of(bytes("gmon")), "gprof"));
  EXPECT_TRUE(test::holds(error_of(bytes("PERFILE2")), "perf.data"));
  EXPECT_TRUE(test::holds(error_of(bytes("\x1f\x8b")), "gzip"));
  for (const std::size_t length : {1, 2, 3, 4, 7}) {
    const auto whole = bytes("PERFILE2");
    EXPECT_TRUE(
        test::holds(error_of({whole.begin(), whole.begin() + length}), "give the mlmon.out"))
        << length;
  }
}

TEST(FileImage, NewerVersionAsksForANewerTool) {
  test::FileBuilder file;
  file.header().major_version = format::kMajorVersion + 1;
  EXPECT_EQ(error_of(file.bytes()),
            "f: written by a newer fbleprof (format 3; this program reads 2): use a newer "
            "fble-prof-report");
}

TEST(FileImage, OlderVersionAsksForAnotherRun) {
  test::FileBuilder file;
  file.header().major_version = 1;
  EXPECT_EQ(error_of(file.bytes()), "f: written by an older fbleprof (format 1): record it again");
}

TEST(FileImage, HeaderOfAnyLengthIsRefusedOrRead) {
  test::FileBuilder file;
  auto bytes = file.bytes();
  for (std::size_t length = 0; length < sizeof(format::Header); ++length) {
    auto cut = bytes;
    cut.resize(length);
    EXPECT_NE(error_of(cut), "") << length;
  }
  bytes.resize(sizeof(format::Header));
  EXPECT_EQ(error_of(bytes), "");
}

TEST(FileImage, ReservedSpaceIsNotRead) {
  const TempDir dir;
  test::FileBuilder file;
  file.charge("a", {.cpu_ns = 1});
  file.write(dir / "mlmon.out");
  std::filesystem::resize_file(dir / "mlmon.out", 1 << 20);
  auto image = FileImage::load(dir / "mlmon.out");
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->size(), file.bytes().size());
  EXPECT_FALSE(image->truncated());
}

TEST(FileImage, HeaderThatUsesNothingIsRefused) {
  test::FileBuilder file;
  file.header().used_bytes = 8;
  EXPECT_TRUE(test::holds(error_of(file.bytes()), "damaged header: 8 bytes in use"));
}

TEST(FileImage, FileThatCannotBeReadIsRefused) {
  const auto image = FileImage::load("/proc/self/mem");
  ASSERT_FALSE(image.ok());
  EXPECT_TRUE(test::holds(image.error().line(), "cannot read"));
}

TEST(FileImage, AssignmentTakesTheOtherFile) {
  const TempDir dir;
  test::FileBuilder file;
  file.write(dir / "one");
  file.header().pid = 99;
  file.write(dir / "two");
  auto one = FileImage::load(dir / "one"), two = FileImage::load(dir / "two");
  ASSERT_TRUE(one.ok() && two.ok());
  *one = std::move(*two);
  EXPECT_EQ(one->header().pid, 99u);
  format::Header again;
  ASSERT_EQ(one->read(reinterpret_cast<std::byte*>(&again), sizeof again, 0), sizeof again);
  EXPECT_EQ(again.pid, 99u);
}

TEST(FileImage, NothingLiesBehindItsEnd) {
  const TempDir dir;
  test::FileBuilder file;
  file.write(dir / "one");
  const auto image = FileImage::load(dir / "one");
  ASSERT_TRUE(image.ok());
  FileWindow window(*image);
  EXPECT_EQ(window.at(0, 8).size(), file.bytes().size());
  EXPECT_TRUE(window.at(1 << 20, 8).empty());
  EXPECT_EQ(image->size_now(), image->size());
  const auto in_memory = FileImage::from_bytes(file.bytes(), "f");
  std::byte out[8];
  EXPECT_EQ(in_memory->read(out, sizeof out, 1 << 20), 0u);
  EXPECT_EQ(in_memory->size_now(), in_memory->size());
}

}  // namespace
}  // namespace fbleprof::profile
