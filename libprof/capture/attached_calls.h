// System calls in a program to which `fble-prof attach` attached: no function is interposed there,
// so the places where libc makes some of them are made to lead to us (arch/call_site.h), as long as
// fble-prof is attached.
//  - exec: a sampling signal that is pending would end the next program.
//  - rt_sigaction: if the program set the default action for the sampling signal, the next sample
//    would end it.
//  - clone: nothing else announces new threads.
#pragma once

namespace fbleprof::capture {

// Lists these places for fble-prof, which changes them, and makes sure that the kernel has our
// handler. Says once what is not possible.
void watch_calls();
// Before fble-prof gives libc its own code back: gives the kernel the program's own action for the
// sampling signal. Recording must be off. False: another thread is still stopping it, or looking
// for threads; try again.
bool unwatch_calls();

}  // namespace fbleprof::capture
