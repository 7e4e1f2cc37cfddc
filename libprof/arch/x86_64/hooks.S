/* The hooks' hot paths: the code that runs on every call of the profiled program.
 *
 * What a hook does, in the order of its instructions:
 *   1. drop the entries of dead frames from the top of the shadow stack (the address filter);
 *   2. form the tag of (context, call site) and look it up in the thread's edge cache. A slot is
 *      filled only after the caller was proven, so a hit is the proof;
 *   3. count on the edge, and push the context that it leads to.
 * Everything else, and every doubt, goes to fbleprof_enter_slow.
 *
 * At a function's entry only r11 may be overwritten: argument registers, rax (the number of vector
 * arguments), r10 (the static chain) and all vector registers are live. No instruction here touches
 * a vector register, and the C++ behind fbleprof_enter_slow is compiled without them.
 *
 * All of the code is one stretch of text, fbleprof_hooks_begin to _end, so the handler recognizes by
 * its address a sample that is our own overhead.
 */
#include "arch/hot_layout.h"

        .section .text.fbleprof_hooks, "ax", @progbits
        .p2align 6
        .globl  fbleprof_hooks_begin
        .hidden fbleprof_hooks_begin
fbleprof_hooks_begin:

        .hidden fbleprof_hot
        .hidden fbleprof_enter_slow
        .hidden fbleprof_attach_slow
        .hidden fbleprof_exit_slow
        .hidden fbleprof_enter_block_slow
        .hidden fbleprof_leave_slow
        .hidden fbleprof_attach_lazily
        .hidden fbleprof_has_xsave

/* A fork in a signal handler gives the child new caches and shadow stacks, while the hook that the
 * handler interrupted still holds addresses of the old ones. Between the labels named here a hook has
 * changed nothing permanently, except a count in the parent's file: in the child it starts again at
 * `resume`. capture/fork_child reads the table. */
.macro RESTARTABLE begin, end, resume
        .pushsection .rodata.fbleprof_restarts, "a", @progbits
        .long   \begin - fbleprof_hooks_begin, \end - fbleprof_hooks_begin
        .long   \resume - fbleprof_hooks_begin
        .popsection
.endm
        .pushsection .rodata.fbleprof_restarts, "a", @progbits
        .globl  fbleprof_restarts
        .hidden fbleprof_restarts
        .p2align 2
fbleprof_restarts:
        .popsection

/* In a template that is copied: the copier adds the offset of fbleprof_hot to the last four bytes of
 * the previous instruction. capture/switching reads the table. */
.macro ADD_OFFSET_HERE
        .pushsection .rodata.fbleprof_offsets, "a", @progbits
        .long   661f - 4 - fbleprof_near_hook
        .popsection
661:
.endm
        .pushsection .rodata.fbleprof_offsets, "a", @progbits
        .globl  fbleprof_offsets
        .hidden fbleprof_offsets
        .p2align 2
fbleprof_offsets:
        .popsection

/* Puts into rcx the slot for the tag in rdx and the callee, for a call in the context of the entry at
 * rax, and compares the slot's tag; see arch/word.h. Except in a template, r11 = TLS offset of
 * fbleprof_hot. */
.macro FIND_SLOT callee, is_template=0
        mov     \callee, %rcx
        crc32q  %rdx, %rcx
        xor     ENTRY_WORD+WORD_HASH_BYTE(%rax), %ecx
  .if \is_template
        and     %fs:HOT_CACHE_MASK, %ecx
        ADD_OFFSET_HERE
        add     %fs:HOT_CACHE, %rcx
        ADD_OFFSET_HERE
  .else
        and     %fs:HOT_CACHE_MASK(%r11), %ecx
        add     %fs:HOT_CACHE(%r11), %rcx
  .endif
        cmp     %rdx, SLOT_TAG(%rcx)
.endm

/* The other slot of the pair. Without it, two frequent calls that share a first slot would always go to
 * the slow path (up to 3 % of the calls of a run of Lua, depending on where code was loaded). A call
 * that hits here goes to the slow path once in 64 times, which moves the call to the first slot, so the
 * more frequent call gets the first slot. */
