// The C API's functions that are not hot paths: see fbleprof/fbleprof.h for their contracts.
#pragma once

#define FBLEPROF_BUILDING_LIBRARY
#include "fbleprof/fbleprof.h"

#define FBLEPROF_EXPORT extern "C" __attribute__((visibility("default")))

// Defined in libprof/arch: the two that must be fast.
extern "C" void fbleprof_enter(fbleprof_block block);
extern "C" void fbleprof_leave(fbleprof_block block);

FBLEPROF_EXPORT fbleprof_block fbleprof_block_new(const char* name, const char* file, int line);
FBLEPROF_EXPORT void fbleprof_replace(fbleprof_block block);
FBLEPROF_EXPORT void fbleprof_tick(uint64_t count);
FBLEPROF_EXPORT void fbleprof_start(void);
FBLEPROF_EXPORT void fbleprof_stop(void);
FBLEPROF_EXPORT void fbleprof_flush(void);
FBLEPROF_EXPORT int fbleprof_is_enabled(void);
FBLEPROF_EXPORT fbleprof_context* fbleprof_context_new(size_t most_entries);
FBLEPROF_EXPORT fbleprof_context* fbleprof_context_switch(fbleprof_context* to);
FBLEPROF_EXPORT void fbleprof_context_free(fbleprof_context* context);
FBLEPROF_EXPORT int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument);
