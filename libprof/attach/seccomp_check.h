// Whether a program that has confined itself (seccomp) would survive that somebody attaches.
#pragma once

#include <sys/types.h>

#include "attach/seccomp_calls.h"
#include "base/result.h"

namespace fbleprof::attach {

// What becomes of a process with filters.
enum class Filtered {
  kChecked,   // it is refused if one of its filters forbids what we or the recorder do
  kAccepted,  // the user takes the risk
};

// The error says what forbids it. Asking stops threads that have filters for a moment each, and
// makes no call in them. Filters that the kernel does not show are taken for those of the container
// around both of us, if this process has as many.
Status check_seccomp(pid_t pid, Recording recording, Filtered filtered);

}  // namespace fbleprof::attach
