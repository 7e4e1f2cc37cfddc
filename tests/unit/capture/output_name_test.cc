#include "capture/output_name.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "capture/process_facts.h"
#include "tests/support/no_resources.h"
#include "tests/support/refused_calls.h"

namespace fbleprof::capture {
namespace {

namespace fs = std::filesystem;
using format::Header;
using format::State;

std::string expanded(const std::string& out, const std::string& rank = "") {
  Settings settings;
  settings.out = Path{out.c_str()};
  settings.mpi_rank = Text<16>{rank.c_str()};
  OutputName name;
  expand_template(settings, name);
  return name.path.c_str();
}

TEST(Template, ARelativeNameIsInTheWorkingDirectory) {
  EXPECT_EQ(expanded("some.out"), fs::current_path().string() + "/some.out");
  EXPECT_EQ(expanded("/some.out"), "/some.out");
}

TEST(Template, ARelativeNameStaysRelativeWhereTheWorkingDirectoryIsGone) {
  const bool has_run = test::without_calls({{SYS_getcwd, ENOENT}},
                                           [] { EXPECT_EQ(expanded("some.out"), "some.out"); });
  if (!has_run) GTEST_SKIP() << "no filters of system calls";
}

TEST(Template, PlaceholdersAreFilledIn) {
  char host[256];
  ASSERT_EQ(gethostname(host, sizeof host), 0);
  EXPECT_EQ(expanded("/p%p"), "/p" + std::to_string(getpid()));
  EXPECT_EQ(expanded("/%h."), "/" + std::string(host) + ".");
  EXPECT_EQ(expanded("/%r", "7"), "/7");
  EXPECT_EQ(expanded("/%r"), "/0");
  EXPECT_EQ(expanded("/%e"), "/" + fs::read_symlink("/proc/self/exe").filename().string());
  EXPECT_GT(std::stoull(expanded("/%t").substr(1)), 1'000'000'000u);
}

TEST(Template, WhatIsNoPlaceholderStays) {
  EXPECT_EQ(expanded("/100%%"), "/100%");
  EXPECT_EQ(expanded("/%x%"), "/%x%");
}

class SettledName : public testing::Test {
 protected:
  ~SettledName() override { fs::remove_all(directory_); }

  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_of(name), std::ios::binary) << bytes;
  }
  // A profile whose process has ended.
  static Header ended() {
    Header header{};
    std::memcpy(header.magic, format::kMagic, sizeof header.magic);
    header.major_version = format::kMajorVersion;
    header.header_bytes = format::kHeaderBytes;
    header.state = State::kEnded;
    header.pid_namespace = pid_namespace();
    return header;
  }
  // A profile whose process is this one.
  static Header live() {
    Header header = ended();
    header.state = State::kLive;
    header.pid = static_cast<std::uint32_t>(getpid());
    header.process_start_ticks = process_start_ticks(header.pid);
    return header;
  }
  void write(const std::string& name, const Header& header) const {
    std::string bytes(format::kHeaderBytes, 0);
    std::memcpy(bytes.data(), &header, sizeof header);
    write(name, bytes);
  }
  // Where a new profile gets its place; else the reason.
  std::string settled(const std::string& name, std::uint64_t run_start_ns = 0) {
    OutputName output;
    output.path = output.base_path = Path{path_of(name).c_str()};
    Draft draft = make_draft(output.path);
    const bool done = settle_name(output, draft, run_start_ns, false);
    if (!done) drop(draft);
    if (output.base_header) munmap(output.base_header, format::kHeaderBytes);
    const std::string result = done ? output.path.c_str() : output.failure.c_str();
    return result.rfind(directory_ + "/", 0) == 0 ? result.substr(directory_.size() + 1) : result;
  }
  std::uint64_t children_of(const std::string& name) const {
    Header header{};
    std::ifstream(path_of(name), std::ios::binary)
        .read(reinterpret_cast<char*>(&header), sizeof header);
    return header.children;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  std::string with_pid(const std::string& name) const {
    return name + "." + std::to_string(getpid());
  }

 private:
  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-name.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
};

TEST_F(SettledName, AFreeNameIsTaken) {
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
  struct stat status {};
  ASSERT_EQ(stat(path_of("mlmon.out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(SettledName, AProfileOfThePreviousRunBecomesOld) {
  write("mlmon.out", ended());
  write("mlmon.out.old", ended());
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
  EXPECT_EQ(fs::file_size(path_of("mlmon.out.old")), format::kHeaderBytes);
  EXPECT_EQ(fs::file_size(path_of("mlmon.out")), 0u);
}

TEST_F(SettledName, AProfileOfThisRunStays) {
  Header header = ended();
  header.start_realtime_ns = 1000;
  write("mlmon.out", header);
  EXPECT_EQ(settled("mlmon.out", 1000), with_pid("mlmon.out"));
  EXPECT_EQ(settled("mlmon.out", 1001), "mlmon.out");
}

TEST_F(SettledName, AProfileThatALiveProcessWritesStays) {
  write("mlmon.out", live());
  EXPECT_EQ(settled("mlmon.out"), with_pid("mlmon.out"));
  EXPECT_FALSE(fs::exists(path_of("mlmon.out.old")));
  Header reused = live();
  reused.process_start_ticks += 1;  // another process has its pid now
  write("mlmon.out", reused);
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
}

TEST_F(SettledName, AProfileFromAnotherNamespaceStaysWhileItIsOpen) {
  Header header = live();
  header.pid_namespace += 1;
  write("mlmon.out", header);
  const int writer = open(path_of("mlmon.out").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(settled("mlmon.out"), with_pid("mlmon.out"));
  close(writer);
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
}

TEST_F(SettledName, WhatThisProcessLeftAtAnExecBeforeAnythingRanIsReplaced) {
  Header header = live();
  header.state = State::kExeced;
  header.flags = format::kHeaderTrivial;
  write("mlmon.out", header);
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
  EXPECT_FALSE(fs::exists(path_of("mlmon.out.old")));
  header.flags = 0;
  write("mlmon.out", header);
  EXPECT_EQ(settled("mlmon.out"), with_pid("mlmon.out"));
}

TEST_F(SettledName, AFileThatIsNoProfileIsLeftAlone) {
  for (const std::string& text : {std::string("short"), std::string("a text of some length\n")}) {
    write("mlmon.out", text);
    EXPECT_EQ(settled("mlmon.out"),
              "mlmon.out: is not a profile and is left alone: set FBLEPROF_OUT");
    std::string now;
    std::getline(std::ifstream(path_of("mlmon.out")), now);
    EXPECT_EQ(now, text.substr(0, text.find('\n')));
  }
  write("mlmon.out", "");  // what a process left that was killed while it made the file
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
}

TEST_F(SettledName, AnOldFileThatIsNoProfileIsLeftAlone) {
  write("mlmon.out", ended());
  write("mlmon.out.old", "a text of some length\n");
  EXPECT_EQ(settled("mlmon.out"),
            "mlmon.out.old: is not a profile and is left alone: set FBLEPROF_OUT");
  EXPECT_EQ(fs::file_size(path_of("mlmon.out")), format::kHeaderBytes);
  fs::remove(path_of("mlmon.out.old"));
  fs::create_directory(path_of("mlmon.out.old"));
  EXPECT_NE(settled("mlmon.out").find("left alone"), std::string::npos);
}

TEST_F(SettledName, LinksAndFoldersAndSharedFilesAreRefused) {
  fs::create_symlink(path_of("elsewhere"), path_of("link"));
  EXPECT_NE(settled("link").find("symbolic link"), std::string::npos);
  EXPECT_FALSE(fs::exists(path_of("elsewhere")));
  fs::create_directory(path_of("folder"));
  EXPECT_NE(settled("folder").find("not a plain file"), std::string::npos);
  write("one", ended());
  fs::create_hard_link(path_of("one"), path_of("other"));
  EXPECT_NE(settled("one").find("not a plain file"), std::string::npos);
  ASSERT_EQ(mkfifo(path_of("fifo").c_str(), 0600), 0);
  EXPECT_NE(settled("fifo").find("not a plain file"), std::string::npos);
}

TEST_F(SettledName, AMissingFolderIsNamedWithARemedy) {
  EXPECT_EQ(
      settled("none/mlmon.out"),
      "none/mlmon.out: cannot be made: there is no such directory, or it takes no files; name a "
      "file that can be made (--out, FBLEPROF_OUT)");
}

TEST_F(SettledName, AChildIsCountedInTheFirstProfile) {
  write("mlmon.out", live());
  OutputName name;
  name.path = name.base_path = Path{path_of("mlmon.out").c_str()};
  struct stat status {};
  ASSERT_EQ(stat(path_of("mlmon.out").c_str(), &status), 0);
  name.base = FileIdentity::of(status);
  Draft draft = make_draft(name.path);
  ASSERT_TRUE(settle_name(name, draft, 0, true));
  EXPECT_EQ(name.path.c_str(), path_of(with_pid("mlmon.out")));
  ASSERT_NE(name.base_header, nullptr);
  EXPECT_EQ(name.base_header->children, 1u);
  uncount_child(name);
  EXPECT_EQ(name.base_header->children, 0u);

  name.base_header->children = kMostChildren;
  OutputName next;
  next.path = next.base_path = name.base_path;
  next.base = name.base;
  Draft another = make_draft(next.path);
  EXPECT_FALSE(settle_name(next, another, 0, true));
  drop(another);
  EXPECT_TRUE(next.loss_is_counted);
  EXPECT_EQ(name.base_header->lost_children, 1u);
  EXPECT_EQ(name.base_header->children, kMostChildren);
}

TEST_F(SettledName, AChildThatExecsBeforeAnythingRanIsCountedOnce) {
  Header first = live();
  first.pid = static_cast<std::uint32_t>(getppid());
  first.process_start_ticks = process_start_ticks(first.pid);
  first.children = 1;
  write("mlmon.out", first);
  Header header = live();
  header.state = State::kExeced;
  header.flags = format::kHeaderTrivial;
  write(with_pid("mlmon.out"), header);
  OutputName name;
  name.path = name.base_path = Path{path_of("mlmon.out").c_str()};
  Draft draft = make_draft(name.path);
  ASSERT_TRUE(settle_name(name, draft, 0, false));
  EXPECT_EQ(name.path.c_str(), path_of(with_pid("mlmon.out")));
  ASSERT_NE(name.base_header, nullptr);
  EXPECT_EQ(name.base_header->children, 1u);
  uncount_child(name);
  EXPECT_EQ(name.base_header->children, 0u);
}

TEST_F(SettledName, WhatAnEarlierProcessOfOurPidLeftAtAnExecIsNotOurs) {
  Header first = live();
  first.pid = static_cast<std::uint32_t>(getppid());
  first.process_start_ticks = process_start_ticks(first.pid);
  write("mlmon.out", first);
  Header header = live();
  header.state = State::kExeced;
  header.flags = format::kHeaderTrivial;
  header.process_start_ticks -= 1;
  write(with_pid("mlmon.out"), header);
  EXPECT_EQ(settled("mlmon.out"), with_pid("mlmon.out"));
  EXPECT_EQ(children_of("mlmon.out"), 1u);
  EXPECT_TRUE(fs::exists(path_of(with_pid("mlmon.out") + ".old")));
}

TEST_F(SettledName, NoMoreChildrenAreTakenBackThanWereCounted) {
  write("mlmon.out", live());
  OutputName name;
  name.base_path = Path{path_of("mlmon.out").c_str()};
  struct stat status {};
  ASSERT_EQ(stat(path_of("mlmon.out").c_str(), &status), 0);
  name.base = FileIdentity::of(status);
  uncount_child(name);
  EXPECT_EQ(children_of("mlmon.out"), 0u);
}

TEST_F(SettledName, OfAChildHasOneCount) {
  const auto settled_of_child = [this] {
    OutputName name;
    name.path = name.base_path = Path{path_of("mlmon.out").c_str()};
    Draft draft = make_draft(name.path);
    EXPECT_TRUE(settle_name(name, draft, 0, true));
    return std::string(name.path.c_str());
  };
  for (const char* end : {"", ".1", ".2", ".3"}) {
    const std::string name = with_pid("mlmon.out") + end;
    EXPECT_EQ(settled_of_child(), path_of(name));
    write(name, live());
  }
}

TEST_F(SettledName, AChildWithoutAFileIsNotCounted) {
  const bool has_run = test::without_calls({{SYS_linkat, EACCES}}, [this] {
    write("mlmon.out", live());
    EXPECT_NE(settled("mlmon.out").find("cannot write the directory"), std::string::npos);
    EXPECT_EQ(children_of("mlmon.out"), 0u);
  });
  if (!has_run) GTEST_SKIP() << "no filters of system calls";
}

TEST_F(SettledName, WhatNowLiesAtTheFirstProfilesPathIsNotWritten) {
  write("mlmon.out", live());
  OutputName name;
  name.path = name.base_path = Path{path_of("mlmon.out").c_str()};
  name.base = {1, 1};  // the file that was there
  Draft draft = make_draft(name.path);
  ASSERT_TRUE(settle_name(name, draft, 0, true));
  EXPECT_EQ(name.base_header, nullptr);
  EXPECT_EQ(children_of("mlmon.out"), 0u);
}

TEST_F(SettledName, AShortOldFileIsLeftAlone) {
  write("mlmon.out", ended());
  write("mlmon.out.old", "abc");
  EXPECT_EQ(settled("mlmon.out"),
            "mlmon.out.old: is not a profile and is left alone: set FBLEPROF_OUT");
  write("mlmon.out.old", "not a profile");
  EXPECT_EQ(settled("mlmon.out"),
            "mlmon.out.old: is not a profile and is left alone: set FBLEPROF_OUT");
  write("mlmon.out.old", "");
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
}

TEST_F(SettledName, AProfileWhoseProcessIdIsAnothersIsOld) {
  Header header = live();
  header.process_start_ticks += 1;
  write("mlmon.out", header);
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
  header = live();
  header.state = State::kStarting;
  header.pid = 0x7fffffff;  // no process has it
  write("mlmon.out", header);
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
  header = live();
  header.state = State::kExeced;  // more than nothing ran before
  write("mlmon.out", header);
  EXPECT_EQ(settled("mlmon.out"), with_pid("mlmon.out"));
}

TEST_F(SettledName, AnotherProcessThatMovesTheProfileIsNotWaitedForLong) {
  write("mlmon.out", ended());
  const int other = open(path_of("mlmon.out").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
  EXPECT_TRUE(fs::exists(path_of("mlmon.out.old")));
  close(other);
}

TEST_F(SettledName, AnotherUsersFileIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write("mlmon.out", ended());
  ASSERT_EQ(chown(path_of("mlmon.out").c_str(), 12345, 12345), 0);
  EXPECT_NE(settled("mlmon.out").find("not a plain file of this user's alone"), std::string::npos);
}

TEST_F(SettledName, OfChildrenThatTheTemplateTellsApartStays) {
  OutputName output;
  output.path = Path{path_of("mlmon.7").c_str()};
  output.names_process = true;
  Draft draft = make_draft(output.path);
  EXPECT_TRUE(settle_name(output, draft, 0, true));
  EXPECT_EQ(output.path.c_str(), path_of("mlmon.7"));
  EXPECT_EQ(output.base_header, nullptr) << "nobody counts these children";
}

// File systems that make no files without a name (overlayfs of old kernels, nfs), and no kernel's
// rename that replaces nothing.
constexpr test::RefusedCall kNoNameless{SYS_open, EOPNOTSUPP, 1, O_TMPFILE & ~O_DIRECTORY},
    kNoCarefulRename{SYS_renameat2, EINVAL}, kOldKernel{SYS_renameat2, ENOSYS};

TEST_F(SettledName, IsTakenOnAnyFileSystem) {
  const auto takes = [this](std::initializer_list<test::RefusedCall> calls) {
    const bool has_run = test::without_calls(calls, [this] {
      EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
      write("mlmon.out", live());
      EXPECT_EQ(settled("mlmon.out"), with_pid("mlmon.out"));
      EXPECT_EQ(files(), 2u) << "no other file is left behind";
    });
    for (const std::string& name : {std::string("mlmon.out"), with_pid("mlmon.out")}) {
      fs::remove(path_of(name));
    }
    return has_run;
  };
  if (!takes({kNoNameless})) GTEST_SKIP() << "no filters of system calls";
  EXPECT_TRUE(takes({kNoNameless, kNoCarefulRename}));
  EXPECT_TRUE(takes({kNoNameless, kOldKernel}));
  EXPECT_TRUE(takes({{SYS_access, EACCES}})) << "without /proc";
}

TEST_F(SettledName, WhatAKilledProcessLeftIsReplacedIfItIsAProfile) {
  const std::string draft = with_pid("mlmon.out") + ".new";
  const bool has_run = test::without_calls({kNoNameless}, [&] {
    write(draft, ended());
    EXPECT_EQ(settled("mlmon.out"), "mlmon.out");
    fs::remove(path_of("mlmon.out"));
    write(draft, "a text of some length\n");
    EXPECT_NE(settled("mlmon.out").find("too many profiles"), std::string::npos);
    std::string now;
    std::getline(std::ifstream(path_of(draft)), now);
    EXPECT_EQ(now, "a text of some length");
    fs::remove(path_of(draft));
  });
  if (!has_run) GTEST_SKIP() << "no filters of system calls";
  const bool has_none = test::without_calls({kNoNameless, kOldKernel, {SYS_link, EPERM}}, [&] {
    EXPECT_NE(settled("mlmon.out").find("cannot write the directory"), std::string::npos);
    EXPECT_EQ(files(), 0u) << "the draft is dropped";
  });
  EXPECT_TRUE(has_none);
}

TEST_F(SettledName, TheSystemsLimitOfFilesIsToldAsTheProcesss) {
  const bool has_run = test::without_calls({kNoNameless, {SYS_open, ENFILE, 1, O_CREAT}}, [&] {
    EXPECT_NE(settled("mlmon.out").find("no descriptor is free"), std::string::npos);
  });
  if (!has_run) GTEST_SKIP() << "no filters of system calls";
}

TEST_F(SettledName, AProfileThatCannotBeMovedStays) {
  write("mlmon.out", ended());
  const bool has_run = test::without_calls({{SYS_rename, EACCES}}, [&] {
    EXPECT_EQ(settled("mlmon.out"), "mlmon.out: cannot be renamed to .old");
  });
  if (!has_run) GTEST_SKIP() << "no filters of system calls";
  EXPECT_EQ(fs::file_size(path_of("mlmon.out")), format::kHeaderBytes);
  // As if another process moved it, again and again, between our looks.
  const bool is_raced = test::without_calls({{SYS_lstat, ENOENT}}, [&] {
    EXPECT_EQ(settled("mlmon.out"), "mlmon.out: too many profiles of this name: remove some");
  });
  EXPECT_TRUE(is_raced);
  EXPECT_FALSE(fs::exists(path_of("mlmon.out.old")));
}

TEST_F(SettledName, AProfileThatAnotherProcessReplacedMeanwhileStays) {
  write("mlmon.out", ended());
  const int other = open(path_of("mlmon.out").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  // The other process ends its move while we wait for the lock.
  std::thread mover([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    fs::rename(path_of("mlmon.out"), path_of("mlmon.out.old"));
    write("new", live());
    fs::rename(path_of("new"), path_of("mlmon.out"));
    close(other);
  });
  const std::string name = settled("mlmon.out");
  mover.join();
  EXPECT_TRUE(name == with_pid("mlmon.out") || name == "mlmon.out") << name;
  EXPECT_TRUE(fs::exists(path_of("mlmon.out.old")));
  if (name == with_pid("mlmon.out")) {
    EXPECT_EQ(children_of("mlmon.out"), 1u) << "it is beside that one";
  }
}

TEST(Drafts, MayBeInTheWorkingDirectory) {
  Draft draft = make_draft(Path{"fbleprof-draft"});
  EXPECT_TRUE(draft.file);
  drop(draft);
  EXPECT_FALSE(draft.file);
  EXPECT_FALSE(fs::exists("fbleprof-draft"));
}

TEST_F(SettledName, TooManyProfilesAreSaid) {
  write("mlmon.out", live());
  write(with_pid("mlmon.out"), live());
  for (int i = 2; i <= 100; ++i) write(with_pid("mlmon.out") + "." + std::to_string(i), live());
  EXPECT_EQ(settled("mlmon.out"),
            with_pid("mlmon.out") + ".100: too many profiles of this name: remove some");
}

TEST_F(SettledName, WhyAFileCannotBeMadeIsSaid) {
  const auto failure = [](const std::string& path, bool has_descriptors) {
    OutputName output;
    output.path = Path{path.c_str()};
    Draft draft;
    if (has_descriptors) {
      draft = make_draft(output.path);
    } else {
      const test::NoDescriptors none;
      draft = make_draft(output.path);
    }
    EXPECT_FALSE(draft.file);
    EXPECT_FALSE(settle_name(output, draft, 0, false));
    drop(draft);
    return std::string(output.failure.c_str());
  };
  EXPECT_NE(failure(path_of("mlmon.out"), false).find("no descriptor is free"), std::string::npos);
  EXPECT_NE(failure("/sys/mlmon.out", true).find("cannot write the directory"), std::string::npos);
  EXPECT_NE(failure("/proc/mlmon.out", true).find("cannot be made"), std::string::npos);
  const test::NoDescriptors none;
  OutputName output;
  output.path = Path{path_of("mlmon.out").c_str()};
  Draft draft;
  EXPECT_FALSE(settle_name(output, draft, 0, false));
  EXPECT_NE(std::strstr(output.failure.c_str(), "cannot be opened"), nullptr);
}

TEST_F(SettledName, AProfileOfAnotherVersionCountsNoChild) {
  const auto child_of = [this](const Header& header) {
    write("mlmon.out", header);
    struct stat status {};
    EXPECT_EQ(stat(path_of("mlmon.out").c_str(), &status), 0);
    OutputName output;
    output.base_path = output.path = Path{path_of("mlmon.out").c_str()};
    output.base = FileIdentity::of(status);
    Draft draft = make_draft(output.path);
    EXPECT_TRUE(settle_name(output, draft, 0, true));
    uncount_child(output);
    return output.base_header != nullptr;
  };
  EXPECT_TRUE(child_of(ended()));
  Header header = ended();
  header.major_version += 1;
  EXPECT_FALSE(child_of(header));
  header = ended();
  header.header_bytes += 1;
  EXPECT_FALSE(child_of(header));
  header = ended();
  header.magic[0] ^= 1;
  EXPECT_FALSE(child_of(header));
}

}  // namespace
}  // namespace fbleprof::capture
