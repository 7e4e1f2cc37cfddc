// CPU time of a program to which `fble-prof attach` attached that no sample has charged: of threads
// that block the sampling signal, or of all if the program replaced its action by a system call of
// its own. It is not in the profile, or all in the context in which a thread ended. Nothing else
// would tell that.
#pragma once

namespace fbleprof::capture {

// Recording begins: the header's unrecorded_cpu_ns counts from here. One caller at a time.
void measure_unrecorded();
// Brings it up to date, before the rest of a thread's time is charged. Async-signal-safe. Does
// nothing before measure_unrecorded.
void note_unrecorded();
// In a forked child: the parent's clocks are not there.
void forget_unrecorded();

}  // namespace fbleprof::capture
