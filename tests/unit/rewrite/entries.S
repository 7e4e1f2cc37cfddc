/* Functions whose starts may be overwritten, or may not; entries_test.cc reads them in its own file. */
        .text
#include "tests/programs/function.inc"
        .macro  SAVE register
        push    \register
        .cfi_adjust_cfa_offset 8
        .endm
        .macro  RESTORE register
        pop     \register
        .cfi_adjust_cfa_offset -8
        .endm

FUNCTION entry_ordinary
        SAVE    %rbx
        mov     %edi, %ebx
        mov     %ebx, %eax
        RESTORE %rbx
        ret
END entry_ordinary
FUNCTION entry_marked
        endbr64
        mov     %rdi, %rax
        add     $1, %rax
        ret
END entry_marked
        /* With room for a hook, which a section lists for those who would put one there. */
FUNCTION entry_listed
        endbr64
.Llisted:
        .rept   5
        nop
        .endr
        mov     %rdi, %rax
        ret
END entry_listed
        .pushsection __patchable_function_entries, "awo", @progbits, .text
        .quad   .Llisted
        .popsection
FUNCTION entry_far_address
        mov     entry_word(%rip), %eax
        ret
END entry_far_address
FUNCTION entry_short_branch
        test    %edi, %edi
        je      1f
        mov     $1, %eax
        ret
1:      xor     %eax, %eax
        ret
END entry_short_branch
FUNCTION entry_padded
        ret
END entry_padded

        /* Tail calls: in the first five bytes, and behind them. */
FUNCTION tail_at_once
        jmp     entry_ordinary
END tail_at_once
FUNCTION tail_later
        mov     %edi, %eax
        add     $1, %eax
        mov     %eax, %edi
        .byte   0xe9            /* jmp entry_marked, in its long form */
        .long   entry_marked - . - 4
END tail_later

        /* Behind its first five bytes are instructions of AVX-512. They never run here. */
FUNCTION entry_vector
        mov     %rdi, %rax
        mov     %rax, %rcx
        vpternlogd $3, %zmm17, %zmm18, %zmm19
        vpternlogd $3, entry_word(%rip), %zmm18, %zmm19
        vpternlogd $3, 64(%rsp,%rcx), %zmm18, %zmm19
        ret
END entry_vector

        /* Such instructions can be moved. */
FUNCTION entry_vector_first
        vpternlogd $3, entry_word(%rip), %zmm18, %zmm19
        ret
END entry_vector_first

        /* The library reads these wrongly, or does not know them. They never run here. */
FUNCTION entry_trap
        mov     %rdi, %rax
        add     $1, %rax
        rdsspq  %rcx
        incsspq %rcx
        rdpkru
        ptwriteq %rcx
        prefetchwt1 (%rcx)
        ret
        ud1     64(%eax), %eax
END entry_trap
FUNCTION entry_prefixed
        test    %rdi, %rdi
        .byte   0xf2            /* bnd */
        je      1f
        mov     %rdi, %rax
1:      ret
END entry_prefixed
FUNCTION refused_short_address
        mov     entry_word(%eip), %eax
        ret
END refused_short_address
        /* A handler of these is told the address behind them. */
FUNCTION refused_breakpoint
        push    %rbp
        mov     %rsp, %rbp
        int3
END refused_breakpoint
        /* Instructions of APX and of the seventh map, in which a constant follows: or, urdmsr. They never run here. */
FUNCTION refused_apx
        mov     %rdi, %rax
        mov     %rax, %rcx
        .byte   0x62, 0xf4, 0x74, 0x18, 0x83, 0x00, 0x74
        ret
END refused_apx
FUNCTION refused_seventh_map
        mov     %rdi, %rax
        mov     %rax, %rcx
        .byte   0xc4, 0xe7, 0x7b, 0xf8, 0xc0, 0x74, 0x00, 0x00, 0x00
        ret
END refused_seventh_map
FUNCTION refused_debug_trap
        lea     1(%rdi), %eax
        .byte   0xf1            /* int1 */
        .byte   0xf1
        ret
END refused_debug_trap

        /* Ranges without a symbol, by what leads there. Their distance from the function before is in the data. */
