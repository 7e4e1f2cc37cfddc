// The profile of a program that runs, mapped from outside.
//
// The file is the recorder's memory. Snapshots are taken from here, in the file, while the program
// goes on: it is not stopped, gets no signal and does no work for it. Recording is turned on and
// off by a request in the header, which the recorder takes at its next sample or hook.
//
// The file is its owner's alone (mode 0600), and so is the right to all this.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/format.h"
#include "signal_safe/arena.h"

namespace fbleprof::control {

struct KeptSnapshot {
  std::string name;
  format::SnapshotReason reason;
  std::uint64_t time_ns;  // since the start of the profile
};

// What became of a request to start or to stop.
enum class Answer {
  kDone,     // recording is now as was asked
  kAlready,  // it was before
  kPending,  // the program has not run since: it obeys when it runs next
  kRefused,  // the same, and nothing could make it look: it obeys at the next call of hooked code
};

class RunningProfile {
 public:
  // Fails, with one line, unless it is the profile of a program that runs.
  static Result<RunningProfile> open(const std::string& path);
  RunningProfile(RunningProfile&& from) noexcept;
  ~RunningProfile();
  RunningProfile(const RunningProfile&) = delete;
  RunningProfile& operator=(const RunningProfile&) = delete;

  const format::Header& header() const { return *arena_.header(); }
  // 0: it runs in a namespace that cannot be seen from here.
  pid_t pid() const { return pid_; }
  bool is_running() const;
  std::uint64_t elapsed_ns() const;  // since the start of the profile
  std::string text(format::Ref string) const;
  std::vector<KeptSnapshot> snapshots() const;  // the oldest first

  // Each fails if the program has ended, or if there is no space left in the file.
  Status snapshot(const std::string& name);
  Status reset();
  // Keeps the newest `most` of these.
  Status periodic_snapshot(std::uint32_t most);

  // Asks the program, and waits for it, at most so long.
  Result<Answer> set_recording(bool on, std::chrono::milliseconds patience);

 private:
  RunningProfile(std::string path, int fd, char* base, std::uint64_t bytes);
  Status take(bool (*taker)(signal_safe::Arena&, const RunningProfile&, const void*),
              const void* argument);
  bool wait_for(bool on, std::chrono::milliseconds patience) const;
  Error ended() const;

  std::string path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
  pid_t pid_ = 0;
  // A copy of it is what snapshots are taken with: it remembers nothing but where the file is.
  signal_safe::Arena arena_;
};

}  // namespace fbleprof::control
