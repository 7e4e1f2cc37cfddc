/* fbleprof: named blocks, virtual time and control, for programs and language runtimes.
 *
 * This header is all that a program needs; there is no library to link. When the program runs under
 * libfbleprof.so (preloaded or linked), the calls record; otherwise each call is a load and a
 * branch. The header works in PIE and non-PIE executables, shared libraries and plugins. In a
 * static executable, where nothing can be preloaded, the calls do nothing. A library older than
 * this header ignores the calls that it does not know.
 *
 *     static fbleprof_block parse;
 *     parse = fbleprof_block_new("parse", __FILE__, __LINE__);   // once
 *     fbleprof_enter(parse);  ...  fbleprof_leave(parse);
 *
 * Any thread may make any call. Signal handlers may too, unless noted otherwise. The calls take no
 * locks and allocate nothing, unless noted otherwise. Costs are CPU time on a 2 GHz server. Without
 * the recorder, calls that return a pointer or a block return NULL or 0. All strings are
 * NUL-terminated.
 *
 * Blocks and functions with hooks can call each other in any order. A block ends when the program
 * leaves it, and at the latest when the native function that called fbleprof_enter returns, if that
 * function has hooks. So a function that only wraps fbleprof_enter must have none: mark it
 * FBLEPROF_WRAPPER.
 */
#ifndef FBLEPROF_H
#define FBLEPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FBLEPROF_API_VERSION 1

/* A named block: 1 and up. 0 means no block (not profiled, or no space); all calls accept and
 * ignore 0. */
typedef uint32_t fbleprof_block;

/* A separate stack of entries, for a green thread of a runtime. */
typedef struct fbleprof_context fbleprof_context;

/* fbleprof_context_switch returns this if it did nothing. Switching to it does nothing either. */
#define FBLEPROF_NOT_SWITCHED ((fbleprof_context*)-1)

/* A separate profile within the process: it holds what threads do while they record into it. */
typedef struct fbleprof_profile fbleprof_profile;

/* Where a block comes from. Set unknown fields to zero. */
typedef struct fbleprof_source {
  const char* name;     /* up to 65535 bytes; longer strings are cut */
  const char* file;     /* the path that the report will open; preferably absolute */
  uint32_t line;        /* from 1 */
  uint32_t column;      /* from 1 */
  const char* language; /* "Lua", "Scheme" */
} fbleprof_source;

/* A runtime can give its blocks numbers of its own, from 1 to this. */
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
  /* only if the API table has block_add: */
  fbleprof_block block; /* 0: not a block */
  uint32_t line;        /* of a block; 0: unknown */
  uint32_t column;
  const char* file; /* of a block; not NUL-terminated; NULL: unknown */
  size_t file_length;
  const char* profile; /* name of the fbleprof_profile; NULL: the process's own */
  size_t profile_length;
} fbleprof_visit;

#define FBLEPROF_IN_LOOP 2
/* One function on a runtime's own stack, as a reader reports it to fbleprof_read_stack. */
typedef struct fbleprof_frame {
  fbleprof_block block; /* 0: do not show it */
  /* Without a mark, 1: the same frame of the loop also runs the next function. With a mark,
   * FBLEPROF_IN_LOOP: generated code without an unwind table may run the function in the frame of
   * the loop; then the mark is the stack pointer of the loop. */
  uint32_t goes_on;
  /* An address on the machine stack inside the frame of the interpreter's loop that runs the
   * function, for example the address of a variable of the loop; 0: unknown. */
  uint64_t mark;
  /* Addresses of two words of the runtime's memory, and their values. As long as both are
   * unchanged, the function is on the stack, above the same caller. The first address is that of no
   * other function of the stack. With them, a deep stack is read only where it has changed. 0:
   * none. */
  uint64_t place[2], value[2];
} fbleprof_frame;

/* The table of functions that the library exports. New functions are added only at the end. */
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
/* no_instrument_function leaves the room of -fpatchable-function-entry, and clang's XRay. */
#define FBLEPROF_WRAPPER __attribute__((no_instrument_function)) FBLEPROF_NO_ROOM_ FBLEPROF_NO_XRAY_
#if defined(__has_attribute)
#if __has_attribute(patchable_function_entry)
#define FBLEPROF_NO_ROOM_ __attribute__((patchable_function_entry(0)))
#endif
#if __has_attribute(xray_never_instrument)
#define FBLEPROF_NO_XRAY_ __attribute__((xray_never_instrument))
#endif
#endif
#ifndef FBLEPROF_NO_ROOM_
#define FBLEPROF_NO_ROOM_
#endif
#ifndef FBLEPROF_NO_XRAY_
#define FBLEPROF_NO_XRAY_
#endif
#define FBLEPROF_INLINE_ static __inline__ __attribute__((unused)) FBLEPROF_WRAPPER
#define FBLEPROF_LIKELY_NULL_(p) __builtin_expect((p) == NULL, 1)

