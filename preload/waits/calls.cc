// The calls that are wrapped without change.
#include "waiting.h"

namespace fbleprof::preload {
namespace {

[[gnu::always_inline]] inline Word received(Next& callee, std::uint64_t caller, Word a, Word b,
                                            Word c, Word d, Word e, Word f) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  Waiting waiting(callee, caller, WaitKind::kForPeers);
  const Word result = function(a, b, c, d, e, f);
  waiting.has_read(result);
  return result;
}

[[gnu::always_inline]] inline Word sent(Next& callee, std::uint64_t caller, Word a, Word b, Word c,
                                        Word d, Word e, Word f) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  Waiting waiting(callee, caller);
  const Word result = function(a, b, c, d, e, f);
  waiting.has_written(result);
  return result;
}

}  // namespace
}  // namespace fbleprof::preload

using namespace fbleprof::preload;

#define FBLEPROF_WRAP(how, name)                                                 \
  FBLEPROF_WRAPPER(Word, name, Word a, Word b, Word c, Word d, Word e, Word f) { \
    return how(next::name, FBLEPROF_CALLER, a, b, c, d, e, f);                   \
  }
#define WAITED(name) FBLEPROF_WRAP(waited, name)
#define EVENTS(name) FBLEPROF_WRAP(waited<WaitKind::kForEvents>, name)
#define PEERS(name) FBLEPROF_WRAP(waited<WaitKind::kForPeers>, name)
#define RECEIVED(name) FBLEPROF_WRAP(received, name)
#define SENT(name) FBLEPROF_WRAP(sent, name)
#define EXPORTED(name)
#define VARIADIC(name, listed)
#define CALLED(name)
#define INTERPOSED(name)
#include "calls.def"
