#include "attach/tracee.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#include "attach/attach.h"
#include "attach/borrowed_thread.h"
#include "attach/loaded_file.h"
#include "attach/memory.h"
#include "attach/orders.h"
#include "attach/outside_walk.h"
#include "attach/own_library.h"
#include "attach/safe_place.h"
#include "attach/stopped_process.h"
#include "control/process.h"
#include "tests/unit/attach/traced_child.h"

namespace fbleprof::attach {
namespace {

using test::sleep_until_told;
using test::TracedChild;

constexpr pid_t kNobody = 1 << 30;

// A system call and a return in libc.
std::uint64_t system_call_place() {
  const std::vector<Mapping> mappings = mappings_of(getpid());
  const std::string bytes(reinterpret_cast<const char*>(arch::kSystemCallAndReturn),
                          sizeof arch::kSystemCallAndReturn);
  return find_code(getpid(), mappings, find_file(mappings, "libc.so")->path, bytes);
}

std::uint64_t answer(std::uint64_t a, std::uint64_t b) { return a * 10 + b; }
alignas(16) char stack_of_call[64 << 10];

class TraceeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::may_trace()) GTEST_SKIP() << "the system forbids tracing";
  }
};

TEST_F(TraceeTest, WhatCannotBeStoppedSaysWhy) {
  EXPECT_EQ(Tracee::stop(kNobody, kNobody).error().what, "it has ended");
  EXPECT_EQ(Tracee::stop(getpid(), getpid()).error().what.rfind("the kernel forbids tracing", 0),
            0u);
  StoppedProcess process(kNobody);
  const Status bad = process.stop();
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->what, "it has ended");
}

// Its parent has not waited for it. Each step of attaching can be the first one that notices.
TEST_F(TraceeTest, AProcessThatHasEndedIsSaidToHaveEnded) {
  TracedChild child([] { return 0; });
  ASSERT_TRUE(child.is_in_state('Z'));
  for (const pid_t pid : {child.pid(), kNobody}) {
    EXPECT_EQ(BorrowedThread::take(pid).error().what, "it has ended");
    EXPECT_EQ(load_recorder(pid, "", {})->what, "it has ended");
    EXPECT_EQ(make_recorder_obey(pid, "")->what, "it has ended");
    EXPECT_EQ(Tracee::stop(pid, pid).error().what, "it has ended");
  }
  EXPECT_EQ(find_recorder(child.pid(), "").error().what, "it has ended");
}

TEST_F(TraceeTest, AMainThreadThatEndsBeforeTheOthersIsTheReason) {
  TracedChild child([] {
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);
    return 0;
  });
  ASSERT_TRUE(child.is_in_state('Z'));
  EXPECT_EQ(BorrowedThread::take(child.pid()).error().what, "its main thread has ended");
}

TEST_F(TraceeTest, AProcessThatAnotherTracesIsRefusedWithItsNumber) {
  TracedChild child(sleep_until_told);
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  TracedChild tracer([&child] {
    if (ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) != 0) return 1;
    pause();
    return 0;
  });
  ASSERT_TRUE(tracer.waits_in(SYS_pause));
  const auto refused = Tracee::stop(child.pid(), child.pid());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "process " + std::to_string(tracer.pid()) + " traces it already");
}

TEST_F(TraceeTest, MemoryThatIsNotThereIsNeitherReadNorWritten) {
  TracedChild child(sleep_until_told);
  auto thread = Tracee::stop(child.pid(), child.pid());
  ASSERT_TRUE(thread.ok());
  char byte = 1;
  EXPECT_FALSE(thread->read(8, &byte, 1));
  EXPECT_FALSE(thread->write(8, &byte, 1));
  EXPECT_FALSE(read_memory(child.pid(), 8, &byte, 1));
  EXPECT_TRUE(thread->write(reinterpret_cast<std::uint64_t>(stack_of_call), &byte, 1));
}

TEST_F(TraceeTest, ACallReturnsItsValueAndTheThreadGoesOn) {
  TracedChild child(sleep_until_told);
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  {
    auto thread = Tracee::stop(child.pid(), child.pid());
    ASSERT_TRUE(thread.ok());
    const auto called =
        thread->call(system_call_place(), reinterpret_cast<std::uint64_t>(answer), 4, 2,
                     reinterpret_cast<std::uint64_t>(stack_of_call + sizeof stack_of_call));
    ASSERT_TRUE(called.ok());
    EXPECT_EQ(*called, 42u);
    EXPECT_EQ(thread->system_call(system_call_place(), SYS_getpid), child.pid());
    EXPECT_EQ(thread->system_call(system_call_place(), SYS_close, ~0u), -EBADF);
  }
  EXPECT_EQ(child.end(), 0);
}

