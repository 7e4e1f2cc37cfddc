#include "transform/counterparts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace fbleprof::transform {

using namespace profile;

namespace {

// Those of a kind, the earliest first, by name: of the runs so far, and of the next one.
using ByName = std::map<std::string_view, std::vector<std::uint32_t>>;

// Gives each of `next` the number of its counterpart among `known`. Those without one are known
// from now on.
void match(ByName& known, const ByName& next, std::vector<std::uint32_t>& counterpart) {
  for (const auto& [name, all] : next) {
    std::vector<std::uint32_t>& before = known[name];
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i < before.size()) {
        counterpart[all[i]] = before[i];
      } else {
        before.push_back(all[i]);
      }
    }
  }
}

std::vector<std::uint32_t> themselves(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

template <class Id>
std::vector<Id> ids(const std::vector<std::uint32_t>& indices) {
  std::vector<Id> result;
  for (const std::uint32_t i : indices) result.emplace_back(i);
  return result;
}

class Matcher {
 public:
  Matcher(const Profile& profile, const std::vector<std::size_t>& runs)
      : profile_(profile),
        runs_(runs),
        process_(themselves(profile.processes().size())),
        thread_(themselves(profile.threads().size())) {}

  Counterparts find() {
    ByName known;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      ByName next = processes_of(r);
      if (r > 0) name_alike(known, next);
      match(known, next, process_);
    }
    match_threads();
    return {ids<ProcessId>(process_), ids<ThreadId>(thread_)};
  }

 private:
  std::size_t end_of(std::size_t run) const {
    return run + 1 < runs_.size() ? runs_[run + 1] : profile_.processes().size();
  }

  ByName processes_of(std::size_t run) const {
    const std::vector<Process>& processes = profile_.processes();
    ByName found;
    for (std::size_t p = runs_[run]; p < end_of(run); ++p) {
      const std::string_view executable = profile_.text(processes[p].executable);
      found[base_name(executable)].push_back(static_cast<std::uint32_t>(p));
    }
    for (auto& [name, all] : found) {
      std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
        return processes[a].start_realtime_ns < processes[b].start_realtime_ns;
      });
    }
    return found;
  }

  // A renamed program: its only process is the one that the other runs lack.
  static void name_alike(const ByName& known, ByName& next) {
    const auto only_in = [](const ByName& here, const ByName& there) {
      std::string_view name;
      std::size_t count = 0;
      for (const auto& [other, all] : here) {
        if (there.contains(other)) continue;
        name = other;
        count += all.size();
      }
      return std::pair(name, count);
    };
    const auto [before, count_before] = only_in(known, next);
    const auto [now, count_now] = only_in(next, known);
    if (count_before != 1 || count_now != 1) return;
    auto renamed = next.extract(now);
    renamed.key() = before;
    next.insert(std::move(renamed));
  }

  // No thread calls itself this.
  static constexpr std::string_view kMain{"\0", 1};

  bool is_main(const Thread& thread) const {
    return thread.tid != 0 && thread.tid == profile_.processes()[thread.process.index()].pid;
  }

  void match_threads() {
    const std::vector<Thread>& threads = profile_.threads();
    std::vector<ByName> of_process(process_.size());
    for (std::uint32_t t = 0; t < threads.size(); ++t) {
      if (!threads[t].process) continue;
      const std::string_view name = is_main(threads[t]) ? kMain : profile_.text(threads[t].name);
      of_process[threads[t].process.index()][name].push_back(t);
    }
    for (ByName& by_name : of_process) {
      for (auto& [name, all] : by_name) {
        std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
          return threads[a].start_ns < threads[b].start_ns;
        });
      }
    }
    for (std::size_t p = 0; p < process_.size(); ++p) {
      if (process_[p] != p) match(of_process[process_[p]], of_process[p], thread_);
    }
  }

  const Profile& profile_;
  const std::vector<std::size_t>& runs_;
  std::vector<std::uint32_t> process_, thread_;  // by process, thread: its counterpart
};

}  // namespace

Counterparts find_counterparts(const Profile& profile, const std::vector<std::size_t>& runs) {
  return Matcher(profile, runs).find();
}

}  // namespace fbleprof::transform