.macro FIND_OTHER_SLOT callee
        xor     $SLOT_BYTES, %rcx
        cmp     %rdx, SLOT_TAG(%rcx)
        jne     4f
        mov     \callee, %rdx
        cmp     %rdx, SLOT_CALLEE(%rcx)
        jne     4f
        mov     SLOT_CALLS(%rcx), %rdx
        testb   $63, (%rdx)
        jnz     7b
.endm

/* After a hit in the slot at rcx: counts the call on its edge, and loads the word of the context that it
 * leads to into rcx. Overwrites rdx. */
.macro COUNT_CALL
        mov     SLOT_CALLS(%rcx), %rdx
        mov     SLOT_TO(%rcx), %rcx
        incq    (%rdx)
.endm

/* Pushes an entry with the word in rcx onto the shadow stack, whose top entry is at rax. Except in a
 * template, r11 = TLS offset of fbleprof_hot. */
.macro PUSH_CONTEXT frame, is_template=0
        mov     %rcx, ENTRY_BYTES+ENTRY_WORD(%rax)
        mov     \frame, ENTRY_BYTES+ENTRY_FRAME(%rax)
        add     $ENTRY_BYTES, %rax
  .if \is_template
        mov     %rax, %fs:HOT_TOP
        ADD_OFFSET_HERE
  .else
        mov     %rax, %fs:HOT_TOP(%r11)
  .endif
.endm

/* Saves the registers that a C++ function may clobber (rax, rcx, rdx, and perhaps r11, are in the red
 * zone already) and keeps the stack pointer in rbp. */
.macro SAVE_REST saved=24
        .cfi_remember_state
        sub     $\saved, %rsp
        .cfi_adjust_cfa_offset \saved
        .irp    register, rsi, rdi, r8, r9, r10, rbp
        push    %\register
        .cfi_adjust_cfa_offset 8
        .endr
        .cfi_rel_offset %rbp, 0
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
.endm
.macro RESTORE_ALL saved=24
        mov     %rbp, %rsp
        .cfi_def_cfa_register %rsp
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        .irp    register, r10, r9, r8, rdi, rsi
        pop     %\register
        .cfi_adjust_cfa_offset -8
        .endr
  .if \saved == 32
        pop     %r11
        .cfi_adjust_cfa_offset -8
  .endif
        .irp    register, rdx, rcx, rax
        pop     %\register
        .cfi_adjust_cfa_offset -8
        .endr
.endm
/* Attaches the thread, then starts the hook again. Mostly the thread then has a self, whether or not it
 * can be profiled. If it has none, because this process is not the recorded one, the hook ends. For hooks
 * that are ordinary calls with two arguments. */
.macro ATTACH_AND_RETRY name
        cmpq    $0, %fs:HOT_SELF(%r11)
        jne     2b
        cmpb    $0, fbleprof_attach_lazily(%rip)
        je      2b
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    fbleprof_attach_slow
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        test    %al, %al
        jnz     \name
        ret
.endm

/* Calls a slow path with the state at the hook's return (fp, sp, pc) at `state`, and returns. For hooks
 * that are ordinary calls. */
.macro RETURN_THROUGH function, state
        push    %rbp
        .cfi_adjust_cfa_offset 8
        lea     16(%rsp), %r9
        push    %r9
        .cfi_adjust_cfa_offset 8
        pushq   16(%rsp)
        .cfi_adjust_cfa_offset 8
        mov     %rsp, \state
        call    \function
        add     $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
.endm

/* A hook that is called at a function's entry and may clobber only r11.
 *   frame: an operand that is the function's frame (its return-address slot - FRAME_BIAS)
 *   site:  where the function's return address stands
 *   kind:  HOOK_NATIVE, or HOOK_EXACT, which keeps r11 too
 *   saved: the bytes of the red zone in which registers are saved
 * rsp itself is the frame of a function that calls __fentry__ first. It does not change: registers are
 * saved in the red zone, which is cheaper than pushes (2 % of a run of Lua), because the processor
 * does not have to update the stack pointer in between. */