/* One pointer per module (executable or library), found when the module is loaded. dlsym is weak,
 * because a static executable has none. */
extern void* fbleprof_dlsym_(void*, const char*) __asm__("dlsym") __attribute__((weak));
extern const struct fbleprof_api* fbleprof_api_ __attribute__((weak, visibility("hidden")));
__attribute__((weak, visibility("hidden"))) const struct fbleprof_api* fbleprof_api_ = NULL;
static void fbleprof_attach_(void) __attribute__((constructor(101), unused)) FBLEPROF_WRAPPER;
static void fbleprof_attach_(void) {
  const struct fbleprof_api* table;
  if (fbleprof_api_ != NULL || fbleprof_dlsym_ == NULL) return;
  table = (const struct fbleprof_api*)fbleprof_dlsym_((void*)0, "fbleprof_api_table");
  /* Another version has another table. The size tells which functions follow the first 13. */
  if (table == NULL || table->version != FBLEPROF_API_VERSION) return;
  if (table->size < offsetof(struct fbleprof_api, leave_newest)) return;
  fbleprof_api_ = table;
}
/* The caller must not end in a jump to the library: its frame, to which its blocks belong, would be
 * gone already. Something must follow each call, if only this. */
#define FBLEPROF_NO_TAIL_CALL_ __asm__ volatile("")
#define FBLEPROF_CALL_(call)                     \
  do {                                           \
    if (!FBLEPROF_LIKELY_NULL_(fbleprof_api_)) { \
      fbleprof_api_->call;                       \
      FBLEPROF_NO_TAIL_CALL_;                    \
    }                                            \
  } while (0)
#define FBLEPROF_CALL_OR_(call, otherwise)                                        \
  __extension__({                                                                 \
    __typeof__(fbleprof_api_->call) fbleprof_result_ =                            \
        FBLEPROF_LIKELY_NULL_(fbleprof_api_) ? (otherwise) : fbleprof_api_->call; \
    FBLEPROF_NO_TAIL_CALL_;                                                       \
    fbleprof_result_;                                                             \
  })
/* For functions that an older library may lack. */
#define FBLEPROF_HAS_(name)                 \
  (!FBLEPROF_LIKELY_NULL_(fbleprof_api_) && \
   fbleprof_api_->size > offsetof(struct fbleprof_api, name))
#define FBLEPROF_NEW_CALL_(name, arguments) \
  do {                                      \
    if (FBLEPROF_HAS_(name)) {              \
      fbleprof_api_->name arguments;        \
      FBLEPROF_NO_TAIL_CALL_;               \
    }                                       \
  } while (0)
#define FBLEPROF_NEW_CALL_OR_(name, arguments, otherwise)                  \
  __extension__({                                                          \
    __typeof__(fbleprof_api_->name arguments) fbleprof_result_ =           \
        FBLEPROF_HAS_(name) ? fbleprof_api_->name arguments : (otherwise); \
    FBLEPROF_NO_TAIL_CALL_;                                                \
    fbleprof_result_;                                                      \
  })
#else
#define FBLEPROF_INLINE_ static
#define FBLEPROF_WRAPPER
#define FBLEPROF_CALL_(call) ((void)0)
#define FBLEPROF_CALL_OR_(call, otherwise) (otherwise)
#define FBLEPROF_NEW_CALL_(name, arguments) ((void)0)
#define FBLEPROF_NEW_CALL_OR_(name, arguments, otherwise) (otherwise)
#endif

/* -- Blocks -- */

