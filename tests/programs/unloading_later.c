// Loads a plugin, unloads another one, computes in the first, and unloads that, too; several times.
// unloading_later PLUGIN OTHER ROUNDS
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void nothing(void) {}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  for (int i = atoi(argv[3]); i > 0; --i) {
    void* plugin = dlopen(argv[1], RTLD_NOW);
    void* other = dlopen(argv[2], RTLD_NOW);
    if (!plugin || !other) return 3;
    dlclose(other);
    void (*run)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(plugin, "run_plugin");
    if (!run) return 4;
    const double start = cpu_seconds();
    while (cpu_seconds() - start < 0.1) run(nothing);
    dlclose(plugin);
  }
  puts("done");
  return 0;
}
