// Exported functions that jump to an address kept in memory, and change no register on the way. So
// whatever a caller passes (vector registers, more words on the stack, the number of variadic
// arguments) arrives, and whatever the function returns gets back.
#pragma once

// Defines the function `name`, which jumps to the address in the first word of the object
// `variable`. Initially that should be `first`, which this defines, too: it calls the function
// given to FBLEPROF_FIRST_FORWARD with the object's address, then does the same.
#define FBLEPROF_FORWARDER(name, variable, first) \
  __asm__(                                        \
      ".pushsection .text\n"                      \
      ".p2align 4\n"                              \
      ".globl " #name                             \
      "\n"                                        \
      ".type " #name ", @function\n" #name        \
      ":\n"                                       \
      "  endbr64\n"                               \
      "  jmp *" #variable                         \
      "(%rip)\n"                                  \
      ".size " #name ", . - " #name               \
      "\n"                                        \
      ".globl " #first                            \
      "\n"                                        \
      ".hidden " #first                           \
      "\n"                                        \
      ".type " #first ", @function\n" #first      \
      ":\n"                                       \
      "  lea " #variable                          \
      "(%rip), %r11\n"                            \
      "  jmp fbleprof_first_forward\n"            \
      ".size " #first ", . - " #first             \
      "\n"                                        \
      ".popsection\n");

// Keeps the registers that can hold arguments; of vectors, their first 16 bytes.
#define FBLEPROF_FIRST_FORWARD(find)                                                  \
  __asm__(                                                                            \
      ".pushsection .text\n"                                                          \
      ".type fbleprof_first_forward, @function\n"                                     \
      "fbleprof_first_forward:\n"                                                     \
      "  .cfi_startproc\n"                                                            \
      "  push %rbp\n"                                                                 \
      "  .cfi_def_cfa_offset 16\n"                                                    \
      "  .cfi_offset %rbp, -16\n"                                                     \
      "  mov %rsp, %rbp\n"                                                            \
      "  .cfi_def_cfa_register %rbp\n"                                                \
      "  and $-16, %rsp\n"                                                            \
      "  push %rax; push %rdi; push %rsi; push %rdx; push %rcx; push %r8; push %r9\n" \
      "  push %r10; push %r11; push %r11\n"                                           \
      "  sub $128, %rsp\n"                                                            \
      "  movups %xmm0, (%rsp); movups %xmm1, 16(%rsp); movups %xmm2, 32(%rsp)\n"      \
      "  movups %xmm3, 48(%rsp); movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp)\n"    \
      "  movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\n"                           \
      "  mov %r11, %rdi\n"                                                            \
      "  call " #find                                                                 \
      "\n"                                                                            \
      "  movups (%rsp), %xmm0; movups 16(%rsp), %xmm1; movups 32(%rsp), %xmm2\n"      \
      "  movups 48(%rsp), %xmm3; movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5\n"    \
      "  movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\n"                           \
      "  add $128, %rsp\n"                                                            \
      "  pop %r11; pop %r11; pop %r10\n"                                              \
      "  pop %r9; pop %r8; pop %rcx; pop %rdx; pop %rsi; pop %rdi; pop %rax\n"        \
      "  leave\n"                                                                     \
      "  .cfi_def_cfa %rsp, 8\n"                                                      \
      "  jmp *(%r11)\n"                                                               \
      "  .cfi_endproc\n"                                                              \
      ".size fbleprof_first_forward, . - fbleprof_first_forward\n"                    \
      ".popsection\n");
