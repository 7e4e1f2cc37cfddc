/* fbleprof: named blocks, virtual time and control, for programs and language runtimes.
 *
 * This header is all that a program needs; there is no library to link. When the program runs under
 * libfbleprof.so (preloaded or linked), the calls record; otherwise each is a load and a branch. It
 * works in PIE and non-PIE executables, shared libraries and plugins. In a static executable, where
 * nothing can be preloaded, the calls do nothing. A library older than this header ignores the
 * calls that it does not know.
 *
 *     static fbleprof_block parse;
 *     parse = fbleprof_block_new("parse", __FILE__, __LINE__);   // once
 *     fbleprof_enter(parse);  ...  fbleprof_leave(parse);
 *
 * Any thread may make any call. Signal handlers may too, unless noted otherwise. The calls take no
 * locks and allocate nothing, unless noted otherwise. Prices are CPU time on a 2 GHz server.
 *
 * Blocks and functions with hooks can call each other in any order. A block ends when it is left,
 * but no later than the native function that called fbleprof_enter, if that function has hooks. So
 * a function that only wraps fbleprof_enter must have none: mark it FBLEPROF_WRAPPER.
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

/* What fbleprof_context_switch returns if it did nothing. Switching to it does nothing either. */
#define FBLEPROF_NOT_SWITCHED ((fbleprof_context*)-1)

/* A profile of its own within the process: what the threads do that record into it. */
typedef struct fbleprof_profile fbleprof_profile;

/* Where a block comes from. Zero what you do not know. */
typedef struct fbleprof_source {
  const char* name;     /* NUL-terminated, as are the others; up to 65535 bytes */
  const char* file;     /* as the report is to open it: an absolute path is best */
  uint32_t line;        /* from 1 */
  uint32_t column;      /* from 1 */
  const char* language; /* "Lua", "Scheme" */
} fbleprof_source;

/* A runtime's own numbers for its blocks are 1 to this. */
#define FBLEPROF_MOST_NUMBER 0x1fffffffu

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
  /* since the table has block_add: */
  fbleprof_block block; /* 0: not a block */
  uint32_t line;        /* of a block; 0: unknown */
  uint32_t column;
  const char* file; /* of a block; not NUL-terminated; NULL: unknown */
  size_t file_length;
  const char* profile; /* name of the fbleprof_profile; NULL: the process's own */
  size_t profile_length;
} fbleprof_visit;

/* One function on a runtime's own stack, as a reader tells it to fbleprof_read_stack. */
typedef struct fbleprof_frame {
  fbleprof_block block; /* 0: not to be shown */
  uint32_t goes_on;     /* without marks, 1: the same frame of the loop runs the next one, too */
  /* An address on the machine stack inside the frame of the interpreter's loop that runs it, such
   * as that of a variable of the loop; 0: unknown. */
  uint64_t mark;
} fbleprof_frame;

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
  void (*leave_newest)(void);
  void (*replace_below)(fbleprof_block block);
  void (*enter_from)(fbleprof_block block, uint32_t line);
  void (*enter_all)(const fbleprof_block* blocks, size_t count);
  void (*redo)(fbleprof_block block);
  uint64_t (*mark)(void);
  void (*rewind)(uint64_t mark);
  uint64_t* (*tick_counter)(void);
  fbleprof_context* (*context_current)(void);
  int (*context_reset)(fbleprof_context* context);
  fbleprof_block (*block_add)(uint32_t number, const fbleprof_source* source);
  fbleprof_block (*block_of_key)(uint64_t key);
  fbleprof_block (*block_with_key)(uint64_t key, const fbleprof_source* source);
  int (*block_rename)(fbleprof_block block, const char* name);
  int (*query_pair)(fbleprof_block caller, fbleprof_block callee, fbleprof_visit* sum);
  fbleprof_profile* (*profile_new)(const char* name);
  fbleprof_profile* (*profile_with)(fbleprof_profile* profile);
  int (*profile_write)(fbleprof_profile* profile, const char* path);
  void (*profile_free)(fbleprof_profile* profile);
  int (*read_stack)(const void* loop, int (*reader)(void* state, fbleprof_frame* frame));
  int (*peek)(const void* from, void* to, size_t bytes);
  int (*snapshot)(const char* name);
  int (*reset)(void);
};

