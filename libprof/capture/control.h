// Turning recording on and off while the program runs: by the C API, by a request in the file's
// header (`fble-prof ctl`), by a signal, and when a time has come (FBLEPROF_DELAY, _DURATION).
//
// Nobody waits for a request. Whoever passes takes it: a sample, a hook while recording is off, and
// a signal that `fble-prof ctl` makes the kernel send when a thread runs in user mode. So no
// sleeping call is interrupted, and while recording is off nothing of ours runs.
#pragma once

#include "capture/options.h"

namespace fbleprof::capture {

// At the start of the process: begins to record, or waits for the moment to begin.
void begin_recording(const Settings& settings);
// In a forked child, whose threads' timers are its own: goes on waiting for such a moment.
void go_on_watching();

// Whether the program was started with this signal for us (FBLEPROF_CONTROL_SIGNAL): each one turns
// recording on or off.
bool is_control_signal(int number);

// Each returns at once if that is the state already. They wait while another thread changes it. Not
// from signal handlers.
void start_recording();
void stop_recording();

}  // namespace fbleprof::capture
