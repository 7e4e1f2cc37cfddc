// Records who ended a wait of other threads: who released a lock, who signalled a condition,
// who wrote to a pipe.
//
// A thread that waits for an object raises a count under the object's address. A thread that is
// about to release a wanted object notes its own context under that address. The thread that waited
// then charges its wait to that context, too, as time that others waited for it. An object that no
// thread wants costs one load.
//
// Objects whose addresses hash to the same place share counts and notes, so either can be another
// object's. A note is used if its object and time match.
//
// Any thread; no lock, bounded.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

struct Session;

inline constexpr std::uint32_t kWantedPlaces = 2048;

// The place that waiting and releasing threads share.
inline std::uint32_t wanted_place(const void* object) {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  return static_cast<std::uint32_t>((address >> 3 ^ address >> 14) % kWantedPlaces);
}

struct Waker {
  std::atomic<const void*> object{nullptr};
  std::atomic<format::Ref> node{0};          // the releasing context
  std::atomic<std::uint64_t> at_ns{0};       // the monotonic clock
  std::atomic<std::uint64_t> profile_ns{0};  // start of the profile that the node belongs to
};

struct Wakers {
  Waker places[kWantedPlaces];
};

// Notes that a context is about to release `object`.
void note_waker(Session& session, const void* object, format::Ref node);

// Charges a wait for `object`, from `since_ns` to the present, to the context that released it.
// Returns that context, a node of any thread's tree; 0 if it is not known.
format::Ref charge_waker(Session& session, const void* object, bool is_lock, std::uint64_t since_ns,
                         std::uint64_t ns);

}  // namespace fbleprof::signal_safe
