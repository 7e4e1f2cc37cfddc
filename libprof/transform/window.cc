#include "transform/window.h"

#include <initializer_list>
#include <utility>

#include "profile/snapshot_columns.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// The amount added between two moments. A live file's counters may be read out of step: a value
// that seems to have decreased did not change.
Counts difference(const Counts& later, const Counts& earlier, bool is_signed) {
  Counts result = later;
  earlier.each([&](std::size_t i, std::uint64_t before) {
    const std::uint64_t now = later[i];
    result.set(i, is_signed || now >= before ? now - before : 0);
  });
  return result;
}

class Cutter {
 public:
  Cutter(const Profile& source, const Window& which)
      : source_(source),
        snapshots_(*source.parts().snapshots),
        from_(which.from ? &snapshots_.all.at(*which.from) : nullptr),
        to_(which.to ? &snapshots_.all.at(*which.to) : nullptr) {}

  Profile run() const {
    Parts parts = source_.parts();
    auto edges = std::make_shared<Edges>(source_.edges());
    if (to_ != nullptr) edges->calls = snapshots_.edge_calls(*to_);
    if (from_ != nullptr) {
      edges->calls = difference(edges->calls, snapshots_.edge_calls(*from_), false);
    }
    parts.edges = std::move(edges);
    std::vector<Counts> at_end, before;
    if (to_ != nullptr) at_end = columns_at(snapshots_, *to_, parts.metrics.size());
    if (from_ != nullptr) before = columns_at(snapshots_, *from_, parts.metrics.size());
    for (std::size_t m = 0; m < parts.metrics.size(); ++m) {
      const Metric& metric = parts.metrics[m];
      Counts values(source_.nodes().count());
      if (to_ != nullptr) {
        values = std::move(at_end[m]);
      } else if (metric.values) {
        values = *metric.values;
      }
      if (from_ != nullptr && adds_up(metric)) {
        values = difference(values, before[m], metric.is_signed);
      }
      parts.metrics[m].values = std::make_shared<Counts>(std::move(values));
    }
    parts.snapshots = nullptr;
    shorten(parts);
    const Profile cut(parts);
    parts.threads = std::make_shared<std::vector<Thread>>(threads_of(cut));
    return Profile(std::move(parts));
  }

 private:
  void shorten(Parts& parts) const {
    if (source_.processes().size() != 1) return;
    auto processes = std::make_shared<std::vector<Process>>(source_.processes());
    Process& process = processes->front();
    const std::uint64_t begin = from_ != nullptr ? from_->time_ns : 0;
    const std::uint64_t end = to_ != nullptr ? to_->time_ns : process.duration_ns;
    process.duration_ns = end > begin ? end - begin : 0;
    process.process_cpu_ns = 0;
    // Of the times when recording was off, only the last one has a place in time.
    if (to_ != nullptr) process.off_at_end_ns = 0;
    process.off_ns = to_ == nullptr ? std::min(process.off_at_end_ns, process.duration_ns) : 0;
    // It counts from when recording was turned on, as an attach does together with a reset.
    const bool is_since_reset = from_ != nullptr && from_->reason == SnapshotReason::kReset;
    if (!is_since_reset || to_ != nullptr) process.unrecorded_cpu_ns = 0;
    parts.processes = std::move(processes);
  }

  // The threads' times and samples in the window, as far as the metrics tell them.
  std::vector<Thread> threads_of(const Profile& cut) const {
    std::vector<Thread> threads = source_.threads();
    const auto take = [&](std::uint64_t Thread::*figure, std::initializer_list<Role> roles) {
      const Metric* recorded = source_.find_metric(*roles.begin());
      if (recorded == nullptr || !recorded->values) return;
      std::vector<std::uint64_t> sums(threads.size());
      for (const Tree& tree : cut.trees()) {
        if (!tree.thread) continue;
        for (const Role role : roles) {
          const Metric* metric = cut.find_metric(role);
          if (metric == nullptr || !metric->values) continue;
          for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
            sums[tree.thread.index()] += (*metric->values)[n];
          }
        }
      }
      for (std::size_t t = 0; t < threads.size(); ++t) threads[t].*figure = sums[t];
    };
    take(&Thread::samples, {Role::kSamples});
    take(&Thread::cpu_ns, {Role::kCpuTime, Role::kOwnCost});
    take(&Thread::wall_ns, {Role::kWallTime, Role::kOwnCost});
    return threads;
  }

  const Profile& source_;
  const Snapshots& snapshots_;
  const Snapshot* from_;
  const Snapshot* to_;
};

template <class Accept>
std::optional<std::size_t> newest(const Profile& profile, Accept accept) {
  for (std::size_t s = profile.snapshots().size(); s-- > 0;) {
    if (accept(profile.snapshots()[s])) return s;
  }
  return std::nullopt;
}

}  // namespace

bool adds_up(const Metric& metric) {
  return metric.aggregation == Aggregation::kSum && metric.role != Role::kLevel;
}

Profile window(const Profile& source, const Window& which) {
  if (!which.from && !which.to) return source;
  return Cutter(source, which).run();
}

Profile since_reset(const Profile& source) {
  return window(source, {.from = find_snapshot(source, SnapshotReason::kReset), .to = {}});
}

Window from_reset(const Profile& profile, Window which) {
  if (which.from || !which.to) return which;
  for (std::size_t s = *which.to + 1; s-- > 0 && !which.from;) {
    if (profile.snapshots()[s].reason == SnapshotReason::kReset) which.from = s;
  }
  return which;
}

std::optional<std::size_t> find_snapshot(const Profile& profile, std::string_view name) {
  return newest(profile, [&](const Snapshot& s) { return profile.text(s.name) == name; });
}

std::optional<std::size_t> find_snapshot(const Profile& profile, SnapshotReason reason) {
  return newest(profile, [&](const Snapshot& s) { return s.reason == reason; });
}

std::optional<std::size_t> snapshot_at(const Profile& profile, std::uint64_t ns) {
  return newest(profile, [&](const Snapshot& s) { return s.time_ns <= ns; });
}

std::optional<std::size_t> snapshot_before_end(const Profile& profile, std::uint64_t ns) {
  if (profile.processes().empty()) return std::nullopt;
  const std::uint64_t end = profile.processes().front().duration_ns;
  return newest(profile, [&](const Snapshot& s) { return end >= ns && s.time_ns <= end - ns; });
}

}  // namespace fbleprof::transform
