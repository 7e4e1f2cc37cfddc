// Two runs of a program whose profiles become one file, and what happens if they cannot.
#include "launch/runs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "format/format.h"
#include "format/plain_run.h"

namespace fbleprof::launch {
namespace {

namespace fs = std::filesystem;

// What the recorder of this process would have written.
void write_profile(const std::string& path, std::size_t used, std::size_t bytes,
                   const std::string& program = "") {
  format::Header header{};
  std::memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.byte_order = format::kByteOrderMark;
  header.major_version = format::kMajorVersion;
  header.header_bytes = format::kHeaderBytes;
  header.unit_bytes = format::kUnitBytes;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.used_bytes = used;
  header.start_realtime_ns = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  if (!program.empty()) header.executable = format::kHeaderBytes / format::kUnitBytes;
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  text.resize(bytes, 'x');
  if (!program.empty()) {
    format::String string{};
    string.head.kind = format::Kind::kString;
    string.length = static_cast<std::uint32_t>(program.size());
    program.copy(string.bytes, sizeof string.bytes);
    text.replace(format::kHeaderBytes, sizeof string, reinterpret_cast<const char*>(&string),
                 sizeof string);
  }
  std::ofstream(path, std::ios::binary) << text;
}

// Puts another file in a descriptor's place while it lives.
class InPlaceOf {
 public:
  InPlaceOf(int fd, int other) : fd_(fd), kept_(dup(fd)) {
    if (other >= 0) {
      dup2(other, fd);
    } else {
      close(fd);
    }
  }
  ~InPlaceOf() {
    dup2(kept_, fd_);
    close(kept_);
  }
  InPlaceOf(const InPlaceOf&) = delete;
  InPlaceOf& operator=(const InPlaceOf&) = delete;

 private:
  int fd_, kept_;
};

class TwoRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "fbleprof-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    out_ = (directory_ / "mlmon.out").string();
    setenv("FBLEPROF_OUT", out_.c_str(), 1);
    setenv("FBLEPROF_EXACT", "1", 1);
    sigprocmask(SIG_BLOCK, nullptr, &mask_);
  }
  void TearDown() override {
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
    unsetenv("FBLEPROF_OUT");
    unsetenv("FBLEPROF_EXACT");
    fs::remove_all(directory_);
  }

  // Runs `program`, which gets its profile's name and whether it is counted, in a child process
  // each time. The outcome: the status, and what was said.
  std::string run(const std::function<int(const std::string&, bool)>& program) {
    testing::internal::CaptureStderr();
    const int status = run_twice({.become_program =
                                      [&] {
                                        return program(std::getenv("FBLEPROF_OUT"),
                                                       std::getenv("FBLEPROF_EXACT") != nullptr);
                                      },
                                  .out = out_});
    return std::to_string(status) + " " + testing::internal::GetCapturedStderr();
  }
  static int write(const std::string& file, std::size_t counted_bytes = 8192,
                   const std::string& program = "") {
    write_profile(file, format::kHeaderBytes + 64, counted_bytes, program);
    return 0;
  }
  std::uintmax_t size() const { return fs::file_size(out_); }

  fs::path directory_;
  std::string out_;
  sigset_t mask_{};
};

constexpr std::uintmax_t kUsed = format::kHeaderBytes + 64;

TEST_F(TwoRunsTest, TheSampledRunStandsBehindTheCountedOne) {
  EXPECT_EQ(run([](const std::string& file, bool) { return write(file); }), "0 ");
  EXPECT_EQ(size(), 2 * kUsed + sizeof(format::PlainRunEnd));
  EXPECT_FALSE(fs::exists(out_ + ".sampled"));
}

TEST_F(TwoRunsTest, NamesWithTheProcessIdBeginAlike) {
  out_ = (directory_ / "p.%p").string();
  setenv("FBLEPROF_OUT", out_.c_str(), 1);
  EXPECT_EQ(run([](std::string file, bool) {
              return write(file.replace(file.find("%p"), 2, std::to_string(getpid())));
            }),
            "0 ");
  std::vector<fs::path> left(fs::directory_iterator(directory_), {});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(fs::file_size(left[0]), 2 * kUsed + sizeof(format::PlainRunEnd));
}

// A wrapper that calls exec has a profile only if its calls are counted.
TEST_F(TwoRunsTest, ProfilesOfTheSameProgramAreJoined) {
  EXPECT_EQ(run([](const std::string& file, bool is_counted) {
              if (!is_counted) return write(file, 8192, "/bin/program");
              return write(file, 8192, "/bin/wrapper") + write(file + ".7", 8192, "/bin/program");
            }),
            "0 ");
  EXPECT_EQ(size(), 8192u);
  EXPECT_EQ(fs::file_size(out_ + ".7"), 2 * kUsed + sizeof(format::PlainRunEnd));
  EXPECT_FALSE(fs::exists(out_ + ".sampled"));
}

