// Threads that libc starts by itself to call a function of the program: for a timer
// (SIGEV_THREAD), or for a message in a queue. No hook tells of them if the program has none.
#include <link.h>
#include <mqueue.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <new>

#include "capture/loader_symbols.h"
#include "capture/own_memory.h"
#include "capture/profile.h"
#include "interposed.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"

namespace {
namespace original = fbleprof::preload::original;
namespace capture = fbleprof::capture;

// What the program wants to have called. It is kept for good, because libc may still call it when
// the timer has been deleted, but only once for all timers that have the same.
struct Wanted {
  void (*function)(sigval);
  sigval value;
  Wanted* older;
};

constexpr std::size_t kBuckets = 128;
std::atomic<Wanted*> buckets[kBuckets];

struct Chunk {
  static constexpr std::size_t kItems = (capture::kPageBytes - 16) / sizeof(Wanted);
  std::atomic<std::size_t> used;
  Wanted items[kItems];
};
static_assert(sizeof(Chunk) <= capture::kPageBytes);
std::atomic<Chunk*> newest_chunk{nullptr};

Wanted* make_wanted() {
  for (;;) {
    Chunk* chunk = newest_chunk.load(std::memory_order_acquire);
    if (chunk) {
      const std::size_t n = chunk->used.fetch_add(1, std::memory_order_relaxed);
      if (n < Chunk::kItems) return &chunk->items[n];
    }
    void* memory = capture::take_memory(sizeof(Chunk), capture::InChild::kCopied);
    if (!memory) return nullptr;
    newest_chunk.compare_exchange_strong(chunk, new (memory) Chunk, std::memory_order_acq_rel);
  }
}

Wanted* find(Wanted* newest, const sigevent& event) {
  for (Wanted* one = newest; one; one = one->older) {
    if (one->function == event.sigev_notify_function &&
        one->value.sival_ptr == event.sigev_value.sival_ptr) {
      return one;
    }
  }
  return nullptr;
}

Wanted* wanted_of(const sigevent& event) {
  const auto value = reinterpret_cast<std::uint64_t>(event.sigev_value.sival_ptr);
  std::atomic<Wanted*>& bucket = buckets[(value >> 4 ^ value) % kBuckets];
  Wanted* newest = bucket.load(std::memory_order_acquire);
  if (Wanted* known = find(newest, event)) return known;
  Wanted* made = make_wanted();
  if (!made) return nullptr;
  made->function = event.sigev_notify_function;
  made->value = event.sigev_value;
  do made->older = newest;
  while (!bucket.compare_exchange_weak(newest, made, std::memory_order_acq_rel));
  return made;
}

void call_wanted(sigval value) {
  const Wanted wanted = *static_cast<const Wanted*>(value.sival_ptr);
  auto* attach = fbleprof::signal_safe::session.attach_thread;
  if (!fbleprof_hot.self && attach) attach();
  wanted.function(wanted.value);
}

// A library of the program may have a function of its own with such a name, and other arguments.
bool is_libcs(const char* name) {
  const capture::Definition definition = capture::next_definition_of_libc(name, _DYNAMIC);
  return definition.next == definition.of_libc;
}

// Makes an event with our function for the program's. False: there is nothing to change.
bool sampled(const char* name, long given, sigevent* changed) {
  const auto* event = reinterpret_cast<const sigevent*>(given);
  if (!event || !is_libcs(name) || event->sigev_notify != SIGEV_THREAD ||
      !capture::takes_threads()) {
    return false;
  }
  Wanted* wanted = wanted_of(*event);
  if (!wanted) return false;
  *changed = *event;
  changed->sigev_notify_function = call_wanted;
  changed->sigev_value.sival_ptr = wanted;
  return true;
}
}  // namespace

using fbleprof::preload::Words;
extern "C" {
FBLEPROF_AMONG_INTERPOSED Words timer_create_of_words __asm__("timer_create");
FBLEPROF_AMONG_INTERPOSED Words mq_notify_of_words __asm__("mq_notify");
}

long timer_create_of_words(long clock, long event, long timer, long d, long e, long f) {
  sigevent ours;
  if (sampled("timer_create", event, &ours)) event = reinterpret_cast<long>(&ours);
  return original::timer_create(clock, event, timer, d, e, f);
}

long mq_notify_of_words(long queue, long event, long c, long d, long e, long f) {
  sigevent ours;
  if (sampled("mq_notify", event, &ours)) event = reinterpret_cast<long>(&ours);
  return original::mq_notify(queue, event, c, d, e, f);
}
