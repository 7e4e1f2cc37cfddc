/* bool fbleprof_copy_or_fail(void* to, const void* from, size_t bytes): copies; returns false if `from`
 * cannot be read. After a fault at one of its two loads, the handler of SIGSEGV and SIGBUS continues at
 * `fbleprof_copy_fails` (arch/peek.h). */
        .text
        .globl  fbleprof_copy_or_fail, fbleprof_copy_word, fbleprof_copy_byte, fbleprof_copy_fails
        .hidden fbleprof_copy_or_fail, fbleprof_copy_word, fbleprof_copy_byte, fbleprof_copy_fails
        .type   fbleprof_copy_or_fail, @function
        .p2align 4
fbleprof_copy_or_fail:
        .cfi_startproc
        mov     %rdx, %rcx
        shr     $3, %rcx
        jz      2f
1:
fbleprof_copy_word:
        mov     (%rsi), %rax
        mov     %rax, (%rdi)
        add     $8, %rsi
        add     $8, %rdi
        dec     %rcx
        jnz     1b
2:      and     $7, %edx
        jz      4f
3:
fbleprof_copy_byte:
        mov     (%rsi), %al
        mov     %al, (%rdi)
        inc     %rsi
        inc     %rdi
        dec     %edx
        jnz     3b
4:      mov     $1, %eax
        ret
fbleprof_copy_fails:
        xor     %eax, %eax
        ret
        .cfi_endproc
        .size   fbleprof_copy_or_fail, .-fbleprof_copy_or_fail
        .section .note.GNU-stack, "", @progbits