// Nothing but SIGSTOP comes while all signals wait.
TEST_F(TraceeTest, AStopThatComesDuringCallsIsKeptForTheirEnd) {
  for (const bool comes_before : {true, false}) {
    TracedChild child(sleep_until_told);
    ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
    if (comes_before) {
      kill(child.pid(), SIGSTOP);
      ASSERT_TRUE(child.is_in_state('T'));
    }
    {
      auto thread = Tracee::stop(child.pid(), child.pid());
      ASSERT_TRUE(thread.ok());
      const auto number = [&] { return thread->system_call(system_call_place(), SYS_getpid); };
      const auto call = [&](std::uint64_t a) {
        const auto called =
            thread->call(system_call_place(), reinterpret_cast<std::uint64_t>(answer), a, 2,
                         reinterpret_cast<std::uint64_t>(stack_of_call + sizeof stack_of_call));
        return called ? *called : 0;
      };
      EXPECT_EQ(number(), child.pid());
      if (!comes_before) kill(child.pid(), SIGSTOP);
      EXPECT_EQ(call(4), 42u);
      for (int i = 0; i < 20; ++i) {
        kill(child.pid(), SIGCONT);
        kill(child.pid(), SIGSTOP);
        EXPECT_EQ(number(), child.pid());
        EXPECT_EQ(call(5), 52u);
      }
      kill(child.pid(), SIGCONT);
      kill(child.pid(), SIGSTOP);
    }
    EXPECT_TRUE(child.is_in_state('T'));
    kill(child.pid(), SIGCONT);
    EXPECT_EQ(child.end(), 0);
  }
}

// A filter sees each system call after a tracer has changed it.
TEST_F(TraceeTest, AFilterOfSystemCallsSeesNoneThatIsUnknown) {
  TracedChild child([] {
    constexpr unsigned kFirstUnknown = 600;
    sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstUnknown, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter = {std::size(rules), rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 1;
    return sleep_until_told();
  });
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  {
    auto thread = Tracee::stop(child.pid(), child.pid());
    ASSERT_TRUE(thread.ok());
    EXPECT_TRUE(thread->run_to_quiet_call(5000));
    const auto called =
        thread->call(system_call_place(), reinterpret_cast<std::uint64_t>(answer), 4, 2,
                     reinterpret_cast<std::uint64_t>(stack_of_call + sizeof stack_of_call));
    ASSERT_TRUE(called.ok());
    EXPECT_EQ(*called, 42u);
  }
  EXPECT_EQ(child.end(), 0);
}

TEST_F(TraceeTest, AFaultInACallLeavesTheThreadWhereItWas) {
  TracedChild child(sleep_until_told);
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  {
    auto thread = Tracee::stop(child.pid(), child.pid());
    ASSERT_TRUE(thread.ok());
    constexpr std::uint64_t kNoCode = 16;
    const auto called =
        thread->call(system_call_place(), kNoCode, 0, 0,
                     reinterpret_cast<std::uint64_t>(stack_of_call + sizeof stack_of_call));
    ASSERT_FALSE(called.ok());
    EXPECT_EQ(called.error().what, "a call in it failed");
    EXPECT_FALSE(thread->call(system_call_place(), kNoCode, 0, 0, 4096).ok()) << "no stack";
    EXPECT_EQ(thread->system_call(kNoCode, SYS_getpid), -EFAULT);
  }
  EXPECT_EQ(child.end(), 0);
}

TEST_F(TraceeTest, AProcessThatIsKilledMeanwhileHasEnded) {
  TracedChild child(sleep_until_told);
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  auto thread = Tracee::stop(child.pid(), child.pid());
  ASSERT_TRUE(thread.ok());
  kill(child.pid(), SIGKILL);
  EXPECT_EQ(thread->system_call(system_call_place(), SYS_getpid), -EFAULT);
  EXPECT_FALSE(thread->run_to_quiet_call(1));
  const Status bad = insist(child.pid(), [] { return Result<bool>(false); });
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->what, "it has ended");
}

