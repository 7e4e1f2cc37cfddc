// context_0() to context_9(), which call context(K). Include it behind the definition of that.
//
// Frames of one size, so that all contexts make their calls at the same place on the stack.
#pragma once

#define CONTEXT(k)                                          \
  __attribute__((noinline)) static void context_##k(void) { \
    context(k);                                             \
    __asm__ volatile("");                                   \
  }
CONTEXT(0)
CONTEXT(1)
CONTEXT(2)
CONTEXT(3)
CONTEXT(4)
CONTEXT(5)
CONTEXT(6)
CONTEXT(7)
CONTEXT(8)
CONTEXT(9)

static void (*const kAllContexts[10])(void) = {context_0, context_1, context_2, context_3,
                                               context_4, context_5, context_6, context_7,
                                               context_8, context_9};
