/* Offsets that the hooks' assembly and its C++ share. Plain #defines, so that both can read them;
 * shadow_stack.h asserts them against the structs. */
#ifndef FBLEPROF_HOT_LAYOUT_H
#define FBLEPROF_HOT_LAYOUT_H

/* struct Hot, thread-local */
#define HOT_TOP 0
#define HOT_CACHE 8
#define HOT_SELF 16
#define HOT_LIMIT 24
#define HOT_CACHE_MASK 32

/* struct Entry */
#define ENTRY_FRAME 0
#define ENTRY_WORD 8
#define ENTRY_BYTES 16
#define ENTRY_WORD_BELOW -8 /* of the entry below; one word, as operands of macros must be */

/* struct Slot */
#define SLOT_TAG 0
#define SLOT_CALLEE 8
#define SLOT_CALLS 16
#define SLOT_TO 24
#define SLOT_BYTES 32

/* The cache: slots, in pairs; 2^14 of them, and 2^15 in a large tree. The place of a call's pair is
 * made from crc32c(callee, tag) and
 * from the context's word, from this byte on; see arch/word.h for the reason. crc32c mixes all bits
 * of both in one instruction. (A multiplication ignores either the low bits of the site or those of
 * the context: with the multiplier 0x61c88647, 34 % of lookups miss on Lua.) */
#define CACHE_SLOT_BITS 14
#define CACHE_MOST_SLOT_BITS 15
#define WORD_HASH_BYTE 3

/* The C API's block in a word: its low bits. */
#define WORD_BLOCK_BITS 30

/* The address of its return address minus this identifies a frame. That is the stack pointer in
 * __fentry__. */
#define FRAME_BIAS 8

/* How a function was entered: the last argument of fbleprof_enter_slow. */
#define HOOK_NATIVE 0
#define HOOK_CYG 1
#define HOOK_EXACT 2 /* of a rewritten function: the callee is a trampoline's */
#define HOOK_TAIL 3  /* the same; the trampoline is reached only by tail calls from one function */

/* The distances from a copy of the hooks' hot paths back to the hook's address, to the address of
 * its rest after a miss, and to both of the hook for tail calls; see arch/near_hook.h. */
#define NEAR_HOOK_ADDRESS 72
#define NEAR_HOOK_MISSED 64
#define NEAR_HOOK_TAIL_ADDRESS 56
#define NEAR_HOOK_TAIL_MISSED 48

/* A trampoline: the length of its call of the hook, and the distance from that call's return
 * address back to the function's address; see arch/trampoline.h. */
#define TRAMPOLINE_CALL_BYTES 5
#define TRAMPOLINE_FUNCTION 13

#endif
