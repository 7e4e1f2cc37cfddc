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
  std::string out;                      // the name of the profile, as the recorder expands it
  std::uint64_t since_ns = 0;           // when this began, since 1970
  bool names = false;                   // put names into the profile, too
};

// Returns the status to exit with: the counted run's. A run that a signal ended ends this program,
// too, and no other follows.
int run_twice(const TwoRuns& runs);

}  // namespace fbleprof::launch