#ifndef FBLEPROF_BUILDING_LIBRARY

#if defined(__GNUC__)
#define FBLEPROF_INLINE_ static __inline__ __attribute__((unused, no_instrument_function))
#define FBLEPROF_WRAPPER __attribute__((no_instrument_function))
#define FBLEPROF_LIKELY_NULL_(p) __builtin_expect((p) == NULL, 1)

/* One pointer per module (executable or library), found when the module is loaded. dlsym is weak,
 * because a static executable has none. */
extern void* fbleprof_dlsym_(void*, const char*) __asm__("dlsym") __attribute__((weak));
extern const struct fbleprof_api* fbleprof_api_ __attribute__((weak, visibility("hidden")));
__attribute__((weak, visibility("hidden"))) const struct fbleprof_api* fbleprof_api_ = NULL;
static void fbleprof_attach_(void)
    __attribute__((constructor(101), unused, no_instrument_function));
static void fbleprof_attach_(void) {
  const struct fbleprof_api* table;
  if (fbleprof_api_ != NULL || fbleprof_dlsym_ == NULL) return;
  table = (const struct fbleprof_api*)fbleprof_dlsym_((void*)0, "fbleprof_api_table");
  /* Another version has another table; what stands after the first 13 functions, its size tells. */
  if (table == NULL || table->version != FBLEPROF_API_VERSION) return;
  if (table->size < offsetof(struct fbleprof_api, leave_newest)) return;
  fbleprof_api_ = table;
}
#define FBLEPROF_CALL_(call)                                        \
  do {                                                              \
    if (!FBLEPROF_LIKELY_NULL_(fbleprof_api_)) fbleprof_api_->call; \
  } while (0)
#define FBLEPROF_CALL_OR_(call, otherwise) \
  (FBLEPROF_LIKELY_NULL_(fbleprof_api_) ? (otherwise) : fbleprof_api_->call)
/* For functions that an older library does not have. */
#define FBLEPROF_HAS_(name)                 \
  (!FBLEPROF_LIKELY_NULL_(fbleprof_api_) && \
   fbleprof_api_->size > offsetof(struct fbleprof_api, name))
#define FBLEPROF_NEW_CALL_(name, arguments)                 \
  do {                                                      \
    if (FBLEPROF_HAS_(name)) fbleprof_api_->name arguments; \
  } while (0)
#define FBLEPROF_NEW_CALL_OR_(name, arguments, otherwise) \
  (FBLEPROF_HAS_(name) ? fbleprof_api_->name arguments : (otherwise))
#else
#define FBLEPROF_INLINE_ static
#define FBLEPROF_WRAPPER
#define FBLEPROF_CALL_(call) ((void)0)
#define FBLEPROF_CALL_OR_(call, otherwise) (otherwise)
#define FBLEPROF_NEW_CALL_(name, arguments) ((void)0)
#define FBLEPROF_NEW_CALL_OR_(name, arguments, otherwise) (otherwise)
#endif

/* -- Blocks -- */

