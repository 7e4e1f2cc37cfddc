/* fbleprof: named blocks, virtual time and control, for programs and language runtimes.
 *
 * This header is all that a program needs; there is no library to link. When the program runs under
 * libfbleprof.so (preloaded or linked), the calls record; otherwise each is a load and a branch. It
 * works in PIE and non-PIE executables, shared libraries and plugins. In a static executable, where
 * nothing can be preloaded, the calls do nothing.
 *
 *     static fbleprof_block parse;
 *     parse = fbleprof_block_new("parse", __FILE__, __LINE__);   // once
 *     fbleprof_enter(parse);  ...  fbleprof_leave(parse);
 *
 * Any thread may make any call. Signal handlers may too, unless noted otherwise. The calls take no
 * locks and allocate nothing. Blocks and functions with hooks can call each other in any order. A
 * block ends no later than the native function in which it was entered, if that function has hooks.
 */
#ifndef FBLEPROF_H
#define FBLEPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FBLEPROF_API_VERSION 1

/* A named block: 1 and up. 0 is none (not profiled, or no space): all calls accept and ignore it.
 */
typedef uint32_t fbleprof_block;

/* A separate stack of entries, for a green thread of a runtime. */
typedef struct fbleprof_context fbleprof_context;

/* One context of the profile so far, as fbleprof_query shows it. */
typedef struct fbleprof_visit {
  uint32_t depth;      /* 0: the root of a thread's tree */
  uint32_t thread;     /* number of the tree, from 0 */
  const char* name;    /* a block's name, "[root]" and the like; NULL for native code */
  size_t name_length;  /* bytes; names are not NUL-terminated */
  const void* address; /* a native function's start; NULL for others */
  uint64_t calls;      /* on the tree edge that leads here */
  uint64_t back_calls; /* on back edges to here: recursion that was folded */
  uint64_t tail_calls; /* on tail edges to here */
  uint64_t samples;    /* count */
  uint64_t cpu_ns;     /* self, without the profiler's own cost */
  uint64_t wall_ns;    /* self */
  uint64_t ticks;      /* self */
} fbleprof_visit;

/* The functions, as the library exports them in one table. New ones are added at the end only. */
struct fbleprof_api {
  uint32_t version, size; /* FBLEPROF_API_VERSION; bytes of the table */
  fbleprof_block (*block_new)(const char* name, const char* file, int line);
  void (*enter)(fbleprof_block block);
  void (*leave)(fbleprof_block block);
  void (*replace)(fbleprof_block block);
  void (*tick)(uint64_t count);
  void (*start)(void);
  void (*stop)(void);
  void (*flush)(void);
  int (*is_enabled)(void);
  fbleprof_context* (*context_new)(size_t most_entries);
  fbleprof_context* (*context_switch)(fbleprof_context* to);
  void (*context_free)(fbleprof_context* context);
  int (*query)(int (*visitor)(const fbleprof_visit* visit, void* argument), void* argument);
};

#ifndef FBLEPROF_BUILDING_LIBRARY

#if defined(__GNUC__)
#define FBLEPROF_INLINE_ static __inline__ __attribute__((unused, no_instrument_function))
#define FBLEPROF_LIKELY_NULL_(p) __builtin_expect((p) == NULL, 1)

/* One pointer per module (executable or library), found when the module is loaded. dlsym is weak,
 * because a static executable has none. */
extern void* fbleprof_dlsym_(void*, const char*) __asm__("dlsym") __attribute__((weak));
__attribute__((weak, visibility("hidden"))) const struct fbleprof_api* fbleprof_api_ = NULL;
static void fbleprof_attach_(void)
    __attribute__((constructor(101), unused, no_instrument_function));