/* Registers a block and copies `name` and `file`. `file` may be NULL and `line` 0. A second
 * registration of the same name makes another block. Returns 0 if `name` is NULL or there is no
 * space. Takes about 0.3 us. Not for signal handlers. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_new(const char* name, const char* file, int line) {
  return FBLEPROF_CALL_OR_(block_new(name, file, line), 0);
}
/* As fbleprof_block_new, with a full description. `number` is the runtime's own number for the
 * block, 1 to FBLEPROF_MOST_NUMBER; 0: the library chooses one. A number that is in use keeps its
 * counts and gets the new source. Returns 0 on error. Takes about 64 bytes for each block, and its
 * name. Not for signal handlers. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_add(uint32_t number, const fbleprof_source* source) {
  return FBLEPROF_NEW_CALL_OR_(block_add, (number, source), 0);
}
/* Returns the block registered under `key` (1 to 2^56-1), often the address of the runtime's
 * function object; 0 if there is none. Takes one hash lookup: 3 ns. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_of_key(uint64_t key) {
  return FBLEPROF_NEW_CALL_OR_(block_of_key, (key), 0);
}
/* Registers a block under `key` (1 to 2^56-1), or returns the key's block if the source is the
 * same. If the source differs (the address was used again), the key gets a new block. Returns 0 on
 * error. Not for signal handlers, except in a reader of fbleprof_read_stack. */
FBLEPROF_INLINE_ fbleprof_block fbleprof_block_with_key(uint64_t key,
                                                        const fbleprof_source* source) {
  return FBLEPROF_NEW_CALL_OR_(block_with_key, (key, source), 0);
}
/* Gives a block another name; its counts stay. Returns 0, or -1 if there is no such block, the name
 * is empty, or there is no space. Not for signal handlers. */
FBLEPROF_INLINE_ int fbleprof_block_rename(fbleprof_block block, const char* name) {
  return FBLEPROF_NEW_CALL_OR_(block_rename, (block, name), 0);
}

/* -- Enter and leave -- */

/* Begins a block: counts one call in the current context and charges what follows to the block.
 * Takes 1.5 ns, or about 50 ns if the caller is code without hooks that a hooked function called.
 */
FBLEPROF_INLINE_ void fbleprof_enter(fbleprof_block block) { FBLEPROF_CALL_(enter(block)); }
/* Begins the blocks of a sequence, each within the previous one. Leaving the first block ends them
 * all, unless the first block is also among the others. */
FBLEPROF_INLINE_ void fbleprof_enter_all(const fbleprof_block* blocks, size_t count) {
  FBLEPROF_NEW_CALL_(enter_all, (blocks, count));
}
/* As fbleprof_enter, for a call at `line` (1 to 2^24-1) of the file that defines the calling block.
 * With --callsites, calls from different lines are kept apart. */
FBLEPROF_INLINE_ void fbleprof_enter_from(fbleprof_block block, uint32_t line) {
  FBLEPROF_NEW_CALL_(enter_from, (block, line));
}
/* As fbleprof_enter, but counts no call. For a goal that is retried. */
FBLEPROF_INLINE_ void fbleprof_redo(fbleprof_block block) { FBLEPROF_NEW_CALL_(redo, (block)); }
/* Ends the block's newest entry and all entries after it, within the same native function. If the
 * block was not entered, the call is only counted as unmatched. Takes 1.5 ns. */
FBLEPROF_INLINE_ void fbleprof_leave(fbleprof_block block) { FBLEPROF_CALL_(leave(block)); }
/* Ends the newest block. */
FBLEPROF_INLINE_ void fbleprof_leave_newest(void) { FBLEPROF_NEW_CALL_(leave_newest, ()); }
/* Ends a goal that failed: the same as fbleprof_leave. */
FBLEPROF_INLINE_ void fbleprof_fail(fbleprof_block block) { FBLEPROF_CALL_(leave(block)); }
/* A tail call: ends the newest block and begins `block` in its place; the stack does not grow. The
 * tree shows `block` under the caller of the replaced block. */
FBLEPROF_INLINE_ void fbleprof_replace(fbleprof_block block) { FBLEPROF_CALL_(replace(block)); }
/* The same, but the tree shows `block` under the replaced block, like any other call. */
FBLEPROF_INLINE_ void fbleprof_replace_below(fbleprof_block block) {
  FBLEPROF_NEW_CALL_(replace_below, (block));
}
/* Returns the current depth of blocks, for fbleprof_rewind. The function that called fbleprof_mark,
 * or one that it called, may rewind to the mark, on the same stack. */
FBLEPROF_INLINE_ uint64_t fbleprof_mark(void) { return FBLEPROF_NEW_CALL_OR_(mark, (), 0); }
/* Ends all blocks entered since the mark: after an exception or a non-local exit. If none of the
 * program's functions has hooks, the time does not depend on the number of blocks. */