FUNCTION table_leads_to_part
        mov     %rdi, -8(%rsp)
        lea     .Lpart_table(%rip), %rdx
        movslq  (%rdx,%rdi,4), %rax
        add     %rdx, %rax
        jmp     *%rax
.Lback_from_part:
        mov     -8(%rsp), %rax
        ret
END table_leads_to_part
.Lpart_by_table:
        .cfi_startproc
        add     $3, %edi
        jmp     .Lback_from_part
        .cfi_endproc
        .p2align 4
FUNCTION words_lead_to_part
        lea     .Lpart_words(%rip), %rdx
        jmp     *(%rdx,%rdi,8)
.Lback_by_words:
        mov     %rdi, %rax
        ret
END words_lead_to_part
        .p2align 4
.Lpart_by_words:
        .cfi_startproc
        add     $3, %edi
        ret
        .cfi_endproc
        .p2align 4
FUNCTION jumps_with_red_zone
        mov     %rdi, -8(%rsp)
        {disp32} jmp .Lpart_with_red_zone
END jumps_with_red_zone
FUNCTION jumps_there_too
        mov     %rsi, -16(%rsp,%rdi,8)
        {disp32} jmp .Lpart_with_red_zone
END jumps_there_too
        .p2align 4
.Lpart_with_red_zone:
        .cfi_startproc
        add     $3, %edi
        ret
        .cfi_endproc
FUNCTION jumps_behind_frame
        SAVE    %rbx
        mov     %rdi, -8(%rsp)
        RESTORE %rbx
        {disp32} jmp .Lnameless
END jumps_behind_frame
FUNCTION jumps_without_red_zone
        mov     %rdi, %rsi
        {disp32} jmp .Lnameless
END jumps_without_red_zone
        .p2align 4
.Lnameless:
        .cfi_startproc
        lea     3(%rdi), %rax
        add     %rsi, %rax
        ret
        .cfi_endproc
        /* A function falls into its part, as where a linker removed the jump between them. Two jumps lead there,
         * too, from a part that does not use the red zone itself. */
FUNCTION falls_into_part
        mov     %rdi, -8(%rsp)
        xor     %eax, %eax
        nop
END falls_into_part
        .p2align 4
.Lfallen_into:
        .cfi_startproc
        dec     %edi
        jns     .Lbehind_fallen_into
        {disp32} jmp .Lreads_red_zone
        .cfi_endproc
        .p2align 4
.Lreads_red_zone:
        .cfi_startproc
        mov     -8(%rsp), %rax
        ret
        .cfi_endproc
        .p2align 4
.Lbehind_fallen_into:
        .cfi_startproc
        dec     %edi
        jz      1f
        {disp32} jmp .Lfallen_into
1:      {disp32} jmp .Lfallen_into
        .cfi_endproc

        /* Shorter than a jump; called by name, and through a table of distances. */
        .globl  named_by_distance
        .type   named_by_distance, @function
named_by_distance:
        .cfi_startproc
        mov     %edi, %eax
        ret
END named_by_distance
.Lbehind_named_by_distance:
        .cfi_startproc
        lea     1(%rdi), %eax
        ret
        .cfi_endproc
FUNCTION calls_named_by_distance
        SAVE    %rbx
        call    named_by_distance
        RESTORE %rbx
        ret
END calls_named_by_distance
FUNCTION holds_distances
        lea     .Ldistances_of_functions(%rip), %rax
        ret
END holds_distances

        /* Only jumps lead there: one, to an odd place, or conditional ones. A symbol names them. Nothing leads to the
           function that jumps, either. */
FUNCTION jumps_to_named
        test    %rdi, %rdi
        je      named_by_branch
        jmp     named_by_jump
END jumps_to_named
        nop
        .globl  named_by_jump
        .type   named_by_jump, @function
named_by_jump:
        .cfi_startproc
        mov     %rdi, %rax
        add     $2, %rax
        ret
END named_by_jump
FUNCTION named_by_branch
        mov     %rdi, %rax
        add     $3, %rax
        ret
END named_by_branch
FUNCTION named_pointed_part.cold
        mov     %rdi, %rax
        add     $4, %rax
        ret
END named_pointed_part.cold
FUNCTION named_jump_by_pointer
        jmp     *entry_pointers(%rip)
END named_jump_by_pointer

        /* Something leads into the first five bytes. */
