#include "attach/text_changes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "tests/unit/attach/traced_child.h"

namespace fbleprof::attach {
namespace {

using format::kTextChangeBytes;
using format::TextChange;
using format::TextChanges;
using test::sleep_until_told;
using test::TracedChild;

constexpr std::size_t kPage = 4096;

std::uint64_t number(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

TextChange change_at(const std::uint8_t* at) {
  TextChange change{};
  change.address = number(at);
  std::memset(change.original, 0x90, kTextChangeBytes);
  std::memset(change.changed, 0xcc, kTextChangeBytes);
  return change;
}

class TextChangesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::may_trace()) GTEST_SKIP() << "the system forbids tracing";
    code_ = test::code_memory(3 * kPage);
    ASSERT_NE(code_, nullptr);
    std::memset(code_, 0x90, 3 * kPage);
  }
  void TearDown() override { munmap(code_, 3 * kPage); }

  // What the child has there.
  static std::uint8_t byte_of(pid_t pid, const std::uint8_t* at) {
    ModuleChanges one;
    one.changes = {change_at(at)};
    return made_changes(pid, one).changes.empty() ? 0x90 : 0xcc;
  }

  std::uint8_t* code_ = nullptr;
};

TEST_F(TextChangesTest, TextIsChangedAndGivenBack) {
  const TracedChild child(sleep_until_told);
  ModuleChanges module;
  module.changes = {change_at(code_ + kPage), change_at(code_), change_at(code_ + 100)};
  EXPECT_EQ(*write_text(child.pid(), module, Text::kChanged), 3u);
  EXPECT_EQ(made_changes(child.pid(), module).changes.size(), 3u);
  EXPECT_EQ(*write_text(child.pid(), module, Text::kChanged), 0u) << "they are changed already";
  EXPECT_EQ(*write_text(child.pid(), module, Text::kOriginal), 3u);
  EXPECT_TRUE(made_changes(child.pid(), module).changes.empty());
}

TEST_F(TextChangesTest, WhatIsKeptOutOrOtherwiseOrUnmappedStays) {
  std::memset(code_ + 200, 0x55, kTextChangeBytes);  // somebody else has changed it
  munmap(code_ + 2 * kPage, kPage);
  const TracedChild child(sleep_until_told);
  ModuleChanges module;
  module.changes = {change_at(code_), change_at(code_ + 100), change_at(code_ + 200),
                    change_at(code_ + 2 * kPage)};
  module.changes[1].is_kept_out = 1;
  EXPECT_EQ(*write_text(child.pid(), module, Text::kChanged), 1u);
  EXPECT_EQ(byte_of(child.pid(), code_), 0xcc);
  EXPECT_EQ(byte_of(child.pid(), code_ + 100), 0x90);
}

TEST_F(TextChangesTest, IfAPageCannotBeWrittenTheOthersAreAsTheyWere) {
  // The system writes for nobody to a shared mapping that was made read-only.
  const int file = memfd_create("text", 0);
  ASSERT_EQ(ftruncate(file, kPage), 0);
  const std::string nops(kPage, '\x90');
  ASSERT_EQ(write(file, nops.data(), nops.size()), static_cast<ssize_t>(kPage));
  const std::string again = "/proc/self/fd/" + std::to_string(file);
  const int readable = open(again.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_NE(mmap(code_ + kPage, kPage, PROT_READ, MAP_SHARED | MAP_FIXED, readable, 0), MAP_FAILED);
  close(readable);
  close(file);
  const TracedChild child(sleep_until_told);
  ModuleChanges module;
  module.changes = {change_at(code_), change_at(code_ + kPage), change_at(code_ + 2 * kPage)};
  const auto written = write_text(child.pid(), module, Text::kChanged);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().what.rfind("its code cannot be changed: ", 0), 0u);
  EXPECT_TRUE(made_changes(child.pid(), module).changes.empty());
}

// Runs a loop whose jump lies within the bytes of an entry.
TEST_F(TextChangesTest, AnEntryWhereAThreadStandsIsKeptOut) {
  static struct {
    TextChanges head;
    TextChange changes[2];
  } list;
  std::uint8_t* entry = code_ + 64;
  const std::uint8_t loop[] = {0xeb, 0xfe};  // jumps to itself
  std::memcpy(entry + 1, loop, sizeof loop);
  const TracedChild child([entry] {
    reinterpret_cast<void (*)()>(entry + 1)();
    return 0;
  });
  ASSERT_TRUE(child.computes_at(entry + 1));
  std::vector<ModuleChanges> modules(1);
  modules[0].address = number(&list);
  modules[0].changes = {change_at(code_), change_at(entry)};
  for (TextChange& each : modules[0].changes) each.is_entry = 1;
  StoppedProcess process(child.pid());
  const auto kept_out = keep_occupied_out(child.pid(), process, modules);
  ASSERT_TRUE(kept_out.ok());
  EXPECT_EQ(*kept_out, 1u);
  EXPECT_EQ(modules[0].changes[0].is_kept_out, 0);
  EXPECT_EQ(modules[0].changes[1].is_kept_out, 1);
  std::uint8_t told = 0;
  ASSERT_TRUE(process.threads().front().read(number(&list.changes[1].is_kept_out), &told, 1));
  EXPECT_EQ(told, 1) << "the process is told";
}

TEST_F(TextChangesTest, ASignalsWayBackCountsAsAPlaceOfTheThread) {
  std::uint8_t* entry = code_ + 64;
  const TracedChild child([entry] {
    const volatile std::uint64_t way_back = number(entry + 2);
    const int status = sleep_until_told();
    return way_back != 0 ? status : 1;
  });
  ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
  std::vector<ModuleChanges> modules(1);
  modules[0].changes = {change_at(entry)};
  modules[0].changes[0].is_entry = 1;
  StoppedProcess process(child.pid());
  const auto kept_out = keep_occupied_out(child.pid(), process, modules);
  ASSERT_TRUE(kept_out.ok());
  EXPECT_EQ(*kept_out, 1u);
}

TEST_F(TextChangesTest, OfAProcessThatHasEndedNothingIsHeldOut) {
  pid_t pid;
  {
    const TracedChild child(sleep_until_told);
    pid = child.pid();
  }
  std::vector<ModuleChanges> modules;
  StoppedProcess process(pid);
  EXPECT_EQ(keep_occupied_out(pid, process, modules).error().what, "it has ended");
}

TEST_F(TextChangesTest, AProcessWithoutARecorderHasNoLists) {
  const TracedChild child(sleep_until_told);
  EXPECT_TRUE(read_changes(child.pid(), "/nowhere").empty());
  EXPECT_TRUE(HeldChanges::hold(child.pid(), "/nowhere").ok());
}

}  // namespace
}  // namespace fbleprof::attach
