// exec in a program to which `fble-prof attach` attached: no function is interposed there, so the
// places where libc makes these system calls are made to lead to us (arch/exec_site.h), as long as
// fble-prof is attached. Without that, a sampling signal that is pending would end the next
// program.
#pragma once

namespace fbleprof::capture {

// Lists these places for fble-prof, which changes them. Once; says why if that is not possible.
void watch_execs();

}  // namespace fbleprof::capture
