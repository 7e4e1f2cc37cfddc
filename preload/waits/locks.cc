// Locks try first: a lock that is free costs a call more, and no clock is read.
//
// A try takes a lock whenever the call itself would have taken it without waiting, and fails with
// EBUSY wherever that would wait or fail because the thread has the lock already.
#include <errno.h>
#include <threads.h>

#include "waiting.h"

using namespace fbleprof::preload;

namespace {

using Try = int(Word);

[[gnu::noinline]] Word wait_for_lock(Next& lock, std::uint64_t caller, Word a, Word b, Word c) {
  return waited(lock, caller, a, b, c);
}

}  // namespace

#define FBLEPROF_LOCK(name, try_name, busy)                        \
  FBLEPROF_WRAPPER(Word, name, Word lock, Word b, Word c) {        \
    if (auto* attempt = next::try_name.as<Try>()) {                \
      const int result = attempt(lock);                            \
      if (result != (busy)) return result;                         \
    }                                                              \
    return wait_for_lock(next::name, FBLEPROF_CALLER, lock, b, c); \
  }

FBLEPROF_LOCK(pthread_mutex_lock, pthread_mutex_trylock, EBUSY)
FBLEPROF_LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, EBUSY)
FBLEPROF_LOCK(pthread_mutex_clocklock, pthread_mutex_trylock, EBUSY)
FBLEPROF_LOCK(mtx_lock, mtx_trylock, thrd_busy)
FBLEPROF_LOCK(mtx_timedlock, mtx_trylock, thrd_busy)
FBLEPROF_LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, EBUSY)
FBLEPROF_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, EBUSY)
FBLEPROF_LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, EBUSY)
FBLEPROF_LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, EBUSY)
FBLEPROF_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, EBUSY)
FBLEPROF_LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, EBUSY)
