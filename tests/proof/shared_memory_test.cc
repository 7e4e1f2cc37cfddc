// What other threads, and handlers of the same thread, see of memory that is no part of the file:
// lists, tables, the state of a thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "capture/thread_memory.h"
#include "capture/threads.h"
#include "signal_safe/code_map.h"
#include "signal_safe/entries.h"
#include "signal_safe/session.h"
#include "tests/proof/empty_session.h"
#include "tests/proof/stores.h"

namespace fbleprof::proof {
namespace {

using capture::ThreadMemory;
using format::Function;
using format::Kind;
using format::Ref;
using signal_safe::Entry;
using signal_safe::session;

// Another thread looks by look() at all states that it may see during `work`. What it writes itself
// is undone.
template <typename Work, typename Look>
void explore(Work work, Look look) {
  const Log log = log_of(Log(), work);
  const std::size_t states = for_each_state(log, [&](std::size_t first) {
    const Log own = log_of(Log(), look);
    own.undo();
    if (testing::Test::HasFailure()) ADD_FAILURE() << "at store " << first;
    return !testing::Test::HasFailure();
  });
  testing::Test::RecordProperty("states", static_cast<int>(states));
  EXPECT_GT(states, log.stores().size());
}

// A handler interrupts `work` before each of its stores.
template <typename Look>
class Handler : public Observer {
 public:
  explicit Handler(Look look) : look_(look) {}
  void before_atomic() override { look_(); }
  void before_store(void*, unsigned) override {
    look_();
    ++stores_;
  }
  int stores() const { return stores_; }