/* Registers a block, at any time. Copies `name` and `file`; file may be NULL, line 0. Registering
 * the same name again makes another block. 0: no space. Some 0.3 us. Not from signal handlers. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_new(const char* name, const char* file, int line) {
  return FBLEPROF_CALL_OR_(block_new(name, file, line), 0);
}
/* The same with all that is known of the block, under the runtime's own `number`, 1 to
 * FBLEPROF_MOST_NUMBER; 0: any. A number that is in use keeps its counts and gets the new source.
 * Some 64 bytes a block, and its name. Not from signal handlers. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_add(uint32_t number, const fbleprof_source* source) {
  return FBLEPROF_NEW_CALL_OR_(block_add, (number, source), 0);
}
/* The block of a key, often the address of the runtime's function object; 0: none was registered.
 * Keys are 1 to 2^56-1. One hash lookup: 3 ns. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_of_key(uint64_t key) {
  return FBLEPROF_NEW_CALL_OR_(block_of_key, (key), 0);
}
/* Registers a block under a key. Where the key has one, that now stands for another function (an
 * address was used again): the key means the new block from now on. Not from signal handlers,
 * except in a reader of fbleprof_read_stack. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_with_key(uint64_t key,
                                                        const fbleprof_source* source) {
  return FBLEPROF_NEW_CALL_OR_(block_with_key, (key, source), 0);
}
/* Gives a block another name; its counts stay. 0, or -1: no such block, or no space. Not from
 * signal handlers. */
FBLEPROF_INLINE_ int fbleprof_block_rename(fbleprof_block block, const char* name) {
  return FBLEPROF_NEW_CALL_OR_(block_rename, (block, name), 0);
}

/* -- Enter and leave -- */

/* Begins a block: counts one call in the current context and charges what follows to the block.
 * 1.5 ns; some 50 ns if code without hooks calls it that functions with hooks have called. */
FBLEPROF_INLINE_ void fbleprof_enter(fbleprof_block block) { FBLEPROF_CALL_(enter(block)); }
/* Begins the blocks of a sequence, each within the one before. Leaving the first one ends them all,
 * unless it stands among the others, too. */
FBLEPROF_INLINE_ void fbleprof_enter_all(const fbleprof_block* blocks, size_t count) {
  FBLEPROF_NEW_CALL_(enter_all, (blocks, count));
}
/* As fbleprof_enter, called from a line (1 to 2^24-1) of the file of the block around it. With
 * --callsites, calls from different lines are kept apart. */
FBLEPROF_INLINE_ void fbleprof_enter_from(fbleprof_block block, uint32_t line) {
  FBLEPROF_NEW_CALL_(enter_from, (block, line));
}
/* As fbleprof_enter, but counts no call: a goal that is retried. */
FBLEPROF_INLINE_ void fbleprof_redo(fbleprof_block block) { FBLEPROF_NEW_CALL_(redo, (block)); }
/* Ends the block's newest entry and all entered after it, within the same native function. A block
 * that was not entered is counted as unmatched and does no other harm. 1.5 ns. */
FBLEPROF_INLINE_ void fbleprof_leave(fbleprof_block block) { FBLEPROF_CALL_(leave(block)); }
/* Ends the newest block. */
FBLEPROF_INLINE_ void fbleprof_leave_newest(void) { FBLEPROF_NEW_CALL_(leave_newest, ()); }
/* A goal fails: the same as fbleprof_leave. */
FBLEPROF_INLINE_ void fbleprof_fail(fbleprof_block block) { FBLEPROF_CALL_(leave(block)); }
/* A tail call: ends the newest block and begins `block` in its place; the stack does not grow. The
 * tree shows it under the caller of the replaced block. */
FBLEPROF_INLINE_ void fbleprof_replace(fbleprof_block block) { FBLEPROF_CALL_(replace(block)); }
/* The same, but the tree shows it under the replaced block, like any other call. */
FBLEPROF_INLINE_ void fbleprof_replace_below(fbleprof_block block) {
  FBLEPROF_NEW_CALL_(replace_below, (block));
}
/* The depth of blocks now, for fbleprof_rewind: by the function that called this or one that it
 * called, on the same stack. */
FBLEPROF_INLINE_ uint64_t fbleprof_mark(void) { return FBLEPROF_NEW_CALL_OR_(mark, (), 0); }
/* Ends all blocks entered since the mark: after an exception or a non-local exit. The time it takes
 * does not depend on their number, if none of the program's functions has hooks. */
FBLEPROF_INLINE_ void fbleprof_rewind(uint64_t mark) { FBLEPROF_NEW_CALL_(rewind, (mark)); }