.macro ENTRY_HOOK name, frame_from_rbp, kind=HOOK_NATIVE, saved=24
        .globl  \name
        .type   \name, @function
        .p2align 6
\name:
        .cfi_startproc
        mov     %rax, -8(%rsp)
        mov     %rcx, -16(%rsp)
        mov     %rdx, -24(%rsp)
  .if \saved == 32
8:      mov     %r11, -32(%rsp)
  .endif
0:      mov     fbleprof_hot@gottpoff(%rip), %r11
        mov     %fs:HOT_TOP(%r11), %rax
        test    %rax, %rax
        jz      5f
  .if \frame_from_rbp
        lea     8-FRAME_BIAS(%rbp), %rdx
        cmp     %rdx, ENTRY_FRAME(%rax)
  .else
        cmp     %rsp, ENTRY_FRAME(%rax)
  .endif
        jbe     3f
1:      mov     ENTRY_WORD(%rax), %rdx
  .if \frame_from_rbp
        xor     8(%rbp), %rdx
  .else
        xor     FRAME_BIAS(%rsp), %rdx
  .endif
        FIND_SLOT (%rsp)
        jne     6f
        mov     (%rsp), %rdx
        cmp     %rdx, SLOT_CALLEE(%rcx)
        jne     6f
7:      cmp     %fs:HOT_LIMIT(%r11), %rax
        jae     4f
        COUNT_CALL
  .if \frame_from_rbp
        lea     8-FRAME_BIAS(%rbp), %rdx
        PUSH_CONTEXT %rdx
  .else
        PUSH_CONTEXT %rsp
  .endif
2:      mov     -8(%rsp), %rax
        mov     -16(%rsp), %rcx
        mov     -24(%rsp), %rdx
  .if \saved == 32
        mov     -32(%rsp), %r11
  .endif
        ret
/* Dead entries. An offset of 0 means that the library is not relocated yet (a hook in an IFUNC resolver
 * of a library that the loader relocates first); then rax is the thread's control block. */
3:      test    %r11, %r11
        jz      2b
31:     sub     $ENTRY_BYTES, %rax
  .if \frame_from_rbp
        cmp     %rdx, ENTRY_FRAME(%rax)
  .else
        cmp     %rsp, ENTRY_FRAME(%rax)
  .endif
        jbe     31b
        jmp     1b
6:      mov     ENTRY_WORD(%rax), %rdx
  .if \frame_from_rbp
        xor     8(%rbp), %rdx
  .else
        xor     FRAME_BIAS(%rsp), %rdx
  .endif
        FIND_OTHER_SLOT (%rsp)
        RESTARTABLE 0b, 2b, 0b
        RESTARTABLE 3b, 4f, 0b
4:      SAVE_REST \saved
        mov     %rax, %rdi
  .if \frame_from_rbp
        mov     (%rbp), %rdx            /* the function's rbp, saved by SAVE_REST */
        lea     8-FRAME_BIAS(%rdx), %rsi
        mov     8(%rdx), %rdx
  .else
        lea     48+\saved(%rbp), %rsi
        mov     48+\saved+FRAME_BIAS(%rbp), %rdx
  .endif
        mov     48+\saved(%rbp), %rcx
        mov     $\kind, %r8d
        /* the state at the hook's return: fp, sp, pc */
        pushq   (%rbp)
        lea     48+\saved+8(%rbp), %r9
        push    %r9
        push    %rcx
        mov     %rsp, %r9
        and     $-16, %rsp
        call    fbleprof_enter_slow
        RESTORE_ALL \saved
        ret
        .cfi_restore_state
/* A thread without a shadow stack: the library is not ready, has finished, or did not see the thread
 * start. */
5:      cmpq    $0, %fs:HOT_SELF(%r11)
        jne     2b
        cmpb    $0, fbleprof_attach_lazily(%rip)
        je      2b
        SAVE_REST \saved
        and     $-16, %rsp
        call    fbleprof_attach_slow
        test    %al, %al                /* RESTORE_ALL changes no flag */
        RESTORE_ALL \saved
        jnz     \name
        ret
        .cfi_restore_state
  .if \saved == 32