FUNCTION target_behind_bytes
        mov     %rdi, %rax
.Lbehind_bytes:
        dec     %rax
        ret
END target_behind_bytes
FUNCTION bytes_before_jump
        jmp     1f
        .byte   0x06
1:      jmp     .Lbehind_bytes
END bytes_before_jump
FUNCTION target_hidden
        mov     %rdi, %rax
.Lhidden:
        dec     %rax
        ret
END target_hidden
FUNCTION constant_before_jump
        jmp     1f
        .byte   0x48, 0xb8      /* the begin of a mov with a constant of eight bytes */
1:      jmp     .Lhidden
        .zero   16, 0x90
END constant_before_jump
FUNCTION target_branch
        xor     %eax, %eax
1:      inc     %eax
        cmp     $9, %eax
        jne     1b
        ret
END target_branch
FUNCTION target_table
        xor     %eax, %eax
.Ltarget:
        inc     %eax
        lea     .Ltargets(%rip), %rdx
        movslq  (%rdx, %rdi, 4), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
.Lelsewhere:
        ret
END target_table
FUNCTION target_lea
        SAVE    %rbx
.Lpointed:
        mov     %edi, %ebx
        mov     %ebx, %eax
        RESTORE %rbx
        ret
END target_lea
FUNCTION target_lea_user
        lea     .Lpointed(%rip), %rax
        ret
END target_lea_user
FUNCTION target_relocation
        SAVE    %rbx
.Lrelocated:
        mov     %edi, %ebx
        mov     %ebx, %eax
        RESTORE %rbx
        ret
END target_relocation

        /* Tables of distances from a place in the function, and from its start. */
FUNCTION target_distances
        xor     %eax, %eax
.Lnear: inc     %eax
        lea     .Ldistances(%rip), %rdx
        lea     .Lbase(%rip), %rcx
        movslq  (%rdx, %rdi, 4), %rdx
        add     %rcx, %rdx
        jmp     *%rdx
.Lbase: ret
END target_distances
FUNCTION target_distances_from_start
        xor     %eax, %eax
.Lnear_start:
        inc     %eax
        lea     .Ldistances_from_start(%rip), %rdx
        lea     target_distances_from_start(%rip), %rcx
        movslq  (%rdx, %rdi, 4), %rdx
        add     %rcx, %rdx
        jmp     *%rdx
.Lfar_from_start:
        ret
END target_distances_from_start
        /* A table of long distances, in the text. */
FUNCTION target_table_in_text
        xor     %eax, %eax
.Lnear_text:
        inc     %eax
        lea     .Ltargets_in_text(%rip), %rdx
        mov     (%rdx, %rdi, 8), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
.Lelsewhere_in_text:
        ret
END target_table_in_text
        .p2align 3
.Ltargets_in_text:
        .quad   .Lnear_text-.Ltargets_in_text
        .quad   .Lelsewhere_in_text-.Ltargets_in_text

        /* Tables that cannot be read, or seem to lead into the first instructions, or to the start. The frame at
         * the jumps tells whether they can: here it is elsewhere, */
FUNCTION framed_distances
        SAVE    %rbx
        SAVE    %rbp
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        lea     .Lframed_base(%rip), %rcx
        add     (%rsi), %rcx
        jmp     *%rcx
.Lframed_base:
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        RESTORE %rbp
        RESTORE %rbx
        ret
END framed_distances
FUNCTION framed_table
        SAVE    %rbx
.Lframed_second:
        SAVE    %rbp
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        lea     .Lframed_words(%rip), %rdx
        movslq  (%rdx, %rdi, 4), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
.Lframed_body:
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        RESTORE %rbp
        RESTORE %rbx
        ret
END framed_table
        /* here it is where it was behind the first push, in the function and in a part of it, */
FUNCTION unframed_distances
        SAVE    %rbx
        SAVE    %rbp
        RESTORE %rbp
        lea     .Lunframed_base(%rip), %rcx
        add     (%rsi), %rcx
        jmp     *%rcx
.Lunframed_base:
        RESTORE %rbx
        ret
