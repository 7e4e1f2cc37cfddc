/* void fbleprof_call_on(void* stack_end, void (*function)(void*), void* argument): calls function(argument)
 * on the stack that ends at `stack_end` (a multiple of 16), and returns to the present one. The frame's
 * address is in rbp, so an unwinder finds the way back. */
        .text
        .globl  fbleprof_call_on
        .hidden fbleprof_call_on
        .type   fbleprof_call_on, @function
        .p2align 4
fbleprof_call_on:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        mov     %rdi, %rsp
        mov     %rdx, %rdi
        call    *%rsi
        mov     %rbp, %rsp
        .cfi_def_cfa_register %rsp
        pop     %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   fbleprof_call_on, .-fbleprof_call_on
        .section .note.GNU-stack, "", @progbits
