// A live reader may see a thread's stores in another order than they were made: the real reader
// reads the file in each state that stores.h finds possible.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "profile/reader.h"
#include "profile/verify.h"
#include "signal_safe/call_tree.h"
#include "signal_safe/code_map.h"
#include "signal_safe/snapshot.h"
#include "signal_safe/thread_state.h"
#include "tests/proof/stores.h"

namespace fbleprof::proof {
namespace {

using format::Ref;

constexpr std::size_t kFileBytes = 64 << 10;

// A tree in a file without a program.
class Publication : public testing::Test {
 protected:
  Publication() {
    std::memcpy(header().magic, format::kMagic, sizeof format::kMagic);
    header().major_version = format::kMajorVersion;
    header().minor_version = format::kMinorVersion;
    header().header_bytes = format::kHeaderBytes;
    header().byte_order = format::kByteOrderMark;
    header().unit_bytes = format::kUnitBytes;
    header().used_bytes = format::kHeaderBytes;
    header().cap_bytes = kFileBytes;
    header().row_bytes = signal_safe::kRowBytes;
    header().rate_hz = 1000;
    header().state = format::State::kLive;
    arena_.adopt(reinterpret_cast<char*>(file_.data()), kFileBytes, kFileBytes);
    for (Ref& function : functions_) function = make_function(format::FunctionKind::kNative);
    basis_ = {&arena_,
              &pages_,
              &options_,
              make_function(format::FunctionKind::kRoot),
              make_function(format::FunctionKind::kOverflow),
              make_function(format::FunctionKind::kDeeper)};
  }

  format::Header& header() { return *reinterpret_cast<format::Header*>(file_.data()); }

  Ref make_function(format::FunctionKind kind) {
    const Ref ref = arena_.allocate(sizeof(format::Function));
    auto* function = arena_.at<format::Function>(ref);
    function->address = 0x1000u * ref;
    function->kind = kind;
    arena_.publish(ref, format::Kind::kFunction);
    return ref;
  }

  Ref make_thread() {
    const Ref ref = arena_.allocate(sizeof(format::Thread));
    arena_.at<format::Thread>(ref)->threads_served = 1;
    return ref;
  }

  // Logs the stores of `work`, then reads the file in all states that a reader may see.
  // `check` is asked about each result, too.
  template <typename Work, typename Check>
  void explore(Work work, Check check) {
    const std::vector<std::byte> before = file_;
    const Log log = log_of(Log(file_.data(), file_.size()), work);
    const std::vector<std::byte> after = file_;
    log.undo();
    ASSERT_TRUE(file_ == before) << "stores were not seen";
    const std::size_t states = for_each_state(log, [&](std::size_t first) {
      read(file_, first, check);
      return !HasFailure();
    });
    ASSERT_TRUE(file_ == after);
    RecordProperty("states", static_cast<int>(states));
    EXPECT_GT(states, log.stores().size());
  }

  template <typename Work>
  void explore(Work work) {
    explore(work, [](const profile::Profile&) {});
  }

  template <typename Check>
  void read(const std::vector<std::byte>& state, std::size_t first, Check check) {
    const auto image = profile::FileImage::from_bytes(state, "file");
    ASSERT_TRUE(image.ok());
    profile::ReadOptions how;
    how.look_for_process = false;
    const auto result = profile::read_image(*image, how);
    ASSERT_FALSE(result.damage.any()) << "at store " << first << ": " << result.damage.first_what;
    for (const auto& check : profile::verify(*image, result)) {
      ASSERT_TRUE(check.ok) << "at store " << first << ": " << check.what << ": " << check.detail;
    }
    // Each node found is one of our functions, below another.
    for (const auto function : result.profile.nodes().function) {
      ASSERT_LT(function.index(), result.profile.functions().count());
    }
    ASSERT_NO_FATAL_FAILURE(check(result.profile)) << "at store " << first;
  }