/* A copy of the hot path continues here after a miss: rax = the top entry, and rax, rcx and rdx are
 * saved. */
        .globl  \name\()_missed
        .hidden \name\()_missed
\name\()_missed:
9:      mov     %r11, -32(%rsp)
        jmp     4b
10:
        RESTARTABLE 9b, 10b, 8b
  .endif
        .cfi_endproc
        .size   \name, .-\name
.endm

/* gcc -pg -mfentry: the first instruction of the function. */
ENTRY_HOOK __fentry__, 0
/* -pg: called after the prologue; -pg keeps frame pointers. */
ENTRY_HOOK mcount, 1
        .globl  _mcount
        .set    _mcount, mcount

/* Rewritten functions: a trampoline calls this hook. gcc keeps values in r11 across calls of functions
 * that do not use r11 (-fipa-ra), so the hook keeps r11 like any other register. */
        .hidden fbleprof_exact_hook
ENTRY_HOOK fbleprof_exact_hook, 0, HOOK_EXACT, 32

/* Rewritten functions, when another one tail-calls them. The cache holds such calls under keys that
 * only the copy of the hot path below forms, so this hook never hits. */
        .hidden fbleprof_tail_hook
ENTRY_HOOK fbleprof_tail_hook, 0, HOOK_TAIL, 32

/* Patchable functions (arch/hook_site.h), whose callers may keep values in r11 too. */
        .hidden fbleprof_patched_hook
ENTRY_HOOK fbleprof_patched_hook, 0, HOOK_NATIVE, 32

/* The hook's hot path, as a template. Each module with patchable functions has a copy near it, which
 * the functions call directly. The copy reaches thread-local variables by constants, so it needs no
 * r11. For anything else it jumps to the original hook, whose addresses lie before the copy: \missed
 * if only the cache does not know, \original if there is more to do; see arch/near_hook.h.
 *
 * With is_tail, the entry on top is that of the function that jumped here, in the same frame, and the
 * callee takes it over. With is_leaf, the callee calls nothing, and gets no entry. `dead` is the jump for
 * entries whose frames have ended. */
.macro NEAR_HOOK name, site, callee, dead, missed, original, is_tail=0, is_leaf=0
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
        mov     %rax, -8(%rsp)
        mov     %rcx, -16(%rsp)
        mov     %rdx, -24(%rsp)
0:      mov     %fs:HOT_TOP, %rax
        ADD_OFFSET_HERE
        test    %rax, %rax
        jz      5f
        cmp     %rsp, ENTRY_FRAME(%rax)
        \dead   3f
1:
  .if \is_tail
        jne     4f
  .endif
        mov     ENTRY_WORD(%rax), %rdx
        xor     \site, %rdx
        FIND_SLOT \callee, 1
        jne     6f
        mov     \callee, %rdx
        cmp     %rdx, SLOT_CALLEE(%rcx)
        jne     6f
7:
  .if \is_tail
        COUNT_CALL
        mov     %rax, %fs:HOT_TOP
        ADD_OFFSET_HERE
        mov     %rcx, ENTRY_WORD(%rax)  /* the last step: it cannot be repeated */
  .elseif \is_leaf
        mov     SLOT_CALLS(%rcx), %rdx
        incq    (%rdx)
        cmp     %fs:HOT_TOP, %rax
        ADD_OFFSET_HERE
        jne     8f
  .else
        cmp     %fs:HOT_LIMIT, %rax
        ADD_OFFSET_HERE
        jae     4f
        COUNT_CALL
        PUSH_CONTEXT %rsp, 1
  .endif
2:      mov     -8(%rsp), %rax
        mov     -16(%rsp), %rcx
        mov     -24(%rsp), %rdx
        ret
3:      sub     $ENTRY_BYTES, %rax
        cmp     %rsp, ENTRY_FRAME(%rax)
        \dead   3b
        jmp     1b
  .if \is_leaf
