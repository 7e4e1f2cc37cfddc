// An interpreter's loop that keeps its registers below its stack pointer. Compiled with a profile
// of a run with TRAIN, in which operation 7 never comes, that operation is a part elsewhere
// (run.cold), to which the table of jumps leads. And a computed goto, and calls, by packed
// structures of pointers.
//
// Usage: with_part [TRAIN]
#include <stdint.h>
#include <stdio.h>

enum { kEnd = 255, kOperations = 9, kBytes = 64, kRuns = 1000 };

__attribute__((noinline, noclone)) uint32_t run(uint32_t sum, const uint8_t* code) {
  uint32_t registers[16] = {1, 2, 3};
  do {
    switch (*code++ % kOperations) {
      case 0:
        sum ^= registers[sum >> 3 & 15] * 3;
        break;
      case 1:
        sum -= *code;
        break;
      case 2:
        sum ^= sum >> 2;
        break;
      case 3:
        sum ^= registers[sum >> 5 & 15] * 3;
        break;
      case 4:
        sum += *code * 7u;
        break;
      case 5:
        sum ^= sum << 3;
        break;
      case 6:
        sum += registers[sum & 15];
        break;
      case 7:
        sum += 3;
        break;
      case 8:
        sum = sum * 5 + 1;
        registers[sum & 15] = sum;
        break;
    }
  } while (*code != kEnd);
  return sum;
}

typedef struct __attribute__((packed, aligned(4))) {
  int number;
  void* place;
  int unused;
} Place;

__attribute__((noinline)) uint32_t jump(uint32_t sum, const uint8_t* code) {
  static const Place places[] = {{0, &&first, 0}, {1, &&second, 0}, {2, &&third, 0}};
first:
  sum = sum * 5 + 1;
  goto* places[*code++ % 3].place;
second:
  sum ^= 0x55;
  goto* places[*code++ % 3].place;
third:
  return sum;
}

// So short that its calls are changed, not its start.
__attribute__((noinline)) int less(int number) {
  do number -= 3;
  while (number > 100);
  return number;
}
typedef struct __attribute__((packed, aligned(4))) {
  int number;
  int (*function)(int);
  int unused;
} Function;
Function functions[] = {{1, less, 0}, {2, less, 0}};

int main(int count, char** arguments) {
  (void)arguments;
  uint8_t code[kBytes];
  uint32_t random = 1, sum = 0;
  for (int i = 0; i < kRuns; ++i) {
    for (int k = 0; k < kBytes - 1; ++k) {
      random = random * 1103515245 + 12345;
      code[k] = (random >> 16) % kOperations;
      if (count > 1 && code[k] == 7) code[k] = 6;
    }
    code[kBytes - 1] = kEnd;
    sum = sum * 31 + run(sum, code);
    code[kBytes - 1] = 2;
    sum = jump(sum, code) + (uint32_t)functions[i & 1].function(i);
  }
  printf("%u\n", sum + (uint32_t)less(5));
  return 0;
}