/* -- Virtual time -- */

/* Charges virtual time to the current context: instructions, bytes, whatever the runtime counts. */
FBLEPROF_INLINE_ void fbleprof_tick(uint64_t count) { FBLEPROF_CALL_(tick(count)); }
/* Where the current context counts its ticks: an interpreter may add to it itself, until it makes
 * any other call of this header, or returns. NULL if nothing is recorded. */
FBLEPROF_INLINE_ uint64_t* fbleprof_tick_counter(void) {
  return FBLEPROF_NEW_CALL_OR_(tick_counter, (), (uint64_t*)0);
}

/* -- Control -- */

/* Turn recording on and off, for all threads. With FBLEPROF_START=off it starts off. Not from
 * signal handlers. While it is off, functions call no hooks (-fpatchable-function-entry, -pg); a
 * change takes two system calls for each module with such functions, and 10 ns a function. */
FBLEPROF_INLINE_ void fbleprof_start(void) { FBLEPROF_CALL_(start()); }
FBLEPROF_INLINE_ void fbleprof_stop(void) { FBLEPROF_CALL_(stop()); }
/* Charges the calling thread's time up to now. Readers of the file do not need it. */
FBLEPROF_INLINE_ void fbleprof_flush(void) { FBLEPROF_CALL_(flush()); }
/* 1 while a profile is being recorded, 0 otherwise. */
FBLEPROF_INLINE_ int fbleprof_is_enabled(void) { return FBLEPROF_CALL_OR_(is_enabled(), 0); }

/* Keeps the values of all contexts as they are now, under a name, in the file: the report shows
 * what came before, after, or between two of them. Another one of the same name replaces it. Some
 * 90 bytes and 0.1 us for each context; names of up to 255 bytes. 0, or -1: not recorded, or no
 * space. Not from signal handlers. */
FBLEPROF_INLINE_ int fbleprof_snapshot(const char* name) {
  return FBLEPROF_NEW_CALL_OR_(snapshot, (name), -1);
}
/* The report counts from here on. 0, or -1, as above. */
FBLEPROF_INLINE_ int fbleprof_reset(void) { return FBLEPROF_NEW_CALL_OR_(reset, (), -1); }

/* -- Green threads -- */

/* A shadow stack for a green thread, which starts in the current context and has room for
 * most_entries (0 means 65536). Deeper blocks are counted as too deep, and their leaves match them.
 * NULL if there is no memory. It takes two system calls, and 4 KiB once used. Not from signal
 * handlers. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_new(size_t most_entries) {
  return FBLEPROF_CALL_OR_(context_new(most_entries), (fbleprof_context*)0);
}
/* Continues in `to` (NULL: the thread's own stack). Returns what the thread left, so that it can
 * come back; FBLEPROF_NOT_SWITCHED if the thread is not recorded, or if a signal handler calls that
 * interrupted another call. A context may continue in a different thread, but only in one at a
 * time. 5 ns; in a different thread, some 20 ns for each of its entries. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_switch(fbleprof_context* to) {
  return FBLEPROF_CALL_OR_(context_switch(to), (fbleprof_context*)0);
}
/* Where the calling thread is: NULL, its own stack; FBLEPROF_NOT_SWITCHED, it is not recorded. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_current(void) {
  return FBLEPROF_NEW_CALL_OR_(context_current, (), (fbleprof_context*)0);
}
/* Makes a context as good as new, starting in the current context: cheaper than to free one and
 * make one. 0, or -1: a thread is in it. */
FBLEPROF_INLINE_ int fbleprof_context_reset(fbleprof_context* context) {
  return FBLEPROF_NEW_CALL_OR_(context_reset, (context), 0);
}
/* Frees a context that no thread is in. Not from signal handlers. */
FBLEPROF_INLINE_ void fbleprof_context_free(fbleprof_context* context) {
  FBLEPROF_CALL_(context_free(context));
}

/* -- Queries -- */

