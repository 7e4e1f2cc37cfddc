// Allocates in a profile of the C API, and outside of it.
#include <fbleprof/fbleprof.h>
#include <stdlib.h>

static void* volatile blocks[1000];

__attribute__((noinline)) static void parse(void) {
  for (int i = 0; i < 1000; ++i) blocks[i] = malloc(100);
}

int main(void) {
  fbleprof_profile* profile = fbleprof_profile_new("request");
  fbleprof_profile_with(profile);
  parse();
  fbleprof_profile_with(NULL);
  parse();
  return 0;
}
