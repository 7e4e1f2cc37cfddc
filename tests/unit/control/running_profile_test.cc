#include "control/running_profile.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "control/process.h"
#include "signal_safe/arena.h"

namespace fbleprof::control {
namespace {

using format::Header;
using format::Request;
using format::State;
using std::chrono::milliseconds;

constexpr std::uint64_t kBytes = 64 << 10;

std::uint64_t inode_of(const char* path) {
  struct stat status {};
  return stat(path, &status) == 0 ? status.st_ino : 0;
}

// The header of this process's profile.
Header own_header() {
  Header header{};
  std::memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.major_version = format::kMajorVersion;
  header.minor_version = format::kMinorVersion;
  header.header_bytes = format::kHeaderBytes;
  header.used_bytes = format::kHeaderBytes;
  header.cap_bytes = kBytes;
  header.state = State::kLive;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.process_start_ticks = start_ticks(getpid());
  header.pid_namespace = inode_of("/proc/self/ns/pid");
  return header;
}

class RunningProfileTest : public testing::Test {
 protected:
  ~RunningProfileTest() override { std::filesystem::remove_all(directory_); }

  std::string path_of(const char* name) const { return directory_ + "/" + name; }
  // A file of kBytes with this header.
  std::string file_with(const Header& header) const {
    const std::string path = path_of("mlmon.out");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(&header), sizeof header);
    std::filesystem::resize_file(path, kBytes);
    return path;
  }
  static std::string fault_of(const std::string& path) {
    const auto profile = RunningProfile::open(path);
    const auto header = RunningProfile::header_of(path);
    const std::string what = profile ? "none" : profile.error().what;
    EXPECT_EQ(header ? "none" : header.error().what, what);
    return what;
  }
  std::string fault_of(const Header& header) const { return fault_of(file_with(header)); }

