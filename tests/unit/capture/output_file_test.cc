#include "capture/output_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/no_resources.h"

namespace fbleprof::capture {
namespace {

namespace fs = std::filesystem;
using test::Limited;
using test::NoMemory;

constexpr std::uint64_t kMegabyte = 1 << 20;

class Output : public testing::Test {
 protected:
  Output() {
    settings_.out = Path{path_.c_str()};
    settings_.memory_bytes = 8 * kMegabyte;
  }
  ~Output() override {
    if (file_.base) munmap(file_.base, file_.cap_bytes);
    fs::remove_all(directory_);
  }

  void open() { file_ = open_output(settings_, nullptr); }
  std::string failure() const { return file_.failure.c_str(); }
  bool says(const char* text) const { return failure().find(text) != std::string::npos; }
  std::string content() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-output.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
  std::string path_ = directory_ + "/mlmon.out";
  Settings settings_;
  OutputFile file_;
};

TEST_F(Output, IsAMappedFileWithAHeader) {
  open();
  ASSERT_NE(file_.base, nullptr) << failure();
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(file_.cap_bytes, 8 * kMegabyte);
  EXPECT_EQ(fs::file_size(path_), 8 * kMegabyte);
  EXPECT_EQ(std::memcmp(file_.base, format::kMagic, sizeof format::kMagic), 0);
  EXPECT_FALSE(file_.anonymous);
}

TEST_F(Output, ANameThatIsTooLongIsRefused) {
  settings_.out = Path{("/" + std::string(4090, 'a') + "%p%p").c_str()};
  open();
  EXPECT_EQ(file_.base, nullptr);
  EXPECT_EQ(failure(), "FBLEPROF_OUT is too long");
}

TEST_F(Output, StaysBelowTheLimitOnFileSize) {
  {
    const Limited limit(RLIMIT_FSIZE, 2 * kMegabyte + 5);
    open();
  }
  ASSERT_NE(file_.base, nullptr);
  EXPECT_EQ(file_.cap_bytes, 2 * kMegabyte);
  discard_output(file_);
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(file_.base, nullptr);
  {
    const Limited limit(RLIMIT_FSIZE, 64 << 10);
    open();
  }
  EXPECT_EQ(file_.base, nullptr);
  EXPECT_TRUE(says("ulimit -f")) << failure();
}

TEST_F(Output, TakesOneSixteenthOfALimitedAddressSpace) {
  {
    const Limited limit(RLIMIT_AS, std::uint64_t{1} << 50);
    open();
  }
  ASSERT_NE(file_.base, nullptr);
  EXPECT_EQ(file_.cap_bytes, 8 * kMegabyte) << "the setting is less";
  discard_output(file_);
  {
    const NoMemory none;
    open();
  }
  EXPECT_EQ(file_.base, nullptr);
  EXPECT_EQ(failure(), "no memory for a profile");
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Output, WithoutADirectoryThereIsNone) {
  settings_.out = Path{(directory_ + "/none/mlmon.out").c_str()};
  open();
  EXPECT_EQ(file_.base, nullptr);
  EXPECT_TRUE(says("there is no such directory")) << failure();
}

TEST_F(Output, IsCutAtItsEndAndCanGoOn) {
  open();
  ASSERT_NE(file_.base, nullptr);
  file_.base[5000] = 'a';
  ASSERT_TRUE(close_output(file_, 8192));
  EXPECT_EQ(fs::file_size(path_), 8192u);
  EXPECT_EQ(content()[5000], 'a');
  file_.base[9000] = 'b';  // a late thread: memory, not the file
  EXPECT_EQ(fs::file_size(path_), 8192u);
  ASSERT_TRUE(reopen_output(file_, 12288));
  EXPECT_EQ(fs::file_size(path_), 8 * kMegabyte);
  EXPECT_EQ(file_.base[9000], 'b') << "what was written meanwhile stays";
  file_.base[10000] = 'c';
  EXPECT_EQ(content()[10000], 'c');
}

TEST_F(Output, DoesNotGoOnIfItMayNotGrow) {
  open();
  ASSERT_NE(file_.base, nullptr);
  ASSERT_TRUE(close_output(file_, 8192));
  const Limited limit(RLIMIT_FSIZE, kMegabyte);
  EXPECT_FALSE(reopen_output(file_, 8192));
  EXPECT_EQ(fs::file_size(path_), 8192u);
}

TEST_F(Output, AnotherFileAtItsPathIsLeftAlone) {
  open();
  ASSERT_NE(file_.base, nullptr);
  const auto left_alone = [&](const char* what) {
    const auto bytes = fs::exists(path_) ? fs::file_size(path_) : 0;
    EXPECT_TRUE(close_output(file_, 8192)) << what;
    EXPECT_FALSE(reopen_output(file_, 8192)) << what;
    remove_output(file_);
    EXPECT_EQ(fs::exists(path_) ? fs::file_size(path_) : 0, bytes) << what;
  };
  const std::string aside = directory_ + "/aside";
  fs::create_hard_link(path_, aside);
  left_alone("the file has another name, too");
  fs::remove(path_);
  left_alone("it is gone");
  std::ofstream(path_) << "the program's own";
  left_alone("another file");
  EXPECT_EQ(content(), "the program's own");
  fs::remove(path_);
  fs::create_symlink(aside, path_);
  left_alone("a link to it");
  fs::remove(path_);
  fs::rename(aside, path_);
  fs::resize_file(path_, 0);
  left_alone("somebody emptied it");
}

TEST_F(Output, ChildrenAreNamedAfterTheFirst) {
  open();
  ASSERT_NE(file_.base, nullptr);
  reinterpret_cast<format::Header*>(file_.base)->state = format::State::kLive;
  OutputFile child = open_output(settings_, &file_);
  ASSERT_NE(child.base, nullptr) << child.failure.c_str();
  EXPECT_EQ(std::string(child.name.path.c_str()), path_ + "." + std::to_string(getpid()));
  const auto* first = reinterpret_cast<const format::Header*>(file_.base);
  EXPECT_EQ(first->children, 1u);
  OutputFile grandchild = open_output(settings_, &child);
  ASSERT_NE(grandchild.base, nullptr) << grandchild.failure.c_str();
  EXPECT_EQ(first->children, 2u) << "all are counted in the first one";
  discard_output(grandchild);
  EXPECT_EQ(first->children, 1u);
  discard_output(child);
  EXPECT_EQ(first->children, 0u);
}

// A profile in memory is written at the end.
class OutputInMemory : public Output {
 protected:
  OutputInMemory() {
    file_.name.path = file_.name.base_path = Path{path_.c_str()};
    file_.anonymous = true;
    file_.cap_bytes = kMegabyte;
    file_.base = static_cast<char*>(
        mmap(nullptr, kMegabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(file_.base, 'm', 8192);
  }
};

TEST_F(OutputInMemory, IsWritten) {
  EXPECT_TRUE(reopen_output(file_, 8192));
  EXPECT_TRUE(close_output(file_, 8192));
  EXPECT_EQ(content(), std::string(8192, 'm'));
  EXPECT_TRUE(reopen_output(file_, 8192));
  EXPECT_FALSE(fs::exists(path_)) << "the program goes on";
  EXPECT_TRUE(close_output(file_, 4096));
  EXPECT_EQ(content(), std::string(4096, 'm'));
  remove_output(file_);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(OutputInMemory, ReplacesNoFileButAnOldProfile) {
  std::ofstream(path_) << "before";
  EXPECT_FALSE(close_output(file_, 8192));
  EXPECT_EQ(content(), "before");
  EXPECT_NE(std::strstr(file_.name.failure.c_str(), "is not a profile"), nullptr);
  fs::remove(path_);
  OutputFile before = open_output(settings_, nullptr);
  ASSERT_NE(before.base, nullptr);
  reinterpret_cast<format::Header*>(before.base)->state = format::State::kEnded;
  EXPECT_TRUE(close_output(file_, 8192));
  EXPECT_EQ(content(), std::string(8192, 'm'));
  EXPECT_TRUE(fs::exists(path_ + ".old"));
  munmap(before.base, before.cap_bytes);
}

TEST_F(OutputInMemory, OfAChildIsNamedAfterTheFirst) {
  file_.is_child = true;
  const std::string path = path_ + "." + std::to_string(getpid());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(close_output(file_, 8192));
    EXPECT_EQ(file_.name.path.c_str(), path);
    EXPECT_EQ(fs::file_size(path), 8192u);
    EXPECT_FALSE(fs::exists(path_));
    EXPECT_TRUE(reopen_output(file_, 8192));
    EXPECT_TRUE(fs::is_empty(directory_));
  }
}

TEST_F(OutputInMemory, IsNotLeftHalfWritten) {
  munmap(file_.base + 4096, kMegabyte - 4096);
  file_.cap_bytes = 4096;
  EXPECT_FALSE(close_output(file_, 8192));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(OutputInMemory, StaysBelowTheLimitOnFileSize) {
  const Limited limit(RLIMIT_FSIZE, 4096);
  EXPECT_FALSE(close_output(file_, 8192));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(OutputInMemory, WithoutANameItIsNotWritten) {
  file_.name.path.clear();
  EXPECT_TRUE(close_output(file_, 8192));
  remove_output(file_);
  EXPECT_TRUE(fs::is_empty(directory_));
}

}  // namespace
}  // namespace fbleprof::capture
