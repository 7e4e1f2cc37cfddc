#include "launch/periodic.h"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include "launch/names.h"
#include "launch/program_run.h"
#include "launch/say.h"

namespace fbleprof::launch {

using control::RunningProfile;

namespace {

// A sleep that the end of the program interrupts.
class Pause {
 public:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_all();
  }
  // False: the program has ended.
  bool wait_until(std::chrono::steady_clock::time_point when) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_until(lock, when, [this] { return is_over_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
};

Status take_windows(RunningProfile& profile, const Windows& windows, Pause& pause) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto next = now() + windows.every;
  while (pause.wait_until(next)) {
    if (!profile.is_running()) return std::nullopt;
    if (Status failure = profile.periodic_snapshot(windows.most)) {
      return profile.is_running() ? failure : std::nullopt;
    }
    next += windows.every;
    // What was missed, while we were stopped or a snapshot took long, is not made up for: snapshots
    // of one moment would replace those of others.
    if (next < now()) next = now() + windows.every;
  }
  return std::nullopt;
}

// The profile that process `pid` of this run is writing.
std::optional<RunningProfile> find_profile(const std::string& out, std::uint64_t since_ns,
                                           pid_t pid) {
  for (const std::string& file : profiles_of_run(out, since_ns, OfRun::kLive)) {
    auto profile = RunningProfile::open(file);
    if (profile && profile->pid() == pid) return std::move(*profile);
  }
  return std::nullopt;
}

}  // namespace

Status take_windows(RunningProfile& profile, const Windows& windows) {
  Pause pause;
  return take_windows(profile, windows, pause);
}

ProgramRun run_with_windows(const std::function<int()>& become_program, const std::string& out,
                            std::uint64_t since_ns, const Windows& windows) {
  constexpr std::chrono::milliseconds kLookAgain(50);
  Pause pause;
  std::thread taker;
  const ProgramRun run = run_program(become_program, [&](pid_t pid) {
    taker = std::thread([&, pid] {
      // A program that replaces itself by exec continues in another file.
      do {
        auto profile = find_profile(out, since_ns, pid);
        if (!profile) continue;
        if (const Status failure = take_windows(*profile, windows, pause)) {
          say("--window: " + failure->line());
          return;
        }
      } while (pause.wait_until(std::chrono::steady_clock::now() + kLookAgain));
    });
  });
  pause.end();
  if (taker.joinable()) taker.join();
  return run;
}

}  // namespace fbleprof::launch
