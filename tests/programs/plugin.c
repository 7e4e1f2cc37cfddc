// Built twice with another NAME: two plugins of the same shape.
#include "block.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

BLOCK void JOIN(NAME, _leaf)(void) { work(2); }
BLOCK void run_plugin(void (*callback)(void)) {
  JOIN(NAME, _leaf)();
  callback();
  KEEP;
}