 private:
  Look look_;
  int stores_ = 0;
};
template <typename Work, typename Look>
void interrupt(Work work, Look look) {
  Handler<Look> handler(look);
  watch_by(&handler);
  work();
  watch_by(nullptr);
  look();
  EXPECT_GT(handler.stores(), 1);
}

TEST(SharedLists, ANewThreadIsSeenWhole) {
  start_session();
  ThreadMemory* const older = capture::take_thread_memory();
  ASSERT_NE(older, nullptr);
  explore([] { ASSERT_NE(capture::take_thread_memory(), nullptr); },
          [&] {
            bool has_older = false;
            for (ThreadMemory* memory = capture::newest_thread_memory(); memory;
                 memory = memory->next_all) {
              has_older |= memory == older;
              ASSERT_NE(memory->state.canary, nullptr);
              ASSERT_NE(memory->state.cache.slots, nullptr);
              ASSERT_EQ(memory->state.session, &session);
              ASSERT_NE(memory->state.record, nullptr);
              ASSERT_EQ(memory->state.record->head.kind, Kind::kThread);
              ASSERT_NE(memory->state.tree.root(), 0u);
            }
            ASSERT_TRUE(has_older) << "threads are lost from the list";
            session.arena.for_each(Kind::kThread, [](Ref ref) {
              EXPECT_NE(session.arena.at<format::Thread>(ref)->start_ns, 0u);
              return true;
            });
          });
}

TEST(SharedLists, FreeMemoryLeadsToWhatWasFreeBefore) {
  start_session();
  ThreadMemory* pieces[3];
  for (ThreadMemory*& each : pieces) each = capture::take_thread_memory();
  capture::give_back(pieces[0]);
  capture::give_back(pieces[1]);
  explore([&] { capture::give_back(pieces[2]); },
          [&] {
            const ThreadMemory* taken[2] = {capture::take_thread_memory(),
                                            capture::take_thread_memory()};
            ASSERT_NE(taken[0], taken[1]);
            for (const ThreadMemory* each : taken) {
              ASSERT_TRUE(std::count(pieces, pieces + 3, each)) << "free memory is lost";
            }
          });
}

// A thread that is found attached can be pinned and written to.
void look_at_attached() {
  for (ThreadMemory* memory = capture::newest_thread_memory(); memory; memory = memory->next_all) {
    if (memory->use.load() != ThreadMemory::kAttached) continue;
    ASSERT_NE(memory->state.hot, nullptr);
    ASSERT_NE(memory->state.tid, 0u);
    ASSERT_NE(memory->state.last_wall_ns, 0u);
    ASSERT_NE(memory->state.canary->alive, 0u);
    ASSERT_EQ(memory->state.current, &memory->state.main_stack);
    ASSERT_NE(memory->state.main_stack.gate, nullptr);
  }
}
// Hooks in handlers use the state if there is a top.
void look_at_hot() {
  if (!fbleprof_hot.top) return;
  ASSERT_GT(reinterpret_cast<std::uint64_t>(fbleprof_hot.self), 1u) << "a top, but no state";
  const ThreadMemory* memory = capture::memory_of(fbleprof_hot.self);
  const std::uint32_t use = memory->use.load();
  ASSERT_TRUE(use == ThreadMemory::kAttached || use == ThreadMemory::kEnding) << use;
  ASSERT_NE(fbleprof_hot.limit, nullptr);
  ASSERT_NE(fbleprof_hot.cache, nullptr);
}

class OwnThread : public testing::Test {
 protected:
  OwnThread() {
    start_session();
    session.start_monotonic_ns = 1;
    capture::configure_threads({}, false);
  }
  ~OwnThread() override {
    capture::detach_this_thread();
    fbleprof_hot.self = nullptr;  // else no thread is attached again
  }
  static void attach() { capture::attach_this_thread({0, 0}, 0); }
};

TEST_F(OwnThread, IsAttachedWhole) {
  explore(attach, look_at_attached);
  ASSERT_NE(fbleprof_hot.top, nullptr);
}

TEST_F(OwnThread, IsAttachedAndDetachedForItsHandlers) {
  interrupt(attach, look_at_hot);
  ASSERT_NE(fbleprof_hot.top, nullptr);
  interrupt([] { capture::detach_this_thread(); }, look_at_hot);
  ASSERT_EQ(fbleprof_hot.top, nullptr);
}

// Another thread can change the name, too: hooks begin when there is a top.
TEST_F(OwnThread, BeginsWholeWhenItsNewNameIsKept) {
  capture::Settings settings;
  settings.threads.add("kept");
  capture::configure_threads(settings, false);
  attach();
  ASSERT_EQ(fbleprof_hot.top, nullptr);
  ASSERT_NE(fbleprof_hot.self, nullptr);
  const signal_safe::ThreadState& state = *fbleprof_hot.self;
  const auto own = reinterpret_cast<unsigned long>(__builtin_thread_pointer());
  explore([&] { capture::note_thread_name(own, "kept"); },
          [&] {
            if (!fbleprof_hot.top) return;
            ASSERT_FALSE(state.is_left_out);
            ASSERT_EQ(state.is_behind, signal_safe::ThreadState::kBehind);
            ASSERT_NE(fbleprof_hot.cache, nullptr);
          });
  ASSERT_NE(fbleprof_hot.top, nullptr);
}

TEST_F(OwnThread, PushesWholeEntries) {
  attach();
  ASSERT_NE(fbleprof_hot.top, nullptr);
  signal_safe::ThreadState& state = *fbleprof_hot.self;
  Entry* const gate = fbleprof_hot.top;
  gate[1] = {};
  interrupt([&] { signal_safe::push(state, gate, 0x7000, 0x123); },
            [&] {
              if (fbleprof_hot.top == gate) return;
              ASSERT_EQ(fbleprof_hot.top, gate + 1);
              ASSERT_EQ(gate[1].frame, 0x7000u);
              ASSERT_EQ(gate[1].word, 0x123u);
            });
  fbleprof_hot.top = gate;
}

// The tables that lead from code to its record, and the list of modules.
class SharedCode : public testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 0x100, kObject = 0x10000, kCode = 5 * kObject + 0x210;
  static constexpr char kPath[] = "/lib/object.so";
  static constexpr Elf64_Phdr kNoHeaders[1] = {};

  SharedCode() {
    std::memset(file_.data(), 0, file_.size());
    arena_.adopt(file_.data(), file_.size(), file_.size());
    arena_.header()->used_bytes = format::kHeaderBytes;
    signal_safe::CodeSource source;
    source.range_at = [](std::uint64_t at) {
      if (at >= kGenerated) return signal_safe::CodeRange{};
      return signal_safe::CodeRange{at / kSize * kSize, kSize, true};
    };
    source.object_at = [](std::uint64_t at, signal_safe::LoadedObject* object) {
      const std::uint64_t begin = at / kObject * kObject;
      *object = {begin, begin + kObject, nullptr, begin, kPath};
      return at < kGenerated;
    };
    source.code_hash_at = [](std::uint64_t) -> std::uint32_t { return 99; };
    EXPECT_TRUE(map_.start(&arena_, &pages_, source));
    add_module(4 * kObject);
    add_module(5 * kObject);
  }
  ~SharedCode() override { map_.start(&arena_, &pages_); }

