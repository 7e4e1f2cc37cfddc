// libfbleprof_blocks.a: linked into programs compiled with -fsanitize-coverage=trace-pc (gcc,
// clang) or trace-pc-guard (clang). Each basic block calls one of these hooks. Under libfbleprof.so
// a block is a tick of virtual time; otherwise the hook is a load and a branch.
//
// The preloaded library does not define these symbols itself: programs that fuzzers or sanitizers
// instrument have hooks of the same names, and keep them.
#include <stddef.h>
#include <stdint.h>

// dlsym is weak, because a static executable has none.
extern void* dlsym(void*, const char*) __attribute__((weak));

static void (*basic_block)(void);

__attribute__((constructor(101))) static void find_recorder(void) {
  if (dlsym != NULL) basic_block = (void (*)(void))dlsym(NULL, "fbleprof_basic_block");
}

// Jumps to the recorder, so that the recorder's caller is the block.
void __sanitizer_cov_trace_pc(void) {
  if (__builtin_expect(basic_block != NULL, 0)) basic_block();
}
void __sanitizer_cov_trace_pc_guard(uint32_t* guard) {
  (void)guard;
  if (__builtin_expect(basic_block != NULL, 0)) basic_block();
}
void __sanitizer_cov_trace_pc_guard_init(uint32_t* start, uint32_t* stop) {
  (void)start, (void)stop;
}
// Calls through pointers: their blocks are counted where they run.
void __sanitizer_cov_trace_pc_indir(uintptr_t callee) { (void)callee; }
