/* long fbleprof_start_child(long flags, void* stack, void (*function)(void*), void* argument): a clone
 * that runs function(argument) on `stack`, and ends when the function returns. Not libc's clone: the
 * program may interpose its own clone, which would see this call. */
        .text
        .globl  fbleprof_start_child
        .hidden fbleprof_start_child
        .type   fbleprof_start_child, @function
        .p2align 4
fbleprof_start_child:
        .cfi_startproc
        sub     $16, %rsi
        mov     %rdx, (%rsi)
        mov     %rcx, 8(%rsi)
        mov     $56, %eax               /* clone */
        xor     %edx, %edx
        xor     %r10d, %r10d
        xor     %r8d, %r8d
        syscall
        test    %rax, %rax
        jz      1f
        ret
1:      .cfi_undefined %rip
        xor     %ebp, %ebp
        pop     %rax
        pop     %rdi
        call    *%rax
        xor     %edi, %edi
        mov     $60, %eax               /* exit */
        syscall
        hlt
        .cfi_endproc
        .size   fbleprof_start_child, .-fbleprof_start_child
        .section .note.GNU-stack, "", @progbits
