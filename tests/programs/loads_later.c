// Loads two plugins, one of them again and again, while fble-prof attaches and detaches.
//   loads_later PLUGIN OTHER
// When a file with one of these names appears in its directory, it prints the name and how often it
// has called the plugin until then:
//   vfork    a thread begins to wait in vfork, until there is a file "exec"
//   first    loads the plugin and the other one, calls the plugin 1000 times
//   again    unloads it, loads it once more, and calls it 1000 times; all that 50 times
//   rest     loads both, calls the plugin 100 times, and unloads nothing
//   busy     calls the plugin again and again until the end; make it before "rest"
//   stop     the end
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void Callback(void);
typedef void Run(Callback*);

static char** paths;
static long called;

static void count_call(void) { ++called; }

static void* load(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW);
  if (!plugin) abort();
  return plugin;
}

static void call(void* plugin, int times) {
  Run* run = (Run*)dlsym(plugin, "run_plugin");
  if (!run) abort();
  while (times-- > 0) run(count_call);
}

static void tell(const char* name) {
  printf("%s %ld\n", name, called);
  fflush(stdout);
}

static void wait_for(const char* file) {
  while (access(file, F_OK) != 0) usleep(2000);
}

// The child of vfork runs in our memory, and the thread waits for its end.
static void* wait_in_vfork(void* unused) {
  const pid_t child = vfork();
  if (child == 0) {
    wait_for("exec");
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  paths = argv + 1;
  pthread_t waiting;
  while (access("first", F_OK) != 0 && access("vfork", F_OK) != 0) usleep(2000);
  const int has_vfork = access("vfork", F_OK) == 0;
  if (has_vfork) {
    if (pthread_create(&waiting, NULL, wait_in_vfork, NULL) != 0) abort();
    usleep(50000);
    tell("vfork");
    wait_for("first");
  }
  void* plugin = load(paths[0]);
  void* other = load(paths[1]);
  call(plugin, 1000);
  tell("first");
  wait_for("again");
  for (int i = 0; i < 50; ++i) {
    dlclose(plugin);
    plugin = load(paths[0]);
    call(plugin, 1000);
  }
  dlclose(plugin);
  dlclose(other);
  tell("again");
  wait_for("rest");
  plugin = load(paths[0]);
  load(paths[1]);
  call(plugin, 100);
  tell("rest");
  if (access("busy", F_OK) == 0) {
    while (access("stop", F_OK) != 0) call(plugin, 1000);
  }
  wait_for("stop");
  if (has_vfork) pthread_join(waiting, NULL);
  tell("stop");
  return 0;
}
