// Keeps the profile right when exec replaces one program by another.
#pragma once

namespace fbleprof::capture {

// Lives around exec. If exec returns, it failed, and the profile continues.
class Exec {
 public:
  Exec();
  ~Exec();
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;

 private:
  bool is_own_;       // not a vfork child in this process's memory
  bool is_profiled_;  // a forked child may lack a profile
  bool is_finding_held_ = false;
};

}  // namespace fbleprof::capture
