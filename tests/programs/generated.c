// Code without unwind tables, made at run time.
//   generated UNITS   it calls back into C, and keeps frame pointers, as code of Java and Go can
//   generated above   it has numbers in the frame pointer's register: addresses above the stack
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "generated.h"

static void* code_of(const unsigned char* bytes, size_t count) {
  void* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  memcpy(memory, bytes, count);
  mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  return memory;
}

static unsigned long end_of_stack(void) {
  unsigned long begin = 0, end = 0;
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    if (strstr(line, "[stack]")) sscanf(line, "%lx-%lx", &begin, &end);
  }
  if (maps) fclose(maps);
  return end;
}

static void count_above_the_stack(void) {
  // push rbp; mov rbp, rdi; dec rsi; jnz to before dec; pop rbp; ret
  static const unsigned char bytes[] = {0x55, 0x48, 0x89, 0xfd, 0x48, 0xff,
                                        0xce, 0x75, 0xfb, 0x5d, 0xc3};
  void (*const count)(unsigned long, long) =
      (void (*)(unsigned long, long))code_of(bytes, sizeof bytes);
  const unsigned long end = end_of_stack();
  for (unsigned long distance = 0; distance < 1 << 20; distance += 1 << 16) {
    count(end - 8 + distance, 30000000);
  }
}

int main(int argc, char** argv) {
  // push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret
  static const unsigned char bytes[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                        0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
  if (argc > 1 && strcmp(argv[1], "above") == 0) {
    count_above_the_stack();
  } else {
    caller((Generated)code_of(bytes, sizeof bytes), argc > 1 ? atol(argv[1]) : 300000);
  }
  return 0;
}
