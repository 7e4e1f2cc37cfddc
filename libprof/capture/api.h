// The C API's functions that are not hot paths: see fbleprof/fbleprof.h for their contracts.
#pragma once

#define FBLEPROF_BUILDING_LIBRARY
#include "fbleprof/fbleprof.h"
#include "format/attach_order.h"
#include "format/recorder_order.h"
#include "format/text_changes.h"
#include "signal_safe/blocks.h"

#define FBLEPROF_EXPORT extern "C" __attribute__((visibility("default")))

FBLEPROF_EXPORT fbleprof_block fbleprof_block_new(const char* name, const char* file, int line);
FBLEPROF_EXPORT void fbleprof_start(void);
FBLEPROF_EXPORT void fbleprof_stop(void);
FBLEPROF_EXPORT void fbleprof_flush(void);
// Not in the public header: `fble-prof` calls these in a process that it traces. They return
// kNoSystemCall: if fble-prof is killed meanwhile, the thread makes a system call of that number.
inline constexpr long kNoSystemCall = -1;
FBLEPROF_EXPORT long fbleprof_obey(void);
// Also not in the public header: `fble-prof` reads the name of the file there.
FBLEPROF_EXPORT const char* const fbleprof_output_path;
// For `fble-prof attach`; see format/attach_order.h, recorder_order.h and text_changes.h.
FBLEPROF_EXPORT long fbleprof_start_attached(fbleprof::format::AttachOrder* order);
FBLEPROF_EXPORT long fbleprof_obey_order(fbleprof::format::RecorderOrder* order);
FBLEPROF_EXPORT const fbleprof::format::TextState* const fbleprof_text_state;
FBLEPROF_EXPORT int fbleprof_is_enabled(void);
FBLEPROF_EXPORT int fbleprof_snapshot(const char* name);
FBLEPROF_EXPORT int fbleprof_reset(void);
FBLEPROF_EXPORT fbleprof_context* fbleprof_context_new(size_t most_entries);
FBLEPROF_EXPORT fbleprof_context* fbleprof_context_switch(fbleprof_context* to);
FBLEPROF_EXPORT void fbleprof_context_free(fbleprof_context* context);
FBLEPROF_EXPORT fbleprof_context* fbleprof_context_current(void);
FBLEPROF_EXPORT int fbleprof_context_reset(fbleprof_context* context);
FBLEPROF_EXPORT fbleprof_block fbleprof_block_add(uint32_t number, const fbleprof_source* source);
FBLEPROF_EXPORT fbleprof_block fbleprof_block_of_key(uint64_t key);
FBLEPROF_EXPORT fbleprof_block fbleprof_block_with_key(uint64_t key, const fbleprof_source* source);
FBLEPROF_EXPORT int fbleprof_block_rename(fbleprof_block block, const char* name);
FBLEPROF_EXPORT int fbleprof_query_pair(fbleprof_block caller, fbleprof_block callee,
                                        fbleprof_visit* sum);
FBLEPROF_EXPORT fbleprof_profile* fbleprof_profile_new(const char* name);
FBLEPROF_EXPORT fbleprof_profile* fbleprof_profile_with(fbleprof_profile* profile);
FBLEPROF_EXPORT int fbleprof_profile_write(fbleprof_profile* profile, const char* path);
FBLEPROF_EXPORT void fbleprof_profile_free(fbleprof_profile* profile);
FBLEPROF_EXPORT int fbleprof_read_stack(const void* loop, int (*reader)(void*, fbleprof_frame*));
// Stores the starts of the functions that lead to the caller, innermost first. Returns how many.
FBLEPROF_EXPORT int fbleprof_callers(const void** functions, int most);
// For readers of runtimes: the registers of the code that the sample has interrupted, as
// ucontext_t's gregs; null outside of samples.
FBLEPROF_EXPORT const std::uint64_t* fbleprof_interrupted_registers(void);
FBLEPROF_EXPORT int fbleprof_peek(const void* from, void* to, size_t bytes);

// For the adapters of runtimes: samples in the code of the library that holds `address` count as
// overhead. Not from signal handlers, and only one thread at a time.
FBLEPROF_EXPORT void fbleprof_adapter_code(const void* address);

FBLEPROF_EXPORT int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument);