  alignas(64) std::vector<std::byte> file_ = std::vector<std::byte>(kFileBytes);
  signal_safe::Arena arena_;
  signal_safe::Pages pages_;
  signal_safe::Options options_;
  signal_safe::TreeBasis basis_;
  Ref name_ = 0;
  Ref functions_[8];
  signal_safe::CallTree tree_;
  signal_safe::LinkTable::Item links_[signal_safe::LinkTable::kFirstItems] = {};
  signal_safe::ThreadState nobody_;
  signal_safe::BusyGuard guard_{nobody_};
};

// A signal may end the process between any two stores.
TEST(PublicationOfArena, ItsBaseComesLast) {
  signal_safe::Arena arena;
  char file[1];
  const Log log = log_of(Log(reinterpret_cast<const std::byte*>(&arena), sizeof arena),
                         [&] { arena.adopt(file, 2, 2); });
  for_each_state(log, [&](std::size_t first) {
    if (!arena.base()) return true;
    EXPECT_EQ(arena.cap_bytes(), 2u) << "at store " << first;
    EXPECT_EQ(arena.populated_bytes(), 2u) << "at store " << first;
    return !testing::Test::HasFailure();
  });
}

TEST_F(Publication, AThreadStarts) {
  explore([&] {
    const Ref thread = make_thread();
    ASSERT_TRUE(tree_.start(basis_, thread, 0, links_));
    arena_.publish(thread, format::Kind::kThread);
  });
}

TEST_F(Publication, CallsMakeNodesAndBackEdges) {
  const Ref thread = make_thread();
  ASSERT_TRUE(tree_.start(basis_, thread, 0, links_));
  arena_.publish(thread, format::Kind::kThread);
  explore([&] {
    Ref at = tree_.root();
    // Walks down through all functions twice: the second time takes back edges. Needs more nodes
    // than a chunk has.
    for (int round = 0; round < 2; ++round) {
      for (const Ref function : functions_) {
        const signal_safe::Step step = tree_.enter(guard_, at, function, 0, 0);
        ASSERT_TRUE(step);
        *step.calls += 1;
        at = step.to;
        // More rows than a chunk has.
        if (round == 0) tree_.values(guard_, at)[signal_safe::kTicks] += 1;
      }
    }
    for (const Ref function : functions_) {
      const signal_safe::Step step = tree_.enter(guard_, tree_.root(), function, 0, 0);
      *step.calls += 1;
      tree_.values(guard_, step.to)[signal_safe::kTicks] += 1;
    }
  });
}

TEST_F(Publication, ATailCallMakesATailEdge) {
  const Ref thread = make_thread();
  ASSERT_TRUE(tree_.start(basis_, thread, 0, links_));
  arena_.publish(thread, format::Kind::kThread);
  const Ref caller = tree_.enter(guard_, tree_.root(), functions_[0], 0, 0).to;
  const Ref replaced = tree_.enter(guard_, caller, functions_[1], 0, 0).to;
  explore([&] {
    const signal_safe::Step step = tree_.replace(guard_, caller, replaced, functions_[2]);
    ASSERT_TRUE(step);
    *step.calls += 1;
  });
}

// A snapshot that a reader finds is one that was taken, with all of its values.
TEST_F(Publication, ASnapshotReplacesAnother) {
  const Ref thread = make_thread();
  ASSERT_TRUE(tree_.start(basis_, thread, 0, links_));
  arena_.publish(thread, format::Kind::kThread);
  const auto call = [&](int depth) {
    Ref at = tree_.root();
    for (int i = 0; i < depth; ++i) {
      const signal_safe::Step step = tree_.enter(guard_, at, functions_[i % 3], 0, 0);
      *step.calls += 1;
      tree_.values(guard_, at = step.to)[signal_safe::kTicks] += 1;
    }
  };
  signal_safe::SnapshotArea area;
  std::uint64_t time_ns = 0;
  const auto take = [&] {
    ASSERT_TRUE(
        take_snapshot(arena_, area, format::SnapshotReason::kAsked, time_ns += 1000, name_));
  };
  name_ = arena_.add_string("name", 4);
  std::vector<profile::Snapshot> taken;
  const auto keep = [&](const profile::Profile& profile) {
    ASSERT_EQ(profile.snapshots().size(), 1u);
    taken.push_back(profile.snapshots().front());
  };
  // The third one needs more space.
  for (const int depth : {2, 5, 8}) {
    call(depth);
    const std::vector<std::byte> before = file_;
    const signal_safe::SnapshotArea area_before = area;
    const std::uint64_t time_before = time_ns;
    take();
    read(file_, 0, keep);
    ASSERT_FALSE(HasFatalFailure());
    file_ = before;
    area = area_before;
    time_ns = time_before;
    explore(take, [&](const profile::Profile& profile) {
      for (const profile::Snapshot& found : profile.snapshots()) {
        const auto is_found = [&](const profile::Snapshot& each) {
          return each.generation == found.generation && each.time_ns == found.time_ns &&
                 each.nodes == found.nodes && each.tree_calls == found.tree_calls &&
                 each.words == found.words && each.edges == found.edges &&
                 each.edge_calls == found.edge_calls;
        };
        ASSERT_EQ(profile.text(found.name), "name");
        ASSERT_TRUE(std::any_of(taken.begin(), taken.end(), is_found)) << found.generation;
      }
    });
    ASSERT_FALSE(HasFailure());
  }
}

// Two areas take turns: one of them is complete at any moment.
TEST_F(Publication, ASnapshotIsWithdrawnWhenTheNextOneIsComplete) {
  const Ref thread = make_thread();
  ASSERT_TRUE(tree_.start(basis_, thread, 0, links_));
  arena_.publish(thread, format::Kind::kThread);
  signal_safe::SnapshotArea areas[2];
  const auto take = [&](int now) {
    const auto reason = format::SnapshotReason::kPeak;
    ASSERT_TRUE(take_snapshot(arena_, areas[now], reason, 1));
    withdraw_snapshot(arena_, areas[1 - now]);
  };
  take(0);
  for (const int now : {1, 0}) {
    explore([&] { take(now); },
            [](const profile::Profile& profile) { ASSERT_GE(profile.snapshots().size(), 1u); });
  }
}

// Code that is looked up becomes a function of a module, with strings.
class PublicationOfCode : public Publication {
 protected:
  static constexpr std::uint64_t kFirst = 0x10000, kSize = 0x100;
  PublicationOfCode() {
    signal_safe::CodeSource source;
    source.range_at = [](std::uint64_t at) {
      return signal_safe::CodeRange{at / kSize * kSize, kSize, true};
    };
    source.object_at = [](std::uint64_t at, signal_safe::LoadedObject* object) {
      const std::uint64_t begin = at / kFirst * kFirst;
      *object = {begin, begin + kFirst, nullptr, begin, kPath};
      return true;
    };
    EXPECT_TRUE(map_.start(&arena_, &pages_, source));
  }
  ~PublicationOfCode() override { map_.start(&arena_, &pages_); }

