#include "signal_safe/wakers.h"

#include "signal_safe/session.h"
#include "signal_safe/wait_calls.h"
#include "signal_safe/wait_words.h"

static_assert(FBLEPROF_WANTED_PLACES == fbleprof::signal_safe::kWantedPlaces);

std::uint16_t fbleprof_wanted[FBLEPROF_WANTED_PLACES];

namespace fbleprof::signal_safe {

namespace {

// A note of longer ago ended the wait of another thread: this one timed out, or something woke it
// that is not known here (a descriptor that another process writes to).
constexpr std::uint64_t kLongestWakingNs = 100'000'000;

bool is_of_this_wait(std::uint64_t at_ns, std::uint64_t since_ns, std::uint64_t now_ns) {
  return at_ns >= since_ns && now_ns <= at_ns + kLongestWakingNs;
}

}  // namespace

void note_waker(Session& session, const void* object, format::Ref node) {
  Waker& waker = session.wakers.places[wanted_place(object)];
  // Clear the object first: no reader mixes the nodes of two notes.
  waker.object.store(nullptr, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  waker.node.store(node, std::memory_order_relaxed);
  waker.at_ns.store(session.clocks.wall_ns(), std::memory_order_relaxed);
  waker.profile_ns.store(session.start_monotonic_ns, std::memory_order_relaxed);
  waker.object.store(object, std::memory_order_release);
}

format::Ref charge_waker(Session& session, const void* object, bool is_lock, std::uint64_t since_ns,
                         std::uint64_t ns) {
  const Waker& waker = session.wakers.places[wanted_place(object)];
  if (waker.object.load(std::memory_order_acquire) != object) return 0;
  const format::Ref node = waker.node.load(std::memory_order_relaxed);
  // A forked child has the notes of its parent.
  const bool is_right =
      is_of_this_wait(waker.at_ns.load(std::memory_order_relaxed), since_ns,
                      session.clocks.wall_ns()) &&
      waker.profile_ns.load(std::memory_order_relaxed) == session.start_monotonic_ns;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!is_right || node == 0 || waker.object.load(std::memory_order_relaxed) != object) return 0;
  const format::Ref row = session.arena.at<format::Node>(node)->values;
  if (row == 0) return node;
  std::uint64_t* words = session.arena.at<std::uint64_t>(row) + session.options.wait_words;
  __atomic_fetch_add(&words[is_lock ? kHeldNs : kWokeNs], ns, __ATOMIC_RELAXED);
  __atomic_fetch_add(&words[is_lock ? kHolds : kWakes], 1, __ATOMIC_RELAXED);
  return node;
}

}  // namespace fbleprof::signal_safe