 private:
  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-control.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
};

// The mapped file, as its program sees it.
class Program {
 public:
  explicit Program(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    header_ = static_cast<Header*>(
        mmap(nullptr, sizeof(Header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
  }
  ~Program() { munmap(header_, sizeof(Header)); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Header* operator->() const { return header_; }
  // As the recorder does it.
  void obey() const {
    const Request request =
        __atomic_exchange_n(&header_->request, Request::kNone, __ATOMIC_ACQ_REL);
    if (request == Request::kNone) return;
    __atomic_store_n(&header_->is_recording, request == Request::kStart, __ATOMIC_RELEASE);
  }

 private:
  Header* header_;
};

TEST_F(RunningProfileTest, WhatIsNoProfileIsRefused) {
  EXPECT_EQ(fault_of(path_of("none")), "No such file or directory");
  EXPECT_EQ(RunningProfile::open(path_of("none")).error().remedy,
            "name the profile that the program writes; fble-prof attach says which");
  ASSERT_EQ(mkfifo(path_of("fifo").c_str(), 0600), 0);
  EXPECT_EQ(fault_of(path_of("fifo")), "is not a profile");
  std::ofstream(path_of("short")) << "FBLEPROF";
  EXPECT_EQ(fault_of(path_of("short")), "is not a profile");
  Header header = own_header();
  header.magic[0] = 'X';
  EXPECT_EQ(fault_of(header), "is not a profile");
  std::filesystem::create_symlink(file_with(own_header()), path_of("link"));
  EXPECT_NE(fault_of(path_of("link")), "none") << "somebody else's file";
}

TEST_F(RunningProfileTest, AFileCutWithinItsHeaderIsRefused) {
  const std::string path = file_with(own_header());
  std::filesystem::resize_file(path, sizeof(Header));
  EXPECT_EQ(fault_of(path), "is not a profile");
}

TEST_F(RunningProfileTest, OtherVersionsAreRefused) {
  Header header = own_header();
  header.major_version += 1;
  EXPECT_EQ(fault_of(header), "was made by another version of fbleprof");
  header = own_header();
  header.minor_version = 0;  // had no requests
  EXPECT_EQ(fault_of(header), "was made by another version of fbleprof");
}

TEST_F(RunningProfileTest, AProgramThatDoesNotRunIsRefused) {
  Header header = own_header();
  header.state = State::kStarting;
  EXPECT_EQ(fault_of(header), "the program is only starting");
  for (const State state : {State::kEnded, State::kFatal}) {
    header.state = state;
    EXPECT_EQ(fault_of(header), "the program has ended");
  }
  header.state = State::kExeced;
  const std::string next = "/mlmon.out." + std::to_string(header.pid) + "*";
  EXPECT_TRUE(fault_of(header).ends_with(next)) << fault_of(header);
  header = own_header();
  header.process_start_ticks += 1;  // its pid is another's now
  EXPECT_EQ(fault_of(header), "its program was killed");
}

TEST_F(RunningProfileTest, AKilledProgramThatNobodyWaitedForHasEnded) {
  const pid_t child = fork();
  if (child == 0) pause();
  Header header = own_header();
  header.pid = static_cast<std::uint32_t>(child);
  header.process_start_ticks = start_ticks(child);
  EXPECT_EQ(fault_of(header), "none");
  auto profile = RunningProfile::open(file_with(header));
  ASSERT_TRUE(profile.ok());
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(fault_of(header), "its program was killed");
  EXPECT_FALSE(profile->is_running());
  waitpid(child, nullptr, 0);
}

TEST_F(RunningProfileTest, SizesThatCannotBeAreDamage) {
  Header header = own_header();
  header.cap_bytes = kBytes + 1;
  EXPECT_EQ(fault_of(header), "is damaged, or only a copy");
  header = own_header();
  header.used_bytes = kBytes + 1;
  EXPECT_EQ(fault_of(header), "is damaged, or only a copy");
  header.used_bytes = sizeof(Header);  // a snapshot would stand in the header
  EXPECT_EQ(fault_of(header), "is damaged, or only a copy");
}

TEST_F(RunningProfileTest, OneInAnotherNamespaceMayRunUnseen) {
  Header header = own_header();
  header.pid_namespace += 1;
  auto seen = RunningProfile::open(file_with(header));
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->pid(), getpid());
  header.process_start_ticks += 1;
  auto unseen = RunningProfile::open(file_with(header));
  ASSERT_TRUE(unseen.ok());
  EXPECT_EQ(unseen->pid(), 0);
  EXPECT_TRUE(unseen->is_running());
  const auto answer = unseen->set_recording(true, milliseconds(5));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, Answer::kRefused);
}

TEST_F(RunningProfileTest, ADamagedTextIsEmpty) {
  auto profile = RunningProfile::open(file_with(own_header()));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->text(0), "");
  EXPECT_EQ(profile->text(~0u), "");
  EXPECT_EQ(profile->text(format::kHeaderBytes / format::kUnitBytes), "") << "no string";
}

TEST_F(RunningProfileTest, SnapshotsAreInTheOrderOfTheirTimes) {
  auto profile = RunningProfile::open(file_with(own_header()));
  ASSERT_TRUE(profile.ok());
  EXPECT_FALSE(profile->snapshot("first"));
  EXPECT_FALSE(profile->periodic_snapshot(2));
  EXPECT_FALSE(profile->snapshot("second"));
  EXPECT_FALSE(profile->snapshot("first"));  // anew
  EXPECT_FALSE(profile->reset());
  std::string names;
  for (const KeptSnapshot& each : profile->snapshots()) names += each.name + ";";
  EXPECT_EQ(names, ";second;first;;");
}

TEST_F(RunningProfileTest, WithoutSpaceASnapshotSaysWhatHelps) {
  Header header = own_header();
  header.used_bytes = kBytes - format::kUnitBytes;
  auto profile = RunningProfile::open(file_with(header));
  ASSERT_TRUE(profile.ok());
  for (const Status& status :
       {profile->snapshot("name"), profile->reset(), profile->periodic_snapshot(1)}) {
    ASSERT_TRUE(status);
    EXPECT_NE(status->line().find("no space for a snapshot: record with a larger --memory"),
              std::string::npos);
  }
}

TEST_F(RunningProfileTest, NothingIsDoneOnceTheProgramHasEnded) {
  const std::string path = file_with(own_header());
  auto profile = RunningProfile::open(path);
  ASSERT_TRUE(profile.ok());
  const Program program(path);
  program->state = State::kEnded;
  EXPECT_FALSE(profile->is_running());
  EXPECT_TRUE(profile->snapshot("late"));
  EXPECT_FALSE(profile->set_recording(true, milliseconds(0)).ok());
  EXPECT_EQ(program->used_bytes, format::kHeaderBytes);
  EXPECT_EQ(program->request, Request::kNone);
}

// A profile with each kind of record that snapshots follow.
class RecordsTest : public RunningProfileTest {
 protected:
  RecordsTest() : path_(profile_with_records()), sound_(bytes_of(path_)) {}

  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  // What all commands of `fble-prof ctl` follow. Returns the first complaint.
  std::string try_all() const {
    auto profile = RunningProfile::open(path_);
    if (!profile) return profile.error().what;
    (void)profile->text(profile->header().command_line);
    (void)profile->snapshots();
    for (const Status& bad : {profile->snapshot("first"), profile->snapshot("new"),
                              profile->reset(), profile->periodic_snapshot(1)}) {
      if (bad) return bad->what;
    }
    return {};
  }

  std::string path_, sound_;