  static constexpr char kPath[] = "/lib/object.so";
  signal_safe::CodeMap map_;
};

TEST_F(PublicationOfCode, AFunctionNamesItsModule) {
  static Elf64_Phdr none[1] = {};
  signal_safe::LoadedModule module;
  module.begin = module.load_bias = kFirst;
  module.end = 2 * kFirst;
  module.path = kPath;
  module.headers = none;
  explore(
      [&] {
        ASSERT_NE(map_.add_module(module), 0u);
        ASSERT_NE(map_.function_at(kFirst + 5), 0u);
        ASSERT_NE(map_.hooked_function_at(kFirst + kSize + 5), 0u);
        map_.note_unhooked(kFirst + kSize + 5, 3, 77);
        ASSERT_NE(map_.stand_in(map_.function_at(kFirst + 5), format::kFunctionHolder), 0u);
      },
      [&](const profile::Profile& profile) {
        for (const profile::Module& each : profile.modules()) {
          ASSERT_EQ(profile.text(each.path), kPath);
        }
        // Functions that lost their hook tell when, and what stands for a function is no second
        // one.
        int functions_there = 0;
        arena_.for_each(format::Kind::kFunction, [&](Ref ref) {
          const auto* function = arena_.at<format::Function>(ref);
          if (function->size == 0) return true;  // one of the others
          EXPECT_NE(function->module, 0u);
          functions_there +=
              function->address == kFirst && !(function->flags & format::kFunctionStandIn);
          EXPECT_EQ(arena_.at<format::Module>(function->module)->end, 2 * kFirst);
          if (function->flags & format::kFunctionNotCounted) {
            EXPECT_EQ(function->unhooked_ns, 77u);
          }
          return true;
        });
        ASSERT_LE(functions_there, 1);
      });
}

}  // namespace
}  // namespace fbleprof::proof