FBLEPROF_INLINE_ void fbleprof_rewind(uint64_t mark) { FBLEPROF_NEW_CALL_(rewind, (mark)); }

/* -- Virtual time -- */

/* Charges `count` ticks of virtual time to the current context. The runtime chooses the unit:
 * instructions, bytes and so on. */
FBLEPROF_INLINE_ void fbleprof_tick(uint64_t count) { FBLEPROF_CALL_(tick(count)); }
/* Returns the counter of ticks of the current context. An interpreter may add to it until it makes
 * any other call of this header, or returns. NULL without the recorder; in a thread that is not
 * recorded, a counter that nobody reads. */
FBLEPROF_INLINE_ uint64_t* fbleprof_tick_counter(void) {
  return FBLEPROF_NEW_CALL_OR_(tick_counter, (), (uint64_t*)0);
}

/* -- Control -- */

/* Turn recording on and off, for all threads. With FBLEPROF_START=off, recording starts off. While
 * it is off, functions with -fpatchable-function-entry or -pg call no hooks. A change takes two
 * system calls for each module with such functions, and 10 ns for each function. Not for signal
 * handlers. */
FBLEPROF_INLINE_ void fbleprof_start(void) { FBLEPROF_CALL_(start()); }
FBLEPROF_INLINE_ void fbleprof_stop(void) { FBLEPROF_CALL_(stop()); }
/* Charges the calling thread's time up to this moment. Readers of the file do not need this call.
 */
FBLEPROF_INLINE_ void fbleprof_flush(void) { FBLEPROF_CALL_(flush()); }
/* Returns 1 while a profile is being recorded, 0 otherwise. */
FBLEPROF_INLINE_ int fbleprof_is_enabled(void) { return FBLEPROF_CALL_OR_(is_enabled(), 0); }

/* Saves the current values of all contexts in the file, under a name of up to 255 bytes; longer
 * names are cut. The report can show what came before or after a snapshot, or between two of them.
 * A new snapshot replaces an older one of the same name. Takes about 90 bytes and 0.1 us for each
 * context. Returns 0, or -1 if nothing is recorded or there is no space. Not for signal handlers.
 */
FBLEPROF_INLINE_ int fbleprof_snapshot(const char* name) {
  return FBLEPROF_NEW_CALL_OR_(snapshot, (name), -1);
}
/* Makes the report count from this moment on. Returns 0 or -1, as fbleprof_snapshot does. Not for
 * signal handlers. */
FBLEPROF_INLINE_ int fbleprof_reset(void) { return FBLEPROF_NEW_CALL_OR_(reset, (), -1); }

/* -- Green threads -- */

/* Makes a shadow stack for a green thread. It starts in the current context and has room for
 * `most_entries` entries (0 means 65536). Deeper blocks are counted as too deep; leaving one
 * matches its enter. Returns NULL if there is no memory or the thread is not recorded. Takes two
 * system calls, and 4 KiB once it is used. Not for signal handlers. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_new(size_t most_entries) {
  return FBLEPROF_CALL_OR_(context_new(most_entries), (fbleprof_context*)0);
}
/* Continues in `to` (NULL: the thread's own stack). Returns the context that the thread left, to
 * switch back to. Returns FBLEPROF_NOT_SWITCHED if the thread is not recorded, or if a signal
 * handler makes this call while it interrupts another call of this header. A context may continue
 * in a different thread, but in only one at a time. Takes 5 ns; in a different thread, about 20 ns
 * for each entry. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_switch(fbleprof_context* to) {
  return FBLEPROF_CALL_OR_(context_switch(to), (fbleprof_context*)0);
}
/* Returns the calling thread's context: NULL if it is on its own stack, FBLEPROF_NOT_SWITCHED if it
 * is not recorded. */
FBLEPROF_INLINE_ fbleprof_context* fbleprof_context_current(void) {
  return FBLEPROF_NEW_CALL_OR_(context_current, (), (fbleprof_context*)0);
}
/* Makes a context empty again, starting in the current context. Cheaper than freeing one and making
 * another. Returns 0, or -1 if the calling thread is in the context or is not recorded. No other
 * thread may be in it. */
FBLEPROF_INLINE_ int fbleprof_context_reset(fbleprof_context* context) {
  return FBLEPROF_NEW_CALL_OR_(context_reset, (context), 0);
}
/* Frees a context that no thread is in. Not from signal handlers. */
FBLEPROF_INLINE_ void fbleprof_context_free(fbleprof_context* context) {
  FBLEPROF_CALL_(context_free(context));
}