END unframed_distances
FUNCTION unframed_elsewhere
        SAVE    %rbx
        SAVE    %rbp
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        lea     .Lelsewhere_end(%rip), %rcx
        add     (%rsi), %rcx
        test    %edi, %edi
        js      unframed_part
        jmp     *%rcx
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        RESTORE %rbp
.Lelsewhere_end:
        RESTORE %rbx
        ret
END unframed_elsewhere
FUNCTION unframed_part
        .cfi_adjust_cfa_offset 24
        add     $16, %rsp
        .cfi_adjust_cfa_offset -16
        test    %edi, %edi
        jp      .Lelsewhere_end
        jmp     *%rcx
END unframed_part
        /* in one that only knows a place in it, */
FUNCTION known_elsewhere
        SAVE    %rbx
        SAVE    %rbp
        mov     %edi, %eax
        RESTORE %rbp
.Lknown:
        RESTORE %rbx
        ret
END known_elsewhere
FUNCTION knowing_part
        .cfi_adjust_cfa_offset 8
        lea     .Lknown(%rip), %rcx
        add     (%rsi), %rcx
        jmp     *%rcx
END knowing_part
        /* in one whose places only data knows, */
FUNCTION known_by_data
        xor     %eax, %eax
.Lknown_by_data:
        inc     %eax
        mov     known_place(%rip), %rcx
        add     (%rsi), %rcx
        jmp     *%rcx
.Lby_data_end:
        ret
END known_by_data
        /* in those that jump by a return, or by a thunk for that, */
FUNCTION jumps_by_return
        SAVE    %rbx
        SAVE    %rbp
        lea     .Lby_return(%rip), %rcx
        add     (%rsi), %rcx
        push    %rcx
        ret
.Lby_return:
        RESTORE %rbp
        RESTORE %rbx
        ret
END jumps_by_return
FUNCTION jumps_by_thunk
        SAVE    %rbx
        SAVE    %rbp
        lea     .Lby_thunk(%rip), %rcx
        add     (%rsi), %rcx
        jmp     jump_thunk
.Lby_thunk:
        RESTORE %rbp
        RESTORE %rbx
        ret
END jumps_by_thunk
FUNCTION jump_thunk
        call    2f
1:      pause
        lfence
        jmp     1b
2:      mov     %rcx, (%rsp)
        ret
END jump_thunk
        /* and here the table does not say. */
FUNCTION unknown_frame
        SAVE    %rbx
        SAVE    %rbp
        sub     $8, %rsp
        .cfi_escape 0x0f, 0x02, 0x77, 0x20      /* CFA = the value of an expression: rsp + 32 */
        lea     .Lunknown_base(%rip), %rcx
        add     (%rsi), %rcx
        jmp     *%rcx
.Lunknown_base:
        add     $8, %rsp
        .cfi_def_cfa %rsp, 24
        RESTORE %rbp
        RESTORE %rbx
        ret
END unknown_frame

        /* What cannot be displaced, or must not be. */
        .type   unlisted, @function
        .globl  unlisted
unlisted:
        mov     %edi, %eax
        ret
        .size   unlisted, .-unlisted
        /* The same, without a symbol that says what it is: only a call does. */
        .globl  called_unlisted
called_unlisted:
        mov     %edi, %eax
        ret
        .p2align 4
FUNCTION calls_unlisted
        call    called_unlisted
        ret
END calls_unlisted
FUNCTION refused_loop
        test    %edi, %edi
        jle     1f
        sub     $1, %edi
        jmp     refused_loop
1:      ret
END refused_loop
        /* Its loop leads to its start by a table, of distances or of addresses. */
FUNCTION refused_loop_by_table
        dec     %edi
        lea     .Lto_start(%rip), %rdx
        movslq  (%rdx, %rdi, 4), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
.Lbehind_start:
        ret
END refused_loop_by_table
FUNCTION refused_loop_by_addresses
        dec     %edi
        lea     addresses_to_start(%rip), %rdx
        jmp     *(%rdx, %rdi, 8)
.Lbehind_addresses:
        ret
END refused_loop_by_addresses
        /* The start must stay; called as linkers write a call through a slot. */
FUNCTION called_with_prefix
1:      add     $4, %rdi
        cmpl    $5, (%rdi)
        jne     1b
        ret
END called_with_prefix
FUNCTION calls_with_prefix
        SAVE    %rbx
        mov     %rdi, %rbx
        add     $1, %edi
        .byte   0x67            /* addr32 */
        call    called_with_prefix
        RESTORE %rbx
        ret
