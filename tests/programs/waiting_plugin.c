// Built twice with another NAME: two plugins of one shape, which wait.
#include <unistd.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

__attribute__((noinline)) static void JOIN(NAME, _waits)(void) {
  usleep(10000);
  __asm__ volatile("");
}
void run_plugin(void);
void run_plugin(void) {
  JOIN(NAME, _waits)();
  __asm__ volatile("");
}
