// Turns recording on and off while the program runs: by the C API, by a request in the file's
// header (`fble-prof ctl`), by a signal, and after a delay or duration (FBLEPROF_DELAY, _DURATION).
//
// No thread waits for a request. The next code of ours that runs takes it: a sample, a hook while
// recording is off, or the handler of a signal that `fble-prof ctl` makes the kernel send when a
// thread runs in user mode. So no sleeping call is interrupted, and while recording is off none of
// our code runs.
#pragma once

#include "capture/options.h"

namespace fbleprof::capture {

// At the start of the process: begins to record, or waits until it is time to begin.
void begin_recording(const Settings& settings);
// In a forked child, which has no timers of its parent's threads: continues to wait for that time.
void go_on_watching();

// Whether the user chose this signal for us (FBLEPROF_CONTROL_SIGNAL): each one turns recording on
// or off.
bool is_control_signal(int number);

// Each returns at once if recording is in that state already, and waits while another thread
// changes it. Not from signal handlers.
void start_recording();
void stop_recording();

// Calls function() while recording is off, and nobody changes that. False: recording is on, or is
// being changed, or the function returned false. Async-signal-safe.
bool do_while_stopped(bool (*function)());

// In a forked child, in which no other thread changes it.
void forget_changes_under_way();

}  // namespace fbleprof::capture
