/* Function starts that must not be overwritten, or only with care. exact_entries.c includes it. */
        .text
        .include "function.inc"

        /* A loop's head two bytes in, which only a jump table names. */
FUNCTION table
        xor     %eax, %eax
.Lhead: dec     %edi
        js      9f
        add     $3, %eax
        lea     .Ltable(%rip), %rdx
        mov     %edi, %ecx
        and     $1, %ecx
        movslq  (%rdx, %rcx, 4), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
.Lother:
        inc     %eax
        lea     .Ltable(%rip), %rdx
        movslq  (%rdx), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
9:      ret
END table

        /* A loop to the start, and a red zone that is handed over by a jump. */
FUNCTION zone
        cmp     $0, %edi
        je      1f
        add     %rdi, -8(%rsp)
        dec     %edi
        jmp     zone
1:      mov     -8(%rsp), %rax
        ret
END zone
FUNCTION start_zone
        movq    $0, -8(%rsp)
        jmp     zone
END start_zone

        /* Takes flags from its caller. */
FUNCTION flags
        setc    %al
        movzbl  %al, %eax
        adc     $1, %eax
        nop
        ret
END flags
FUNCTION call_flags
        cmp     $5, %edi
        call    flags
        nop
        ret
END call_flags

        /* Stands between what writes a flag and what reads it. */
FUNCTION keeps_flags
        lea     1(%rdi), %eax
        mov     %eax, %ecx
        ret
END keeps_flags
FUNCTION reads_kept_flags
        cmp     $5, %edi
        call    keeps_flags
        cmovb   %edi, %eax
        ret
END reads_kept_flags

        /* One byte long, with padding behind; and without, another function follows. */
FUNCTION one_byte
        ret
END one_byte
        .globl  crowded
        .type   crowded, @function
        .p2align 4
        .byte   0x90
crowded:
        .cfi_startproc
        ret
END crowded
        .type   close_by, @function
        .globl  close_by
close_by:
        .cfi_startproc
        lea     1(%rdi), %eax
        ret
END close_by

        /* A short branch and a call in the first bytes; a call that is displaced. */
FUNCTION recursive
        test    %edi, %edi
        jle     2f
        dec     %edi
        call    recursive
        inc     %eax
        ret
2:      xor     %eax, %eax
        ret
END recursive
FUNCTION displaced
        push    %rbx
        .cfi_adjust_cfa_offset 8
        call    recursive
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        inc     %eax
        ret
END displaced

        /* Callees that gcc would know not to touch r11, and callers that keep a value there; the vector
         * registers and all others hold arguments. */
FUNCTION leaves_r11
        lea     (%rdi, %rdi), %eax
        ret
END leaves_r11
FUNCTION keeps_r11
        mov     $12345, %r11d
        mov     $6, %r10d
        push    %rdi
        .cfi_adjust_cfa_offset 8
        call    leaves_r11
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        add     %r11d, %eax
        add     %r10d, %eax
        ret
END keeps_r11
        .section .rodata
        .p2align 2
.Ltable:
        .long   .Lhead-.Ltable
        .long   .Lother-.Ltable
        .text
