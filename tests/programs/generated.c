// generated UNITS: code without unwind tables, made at run time, calls back into C. It keeps frame
// pointers, like the code of Java, JavaScript and Go if so configured.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "generated.h"

int main(int argc, char** argv) {
  // push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret
  static const unsigned char bytes[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                        0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
  void* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  memcpy(memory, bytes, sizeof bytes);
  mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  caller((Generated)memory, argc > 1 ? atol(argv[1]) : 300000);
  return 0;
}
