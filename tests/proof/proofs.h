// The proofs that tests/proof/main.cc can run.
#pragma once

#include "tests/proof/scenario.h"

namespace fbleprof::proof {

// How much of a proof to run.
struct Bound {
  bool quick = false;   // a sample of it, in seconds
  unsigned stride = 1;  // every so many-th point
  unsigned runs = 1000;
  std::string only;  // scenario; empty: all

  bool wants(const std::string& scenario) const {
    const bool wanted = only.empty() || only == scenario;
    found_ |= wanted;
    return wanted;
  }
  // Whether a proof that ran has the scenario.
  bool found() const { return found_; }

 private:
  mutable bool found_ = false;
};

// Each prints what it found, one line per problem, and a summary; returns the number of problems.

// SIGKILL after each instruction that changes a file: the file reads, verifies, and has all calls.
int prove_crashes(const Setup& setup, const Bound& bound);
// SIGKILL at random moments of a program with threads and children.
int prove_kills(const Setup& setup, const Bound& bound);
// A signal at each instruction of the recorder's slow paths.
int prove_signals(const Setup& setup, const Bound& bound);
// Each system call of the recorder fails once with each error that it can give.
int prove_faults(const Setup& setup, const Bound& bound);

}  // namespace fbleprof::proof
