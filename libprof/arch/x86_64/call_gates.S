/* Where system calls of libc lead that begin in a slot (arch/call_site.h).
 *
 * fbleprof_call_gate makes the call for code of libc that was about to make it: number and arguments are in
 * the registers, and so is the result. As in the kernel, all other registers but rcx and r11 keep their
 * values. rt_sigaction for signals of which we have no handler takes no stack: it may be a small one. */
        .set    RT_SIGACTION, 13
        .set    SIGILL, 4
        .set    SIGBUS, 7
        .set    SIGFPE, 8
        .set    SIGSEGV, 11
        .set    SIGPROF, 27
        /* Those of which we may have a handler: the sampling signal and faults. */
        .set    OURS, 1<<SIGILL | 1<<SIGBUS | 1<<SIGFPE | 1<<SIGSEGV | 1<<SIGPROF

        .text
        .globl  fbleprof_call_gate
        .hidden fbleprof_call_gate
        .hidden fbleprof_make_call
        .type   fbleprof_call_gate, @function
        .p2align 4
fbleprof_call_gate:
        .cfi_startproc
        cmp     $RT_SIGACTION, %eax
        jne     1f
        cmp     $SIGPROF, %edi
        ja      2f
        mov     $OURS, %r11d            /* the call overwrites it anyway */
        bt      %edi, %r11d
        jc      1f
2:      syscall
        ret
1:      push    %rbp
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
        push    %rax                    /* struct GatedCall */
        mov     %rsp, %rsi
        lea     fbleprof_make_call(%rip), %rdi
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
        .size   fbleprof_call_gate, .-fbleprof_call_gate

/* fbleprof_thread_gate: runs in a new thread or process, before its first own instruction. All registers but
 * rcx and r11 keep their values. Vector registers hold nothing: libc calls the thread's function next. */
        .globl  fbleprof_thread_gate
        .hidden fbleprof_thread_gate
        .hidden fbleprof_meet_thread
        .type   fbleprof_thread_gate, @function
        .p2align 4
fbleprof_thread_gate:
        .cfi_startproc
        .cfi_undefined %rip             /* the outermost frame */
        push    %rbp
        mov     %rsp, %rbp
        push    %r9
        push    %r8
        push    %r10
        push    %rdx
        push    %rsi
        push    %rdi
        push    %rax
        lea     16(%rbp), %rdi          /* where its stack begins */
        and     $-16, %rsp
        call    fbleprof_meet_thread
        lea     -56(%rbp), %rsp
        pop     %rax
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %r10
        pop     %r8
        pop     %r9
        pop     %rbp
        ret
        .cfi_endproc
        .size   fbleprof_thread_gate, .-fbleprof_thread_gate
        .section .note.GNU-stack, "", @progbits
