// Profiles beside the process's own: nested in odd orders, without space, of another process.
#include "capture/profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "capture/api.h"
#include "capture/profile.h"
#include "format/references.h"
#include "signal_safe/blocks.h"
#include "signal_safe/profile_switch.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"
#include "tests/support/refused_calls.h"
#include "tests/unit/capture/started_session.h"

namespace fbleprof {
namespace {

using format::Ref;
using signal_safe::Entry;
using signal_safe::session;

// The calling thread is recorded into the session's profile.
class Profiles : public test::StartedSession {
 protected:
  static constexpr std::uint32_t kEntries = 4096;

  Profiles() : shadow_(new Entry[kEntries]()) {
    EXPECT_NE(slots_, MAP_FAILED);
    session.start_monotonic_ns = 1;
    session.recording.store(true);
    const Ref record = session.arena.allocate(sizeof(format::Thread));
    thread.session = &session;
    thread.canary = &canary_;
    thread.cache.slots = static_cast<signal_safe::Slot*>(slots_);
    thread.record = session.arena.at<format::Thread>(record);
    EXPECT_TRUE(thread.tree.start(session.trees, record, 0, links_));
    session.arena.publish(record, format::Kind::kThread);
    shadow_[0] = {signal_safe::kNoFrame, signal_safe::kRootGateWord};
    thread.main_stack = {.low = 0,
                         .high = ~std::uint64_t{0},
                         .gate = shadow_.get(),
                         .limit = shadow_.get() + kEntries - 64,
                         .saved_top = shadow_.get(),
                         .base = thread.tree.root()};
    thread.current = &thread.main_stack;
    thread.hot = &fbleprof_hot;
    attach();
    for (std::uint32_t block = 1; block <= 4; ++block) {
      session.code_map.name_block(
          block, session.code_map.function_with_key(block, format::FunctionKind::kBlock));
    }
  }
  ~Profiles() override {
    fbleprof_hot = {};
    session.recording.store(false);
    munmap(slots_, kCacheBytes);
  }
  void attach() {
    fbleprof_hot = {thread.main_stack.gate, thread.cache.slots, &thread, thread.main_stack.limit,
                    thread.cache.mask};
  }
  // Of the last tree that has one.
  static std::string last_name() {
    std::string found;
    session.arena.for_each(format::Kind::kTree, [&](Ref ref) {
      const Ref name = capture::profile_name(session.arena.at<format::Tree>(ref)->labels);
      if (name != 0) {
        const auto* text = session.arena.at<format::String>(name);
        found = std::string(text->bytes, text->length);
      }
      return true;
    });
    return found;
  }

  signal_safe::ThreadState thread;