/* Drops the dead entries for good, or the next calls of leaves would find them again. Only now: before
 * the hit, the entries may be those of another stack. */
8:      mov     %rax, %fs:HOT_TOP
        ADD_OFFSET_HERE
        jmp     2b
  .endif
6:      mov     ENTRY_WORD(%rax), %rdx
        xor     \site, %rdx
        FIND_OTHER_SLOT \callee
4:      jmp     *fbleprof_near_hook-\missed(%rip)
        RESTARTABLE 0b, 2b, 0b
        RESTARTABLE 3b, 5f, 0b
5:      mov     -8(%rsp), %rax
        mov     -16(%rsp), %rcx
        mov     -24(%rsp), %rdx
        jmp     *fbleprof_near_hook-\original(%rip)
        .cfi_endproc
        .size   \name, .-\name
.endm

        .p2align 6
NEAR_HOOK fbleprof_near_hook, FRAME_BIAS(%rsp), (%rsp), jbe, NEAR_HOOK_MISSED, NEAR_HOOK_ADDRESS

/* For tail calls from a function that is known. The edge's key is (context of the function that jumped,
 * address behind the call of this hook, word of the entry below); see remember_tail_call. */
NEAR_HOOK fbleprof_near_tail_hook, (%rsp), ENTRY_WORD_BELOW(%rax), jb, NEAR_HOOK_TAIL_MISSED, NEAR_HOOK_TAIL_ADDRESS, is_tail=1

/* For functions that call nothing. Only samples ask for their entries, and walk to the caller's: without
 * an entry, the next call depends on none of this one's stores. A miss continues as in the first. */
NEAR_HOOK fbleprof_near_leaf_hook, FRAME_BIAS(%rsp), (%rsp), jbe, NEAR_HOOK_MISSED, NEAR_HOOK_ADDRESS, is_leaf=1

        .globl  fbleprof_near_hook_end
        .hidden fbleprof_near_hook_end
fbleprof_near_hook_end:
        .pushsection .rodata.fbleprof_offsets, "a", @progbits
        .globl  fbleprof_offsets_end
        .hidden fbleprof_offsets_end
fbleprof_offsets_end:
        .popsection

/* -finstrument-functions: void __cyg_profile_func_enter(void* function, void* call_site). An ordinary
 * call: all argument registers are free. Inlined functions share their frame with the function around
 * them, so an entry with an equal frame is live. The frame is the hook's own minus the bias of 8 bytes;
 * it lies above the frames of everything that the function calls. */
        .globl  __cyg_profile_func_enter
        .type   __cyg_profile_func_enter, @function
        .p2align 6
__cyg_profile_func_enter:
        .cfi_startproc
0:      mov     fbleprof_hot@gottpoff(%rip), %r11
        mov     %fs:HOT_TOP(%r11), %rax
        test    %rax, %rax
        jz      5f
        lea     8-FRAME_BIAS(%rsp), %r8
        cmp     %r8, ENTRY_FRAME(%rax)
        jb      3f
1:      mov     ENTRY_WORD(%rax), %rdx
        xor     %rsi, %rdx
        FIND_SLOT %rdi
        jne     6f
        cmp     %rdi, SLOT_CALLEE(%rcx)
        jne     6f
7:      cmp     %fs:HOT_LIMIT(%r11), %rax
        jae     4f
        COUNT_CALL
        PUSH_CONTEXT %r8
2:      ret
3:      test    %r11, %r11
        jz      2b
31:     sub     $ENTRY_BYTES, %rax
        cmp     %r8, ENTRY_FRAME(%rax)
        jb      31b
        jmp     1b
6:      FIND_OTHER_SLOT %rdi
        RESTARTABLE 0b, 2b, 0b
        RESTARTABLE 3b, 4f, 0b
4:      mov     %rdi, %rcx
        mov     %rsi, %rdx
        mov     %rax, %rdi
        mov     %r8, %rsi
        mov     $HOOK_CYG, %r8d
        RETURN_THROUGH fbleprof_enter_slow, %r9