 private:
  std::string profile_with_records() const {
    Header header = own_header();
    header.row_bytes = format::kUnitBytes;
    const std::string path = file_with(header);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* base = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    signal_safe::Arena arena;
    arena.adopt(static_cast<char*>(base), kBytes, format::kHeaderBytes);
    arena.header()->command_line = arena.add_string("program", 7);
    constexpr std::uint32_t kItems = 3;
    const auto add = [&](format::Kind kind, std::uint32_t item_bytes) {
      const auto ref = arena.allocate_items(format::kItemsOffset + kItems * item_bytes, 0);
      arena.at<format::Nodes>(ref)->item_bytes = item_bytes;
      arena.publish(ref, kind);
      return ref + format::kItemsOffset / format::kUnitBytes;
    };
    const auto rows = add(format::Kind::kValues, format::kUnitBytes);
    auto* nodes = arena.at<format::Node>(add(format::Kind::kNodes, sizeof(format::Node)));
    auto* edges = arena.at<format::Edge>(add(format::Kind::kEdges, sizeof(format::Edge)));
    for (std::uint32_t i = 0; i + 1 < kItems; ++i) {  // the last ones are not made yet
      nodes[i].calls = edges[i].calls = i + 1;
      nodes[i].function = edges[i].to = 1;
      nodes[i].values = rows + i;
      arena.at<std::uint64_t>(nodes[i].values)[0] = i + 1;
    }
    munmap(base, kBytes);
    auto profile = RunningProfile::open(path);
    EXPECT_TRUE(profile.ok());
    EXPECT_FALSE(profile->snapshot("first"));
    EXPECT_FALSE(profile->reset());
    EXPECT_FALSE(profile->periodic_snapshot(2));
    return path;
  }
};

TEST_F(RecordsTest, WhatARecorderWroteIsFollowed) {
  EXPECT_EQ(try_all(), "");
  EXPECT_NE(bytes_of(path_), sound_);
}

// A program can write anything into its own profile. Whoever controls it must come to no harm.
TEST_F(RecordsTest, ReferencesAndLengthsThatLeadAstrayAreRefused) {
  const std::uint32_t used = reinterpret_cast<const Header*>(sound_.data())->used_bytes;
  int refused = 0;
  for (std::uint32_t at = format::kHeaderBytes; at < used; at += 4) {
    for (const std::uint32_t value : {0u, 1u, 0xffffffffu, used / 32 - 1}) {
      std::string bytes = sound_;
      std::memcpy(&bytes[at], &value, sizeof value);
      write(bytes);
      const std::string complaint = try_all();
      if (complaint.empty()) continue;
      ++refused;
      EXPECT_EQ(complaint, "is damaged, or no recorder's") << "at " << at << ": " << value;
      EXPECT_EQ(bytes_of(path_), bytes) << "it was written to";
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(RecordsTest, HeadersThatLeadAstrayAreRefused) {
  for (const std::uint32_t row : {8u, 0x20000u, 0xffffffe0u}) {
    std::string bytes = sound_;
    reinterpret_cast<Header*>(bytes.data())->row_bytes = row;
    write(bytes);
    EXPECT_EQ(try_all(), "is damaged, or no recorder's") << row;
  }
  std::string bytes = sound_;
  reinterpret_cast<Header*>(bytes.data())->command_line = 0xffffffff;
  write(bytes);
  EXPECT_EQ(RunningProfile::open(path_)->text(0xffffffff), "");
}

// The program ends while a snapshot is taken, and cuts its file: memory replaces what is lost.
TEST_F(RecordsTest, AFileThatIsCutMeanwhileHarmsNobody) {
  for (const std::uint64_t left : {std::uint64_t{format::kHeaderBytes}, kBytes / 4}) {
    write(sound_);
    std::filesystem::resize_file(path_, kBytes);
    auto profile = RunningProfile::open(path_);
    ASSERT_TRUE(profile.ok());
    std::filesystem::resize_file(path_, left);
    (void)profile->snapshot("lost");
    (void)profile->reset();
    EXPECT_EQ(std::filesystem::file_size(path_), left);
    Program(path_)->state = State::kEnded;
    EXPECT_EQ(profile->snapshot("late")->what, "the program has ended");
  }
}

// The report's server looks from several threads. Records that are unsound are looked at for
// longer.
TEST_F(RecordsTest, ThreadsThatLookAtOnceLeaveTheSignalAsItWas) {
  std::string bytes = sound_;
  reinterpret_cast<Header*>(bytes.data())->row_bytes = 8;
  write(bytes);
  const auto action = [] {
    struct sigaction now {};
    sigaction(SIGBUS, nullptr, &now);
    return (now.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<void*>(now.sa_sigaction)
                                            : reinterpret_cast<void*>(now.sa_handler);
  };
  void* const before = action();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10; ++n) EXPECT_FALSE(RunningProfile::open(path_).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(action(), before);
}

// A file without data can have any length: it must not be searched to its end.
TEST_F(RecordsTest, AFileOfHolesIsRefused) {
  for (const bool is_of_nodes : {false, true}) {
    constexpr std::uint64_t kHuge = std::uint64_t{100} << 30;
    std::string bytes = sound_;
    auto* header = reinterpret_cast<Header*>(bytes.data());
    const auto end = static_cast<std::uint32_t>(header->used_bytes);
    header->cap_bytes = header->used_bytes = kHuge;
    if (is_of_nodes) {
      const format::Nodes nodes{{static_cast<std::uint32_t>((kHuge - end) / format::kUnitBytes),
                                 format::Kind::kNodes, format::kHeadMark},
                                0,
                                sizeof(format::Node),
                                {}};
      std::memcpy(&bytes[end], &nodes, sizeof nodes);
    }
    write(bytes);
    std::filesystem::resize_file(path_, kHuge);
    EXPECT_EQ(try_all(), "is damaged, or no recorder's");
    std::filesystem::resize_file(path_, kBytes);
  }
}

TEST_F(RunningProfileTest, ARecorderThatKnowsNoNamespaceIsFoundByItsNumber) {
  Header header = own_header();
  header.pid_namespace = 0;
  EXPECT_EQ(fault_of(header), "none");
  header.process_start_ticks += 1;
  EXPECT_EQ(fault_of(header), "its program was killed");
}

TEST_F(RunningProfileTest, AChildDoesNotWriteItsParentsProfile) {
  Header header = own_header();
  EXPECT_TRUE(is_writer(getpid(), header));
  EXPECT_FALSE(is_writer(getppid(), header));
  header.state = State::kEnded;
  const auto ended = RunningProfile::any_header_of(file_with(header));
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->pid, header.pid);
  EXPECT_EQ(RunningProfile::any_header_of(path_of("none")).error().what,
            "No such file or directory");
  header.process_start_ticks += 1;
  EXPECT_FALSE(is_writer(getpid(), header));
  header.process_start_ticks = 0;
  EXPECT_TRUE(is_writer(getpid(), header));
}

TEST_F(RunningProfileTest, RecordsThatAreDamagedMeanwhileGetNoSnapshot) {
  Header header = own_header();
  header.start_monotonic_ns = ~std::uint64_t{0};  // a clock that went back
  const std::string path = file_with(header);
  auto profile = RunningProfile::open(path);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->elapsed_ns(), 0u);
  const Program program(path);
  program->used_bytes = kBytes + 8;
  const Status snapshot = profile->snapshot("now");
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->what, "is damaged, or no recorder's");
}

TEST_F(RunningProfileTest, AMovedOneClosesItsFileOnce) {
  auto first = RunningProfile::open(file_with(own_header()));
  ASSERT_TRUE(first.ok());
  RunningProfile second(std::move(*first));
  EXPECT_TRUE(second.is_running());
  EXPECT_FALSE(second.snapshot("kept"));
}

TEST_F(RunningProfileTest, AStateThatIsAskedForTwiceIsThere) {
  Header header = own_header();
  header.is_recording = 1;
  const std::string path = file_with(header);
  auto profile = RunningProfile::open(path);
  ASSERT_TRUE(profile.ok());
  const auto answer = profile->set_recording(true, milliseconds(0));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, Answer::kAlready);
  EXPECT_EQ(Program(path)->request, Request::kNone);
}

// Only a recorder that was stopped is nudged; a hook or a sample sees the request by itself.
TEST_F(RunningProfileTest, AProgramThatLooksByItselfObeys) {
  const std::string path = file_with(own_header());
  auto profile = RunningProfile::open(path);
  ASSERT_TRUE(profile.ok());
  const Program program(path);
  std::atomic<bool> ends{false};
  std::thread looks([&] {
    while (!ends.load()) program.obey();
  });
  const auto answer = profile->set_recording(true, milliseconds(5000));
  ends.store(true);
  looks.join();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, Answer::kDone);
  EXPECT_EQ(program->is_recording, 1u);
}

TEST_F(RunningProfileTest, ARequestThatNothingSeesStaysForTheNextHook) {
  signal(SIGPROF, SIG_DFL);
  const std::string path = file_with(own_header());
  auto profile = RunningProfile::open(path);
  ASSERT_TRUE(profile.ok());
  const auto answer = profile->set_recording(true, milliseconds(30));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, Answer::kDetached);
  EXPECT_EQ(Program(path)->request, Request::kStart);
}

}  // namespace
}  // namespace fbleprof::control
