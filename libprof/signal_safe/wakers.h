// Who let go of what others wait for: who held a lock, who signalled a condition.
//
// A thread that waits for an object raises a count by the object's address. Who lets go of an
// object that is wanted notes its own context under the address, before it lets go. The thread that
// waited then charges its wait to that context, too, as time that others waited for it. An object
// that nobody wants costs one load.
//
// Counts and notes are shared by objects whose addresses hash to the same place, so either can be
// another object's. A note is used if its object and time are right.
//
// Any thread; no lock, bounded.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

struct Session;

inline constexpr std::uint32_t kWantedPlaces = 2048;

// How waiting and letting go find each other.
inline std::uint32_t wanted_place(const void* object) {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  return static_cast<std::uint32_t>((address >> 3 ^ address >> 14) % kWantedPlaces);
}

struct Waker {
  std::atomic<const void*> object{nullptr};
  std::atomic<format::Ref> row{0};           // of values, of the context that let go
  std::atomic<std::uint64_t> at_ns{0};       // the monotonic clock
  std::atomic<std::uint64_t> profile_ns{0};  // when the profile began that the row is of
};

struct Wakers {
  Waker places[kWantedPlaces];
};

// Notes that a context lets go of `object` now.
void note_waker(Session& session, const void* object, format::Ref row);

// Charges a wait for `object`, from `since_ns` on, to who let go of it, if that is known.
void charge_waker(Session& session, const void* object, bool is_lock, std::uint64_t since_ns,
                  std::uint64_t ns);

}  // namespace fbleprof::signal_safe
