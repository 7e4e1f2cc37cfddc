// The profile of a running program, mapped from outside.
//
// The file is the recorder's memory. Snapshots are taken from here, in the file, while the program
// continues: it is not stopped, gets no signal and does no work. A request in the header turns
// recording on and off; the recorder takes the request at its next sample or hook.
//
// The file belongs to its owner alone (mode 0600), and so does the right to control it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
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

// The result of a request to start or to stop.
enum class Answer {
  kDone,      // recording is now as requested
  kAlready,   // recording was already as requested
  kPending,   // the program has not run since; it obeys when it next runs
  kRefused,   // the same, but nothing could make it look: it obeys at its next hook
  kDetached,  // the same, and it has no handler: it obeys at the next attach
};

// Whether the process that writes, or wrote, a profile with this header has ended; no if it cannot
// be seen from here.
bool has_ended(const format::Header& header);

// The process that writes a profile with this header; 0 if it cannot be seen from here.
pid_t process_of(const format::Header& header);

// Whether it is this process that writes, or wrote, a profile with this header.
bool is_writer(pid_t pid, const format::Header& header);

class RunningProfile {
 public:
  // Fails, with one line, unless the file is the profile of a running program.
  static Result<RunningProfile> open(const std::string& path);
  // Its header alone: quick, because nobody looks whether the records are sound.
  static Result<format::Header> header_of(const std::string& path);
  // The header of any profile, also if its program has ended, or calls exec.
  static Result<format::Header> any_header_of(const std::string& path);
  RunningProfile(RunningProfile&& from) noexcept;
  ~RunningProfile();
  RunningProfile(const RunningProfile&) = delete;
  RunningProfile& operator=(const RunningProfile&) = delete;

  const format::Header& header() const { return *arena_.header(); }
  // 0 if the process runs in a namespace that is not visible from here.
  pid_t pid() const { return pid_; }
  bool is_running() const;
  std::uint64_t elapsed_ns() const;  // since the start of the profile
  std::string text(format::Ref string) const;
  std::vector<KeptSnapshot> snapshots() const;  // oldest first

  // Each of these fails if the program has ended, or if the file has no space left.
  Status snapshot(const std::string& name);
  Status reset();
  // Keeps the newest `most` periodic snapshots.
  Status periodic_snapshot(std::uint32_t most);

  // Sends the request, and waits at most this long for the program to obey.
  Result<Answer> set_recording(bool on, std::chrono::milliseconds patience);

  // Runs `work`, which takes away the handler of the recorder's signal, while nobody else makes the
  // program look for a request: that signal would end it. `work` must not use this profile.
  void without_signals(const std::function<void()>& work);

 private:
  RunningProfile(std::string path, int fd, char* base, std::uint64_t bytes);
  Status take(bool (*taker)(signal_safe::Arena&, const RunningProfile&, const void*),
              const void* argument);
  bool wait_for(bool on, std::chrono::milliseconds patience) const;
  Error ended() const;
  Error unsound() const;
  // Whether nothing in the file leads the recorder's code out of it.
  bool has_sound_records() const;

  std::string path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
  pid_t pid_ = 0;
  // Snapshots use a copy of it: it remembers only where the file is.
  signal_safe::Arena arena_;
};

}  // namespace fbleprof::control