  Ref add_module(std::uint64_t begin) {
    signal_safe::LoadedModule module;
    module.begin = module.load_bias = begin;
    module.end = begin + kObject;
    module.path = kPath;
    module.headers = kNoHeaders;
    return map_.add_module(module);
  }

  void look_at_modules() const {
    int modules = 0;
    for (Ref ref = arena_.header()->newest_module; ref != 0; ++modules) {
      const auto* module = arena_.at<format::Module>(ref);
      ASSERT_EQ(module->head.kind, Kind::kModule);
      ASSERT_EQ(module->end, module->begin + kObject);
      ASSERT_NE(module->path, 0u);
      ASSERT_EQ(arena_.at<format::String>(module->path)->head.kind, Kind::kString);
      ASSERT_EQ(arena_.at<format::String>(module->path)->length, std::strlen(kPath));
      ref = module->older;
    }
    ASSERT_GE(modules, 2);
  }
  void look_at(Ref ref, std::uint64_t address, Ref module) const {
    if (ref == 0) return;
    const auto* function = arena_.at<Function>(ref);
    ASSERT_EQ(function->head.kind, Kind::kFunction);
    ASSERT_EQ(function->address, address);
    ASSERT_NE(function->size, 0u);
    ASSERT_EQ(function->module, module);
  }

  static constexpr std::uint64_t kGenerated = 100 * kObject;
  std::vector<char> file_ = std::vector<char>(64 << 10);
  signal_safe::Arena arena_;
  signal_safe::Pages pages_;
  signal_safe::CodeMap map_;
};

TEST_F(SharedCode, AModuleIsInTheListWithItsStrings) {
  explore([&] { ASSERT_NE(add_module(6 * kObject), 0u); }, [&] { look_at_modules(); });
}

TEST_F(SharedCode, AKnownFunctionIsWhole) {
  const Ref module = arena_.header()->newest_module;
  const std::uint64_t start = kCode / kSize * kSize;
  explore([&] { ASSERT_NE(map_.function_at(kCode), 0u); },
          [&] {
            look_at(map_.known_function_at(kCode), start, module);
            look_at(map_.function_at(kCode + 1), start, module);
          });
}

TEST_F(SharedCode, ATableOfLeftOutCodeIsWhole) {
  explore(
      [&] {
        signal_safe::LeftOut::Table table{};
        table.begin = kCode;
        table.end = kCode + kSize;
        table.first_is_out = true;
        ASSERT_TRUE(map_.left_out().add(table));
      },
      [&] {
        if (const auto* table = map_.left_out().newest_at(0)) {
          ASSERT_NE(table->begin, 0u);
        }
        if (map_.left_out().newest_at(kCode)) {
          ASSERT_TRUE(map_.left_out().contains(kCode));
        }
      });
}

TEST_F(SharedCode, AStandInIsWhole) {
  const Ref module = arena_.header()->newest_module;
  const Ref function = map_.function_at(kCode);
  explore([&] { ASSERT_NE(map_.stand_in(function, format::kFunctionHolder), 0u); },
          [&] {
            const Ref found = map_.stand_in(function, format::kFunctionHolder);
            look_at(found, kCode / kSize * kSize, module);
            ASSERT_EQ(arena_.at<Function>(found)->flags, format::kFunctionHolder);
          });
}

TEST_F(SharedCode, GeneratedCodeIsWhole) {
  const std::uint64_t code = kGenerated + 0x120;
  explore([&] { ASSERT_NE(map_.place_at(code), 0u); },
          [&] {
            const Ref found = map_.place_at(code + 1);
            look_at(found, code, 0);
            ASSERT_EQ(arena_.at<Function>(found)->code_hash, 99u);
          });
}

TEST_F(SharedCode, ABlockThatAKeyNamesIsWhole) {
  // The key has a place, which is seen without a release store.
  ASSERT_FALSE(map_.name_key(0x5000, 1, 1));
  const auto make = [&] {
    const Ref block = map_.function_with_key(7, format::FunctionKind::kBlock);
    ASSERT_NE(block, 0u);
    ASSERT_TRUE(map_.name_key(0x5000, 0, block));
  };
  explore(make, [&] {
    const Ref found = map_.block_of_key(0x5000);
    if (found == 0) return;
    ASSERT_EQ(arena_.at<Function>(found)->head.kind, Kind::kFunction);
    ASSERT_EQ(arena_.at<Function>(found)->address, 7u);
    ASSERT_EQ(arena_.at<Function>(found)->kind, format::FunctionKind::kBlock);
  });
}

}  // namespace
}  // namespace fbleprof::proof