// Those that began last belong together, whatever their names.
TEST_F(TwoRunsTest, ProfilesOfOneProgramAreJoinedInTheirOrder) {
  EXPECT_EQ(run([](const std::string& file, bool is_counted) {
              if (!is_counted) return write(file);
              return write(file + ".9") + write(file + ".10");
            }),
            "0 ");
  EXPECT_EQ(fs::file_size(out_ + ".9"), 8192u);
  EXPECT_EQ(fs::file_size(out_ + ".10"), 2 * kUsed + sizeof(format::PlainRunEnd));
}

TEST_F(TwoRunsTest, AProgramOfTheSampledRunAloneIsNamed) {
  const std::string said = run([](const std::string& file, bool is_counted) {
    if (!is_counted) write(file + ".7", 8192, "/bin/other");
    return write(file, 8192, "/bin/program");
  });
  EXPECT_NE(said.find(out_ + ".sampled.7: the counted run has no profile of this program"),
            std::string::npos)
      << said;
  EXPECT_EQ(size(), 2 * kUsed + sizeof(format::PlainRunEnd));
}

TEST_F(TwoRunsTest, RunsThatEndDifferentlyAreToldApart) {
  const std::string said = run([](const std::string& file, bool is_counted) {
    write(file);
    return is_counted ? 4 : 3;
  });
  EXPECT_TRUE(said.starts_with("4 ")) << said;
  EXPECT_NE(said.find("the sampled one ended with status 3, the counted one with status 4"),
            std::string::npos)
      << said;
}

TEST_F(TwoRunsTest, ProfilesThatAreMissingAreNotJoined) {
  EXPECT_NE(run([](const std::string&, bool) { return 0; }).find("wrote different profiles"),
            std::string::npos);
  for (const bool missing : {false, true}) {
    fs::remove(out_);
    const std::string said = run([&](const std::string& file, bool is_counted) {
      return is_counted == missing ? 0 : write(file);
    });
    EXPECT_NE(said.find("wrote different profiles"), std::string::npos) << said;
    fs::remove(out_ + ".sampled");
  }
}

TEST_F(TwoRunsTest, ASampledRunThatWasCutIsKeptApart) {
  const std::string said = run([](const std::string& file, bool is_counted) {
    return write(file, is_counted ? 8192 : format::kHeaderBytes);
  });
  EXPECT_NE(said.find("cannot be written; the sampled run is " + out_ + ".sampled"),
            std::string::npos)
      << said;
  EXPECT_TRUE(fs::exists(out_ + ".sampled"));
}

TEST_F(TwoRunsTest, ADiskWithoutRoomLeavesTheCountedRunWhole) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = 2 * kUsed - 8;
  setrlimit(RLIMIT_FSIZE, &little);
  const std::string said = run([](const std::string& file, bool) { return write(file, kUsed); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_NE(said.find("cannot be written; the sampled run is"), std::string::npos) << said;
  EXPECT_EQ(size(), kUsed);
  EXPECT_TRUE(fs::exists(out_ + ".sampled"));
}

TEST_F(TwoRunsTest, InputThatCanBeReadOnlyOnceIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "data", 4), 4);
  {
    const InPlaceOf input(STDIN_FILENO, ends[0]);
    EXPECT_TRUE(run([](const std::string&, bool) { return 0; }).starts_with("2 fble-prof: --runs"));
  }
  close(ends[0]);
  close(ends[1]);
}

// Input and output begin where they began for the first run; a reader of a pipe sees one run.
TEST_F(TwoRunsTest, BothRunsReadTheSameInputAndOneOutputIsLeft) {
  const std::string text = (directory_ / "text").string(), printed = (directory_ / "out").string();
  std::ofstream(text) << "some words";
  std::ofstream(printed) << "before ";
  const auto copy = [](const std::string& file, bool) {
    char bytes[64];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    const auto count = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    if (::write(STDOUT_FILENO, bytes, count) != static_cast<ssize_t>(count)) return 1;
    return write(file);
  };
  const int in = open(text.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = open(printed.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  lseek(in, 5, SEEK_SET);
  lseek(out, 0, SEEK_END);
  {
    const InPlaceOf input(STDIN_FILENO, in), output(STDOUT_FILENO, out);
    EXPECT_EQ(run(copy), "0 ");
  }
  std::string left;
  std::getline(std::ifstream(printed), left);
  EXPECT_EQ(left, "before words");
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  lseek(in, 0, SEEK_SET);
  {
    const InPlaceOf input(STDIN_FILENO, in), output(STDOUT_FILENO, ends[0]);
    EXPECT_EQ(run(copy), "0 ");
  }
  close(ends[0]);
  char bytes[64];
  EXPECT_EQ(read(ends[1], bytes, sizeof bytes), 10);
  close(ends[1]);
  close(in);
  close(out);
}

TEST_F(TwoRunsTest, ClosedInputAndOutputAreNoObstacle) {
  const InPlaceOf input(STDIN_FILENO, -1), output(STDOUT_FILENO, -1);
  EXPECT_EQ(run([](const std::string& file, bool) { return write(file); }), "0 ");
}

}  // namespace
}  // namespace fbleprof::launch
