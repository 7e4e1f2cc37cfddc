// Calls a function on another stack, or on one that is not aligned.
#pragma once

// A function that may be called with a stack that the ABI would not allow, and aligns it: QEMU's
// user mode before 8.1 calls signal handlers so.
#define FBLEPROF_ALIGNS_STACK __attribute__((force_align_arg_pointer))

extern "C" {
// Calls function(argument) on the stack that ends at `stack_end`, a multiple of 16. The function
// must return. Async-signal-safe.
void fbleprof_call_on(void* stack_end, void (*function)(void* argument), void* argument)
    __attribute__((visibility("hidden")));
}
