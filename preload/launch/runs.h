// fble-prof --exact --runs 2: the program runs twice, first sampled, then counted. Counting slows
// small functions down more than others; the sampled run knows how long each takes. Its profile
// goes into the counted run's file (format/plain_run.h), and the report takes the times from there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fbleprof::launch {

struct TwoRuns {
  std::function<int()> become_program;  // returns only by failing
  std::string out;                      // the profile's name as a template for the recorder
  std::uint64_t since_ns = 0;           // start of both runs, since 1970
  bool names = false;                   // put names into the profiles, too
};

// Returns the exit status: the counted run's. If a signal ended a run, it ends this program too,
// and no other run follows.
int run_twice(const TwoRuns& runs);

}  // namespace fbleprof::launch
