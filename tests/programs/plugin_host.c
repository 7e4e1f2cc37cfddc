// Loads and unloads two plugins in turn (argv[1], argv[2]), so that the second one is loaded at the
// address of the first.
#include <dlfcn.h>
#include <stdlib.h>

#include "block.h"

BLOCK void callback(void) { KEEP; }

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int same_place = 0;
  void* first_place = NULL;
  for (int i = 0; i < 10; ++i) {
    void* plugin = dlopen(argv[1 + i % 2], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      puts(dlerror());
      return 1;
    }
    void (*run)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(plugin, "run_plugin");
    if (!first_place) first_place = (void*)run;
    if (i > 0 && first_place == (void*)run) ++same_place;
    for (int j = 0; j < (i % 2 ? 500 : 1000); ++j) run(callback);
    dlclose(plugin);
  }
  fprintf(stderr, "%s", same_place ? "" : "the address was not used again\n");
  expect("main", "run_plugin", 7500);
  expect("run_plugin", "callback", 7500);
  expect("run_plugin", "first_leaf", 5000);
  expect("run_plugin", "second_leaf", 2500);
  return 0;
}