static void fbleprof_attach_(void) {
  if (fbleprof_api_ == NULL && fbleprof_dlsym_ != NULL) {
    fbleprof_api_ = (const struct fbleprof_api*)fbleprof_dlsym_((void*)0, "fbleprof_api_table");
  }
}
#define FBLEPROF_CALL_(call)                                        \
  do {                                                              \
    if (!FBLEPROF_LIKELY_NULL_(fbleprof_api_)) fbleprof_api_->call; \
  } while (0)
#define FBLEPROF_CALL_OR_(call, otherwise) \
  (FBLEPROF_LIKELY_NULL_(fbleprof_api_) ? (otherwise) : fbleprof_api_->call)
#else
#define FBLEPROF_INLINE_ static
#define FBLEPROF_CALL_(call) ((void)0)
#define FBLEPROF_CALL_OR_(call, otherwise) (otherwise)
#endif

/* Registers a block, at any time. Copies `name` and `file`; file may be NULL, line 0. Registering
 * the same name again makes another block. Not from signal handlers. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_new(const char* name, const char* file, int line) {
  return FBLEPROF_CALL_OR_(block_new(name, file, line), 0);
}
/* Begins a block: counts one call in the current context and charges what follows to the block. */
FBLEPROF_INLINE_ void fbleprof_enter(fbleprof_block block) { FBLEPROF_CALL_(enter(block)); }
/* Ends the block's newest entry and all entered after it, within the same native function. */
FBLEPROF_INLINE_ void fbleprof_leave(fbleprof_block block) { FBLEPROF_CALL_(leave(block)); }
/* A tail call: ends the newest entry and begins `block` in its place; the stack does not grow. */
FBLEPROF_INLINE_ void fbleprof_replace(fbleprof_block block) { FBLEPROF_CALL_(replace(block)); }
/* Charges virtual time to the current context: instructions, bytes, whatever the runtime counts. */
FBLEPROF_INLINE_ void fbleprof_tick(uint64_t count) { FBLEPROF_CALL_(tick(count)); }
/* Turn recording on and off, for all threads. With FBLEPROF_START=off it starts off. Not from
 * signal handlers. */
FBLEPROF_INLINE_ void fbleprof_start(void) { FBLEPROF_CALL_(start()); }
FBLEPROF_INLINE_ void fbleprof_stop(void) { FBLEPROF_CALL_(stop()); }
/* Charges the calling thread's time up to now. Readers of the file do not need it. */
FBLEPROF_INLINE_ void fbleprof_flush(void) { FBLEPROF_CALL_(flush()); }
/* 1 while a profile is being recorded, 0 otherwise. */
FBLEPROF_INLINE_ int fbleprof_is_enabled(void) { return FBLEPROF_CALL_OR_(is_enabled(), 0); }
/* A shadow stack for a green thread, which starts in the current context and has room for
 * most_entries (0 means 65536). NULL if there is no memory. Not from signal handlers. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_new(size_t most_entries) {
  return FBLEPROF_CALL_OR_(context_new(most_entries), (fbleprof_context*)0);
}
/* Continues in `to` (NULL: the thread's own stack). Returns what the thread left, so that it can
 * come back. A context may continue in a different thread, but only in one at a time. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_switch(fbleprof_context* to) {
  return FBLEPROF_CALL_OR_(context_switch(to), (fbleprof_context*)0);
}
/* Frees a context that no thread is in. Not from signal handlers. */
FBLEPROF_INLINE_ void fbleprof_context_free(fbleprof_context* context) {
  FBLEPROF_CALL_(context_free(context));
}
/* Calls `visitor` for every context so far, parents before children. Stops when it returns nonzero,
 * and returns that; otherwise 0, or -1 if there is no memory (some 24 bytes per context). The time
 * it takes grows with the number of contexts. Other threads keep counting meanwhile. Not from
 * signal handlers. */
FBLEPROF_INLINE_ int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument) {
  return FBLEPROF_CALL_OR_(query(visitor, argument), 0);
}

#endif /* FBLEPROF_BUILDING_LIBRARY */

#ifdef __cplusplus
}
#endif

#endif