/* -- Queries -- */

/* Calls `visitor` for every context so far, parents before children. Stops when the visitor returns
 * nonzero, and returns that value. Otherwise returns 0, or -1 if there is no memory (about 24 bytes
 * for each context). The time grows with the number of contexts. Other threads keep counting
 * meanwhile. Not for signal handlers. */
FBLEPROF_INLINE_ int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument) {
  return FBLEPROF_CALL_OR_(query(visitor, argument), 0);
}
/* Adds up all contexts in which `caller` (0: anything) calls `callee`: calls, back_calls,
 * tail_calls, and the amounts charged there. A tail call counts for the block that it replaced.
 * Returns 0, or -1 if there is no such block. Time and restrictions are as for fbleprof_query. */
FBLEPROF_INLINE_ int fbleprof_query_pair(fbleprof_block caller, fbleprof_block callee,
                                         fbleprof_visit* sum) {
  return FBLEPROF_NEW_CALL_OR_(query_pair, (caller, callee, sum), -1);
}

/* -- Profiles -- */

/* Makes an empty profile. The report shows its name as the label `profile`. Returns NULL if there
 * is no space or the thread is not recorded. Not for signal handlers. */
FBLEPROF_INLINE_ fbleprof_profile* fbleprof_profile_new(const char* name) {
  return FBLEPROF_NEW_CALL_OR_(profile_new, (name), (fbleprof_profile*)0);
}
/* Makes the calling thread record into `profile` (NULL: the process's own), from its root. Returns
 * the previous profile, for the call that goes back. Calls nest up to 16 deep; deeper ones do
 * nothing. Several threads may record into one profile. Takes about 1 us. Not for signal handlers.
 */
FBLEPROF_INLINE_ fbleprof_profile* fbleprof_profile_with(fbleprof_profile* profile) {
  return FBLEPROF_NEW_CALL_OR_(profile_with, (profile), (fbleprof_profile*)0);
}
/* Writes the contents of a profile (NULL: the process's own) into a separate file, which
 * fble-prof-report reads. Returns 0 or an errno value; without the recorder, it writes nothing and
 * returns 0. Not for signal handlers. */
FBLEPROF_INLINE_ int fbleprof_profile_write(fbleprof_profile* profile, const char* path) {
  return FBLEPROF_NEW_CALL_OR_(profile_write, (profile, path), 0);
}
/* Discards a profile; does nothing while a thread records into it. Later profiles use its space.
 * Not for signal handlers. */
FBLEPROF_INLINE_ void fbleprof_profile_free(fbleprof_profile* profile) {
  FBLEPROF_NEW_CALL_(profile_free, (profile));
}

/* -- Stacks that the signal handler reads -- */

/* Makes the functions on a runtime's own stack appear in samples, at no cost between samples.
 * `loop` is an address in the interpreter's loop. At each sample, the library calls `reader` in the
 * sampled thread, newest function first, until it returns 0, or -1 if older functions cannot be
 * read at this moment. `state` is 128 bytes for the reader, zeroed before its first call.
 *
 * The reader runs in a signal handler, at any instruction of the thread. It must not lock, allocate
 * or call the runtime. It must use fbleprof_peek to read memory that the thread may be changing. It
 * may call fbleprof_block_of_key and fbleprof_block_with_key, and no other function of this header.
 *
 * Without marks, each frame of the loop runs one function. The tree leaves out the runtime's own
 * functions between functions of scripts. Returns 0, or -1 if nothing is recorded, `loop` is in no
 * known code, or there are more than 4 runtimes. Not for signal handlers. */
FBLEPROF_INLINE_ int fbleprof_read_stack(const void* loop,
                                         int (*reader)(void* state, fbleprof_frame* frame)) {
  return FBLEPROF_NEW_CALL_OR_(read_stack, (loop, reader), -1);
}
/* Copies memory that may not exist. Returns 1, or 0 if the memory cannot be read. Takes about 3 ns.
 * Any thread may call this; so may readers and signal handlers. */
FBLEPROF_INLINE_ int fbleprof_peek(const void* from, void* to, size_t bytes) {
  return FBLEPROF_NEW_CALL_OR_(peek, (from, to, bytes), 0);
}

#endif /* FBLEPROF_BUILDING_LIBRARY */

#ifdef __cplusplus
}
#endif

#endif
