// The words that the recording of waits adds to a node's row of values. They come last, so their
// place depends on what else is recorded: word `w` of these is at Options::wait_words + w.
#pragma once

#include <cstdint>

#include "format/waits.h"

namespace fbleprof::signal_safe {

enum WaitWord : std::uint32_t {
  kWaitNs = 0,     // off the processor in a known call
  kWaits,          // how often; gathered short waits count as one
  kLongestWaitNs,  // the longest of them
  kUnseenNs,       // off the processor, but in no known call: elapsed time - CPU time - waits
  kEventWaitNs,    // the waits of kind WaitKind::kForEvents
  kPeerWaitNs,     // the waits of kind kForPeers
  kHeldNs,         // waits of other threads for a lock released here, and how often;
  kHolds,          // these four are added atomically, by the threads that waited
  kWokeNs,         // the same, for conditions and semaphores
  kWakes,
  kBytesRead,  // by the calls that may block
  kBytesWritten,
  kVoluntarySwitches,    // the thread gave up its processor, as in a wait,
  kInvoluntarySwitches,  // or had to
  kPreemptedNs,          // ready to run, but without a processor
  kWaitClass,
  kWaitWords = kWaitClass + format::kWaitClasses
};

}  // namespace fbleprof::signal_safe
