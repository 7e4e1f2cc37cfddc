// What a metric measures, independent of its name: readers ask for roles, not for names.
#pragma once

#include <cstdint>

namespace fbleprof::format {

enum class Role : std::uint16_t {
  kAmount = 0,        // any quantity that adds up: bytes read, bytes allocated
  kCpuTime = 1,       // time on a processor
  kWallTime = 2,      // elapsed time
  kWaitTime = 3,      // time blocked in a known call
  kUnseenTime = 4,    // time neither on a processor nor in a known call
  kCalls = 5,         // how often a function was entered, exact
  kSamples = 6,       // how often a sample was charged
  kOwnCost = 7,       // time that the profiler itself took
  kVirtualTime = 8,   // ticks: the clock of deterministic profiles
  kEvent = 9,         // how often something happened: faults, switches, allocations
  kLevel = 10,        // a quantity at one moment: live bytes
  kWaits = 11,        // how often a thread waited in a known call
  kLongestWait = 12,  // the longest of these waits
  kWaitClass = 13,    // how many of these waits fall into one class of length; see waits.h
  kEventWait = 14,    // waits of the kind WaitKind::kForEvents
  kPeerWait = 15,     // waits of the kind WaitKind::kForPeers
  kCausedWait = 16,   // time that others waited because of this context
  kReadyTime = 17,    // the part of kUnseenTime in which the thread was ready to run
};

}  // namespace fbleprof::format
