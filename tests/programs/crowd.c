// More edges in use at once than a thread's cache has slots: 128 hosts call 256 leaves through
// pointers, some pairs often, most seldom. Prints how often each pair was called.
#include <stdint.h>
#include <stdio.h>

enum { kHosts = 128, kLeaves = 256, kCalls = 3000000 };

static volatile unsigned sink;
static unsigned called[kHosts][kLeaves];

#define NOINLINE __attribute__((noinline, noclone))
#define LEAF(n) \
  static NOINLINE void leaf_##n(void) { sink += 0x##n; }
#define HOST(n)                                    \
  static NOINLINE void host_##n(unsigned callee) { \
    leaves[callee]();                              \
    sink += 0x##n;                                 \
  }
#define NAME_LEAF(n) leaf_##n,
#define NAME_HOST(n) host_##n,
#define ROW(what, high)                                                                   \
  what(high##0) what(high##1) what(high##2) what(high##3) what(high##4) what(high##5)     \
      what(high##6) what(high##7) what(high##8) what(high##9) what(high##a) what(high##b) \
          what(high##c) what(high##d) what(high##e) what(high##f)
#define ROWS_0_TO_7(what) \
  ROW(what, 0)            \
  ROW(what, 1) ROW(what, 2) ROW(what, 3) ROW(what, 4) ROW(what, 5) ROW(what, 6) ROW(what, 7)
#define ROWS_8_TO_F(what) \
  ROW(what, 8)            \
  ROW(what, 9) ROW(what, a) ROW(what, b) ROW(what, c) ROW(what, d) ROW(what, e) ROW(what, f)

ROWS_0_TO_7(LEAF)
ROWS_8_TO_F(LEAF)
static void (*const leaves[kLeaves])(void) = {ROWS_0_TO_7(NAME_LEAF) ROWS_8_TO_F(NAME_LEAF)};
ROWS_0_TO_7(HOST)
static void (*const hosts[kHosts])(unsigned) = {ROWS_0_TO_7(NAME_HOST)};

int main(void) {
  uint64_t random = 1;
  for (int call = 0; call < kCalls; ++call) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const unsigned host = (unsigned)(random >> 57);
    // The product of two draws: small numbers are far more frequent than large ones.
    const unsigned leaf = (unsigned)((random >> 49 & 255) * (random >> 41 & 255) >> 8);
    ++called[host][leaf];
    hosts[host](leaf);
  }
  for (unsigned host = 0; host < kHosts; ++host) {
    for (unsigned leaf = 0; leaf < kLeaves; ++leaf) {
      if (called[host][leaf] == 0) continue;
      printf("expect host_%02x leaf_%02x %u\n", host, leaf, called[host][leaf]);
    }
  }
  return 0;
}