// The calling thread cannot be stopped until the child is killed.
void wait_for_vfork_child() {
  if (vfork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pause();
  _exit(0);
}

// It stays traced, but no longer than this process lives.
TEST_F(TraceeTest, AThreadThatDoesNotStopIsLeftAlone) {
  TracedChild child([] {
    wait_for_vfork_child();
    return 0;
  });
  ASSERT_TRUE(child.is_in_state('D'));
  auto thread = Tracee::ask_to_stop(child.pid(), child.pid());
  ASSERT_TRUE(thread.ok());
  const Status bad = thread->wait_until_stopped(20);
  ASSERT_TRUE(bad);
  EXPECT_NE(bad->what.find("does not stop"), std::string::npos);
  EXPECT_EQ(BorrowedThread::take(child.pid()).error().what, bad->what);
}

TEST_F(TraceeTest, AThreadThatDoesNotStopIsNotTakenIfThereAreOthers) {
  TracedChild child([] {
    std::thread([] { sleep_until_told(); }).detach();
    wait_for_vfork_child();
    return 0;
  });
  ASSERT_TRUE(child.is_in_state('D'));
  EXPECT_TRUE(BorrowedThread::take(child.pid()).ok());
}

TEST_F(TraceeTest, AThreadThatComputesIsStoppedAtNoQuietCall) {
  TracedChild child([] {
    volatile bool goes_on = true;
    while (goes_on) {
    }
    return 0;
  });
  child.wait_for_work();
  auto thread = Tracee::stop(child.pid(), child.pid());
  ASSERT_TRUE(thread.ok());
  EXPECT_FALSE(thread->run_to_quiet_call(5));
  EXPECT_TRUE(thread->hold_here());
}

TEST_F(TraceeTest, AThreadInAQuietCallIsNotHeldAsOneThatComputes) {
  TracedChild child(sleep_until_told);
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  auto thread = Tracee::stop(child.pid(), child.pid());
  ASSERT_TRUE(thread.ok());
  const std::vector<Mapping> mappings = mappings_of(child.pid());
  const OutsideWalk walk = walk_from_outside(child.pid(), *thread, thread->registers(), mappings);
  EXPECT_TRUE(walk.is_complete);
  EXPECT_GT(walk.frames.size(), 3u);
  EXPECT_TRUE(SafePlaces(child.pid(), mappings).holds_no_lock(*thread, StoppedIn::kQuietCall));
}

TEST_F(TraceeTest, CodeWithoutTablesEndsTheWalk) {
  std::uint8_t* code = test::code_memory(4096);
  ASSERT_NE(code, nullptr);
  const std::uint8_t loop[] = {0xeb, 0xfe};  // jumps to itself
  std::copy(std::begin(loop), std::end(loop), code);
  TracedChild child([code] {
    reinterpret_cast<void (*)()>(code)();
    return 0;
  });
  ASSERT_TRUE(child.computes_at(code));
  auto thread = Tracee::stop(child.pid(), child.pid());
  ASSERT_TRUE(thread.ok());
  const OutsideWalk walk =
      walk_from_outside(child.pid(), *thread, thread->registers(), mappings_of(child.pid()));
  EXPECT_FALSE(walk.is_complete);
  EXPECT_EQ(walk.frames.size(), 1u);
}

// A file with a loop in its second page, of which the program runs that page.
class MappedFile {
 public:
  MappedFile(Elf64_Ehdr header, const std::vector<Elf64_Phdr>& parts) {
    std::string path = testing::TempDir() + "/fbleprof-mapped.XXXXXX";
    const int fd = mkstemp(path.data());
    path_ = path;
    header.e_phoff = sizeof header;
    if (header.e_phnum == 0) header.e_phnum = static_cast<Elf64_Half>(parts.size());
    const std::uint8_t loop[] = {0xeb, 0xfe};
    EXPECT_EQ(ftruncate(fd, kFileBytes), 0);
    EXPECT_GT(pwrite(fd, &header, sizeof header, 0), 0);
    EXPECT_GE(pwrite(fd, parts.data(), parts.size() * sizeof parts[0], sizeof header), 0);
    EXPECT_EQ(pwrite(fd, loop, sizeof loop, kPage), 2);
    at_ = static_cast<std::uint8_t*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
    close(fd);
  }
  ~MappedFile() {
    munmap(at_, 2 * kPage);
    unlink(path_.c_str());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  OutsideWalk walk() const {
    const std::uint8_t* code = at_ + kPage;
    TracedChild child([code] {
      reinterpret_cast<void (*)()>(reinterpret_cast<std::uintptr_t>(code))();
      return 0;
    });
    EXPECT_TRUE(child.computes_at(code));
    auto thread = Tracee::stop(child.pid(), child.pid());
    EXPECT_TRUE(thread.ok());
    return walk_from_outside(child.pid(), *thread, thread->registers(), mappings_of(child.pid()));
  }

  static constexpr std::size_t kPage = 4096, kFileBytes = 64 << 20;

 private:
  std::string path_;
  std::uint8_t* at_ = nullptr;
};

Elf64_Ehdr elf_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  return header;
}

Elf64_Phdr part(std::uint32_t type, std::uint64_t offset, std::uint64_t address,
                std::uint64_t in_file, std::uint64_t in_memory) {
  Elf64_Phdr part{};
  part.p_type = type;
  part.p_offset = offset;
  part.p_vaddr = address;
  part.p_filesz = in_file;
  part.p_memsz = in_memory;
  return part;
}

// A file that a program has mapped may be a stranger's.
TEST_F(TraceeTest, AWalkEndsInAFileThatIsNotAsAnElfFileShouldBe) {
  constexpr std::uint64_t kPage = MappedFile::kPage, kAll = MappedFile::kFileBytes;
  Elf64_Ehdr header_behind_end = elf_header();
  header_behind_end.e_phnum = 0xffff;
  const Elf64_Phdr code = part(PT_LOAD, 0, 0, 2 * kPage, 2 * kPage);
  struct Case {
    const char* what;
    Elf64_Ehdr header;
    std::vector<Elf64_Phdr> parts;
  };
  for (const Case& each : std::vector<Case>{
           {"no ELF file", Elf64_Ehdr{}, {}},
           {"no segments", elf_header(), {}},
           {"no table", elf_header(), {code}},
           {"headers of nothing", header_behind_end, {}},
           {"a segment behind the end", elf_header(), {part(PT_LOAD, kAll + 1, 0, 1, 1)}},
           {"a segment over the end", elf_header(), {part(PT_LOAD, kPage, 0, kAll, kAll)}},
           {"a table elsewhere", elf_header(), {code, part(PT_GNU_EH_FRAME, 0, 1 << 20, 8, 8)}},
           {"a table of zeros",
            elf_header(),
            {code, part(PT_LOAD, 0, 4 * kPage, 0, kPage),
             part(PT_GNU_EH_FRAME, 0, 4 * kPage, 8, 8)}},
           {"more in the file than in memory",
            elf_header(),
            {part(PT_LOAD, 0, 0, kAll, 2 * kPage), part(PT_GNU_EH_FRAME, 0, kPage, 8, 8)}},
           {"an end above all memory",
            elf_header(),
            {code, part(PT_LOAD, 0, ~std::uint64_t{0} - kPage, 2 * kPage, 2 * kPage),
             part(PT_GNU_EH_FRAME, 0, kPage, 8, 8)}},
       }) {
    const OutsideWalk walk = MappedFile(each.header, each.parts).walk();
    EXPECT_FALSE(walk.is_complete) << each.what;
    EXPECT_EQ(walk.frames.size(), 1u) << each.what;
  }
}

TEST_F(TraceeTest, SignalsThatComeFirstAreDelivered) {
  TracedChild child([] {
    static volatile sig_atomic_t count;
    signal(SIGUSR1, [](int) { count = count + 1; });
    sleep_until_told();
    return static_cast<int>(count);
  });
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  for (int i = 0; i < 10; ++i) {
    kill(child.pid(), SIGUSR1);
    auto thread = Tracee::stop(child.pid(), child.pid());
    ASSERT_TRUE(thread.ok());
    EXPECT_TRUE(thread->run_to_quiet_call(5000));
  }
  EXPECT_GT(child.end(), 0);
}

// The time of such a run can end at any moment.
TEST_F(TraceeTest, NoSignalIsLostWhereAThreadMakesNoQuietCall) {
  constexpr int kSignals = 100;
  static volatile sig_atomic_t count;
  TracedChild child([] {
    signal(SIGRTMIN, [](int) { count = count + 1; });
    while (count < kSignals) {
    }
    return sleep_until_told();
  });
  while (!control::handles(child.pid(), SIGRTMIN)) usleep(1000);
  for (int i = 0; i < kSignals; ++i) {
    auto thread = Tracee::stop(child.pid(), child.pid());
    ASSERT_TRUE(thread.ok());
    sigqueue(child.pid(), SIGRTMIN, {});
    thread->run_to_quiet_call(1);
  }
  EXPECT_TRUE(child.waits_in(SYS_clock_nanosleep));
  EXPECT_EQ(child.end(), 0);
}

TEST(Recorder, AProcessWithoutOneHasNoneOfItsFunctions) {
  EXPECT_EQ(find_in_library(getpid(), "/nowhere/libfbleprof.so", "fbleprof_obey"), 0u);
  const auto recorder = find_recorder(getpid(), "/nowhere/libfbleprof.so");
  ASSERT_TRUE(recorder.ok());
  EXPECT_FALSE(recorder->is_loaded);
  EXPECT_EQ(find_recorder(kNobody, "").error().what, "there is none");
  EXPECT_EQ(make_recorder_obey(getpid(), "")->what, "its recorder cannot be read");
}

TEST(Recorder, SettingsMustFitIntoAnOrder) {
  const Status bad = load_recorder(getpid(), "", {std::string(1 << 20, 'x')});
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->what, "too many settings");
}

TEST(Orders, AnAttemptThatIsNeverDoneIsGivenUp) {
  int attempts = 0;
  const Status bad = insist(getpid(), [&] {
    ++attempts;
    return Result<bool>(false);
  });
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->what, "it loads or unloads libraries all the time");
  EXPECT_GT(attempts, 1);
}

}  // namespace
}  // namespace fbleprof::attach
