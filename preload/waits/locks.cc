// Locks, conditions and semaphores. Locks try first: a free lock costs one more call, and no clock
// is read.
//
// A try takes a lock whenever the call itself would take the lock without waiting. It fails with
// EBUSY whenever the call would wait, or would fail because the thread has the lock already. That
// holds for libc's functions. A preloaded library's lock is called each time, as it may do more. So
// is the lock of a robust mutex: in one that is not recoverable, a try that fails leaves the caller
// as the owner (glibc 2.36), and the next lock waits for ever.
#include <pthread.h>
#include <threads.h>

#include "waking.h"

using namespace fbleprof::preload;

namespace {

using Try = int(Word);

const void* object_of(Word word) { return reinterpret_cast<const void*>(word); }

constexpr int kRobust = 16;  // in the kind of a mutex: glibc's PTHREAD_MUTEX_ROBUST_NORMAL_NP
bool may_try_mutex(Word mutex) {
  const int& kind = reinterpret_cast<const pthread_mutex_t*>(mutex)->__data.__kind;
  return (__atomic_load_n(&kind, __ATOMIC_RELAXED) & kRobust) == 0;
}
bool may_try(Word) { return true; }

// Not inlined: the way of a free lock stays short.
[[gnu::noinline]] Word wait_aside(Next& call, std::uint64_t caller, WaitKind kind, Word object,
                                  Word a, Word b, Word c, Word d) {
  return wait_for(call, caller, kind, object_of(object), a, b, c, d);
}

}  // namespace

#define FBLEPROF_LOCK(name, try_name, busy, may_try)                                          \
  FBLEPROF_WRAPPER(Word, name, Word lock, Word b, Word c) {                                   \
    auto* attempt = next::try_name.as_found<Try>();                                           \
    if (attempt != nullptr && next::name.is_libcs() && next::try_name.is_libcs() &&           \
        may_try(lock)) {                                                                      \
      const int result = attempt(lock);                                                       \
      if (result != (busy)) return result;                                                    \
    }                                                                                         \
    return wait_aside(next::name, FBLEPROF_CALLER, WaitKind::kForOther, lock, lock, b, c, 0); \
  }

FBLEPROF_LOCK(pthread_mutex_lock, pthread_mutex_trylock, EBUSY, may_try_mutex)
FBLEPROF_LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, EBUSY, may_try_mutex)
FBLEPROF_LOCK(mtx_lock, mtx_trylock, thrd_busy, may_try)
FBLEPROF_LOCK(mtx_timedlock, mtx_trylock, thrd_busy, may_try)
FBLEPROF_LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, EBUSY, may_try)
FBLEPROF_LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, EBUSY, may_try)

// These refuse a wrong clock or time even if the lock is free, so a try would answer otherwise.
#define FBLEPROF_CHECKED_LOCK(name)                                                           \
  FBLEPROF_WRAPPER(Word, name, Word lock, Word b, Word c) {                                   \
    return wait_aside(next::name, FBLEPROF_CALLER, WaitKind::kForOther, lock, lock, b, c, 0); \
  }
FBLEPROF_CHECKED_LOCK(pthread_mutex_clocklock)
FBLEPROF_CHECKED_LOCK(pthread_rwlock_timedrdlock)
FBLEPROF_CHECKED_LOCK(pthread_rwlock_clockrdlock)
FBLEPROF_CHECKED_LOCK(pthread_rwlock_timedwrlock)
FBLEPROF_CHECKED_LOCK(pthread_rwlock_clockwrlock)

// A thread reports before it releases an object that others want.
#define FBLEPROF_LET_GO(name)                                  \
  FBLEPROF_WRAPPER(Word, name, Word object) {                  \
    let_go_if_wanted(FBLEPROF_CALLER, object_of(object));      \
    auto* function = next::name.as<Word(Word)>();              \
    return function != nullptr ? function(object) : missing(); \
  }

FBLEPROF_LET_GO(pthread_mutex_unlock)
FBLEPROF_LET_GO(mtx_unlock)
FBLEPROF_LET_GO(pthread_rwlock_unlock)
FBLEPROF_LET_GO(pthread_cond_signal)
FBLEPROF_LET_GO(pthread_cond_broadcast)
FBLEPROF_LET_GO(cnd_signal)
FBLEPROF_LET_GO(cnd_broadcast)
FBLEPROF_LET_GO(sem_post)

#define FBLEPROF_SEMAPHORE(name)                                                                 \
  FBLEPROF_WRAPPER(Word, name, Word semaphore, Word b, Word c) {                                 \
    return wait_aside(next::name, FBLEPROF_CALLER, WaitKind::kForPeers, semaphore, semaphore, b, \
                      c, 0);                                                                     \
  }
FBLEPROF_SEMAPHORE(sem_wait)
FBLEPROF_SEMAPHORE(sem_timedwait)
FBLEPROF_SEMAPHORE(sem_clockwait)

// Waiting for a condition releases its lock.
#define FBLEPROF_CONDITION(name)                                                              \
  FBLEPROF_WRAPPER(Word, name, Word condition, Word lock, Word c, Word d) {                   \
    let_go_if_wanted(FBLEPROF_CALLER, object_of(lock));                                       \
    return wait_aside(next::name, FBLEPROF_CALLER, WaitKind::kForPeers, condition, condition, \
                      lock, c, d);                                                            \
  }
FBLEPROF_CONDITION(pthread_cond_wait)
FBLEPROF_CONDITION(pthread_cond_timedwait)
FBLEPROF_CONDITION(pthread_cond_clockwait)
FBLEPROF_CONDITION(cnd_wait)
FBLEPROF_CONDITION(cnd_timedwait)

// Each thread may be the last one that the others wait for.
FBLEPROF_WRAPPER(Word, pthread_barrier_wait, Word barrier) {
  let_go_if_wanted(FBLEPROF_CALLER, object_of(barrier));
  return wait_aside(next::pthread_barrier_wait, FBLEPROF_CALLER, WaitKind::kForPeers, barrier,
                    barrier, 0, 0, 0);
}
