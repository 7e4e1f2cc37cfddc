// Loads and unloads a plugin (argv[1]) in link namespaces of its own, and calls it for long enough
// that samples meet it.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "block.h"

static int calls = 0;
BLOCK void callback(void) { calls += 1; }

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  for (int i = 0; i < 4; ++i) {
    void* plugin = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      puts(dlerror());
      return 1;
    }
    void (*run)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(plugin, "run_plugin");
    for (int j = 0; j < 5000; ++j) run(callback);
    dlclose(plugin);
  }
  expect("main", "callback", calls);
  return 0;
}
