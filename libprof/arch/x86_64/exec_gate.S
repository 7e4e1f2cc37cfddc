/* fbleprof_exec_gate: makes a system call of exec for code of libc that was about to make it: number and
 * arguments are in the registers, and so is the result. As in the kernel, all other registers but rcx and
 * r11 keep their values. */
        .text
        .globl  fbleprof_exec_gate
        .hidden fbleprof_exec_gate
        .type   fbleprof_exec_gate, @function
        .p2align 4
fbleprof_exec_gate:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        push    %r9
        push    %r8
        push    %r10
        push    %rdx
        push    %rsi
        push    %rdi
        push    %rax                    /* struct ExecCall */
        mov     %rsp, %rsi
        lea     fbleprof_make_exec_call(%rip), %rdi
        and     $-16, %rsp
        call    fbleprof_preserving_vectors
        lea     -48(%rbp), %rsp
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %r10
        pop     %r8
        pop     %r9
        pop     %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   fbleprof_exec_gate, .-fbleprof_exec_gate
        .section .note.GNU-stack, "", @progbits
