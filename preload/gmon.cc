// glibc's own profiler, which programs linked with -pg start. It would arm SIGPROF and write
// gmon.out. We provide its hooks; these functions disable the rest.
#include "interposed.h"

FBLEPROF_INTERPOSE void __monstartup(unsigned long, unsigned long) {}
FBLEPROF_INTERPOSE void monstartup(unsigned long, unsigned long) {}
FBLEPROF_INTERPOSE void _mcleanup(void) {}
FBLEPROF_INTERPOSE void moncontrol(int) {}