END calls_with_prefix
FUNCTION jumps_with_prefix
        mov     %rdi, %rax
        mov     %rax, %rdi
        .byte   0xf2            /* bnd */
        {disp32} jmp called_with_prefix
END jumps_with_prefix
FUNCTION refused_counted_branch
        mov     %edi, %ecx
        jrcxz   1f
        mov     $2, %eax
1:      ret
END refused_counted_branch
FUNCTION refused_indirect_call
        SAVE    %rbx
        call    *%rdi
        RESTORE %rbx
        ret
END refused_indirect_call
FUNCTION refused_flags
        setc    %al
        movzbl  %al, %eax
        ret
END refused_flags
        /* The carry is the caller's: an instruction that reads and writes it, one behind another that writes
         * all other flags, one behind a jump. */
FUNCTION refused_adc
        adc     %rsi, %rdi
        mov     %rdi, %rax
        ret
END refused_adc
FUNCTION refused_carry
        inc     %ecx
        adc     $0, %edi
        mov     %edi, %eax
        ret
END refused_carry
FUNCTION refused_carry_behind_jump
        mov     %edi, %eax
        jmp     2f
1:      add     $1, %eax
        ret
2:      sbb     %ecx, %ecx
        jmp     1b
END refused_carry_behind_jump
        /* Only a jump back leads to what reads it. */
FUNCTION refused_carry_behind_jump_back
        mov     %edi, %eax
        jmp     2f
1:      adc     $0, %eax
        ret
2:      mov     %esi, %ecx
        jmp     1b
END refused_carry_behind_jump_back
        /* So is the memory below the stack pointer: another path writes it. */
FUNCTION refused_slot_behind_jump
        mov     %edi, %eax
        test    %edi, %edi
        je      1f
        mov     %eax, -16(%rsp)
        ret
1:      mov     -16(%rsp), %eax
        ret
END refused_slot_behind_jump
FUNCTION refused_slot_behind_jump_back
        mov     %edi, %eax
        jmp     3f
1:      mov     %eax, -16(%rsp)
        ret
2:      mov     -16(%rsp), %eax
        ret
3:      test    %edi, %edi
        je      1b
        jmp     2b
END refused_slot_behind_jump_back
        /* Both are its own. */
FUNCTION entry_own_behind_jump_back
        cmp     %edi, %esi
        mov     %edi, -16(%rsp)
        jmp     2f
1:      adc     -16(%rsp), %eax
        ret
2:      mov     %esi, %eax
        jmp     1b
END entry_own_behind_jump_back
        /* Stand between what writes flags and what reads them, and leave them alone: the last call before the
         * reader, the call before that, and one that stands in another; the reader is behind a jump, and in a
         * function. */
FUNCTION keeps_flags
        mov     %rsi, (%rdi)
        mov     %rsi, 8(%rdi)
        ret
END keeps_flags
FUNCTION keeps_flags_first
        mov     %rsi, 16(%rdi)
        movl    $1, 24(%rdi)
        ret
END keeps_flags_first
FUNCTION keeps_flags_inside
        mov     %rsi, 32(%rdi)
        call    kept_by_its_caller
        ret
END keeps_flags_inside
FUNCTION kept_by_its_caller
        mov     %rsi, 40(%rdi)
        movl    $1, 48(%rdi)
        ret
END kept_by_its_caller
FUNCTION keeps_flags_for_jump
        mov     %rsi, 56(%rdi)
        movl    $1, 64(%rdi)
        ret
END keeps_flags_for_jump
        /* Write flags for their caller, and leave the rest to another function. */
FUNCTION compares_and_jumps
        mov     %rsi, 96(%rdi)
        cmp     %rsi, %rdi
        jmp     kept_behind_jump
END compares_and_jumps
FUNCTION kept_behind_jump
        mov     %rsi, 104(%rdi)
        movl    $1, 112(%rdi)
        ret
END kept_behind_jump
FUNCTION compares_and_calls
        mov     %rsi, 120(%rdi)
        cmp     %rsi, %rdi
        call    kept_behind_call
        ret