/* Calls `visitor` for every context so far, parents before children. Stops when it returns nonzero,
 * and returns that; otherwise 0, or -1 if there is no memory (some 24 bytes per context). The time
 * it takes grows with the number of contexts. Other threads keep counting meanwhile. Not from
 * signal handlers. */
FBLEPROF_INLINE_ int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument) {
  return FBLEPROF_CALL_OR_(query(visitor, argument), 0);
}
/* Sums up all contexts of `callee` that are called by `caller` (0: by anything): calls, back_calls,
 * tail_calls, and what was charged there. A tail call counts for the block that it replaced. 0, or
 * -1: no such block. Time and restrictions as for fbleprof_query. */
FBLEPROF_INLINE_ int fbleprof_query_pair(fbleprof_block caller, fbleprof_block callee,
                                         fbleprof_visit* sum) {
  return FBLEPROF_NEW_CALL_OR_(query_pair, (caller, callee, sum), -1);
}

/* -- Profiles -- */

/* An empty profile, under a name that the report shows as the label `profile`. NULL: no space, or
 * not recorded. Not from signal handlers. */
FBLEPROF_INLINE_ fbleprof_profile* fbleprof_profile_new(const char* name) {
  return FBLEPROF_NEW_CALL_OR_(profile_new, (name), (fbleprof_profile*)0);
}
/* The calling thread records into `profile` from now on (NULL: into the process's own), from its
 * root. Returns the one before, to go back to. They nest; and several threads may record into one.
 * Some 1 us. Not from signal handlers. */
FBLEPROF_INLINE_ fbleprof_profile* fbleprof_profile_with(fbleprof_profile* profile) {
  return FBLEPROF_NEW_CALL_OR_(profile_with, (profile), (fbleprof_profile*)0);
}
/* Writes what was recorded so far into a file of its own, which fble-prof-report reads. NULL: the
 * process's own. 0, or an errno. Not from signal handlers. */
FBLEPROF_INLINE_ int fbleprof_profile_write(fbleprof_profile* profile, const char* path) {
  return FBLEPROF_NEW_CALL_OR_(profile_write, (profile, path), 0);
}
/* Discards a profile that no thread records into. Its space serves later profiles. Not from signal
 * handlers. */
FBLEPROF_INLINE_ void fbleprof_profile_free(fbleprof_profile* profile) {
  FBLEPROF_NEW_CALL_(profile_free, (profile));
}

/* -- Stacks that the handler reads -- */

/* Makes the functions on a runtime's own stack appear in samples, at no cost between them. `loop`
 * is an address in the interpreter's loop. At each sample `reader` is called until it returns 0, in
 * the sampled thread, newest function first; `state` is 128 bytes of its own, zeroed before the
 * first call. It may be called at any instruction of the thread, in a signal handler: no lock, no
 * allocation, no call of the runtime; it reads what may be in the middle of a change by
 * fbleprof_peek. It may call fbleprof_block_of_key and fbleprof_block_with_key, and no other
 * function of this header.
 *
 * Without marks, each frame of the loop runs one function. The runtime's own functions are left out
 * where they stand between those of scripts. 0, or -1: not recorded, more than 4 runtimes, or an
 * unknown address. Not from signal handlers. */
FBLEPROF_INLINE_ int fbleprof_read_stack(const void* loop,
                                         int (*reader)(void* state, fbleprof_frame* frame)) {
  return FBLEPROF_NEW_CALL_OR_(read_stack, (loop, reader), -1);
}
/* Copies memory that may not be there. 1, or 0: it cannot be read. Some 3 ns. Any thread, readers
 * and signal handlers included. */
FBLEPROF_INLINE_ int fbleprof_peek(const void* from, void* to, size_t bytes) {
  return FBLEPROF_NEW_CALL_OR_(peek, (from, to, bytes), 0);
}

#endif /* FBLEPROF_BUILDING_LIBRARY */

#ifdef __cplusplus
}
#endif

#endif
