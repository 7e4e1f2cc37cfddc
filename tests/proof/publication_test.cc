// A live reader may see a thread's stores in another order than they were made, within the limits
// of their memory orders: a release store becomes visible after all earlier ones, others in any
// order (the language allows this; x86 keeps stores in order).
//
// The stores of the real code are logged. For each of them, and each subset of the next kWindow
// that may be visible without it, the real reader reads the resulting file.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "profile/reader.h"
#include "profile/verify.h"
#include "signal_safe/call_tree.h"
#include "signal_safe/thread_state.h"
#include "tests/proof/observed.h"

namespace fbleprof::proof {
namespace {

using format::Ref;

constexpr std::size_t kFileBytes = 64 << 10;
constexpr std::size_t kWindow = 8;

struct Store {
  std::size_t offset;
  std::vector<std::byte> bytes;
  Order order;
  bool is_fence = false;
};

// Stores into one range of memory, in their order.
class Log : public Observer {
 public:
  Log(std::byte* begin, std::size_t size) : begin_(begin), size_(size) {}

  void before_atomic() override { settle(); }
  void before_store(void* at, unsigned bytes) override {
    settle();
    // The value is in memory at the next access.
    if (is_ours(at)) pending_ = {at, bytes};
  }
  void after_store(void* at, unsigned bytes, Order order) override {
    if (is_ours(at)) add(at, bytes, order);
  }
  void at_fence() override {
    settle();
    stores_.push_back({0, {}, Order::kRelease, true});
  }
  void settle() {
    if (pending_.first) add(pending_.first, pending_.second, Order::kPlain);
    pending_ = {};
  }
  const std::vector<Store>& stores() const { return stores_; }

 private:
  bool is_ours(const void* at) const { return at >= begin_ && at < begin_ + size_; }
  void add(void* at, unsigned bytes, Order order) {
    const auto* from = static_cast<const std::byte*>(at);
    stores_.push_back({static_cast<std::size_t>(from - begin_), {from, from + bytes}, order});
  }

  std::byte* begin_;
  std::size_t size_;
  std::pair<void*, unsigned> pending_{};
  std::vector<Store> stores_;
};

void apply(std::vector<std::byte>& file, const Store& store) {
  std::memcpy(file.data() + store.offset, store.bytes.data(), store.bytes.size());
}

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
  template <typename Work>
  void explore(Work work) {
    const std::vector<std::byte> before = file_;
    Log log(file_.data(), file_.size());
    observer = &log;
    work();
    log.settle();
    observer = nullptr;
    const std::vector<Store>& stores = log.stores();
    std::vector<std::byte> all = before;
    for (const Store& store : stores) apply(all, store);
    ASSERT_TRUE(all == file_) << "stores were not seen";
    std::vector<std::byte> seen = before;  // with all stores before `first`
    std::size_t states = 0;
    for (std::size_t first = 0; first <= stores.size(); ++first) {
      std::vector<std::size_t> free;
      for (std::size_t i = first + 1; i < stores.size() && i <= first + kWindow; ++i) {
        if (stores[i].is_fence) break;
        const bool follows_itself =
            stores[i].offset == stores[first].offset && !stores[first].is_fence;
        if (stores[i].order != Order::kRelease && !follows_itself) free.push_back(i);
      }
      for (std::size_t subset = 0; subset < std::size_t{1} << free.size(); ++subset) {
        std::vector<std::byte> state = seen;
        for (std::size_t k = 0; k < free.size(); ++k) {
          if (subset >> k & 1) apply(state, stores[free[k]]);
        }
        ++states;
        read(state, first);
        if (HasFailure()) return;
      }
      if (first < stores.size()) apply(seen, stores[first]);
    }
    RecordProperty("states", static_cast<int>(states));
    EXPECT_GT(states, stores.size());
  }

  void read(const std::vector<std::byte>& state, std::size_t first) {
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
  }

  alignas(64) std::vector<std::byte> file_ = std::vector<std::byte>(kFileBytes);
  signal_safe::Arena arena_;
  signal_safe::Pages pages_;
  signal_safe::Options options_;
  signal_safe::TreeBasis basis_;
  Ref functions_[8];
  signal_safe::CallTree tree_;
  signal_safe::LinkTable::Item links_[signal_safe::LinkTable::kFirstItems] = {};
  signal_safe::ThreadState nobody_;
  signal_safe::BusyGuard guard_{nobody_};
};

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

}  // namespace
}  // namespace fbleprof::proof
