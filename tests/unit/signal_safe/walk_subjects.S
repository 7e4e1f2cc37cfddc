/* Functions whose every instruction is a different place to be interrupted in. */
        .text
/* function(): pushes, an adjusted stack, an early and a late epilogue. */
        .globl  subject_pushes
        .type   subject_pushes, @function
subject_pushes:
        .cfi_startproc
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        push    %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r12, 0
        sub     $64, %rsp
        .cfi_adjust_cfa_offset 64
        mov     $0x5a5a5a5a, %ebp       /* no frame pointer: an ordinary register */
        test    %edi, %edi
        .cfi_remember_state
        jz      1f
        dec     %edi
        call    subject_pushes
        add     $64, %rsp
        .cfi_adjust_cfa_offset -64
        pop     %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
1:      .cfi_restore_state
        lea     0x12345, %ebp
        call    subject_leave
        add     $64, %rsp
        .cfi_adjust_cfa_offset -64
        pop     %r12
        .cfi_adjust_cfa_offset -8
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   subject_pushes, .-subject_pushes

/* A frame pointer, `leave`, and a tail call. */
        .globl  subject_leave
        .type   subject_leave, @function
subject_leave:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        sub     $40, %rsp
        pushq   $7                      /* rsp moves, the CFA does not */
        pushfq
        popfq
        pop     %rax
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        jmp     subject_tail
        .cfi_endproc
        .size   subject_leave, .-subject_leave

/* A leaf that was jumped to. */
        .globl  subject_tail
        .type   subject_tail, @function
subject_tail:
        .cfi_startproc
        xor     %eax, %eax
        nop
        ret
        .cfi_endproc
        .size   subject_tail, .-subject_tail

/* The frame's base in rbx, as the loader's lazy-binding trampoline and hand-written code have it. */
        .globl  subject_rbx_frame
        .type   subject_rbx_frame, @function
subject_rbx_frame:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        mov     %rsp, %rbx
        .cfi_def_cfa_register %rbx
        sub     $256, %rsp
        and     $-64, %rsp
        call    subject_saves_rbx
        mov     %rbx, %rsp
        .cfi_def_cfa_register %rsp
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   subject_rbx_frame, .-subject_rbx_frame

/* The caller's stack pointer kept on a realigned stack, and in rax meanwhile: cryptographic code. */
        .globl  subject_saved_sp
        .type   subject_saved_sp, @function
subject_saved_sp:
        .cfi_startproc
        mov     %rsp, %rax
        .cfi_def_cfa_register %rax
        push    %rbx
        .cfi_offset %rbx, -16
        push    %rbp
        .cfi_offset %rbp, -24
        call    subject_helper
        sub     $128, %rsp
        and     $-64, %rsp
        mov     %rax, 40(%rsp)
        .cfi_escape 0x0f, 5, 0x77, 40, 0x06, 0x23, 8    /* CFA = *(rsp + 40) + 8 */
        mov     $3, %ebp
        xor     %eax, %eax
        nop
        mov     40(%rsp), %rsi
        .cfi_def_cfa %rsi, 8
        mov     -16(%rsi), %rbp
        .cfi_restore %rbp
        mov     -8(%rsi), %rbx
        .cfi_restore %rbx
        lea     (%rsi), %rsp
        .cfi_def_cfa_register %rsp
        ret
        .cfi_endproc
        .size   subject_saved_sp, .-subject_saved_sp

        .type   subject_helper, @function
subject_helper:
        .cfi_startproc
        nop
        ret
        .cfi_endproc
        .size   subject_helper, .-subject_helper

        .type   subject_saves_rbx, @function
subject_saves_rbx:
        .cfi_startproc
        push    %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r15, 0
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        mov     $1, %ebx
        call    subject_tail
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        pop     %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r15
        ret
        .cfi_endproc
        .size   subject_saves_rbx, .-subject_saves_rbx
/* As in LuaJIT: an interpreter whose table knows one frame, from its first instruction to its last, and
 * code without a table that the interpreter jumps to, which extends that frame. */
        .globl  subject_generated
        .type   subject_generated, @function
subject_generated:
        .cfi_startproc
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    interpreter
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   subject_generated, .-subject_generated
interpreter:
        .cfi_startproc
        .cfi_def_cfa_offset 80
        .cfi_offset %rbp, -16
        .cfi_offset %rbx, -24
        .cfi_offset %r15, -32
        .cfi_offset %r14, -40
        push    %rbp
        push    %rbx
        push    %r15
        push    %r14
        sub     $40, %rsp
        jmp     generated
leave_interpreter:
        add     $40, %rsp
        pop     %r14
        pop     %r15
        pop     %rbx
        pop     %rbp
        ret
        .cfi_endproc
generated:
        sub     $32, %rsp
        mov     $20, %ebx
        mov     $0x1234, %ebp
1:      call    subject_leave
        dec     %ebx
        jnz     1b
        add     $32, %rsp
        jmp     leave_interpreter

/* As in Go: functions without a table that keep frame pointers; the innermost ones run on a stack of
 * their own. */
        .globl  subject_other_stack
        .type   subject_other_stack, @function
subject_other_stack:
        push    %rbp
        mov     %rsp, %rbp
        call    2f
        pop     %rbp
        ret
2:      push    %rbp
        mov     %rsp, %rbp
        call    3f
        pop     %rbp
        ret
3:      push    %rbx
        mov     %rsp, %rbx
        lea     other_stack_end(%rip), %rsp
        call    4f
        mov     %rbx, %rsp
        pop     %rbx
        ret
4:      push    %rbp
        mov     %rsp, %rbp
        .rept   40
        nop
        .endr
        call    subject_leave
        pop     %rbp
        ret
        .size   subject_other_stack, .-subject_other_stack
        .local  other_stack
        .comm   other_stack, 262144, 16
        .set    other_stack_end, other_stack + 262144

/* The trap flag: a SIGTRAP after every instruction. */
        .globl  start_stepping
        .type   start_stepping, @function
start_stepping:
        .cfi_startproc
        pushfq
        .cfi_adjust_cfa_offset 8
        orl     $0x100, (%rsp)
        popfq
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   start_stepping, .-start_stepping

        .globl  stop_stepping
        .type   stop_stepping, @function
stop_stepping:
        .cfi_startproc
        pushfq
        .cfi_adjust_cfa_offset 8
        andl    $~0x100, (%rsp)
        popfq
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   stop_stepping, .-stop_stepping
        .section .note.GNU-stack, "", @progbits
