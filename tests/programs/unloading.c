// unloading PLUGIN THREADS: loads, calls and unloads the plugin forever, beside sleeping threads.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* sleep_on(void* argument) {
  pause();
  return argument;
}

int main(int argc, char** argv) {
  for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 0); ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_on, NULL);
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    void* plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin) return puts(dlerror());
    void (*function)(void) = (void (*)(void))dlsym(plugin, "first_leaf");
    if (function) function();
    dlclose(plugin);
  }
}
