#include "transform/as_shown.h"

#include "transform/idle.h"
#include "transform/peak.h"
#include "transform/window.h"

namespace fbleprof::transform {

profile::Profile as_shown(const profile::Profile& profile) {
  return with_idle_apart(since_reset(with_peak(profile)));
}

}  // namespace fbleprof::transform
