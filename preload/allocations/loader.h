// The loader's functions, with the names that every libc since glibc 2.2.5 has: in libdl before
// 2.34, so libdl is linked; in libc since then. dladdr1 came with 2.3.3. Not in signal handlers.
#pragma once

#include <dlfcn.h>

namespace fbleprof::preload {

#define FBLEPROF_OLD_NAME(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
FBLEPROF_OLD_NAME(dladdr);
FBLEPROF_OLD_NAME(dlopen);
FBLEPROF_OLD_NAME(dlsym);
FBLEPROF_OLD_NAME(dlvsym);
#undef FBLEPROF_OLD_NAME
__asm__(".symver dladdr1,dladdr1@GLIBC_2.3.3");

}  // namespace fbleprof::preload