5:      ATTACH_AND_RETRY __cyg_profile_func_enter
        .cfi_endproc
        .size   __cyg_profile_func_enter, .-__cyg_profile_func_enter

/* void __cyg_profile_func_exit(void* function, void* call_site). Compilers tail-call it: then the frame
 * is already gone, and the return address on the stack is the function's own, its call site. They also
 * split functions: the head, which calls the hook above, is inlined, and the rest, which calls this
 * hook, has a frame of its own, below. So if no entry is at our frame or below,
 * fbleprof_exit_slow(function, our return address or 0) decides. */
        .globl  __cyg_profile_func_exit
        .type   __cyg_profile_func_exit, @function
        .p2align 6
__cyg_profile_func_exit:
        .cfi_startproc
0:      mov     fbleprof_hot@gottpoff(%rip), %r11
        mov     %fs:HOT_TOP(%r11), %rax
        test    %rax, %rax
        jz      2f
        lea     8-FRAME_BIAS(%rsp), %r8
        cmp     %rsi, (%rsp)
        je      3f
        cmp     %r8, ENTRY_FRAME(%rax)
        jne     4f
1:      sub     $ENTRY_BYTES, %rax
        mov     %rax, %fs:HOT_TOP(%r11)
2:      ret
/* Tail-called: all entries of the frame that is gone lie below. */
3:      xor     %esi, %esi
        cmp     %r8, ENTRY_FRAME(%rax)
        jae     5f
        test    %r11, %r11
        jz      2b
31:     sub     $ENTRY_BYTES, %rax
        cmp     %r8, ENTRY_FRAME(%rax)
        jb      31b
        mov     %rax, %fs:HOT_TOP(%r11)
        ret
/* Entries below ours are of callees that never ran their exit hook (exceptions, longjmp). */
4:      mov     (%rsp), %rsi
        ja      5f
        test    %r11, %r11
        jz      2b
41:     sub     $ENTRY_BYTES, %rax
        cmp     %r8, ENTRY_FRAME(%rax)
        jb      41b
        je      1b
        mov     %rax, %fs:HOT_TOP(%r11)
        ret
/* The hook has lost its second argument: the child continues without dropping the entry. */
        RESTARTABLE 0b, 2b, 2b
        RESTARTABLE 3b, 5f, 2b
5:      test    %r11, %r11
        jz      2b
        jmp     fbleprof_exit_slow
        .cfi_endproc
        .size   __cyg_profile_func_exit, .-__cyg_profile_func_exit

/* void fbleprof_enter(fbleprof_block block). As for a native call, the return address is the site: a
 * slot is filled only after the caller was proven. The callee is the block's number with all higher
 * bits set; no code lies there (callee_of_block). The entry inherits the frame of the entry below it.
 * Entries above our own return-address slot are live. */
        .globl  fbleprof_enter
        .type   fbleprof_enter, @function
        .p2align 6
fbleprof_enter:
        .cfi_startproc
0:      mov     fbleprof_hot@gottpoff(%rip), %r11
        mov     %fs:HOT_TOP(%r11), %rax
        test    %rax, %rax
        jz      5f
        or      $-0x80000000, %rdi
        lea     -FRAME_BIAS(%rsp), %r8
        cmp     %r8, ENTRY_FRAME(%rax)
        jbe     3f
1:      mov     ENTRY_WORD(%rax), %rdx
        xor     (%rsp), %rdx
        FIND_SLOT %rdi
        jne     6f
        cmp     %rdi, SLOT_CALLEE(%rcx)
        jne     6f
7:      cmp     %fs:HOT_LIMIT(%r11), %rax
        jae     4f
        COUNT_CALL
        mov     ENTRY_FRAME(%rax), %r8
        PUSH_CONTEXT %r8
2:      ret
3:      sub     $ENTRY_BYTES, %rax
        cmp     %r8, ENTRY_FRAME(%rax)
        jbe     3b
        jmp     1b
