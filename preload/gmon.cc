// glibc's own profiler, which programs linked with -pg start: it would arm SIGPROF and write
// gmon.out. Its hooks are ours now; the rest is silenced.
#include "interposed.h"

FBLEPROF_INTERPOSE void __monstartup(unsigned long, unsigned long) {}
FBLEPROF_INTERPOSE void monstartup(unsigned long, unsigned long) {}
FBLEPROF_INTERPOSE void _mcleanup(void) {}
FBLEPROF_INTERPOSE void moncontrol(int) {}
