/* Functions at known addresses, in files of their own: a library, where a relocation names a symbol, and a
 * program at a fixed address, whose constants lie among its code. */
#include "tests/programs/function.inc"

        .section .window, "ax", @progbits
FUNCTION pointed_into
        xor     %eax, %eax
        inc     %eax
        mov     %edi, %ecx
        ret
END pointed_into
        .p2align 5
FUNCTION not_pointed_into
        xor     %eax, %eax
        inc     %eax
        mov     %edi, %ecx
        ret
END not_pointed_into
#ifdef FIXED
        .p2align 5
FUNCTION packed_pointed_into
        xor     %eax, %eax
        inc     %eax
        mov     %edi, %ecx
        ret
END packed_pointed_into
        .byte   0               /* a member of a packed structure comes before it */
        .quad   packed_pointed_into + 2, packed_pointed_into
#endif

#ifndef FIXED
        .data
#endif
        .p2align 3
        .quad   pointed_into + 2, pointed_into, not_pointed_into
        .section .window, "ax", @progbits
        .p2align 5
        .section .note.GNU-stack, "", @progbits
