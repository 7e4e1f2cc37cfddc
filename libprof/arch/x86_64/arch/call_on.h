// Calls a function on another stack.
#pragma once

extern "C" {
// Calls function(argument) on the stack that ends at `stack_end`, a multiple of 16. The function
// must return. Async-signal-safe.
void fbleprof_call_on(void* stack_end, void (*function)(void* argument), void* argument)
    __attribute__((visibility("hidden")));
}
