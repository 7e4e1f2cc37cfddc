// Calls the functions of exact_entries.S, and prints how often. Their results must not change when
// their starts are rewritten.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

asm(".include \"exact_entries.S\"");

int table(int);
long start_zone(long);
int call_flags(int);
int reads_kept_flags(int);
void one_byte(void);
void crowded(void);
int close_by(int);
int recursive(int);
int displaced(int);
int keeps_r11(int);

__attribute__((noinline)) static int by_pointer(int (*function)(int), int value) {
  return function(value) + 1;
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {  // a child does it
    const pid_t child = fork();
    if (child != 0) return waitpid(child, NULL, 0) != child;
  }
  long sum = 0;
  for (int i = 0; i < 1000; ++i) {
    sum += table(i % 50);
    sum += start_zone(i % 9);
    sum += call_flags(i % 11);
    sum += reads_kept_flags(i % 11);
    one_byte();
    crowded();
    sum += close_by(i);
    sum += recursive(i % 20);
    sum += displaced(i % 7);
    sum += keeps_r11(i);
    sum += by_pointer(i % 2 ? keeps_r11 : close_by, i);
  }
  printf("%ld\n", sum);
  return 0;
}