6:      FIND_OTHER_SLOT %rdi
        RESTARTABLE 0b, 2b, 0b
        RESTARTABLE 3b, 4f, 0b
4:      mov     %edi, %esi
        mov     %r8, %rdi
        RETURN_THROUGH fbleprof_enter_block_slow, %rdx
5:      ATTACH_AND_RETRY fbleprof_enter
        .cfi_endproc
        .size   fbleprof_enter, .-fbleprof_enter

/* void fbleprof_leave(fbleprof_block block): the low bits of an entry's word are its block. */
        .globl  fbleprof_leave
        .type   fbleprof_leave, @function
        .p2align 6
fbleprof_leave:
        .cfi_startproc
0:      mov     fbleprof_hot@gottpoff(%rip), %r11
        mov     %fs:HOT_TOP(%r11), %rax
        test    %rax, %rax
        jz      2f
        lea     -FRAME_BIAS(%rsp), %r8
        cmp     %r8, ENTRY_FRAME(%rax)
        jbe     3f
1:      mov     ENTRY_WORD(%rax), %edx
        xor     %edi, %edx
        shl     $32-WORD_BLOCK_BITS, %edx
        jnz     4f
        sub     $ENTRY_BYTES, %rax
        mov     %rax, %fs:HOT_TOP(%r11)
2:      ret
3:      sub     $ENTRY_BYTES, %rax
        cmp     %r8, ENTRY_FRAME(%rax)
        jbe     3b
        jmp     1b
        RESTARTABLE 0b, 2b, 0b
        RESTARTABLE 3b, 4f, 0b
4:      mov     %edi, %esi
        mov     %rax, %rdi
        jmp     fbleprof_leave_slow
        .cfi_endproc
        .size   fbleprof_leave, .-fbleprof_leave

/* long fbleprof_preserving_vectors(long (*function)(void*), void* argument): calls foreign code from a
 * slow path, where all vector registers may hold the program's arguments. Foreign code is code of the
 * loader, of libc, and our code above the signal-safe layer; it may use any vector register. 0xe7: x87,
 * SSE, AVX and the three parts of AVX-512: 2688 bytes. */
        .globl  fbleprof_preserving_vectors
        .hidden fbleprof_preserving_vectors
        .type   fbleprof_preserving_vectors, @function
        .p2align 4
fbleprof_preserving_vectors:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        push    %rbx
        .cfi_offset %rbx, -24
        sub     $2816, %rsp
        and     $-64, %rsp
        xor     %eax, %eax
        mov     %rax, 512(%rsp)         /* XSAVE leaves parts of its header as they are, */
        mov     %rax, 520(%rsp)         /* XRSTOR wants them zero */
        mov     %rax, 528(%rsp)
        mov     %rax, 536(%rsp)
        mov     %rax, 544(%rsp)
        mov     %rax, 552(%rsp)
        mov     %rax, 560(%rsp)
        mov     %rax, 568(%rsp)
        mov     %rdi, %rcx
        cmpb    $0, fbleprof_has_xsave(%rip)
        je      1f
        mov     $0xe7, %eax
        xor     %edx, %edx
        xsave64 (%rsp)
        mov     %rsi, %rdi
        call    *%rcx
        mov     %rax, %rbx
        mov     $0xe7, %eax
        xor     %edx, %edx
        xrstor64 (%rsp)
        mov     %rbx, %rax
        jmp     2f
1:      fxsave64 (%rsp)                 /* x87 and SSE: this processor has no more */
        mov     %rsi, %rdi
        call    *%rcx
        fxrstor64 (%rsp)
2:
        mov     -8(%rbp), %rbx
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   fbleprof_preserving_vectors, .-fbleprof_preserving_vectors

        .globl  fbleprof_hooks_end
        .hidden fbleprof_hooks_end
fbleprof_hooks_end:
        .pushsection .rodata.fbleprof_restarts, "a", @progbits
        .globl  fbleprof_restarts_end
        .hidden fbleprof_restarts_end
fbleprof_restarts_end:
        .popsection
        .section .note.GNU-stack, "", @progbits
