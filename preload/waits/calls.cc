// The calls that are wrapped without change.
#include "waking.h"

using namespace fbleprof::preload;

#define FBLEPROF_WRAP(name, how, ...)                                            \
  FBLEPROF_WRAPPER(Word, name, Word a, Word b, Word c, Word d, Word e, Word f) { \
    return how(next::name, FBLEPROF_CALLER, __VA_ARGS__ a, b, c, d, e, f);       \
  }
#define WAITED(name) FBLEPROF_WRAP(name, waited, )
#define EVENTS(name) FBLEPROF_WRAP(name, waited<WaitKind::kForEvents>, )
#define PEERS(name) FBLEPROF_WRAP(name, waited<WaitKind::kForPeers>, )
#define RECEIVED(name) FBLEPROF_WRAP(name, received, WaitKind::kForPeers, nullptr, )
#define READ(name) FBLEPROF_WRAP(name, received, WaitKind::kForOther, nullptr, )
#define SENT(name) FBLEPROF_WRAP(name, sent, )
#define EXPORTED(name)
#define VARIADIC(name, listed)
#define CALLED(name)
#define INTERPOSED(name)
#include "calls.def"