 private:
  static constexpr std::size_t kCacheBytes =
      signal_safe::kMostCacheSlots * sizeof(signal_safe::Slot);
  void* slots_ = mmap(nullptr, kCacheBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::unique_ptr<Entry[]> shadow_;
  signal_safe::ForkCanary canary_{1, {}};
  signal_safe::LinkTable::Item links_[signal_safe::LinkTable::kFirstItems] = {};
};

TEST_F(Profiles, HaveNamesOfAnyLength) {
  for (const auto& [given, expected] : std::vector<std::pair<std::string, std::string>>{
           {"one", "one"}, {"", "unnamed"}, {std::string(70'000, 'n'), std::string(65'535, 'n')}}) {
    fbleprof_profile* profile = fbleprof_profile_new(given.c_str());
    ASSERT_NE(profile, nullptr);
    fbleprof_profile_with(profile);
    fbleprof_profile_with(nullptr);
    EXPECT_EQ(last_name(), expected);
    fbleprof_profile_free(profile);
  }
  fbleprof_profile* nameless = fbleprof_profile_new(nullptr);
  EXPECT_EQ(last_name(), "unnamed");
  fbleprof_profile_free(nameless);
  EXPECT_EQ(capture::profile_name(0x7fff), 0u) << "labels of no profile";
}

TEST_F(Profiles, NestInAnyOrder) {
  fbleprof_profile* const one = fbleprof_profile_new("one");
  fbleprof_profile* const two = fbleprof_profile_new("two");
  fbleprof_profile* const three = fbleprof_profile_new("three");
  EXPECT_EQ(fbleprof_profile_with(one), nullptr);
  EXPECT_EQ(fbleprof_profile_with(one), one) << "it is current";
  EXPECT_EQ(fbleprof_profile_with(two), one);
  EXPECT_EQ(fbleprof_profile_with(three), two);
  fbleprof_enter(3);
  EXPECT_EQ(fbleprof_profile_with(one), three) << "one that is further out";
  fbleprof_enter(1);
  fbleprof_leave(1);
  EXPECT_EQ(thread.profiles, 4u);
  EXPECT_EQ(fbleprof_profile_with(three), one);
  EXPECT_EQ(thread.profiles, 3u) << "back to the one before";
  fbleprof_leave(3);
  EXPECT_EQ(thread.record->unmatched, 0u);
  fbleprof_profile_with(two), fbleprof_profile_with(one), fbleprof_profile_with(nullptr);
  EXPECT_EQ(thread.profiles, 0u);
  for (fbleprof_profile* each : {one, two, three}) fbleprof_profile_free(each);
}

TEST_F(Profiles, NestToABound) {
  fbleprof_profile* const all[] = {fbleprof_profile_new("one"), fbleprof_profile_new("two"),
                                   fbleprof_profile_new("three")};
  fbleprof_profile* current = nullptr;
  std::uint32_t most = 0;
  for (int i = 0; i < 30; ++i) {
    fbleprof_profile* const next = all[i % 3];
    EXPECT_EQ(fbleprof_profile_with(next), current);
    if (thread.profile == next) current = next;
    most = std::max(most, thread.profiles);
  }
  EXPECT_EQ(most, signal_safe::kMostProfiles);
  while (thread.profiles != 0) signal_safe::end_profile(thread, fbleprof_hot.top);
  for (fbleprof_profile* each : all) fbleprof_profile_free(each);
}

TEST_F(Profiles, CountsOfAFreedOneAreGone) {
  fbleprof_profile* profile = fbleprof_profile_new("one");
  fbleprof_profile_with(profile);
  for (int i = 0; i < 5; ++i) {
    fbleprof_enter(1);
    fbleprof_enter(1);  // recursion: an edge back
    fbleprof_enter(2);
    for (const std::uint32_t block : {2u, 1u, 1u}) fbleprof_leave(block);
  }
  fbleprof_profile_free(profile);
  EXPECT_EQ(fbleprof_profile_with(nullptr), profile) << "it is used: it cannot be freed";
  fbleprof_profile_free(profile);
  fbleprof_profile_free(profile);
  EXPECT_EQ(fbleprof_profile_with(profile), nullptr);
  EXPECT_EQ(thread.profiles, 0u) << "it is free";
  fbleprof_profile* again = fbleprof_profile_new("two");
  EXPECT_EQ(again, profile) << "with its trees";
  fbleprof_profile_with(again);
  fbleprof_visit sum{};
  EXPECT_EQ(fbleprof_query_pair(0, 1, &sum), 0);
  EXPECT_EQ(sum.calls + sum.back_calls, 0u);
  fbleprof_profile_with(nullptr);
  fbleprof_profile_free(again);
}

TEST_F(Profiles, NeedARecordedThreadOfThisProcess) {
  fbleprof_profile* profile = fbleprof_profile_new("one");
  fbleprof_hot = {};
  EXPECT_EQ(fbleprof_profile_new("two"), nullptr);
  EXPECT_EQ(fbleprof_profile_with(profile), nullptr);
  attach();
  {
    const signal_safe::BusyGuard guard(thread);
    EXPECT_EQ(fbleprof_profile_with(profile), nullptr) << "a handler in the middle of a change";
  }
  EXPECT_EQ(thread.profiles, 0u);
  // A forked child has another file.
  session.start_monotonic_ns += 1;
  EXPECT_EQ(fbleprof_profile_with(profile), nullptr);
  EXPECT_EQ(thread.profiles, 0u);
  EXPECT_EQ(fbleprof_profile_write(profile, "/nowhere/file"), EINVAL);
  fbleprof_profile_free(profile);
  session.start_monotonic_ns -= 1;
  thread.canary->alive = 0;
  session.adopt_forked_child = [](signal_safe::ThreadState*) { fbleprof_hot = {}; };
  EXPECT_EQ(fbleprof_profile_with(profile), nullptr);
  EXPECT_EQ(fbleprof_hot.top, nullptr);
  thread.canary->alive = 1;
  attach();
  fbleprof_profile_free(profile);
}

TEST_F(Profiles, AFileThatCannotBeWrittenIsSaid) {
  fbleprof_profile* profile = fbleprof_profile_new("one");
  const std::string path = testing::TempDir() + "/fbleprof-profile." + std::to_string(getpid());
  EXPECT_EQ(fbleprof_profile_write(profile, nullptr), EINVAL);
  EXPECT_EQ(fbleprof_profile_write(profile, "/nowhere/file"), ENOENT);
  EXPECT_EQ(fbleprof_profile_write(profile, path.c_str()), 0);
  if (access("/dev/full", W_OK) == 0) {
    EXPECT_EQ(fbleprof_profile_write(profile, "/dev/full"), ENOSPC);
  }
  const bool has_run = test::without_calls({{SYS_close, EIO}}, [&] {
    EXPECT_EQ(fbleprof_profile_write(profile, path.c_str()), EIO) << "some file systems tell late";
  });
  EXPECT_TRUE(!has_run || test::without_calls({{SYS_mmap, ENOMEM, 3, MAP_NORESERVE}}, [&] {
    EXPECT_EQ(fbleprof_profile_write(profile, path.c_str()), ENOMEM);
  }));
  std::filesystem::remove(path);
  fbleprof_profile_free(profile);
}

// Other threads go on while the file is copied: what is in the copy may lead to what is not.
TEST_F(Profiles, AWrittenFileLeadsNowhereBeyondItsEnd) {
  fbleprof_profile* profile = fbleprof_profile_new("one");
  const std::string path = testing::TempDir() + "/fbleprof-profile." + std::to_string(getpid());
  const auto& arena = session.arena;
  constexpr Ref kBeyond = 1u << 20;
  std::vector<Ref> made;
  for (const format::Reference& reference : format::kRecordReferences) {
    made.push_back(session.arena.allocate(sizeof(format::Thread)));
    ASSERT_NE(made.back(), 0u);
    *reinterpret_cast<Ref*>(arena.at<char>(made.back()) + reference.offset) = kBeyond;
    session.arena.publish(made.back(), reference.of);
  }
  const Ref newest_module = arena.header()->newest_module;
  arena.header()->newest_module = arena.header()->host = kBeyond;
  EXPECT_EQ(fbleprof_profile_write(profile, path.c_str()), 0);
  arena.header()->newest_module = newest_module;
  arena.header()->host = 0;
  for (const Ref ref : made) session.arena.publish(ref, format::Kind::kPrivate);

  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  ASSERT_EQ(bytes.size(), arena.used_bytes());
  signal_safe::Arena written;
  written.adopt(bytes.data(), bytes.size(), bytes.size());
  EXPECT_EQ(written.header()->newest_module, 0u);
  EXPECT_EQ(written.header()->host, 0u);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const format::Reference& reference = format::kRecordReferences[i];
    if (written.at<format::Head>(made[i])->kind == format::Kind::kPrivate) continue;
    EXPECT_EQ(reference.lacking, format::Lacking::kField) << i;
    EXPECT_EQ(*reinterpret_cast<Ref*>(written.at<char>(made[i]) + reference.offset), 0u) << i;
  }
  std::filesystem::remove(path);
  fbleprof_profile_free(profile);
}

using ProfilesDeathTest = Profiles;

// In a process of its own, because the file stays full.
TEST_F(ProfilesDeathTest, WithoutSpaceThereIsNone) {
  const auto test = [this] {
    std::vector<fbleprof_profile*> made;
    auto& arena = session.arena;
    const auto fill = [&](std::uint64_t but) {
      for (const std::uint32_t bytes : {4096u, 64u, 1u}) {
        const std::string filler(bytes, 'f');
        while (arena.cap_bytes() - arena.used_bytes() > but + 2 * bytes &&
               arena.add_string(filler.data(), bytes) != 0) {
        }
      }
    };
    // Enough for ever fewer of the parts that a profile and its tree consist of.
    fill(8000);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
      fbleprof_profile* profile = fbleprof_profile_new("a");
      if (!profile) {
        ++refused;
        continue;
      }
      EXPECT_EQ(fbleprof_profile_with(profile), nullptr);
      if (thread.profile != profile) {
        ++refused;
        EXPECT_EQ(thread.profiles, 0u);
      }
      fbleprof_profile_with(nullptr);
      arena.add_string("f", 1);
    }
    EXPECT_GT(refused, 0);
    fill(0);
    EXPECT_EQ(fbleprof_profile_new("a"), nullptr);
    return testing::Test::HasFailure() ? 1 : 0;
  };
  EXPECT_EXIT(std::exit(test()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fbleprof