END compares_and_calls
FUNCTION kept_behind_call
        mov     %rsi, 124(%rdi)
        movl    $1, 120(%rdi)
        ret
END kept_behind_call
        /* Writes the flags that its caller reads. */
FUNCTION entry_writes_flags
        mov     %rsi, 72(%rdi)
        cmp     %rsi, %rdi
        ret
END entry_writes_flags
        /* Jumps lead behind a call that never returns. */
FUNCTION entry_before_abort
        mov     %rsi, 80(%rdi)
        movl    $1, 88(%rdi)
        ret
END entry_before_abort
FUNCTION never_returns
        mov     $1, %edi
        call    abort@plt
END never_returns
FUNCTION reads_flags_behind_calls
        cmp     %rsi, %rdi
        call    keeps_flags_first
        call    keeps_flags
        jb      1f
        cmp     %rsi, %rdi
        call    keeps_flags_inside
        call    refused_flags
        cmp     %rsi, %rdi
        call    keeps_flags_for_jump
        jmp     2f
        call    compares_and_jumps
        jb      1f
        call    compares_and_calls
        jb      1f
1:      call    entry_writes_flags
        jne     3f
        call    entry_before_abort
        call    never_returns
3:      jb      1b
2:      sete    %al
        ret
END reads_flags_behind_calls
        /* A distance from the global offset table leads into the second. */
FUNCTION holds_distance_from_table
        movabs  $target_offset@GOTOFF + 2, %rax
        ret
END holds_distance_from_table
FUNCTION target_offset
        xor     %eax, %eax
        mov     %edi, %ecx
        inc     %eax
        ret
END target_offset
        /* A tracer may put a breakpoint on the nop (USDT): in front, among the first instructions, behind them. */
        .macro  PROBE moved=0
        .pushsection .note.stapsdt, "", @note
        .balign 4
        .long   8, 48f - 47f, 3
        .asciz  "stapsdt"
47:     .quad   46f + \moved, _.stapsdt.base + \moved, 0
        .asciz  "fbleprof", "probe", ""
48:     .balign 4
        .popsection
46:     nop
        .endm
        .pushsection .stapsdt.base, "aG", @progbits, .stapsdt.base, comdat
        .weak   _.stapsdt.base
        .hidden _.stapsdt.base
_.stapsdt.base: .space 1
        .size   _.stapsdt.base, 1
        .popsection
FUNCTION probed_first
        PROBE
        mov     %edi, %eax
        add     $1, %eax
        ret
END probed_first
FUNCTION probed_second
        mov     %edi, %eax
        PROBE
        add     $2, %eax
        ret
END probed_second
FUNCTION probed_before_move
        mov     %edi, %eax
        PROBE   0x1000
        add     $3, %eax
        ret
END probed_before_move
FUNCTION entry_probed_later
        mov     %edi, %eax
        add     $300, %eax
        PROBE
        ret
END entry_probed_later
        /* Their caller keeps memory below the stack pointer; the second is entered by the first. */
FUNCTION keeps_memory
        mov     %edi, %eax
        add     $5, %eax
        jmp     kept_memory_behind_jump
END keeps_memory
FUNCTION kept_memory_behind_jump
        mov     %eax, %ecx
        add     $6, %eax
        ret
END kept_memory_behind_jump
FUNCTION reads_memory_behind_call
        mov     %rdi, -64(%rsp)
        call    keeps_memory
        mov     -64(%rsp), %rdi
        ret
END reads_memory_behind_call
        /* In front of the call only by order of address. */
FUNCTION keeps_memory_in_loop
        mov     %edi, %eax
        add     $7, %eax
        ret
END keeps_memory_in_loop
FUNCTION reads_memory_in_loop
        mov     %rdi, -64(%rsp)
1:      mov     -64(%rsp), %rdi
        call    keeps_memory_in_loop
        test    %eax, %eax
        jne     1b
        ret
END reads_memory_in_loop
FUNCTION entry_own_carry
        add     %edi, %esi
        inc     %edi
        adc     $0, %edi
        mov     %edi, %eax
        ret
END entry_own_carry
        /* What follows may be a constant. */
FUNCTION refused_zeros
        ret
END refused_zeros
        .zero   15
FUNCTION refused_bytes
        mov     %edi, %eax
        mov     %eax, %ecx
        jmp     1f
        .byte   0x06, 0x06
1:      ret
END refused_bytes
        .p2align 4
        .globl  refused_crowded
        .type   refused_crowded, @function
refused_crowded:
        .cfi_startproc
        ret
END refused_crowded
        .globl  refused_neighbour
        .type   refused_neighbour, @function
refused_neighbour:
        .cfi_startproc
        lea     1(%rdi), %eax
        ret
END refused_neighbour
        /* Its frame at the start is not that of a call. */
        .p2align 4
        .globl  refused_frame
        .type   refused_frame, @function
refused_frame:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        mov     %rdi, %rax
        add     $1, %rax
        ret
END refused_frame

        .section .rodata
        .p2align 2
.Ltargets:
        .long   .Ltarget-.Ltargets
        .long   .Lelsewhere-.Ltargets
.Ldistances:
        .long   .Lnear-.Lbase
        .long   0
.Ldistances_from_start:
        .long   .Lfar_from_start-target_distances_from_start
        .long   .Lnear_start-target_distances_from_start
.Lframed_words:
        .long   .Lframed_body-.Lframed_words
        .long   .Lframed_second-.Lframed_words
        .long   framed_table-.Lframed_words
.Lto_start:
        .long   .Lbehind_start-.Lto_start
        .long   refused_loop_by_table-.Lto_start
        .globl  entry_word
entry_word:
        .long   7
        .section .data.rel.ro, "aw"
        .p2align 3
        .globl  entry_pointers
entry_pointers:
        .quad   .Lrelocated
        .quad   refused_loop, refused_counted_branch, refused_indirect_call
        .quad   refused_flags, refused_bytes, refused_crowded, refused_neighbour, refused_frame
        .quad   entry_ordinary, entry_marked, entry_listed, entry_far_address, entry_short_branch, entry_padded
        .quad   target_branch, target_table, target_lea, target_lea_user, target_relocation
        .quad   target_distances, target_distances_from_start, target_table_in_text
        .quad   0, refused_loop_by_table, 0, refused_adc, refused_carry, refused_carry_behind_jump
        .quad   refused_carry_behind_jump_back, refused_slot_behind_jump, refused_slot_behind_jump_back
        .quad   entry_own_behind_jump_back, probed_first, probed_second, probed_before_move, entry_probed_later
        .quad   reads_memory_behind_call, reads_memory_in_loop
        .quad   entry_own_carry, refused_zeros, framed_distances, 0, framed_table, 0, unframed_distances, 0
        .quad   unframed_elsewhere, 0, known_elsewhere, 0, unknown_frame, 0, known_by_data, 0
        .quad   jumps_by_return, 0, jumps_by_thunk, 0
        .quad   entry_vector, 0, entry_vector_first, 0, target_behind_bytes, 0, target_hidden, 0, named_pointed_part.cold, 0
        .quad   entry_trap, 0, entry_prefixed, 0, refused_short_address, 0, table_leads_to_part, 0
        .quad   words_lead_to_part, 0, jumps_with_red_zone, 0, jumps_there_too, 0, jumps_behind_frame, 0
        .quad   refused_breakpoint, 0, refused_debug_trap, 0, refused_apx, 0, refused_seventh_map, 0
        .quad   jumps_without_red_zone, 0, calls_named_by_distance, 0, holds_distances, 0
.Lpart_words:
        .quad   .Lback_by_words, .Lpart_by_words, 0
        .globl  nameless_ranges
nameless_ranges:
        .quad   .Lpart_by_table - table_leads_to_part, .Lpart_by_words - words_lead_to_part
        .quad   .Lpart_with_red_zone - jumps_with_red_zone, .Lnameless - jumps_behind_frame
        .quad   named_by_distance - holds_distances, .Lfallen_into - falls_into_part
.Lpart_table:
        .long   .Lback_from_part - .Lpart_table, .Lpart_by_table - .Lpart_table, 0, 0
.Ldistances_of_functions:
        .long   entry_ordinary - .Ldistances_of_functions, named_by_distance - .Ldistances_of_functions, 0, 0
known_place:
        .quad   .Lby_data_end, 0
addresses_to_start:
        .quad   refused_loop_by_addresses, .Lbehind_addresses
        .section .note.GNU-stack, "", @progbits
