// Uses the dynamic linker in ways that profilers have broken. loading HOW [PLUGIN]:
//   lock       samples, a handler with hooks, threads and forks while a callback holds the linker's
//   lock deepbind   a plugin that finds libc before anything that is preloaded runpath    a plugin
//   that only the program's own RUNPATH finds static-tls plugins with variables in static storage,
//   until there is no room for more
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

BLOCK void counted(void) { work(1); }
BLOCK void callback(void) { KEEP; }
BLOCK void handler(int number) {
  (void)number;
  for (int i = 0; i < 10; ++i) counted();
}

static volatile int is_over;
BLOCK void* go_on(void* calls) {
  for (long i = 0; i < (long)calls; ++i) counted();
  return NULL;
}

// Other threads load objects, which waits for the lock, or make children, for which it is held for
// ever.
BLOCK void* load(void* plugin) {
  while (!is_over) {
    void* loaded = dlopen(plugin, RTLD_NOW);
    if (loaded) dlclose(loaded);
  }
  return NULL;
}
BLOCK void* make_children(void* unused) {
  while (!is_over) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      go_on((void*)100);
      _exit(3);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3) abort();
  }
  return unused;
}

static int objects;
BLOCK int with_lock(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)info, (void)size, (void)unused;
  if (++objects > 3) return 0;
  for (int i = 0; i < 20000; ++i) counted();  // some samples
  raise(SIGUSR1);
  raise(SIGPROF);
  return 0;
}

static void lock(const char* plugin) {
  signal(SIGUSR1, handler);
  signal(SIGPROF, handler);
  pthread_t loader, parent;
  pthread_create(&loader, NULL, load, (void*)plugin);
  pthread_create(&parent, NULL, make_children, NULL);
  dl_iterate_phdr(with_lock, NULL);
  is_over = 1;
  pthread_join(loader, NULL);
  pthread_join(parent, NULL);
  expect("handler", "counted", 3 * 2 * 10), expect("with_lock", "counted", 3 * 20000);
}

static int run_plugin(const char* plugin, int flags) {
  void* loaded = dlopen(plugin, RTLD_NOW | flags);
  if (!loaded) return 0;
  void (*run)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(loaded, "run_plugin");
  for (int i = 0; i < 1000; ++i) run(callback);
  dlclose(loaded);
  return 1;
}

static void copy(const char* from, const char* to) {
  const int in = open(from, O_RDONLY | O_CLOEXEC);
  const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  while (sendfile(out, in, NULL, 1 << 20) > 0) continue;
  close(in), close(out);
}

static void static_tls(const char* plugin) {
  int loaded = 0;
  char name[] = "./copy00.so", *why = NULL;
  for (int i = 0; i < 100; ++i) {
    name[6] = (char)('0' + i / 10), name[7] = (char)('0' + i % 10);
    copy(plugin, name);
    void* one = dlopen(name, RTLD_NOW);
    if (!one) {
      why = strstr(dlerror(), "static TLS");
      break;
    }
    int* (*own)(void) = (int* (*)(void))dlsym(one, "own_variable");
    *own() += 1;
    ++loaded;
  }
  printf("%d plugins; %s\n", loaded, why ? why : "and more");
  pthread_t thread;
  if (pthread_create(&thread, NULL, go_on, (void*)1000) == 0) pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  const char* how = argc > 1 ? argv[1] : "";
  const char* plugin = argc > 2 ? argv[2] : "";
  if (!strcmp(how, "lock")) lock(plugin);
  if (!strcmp(how, "deepbind")) printf("ran: %d\n", run_plugin(plugin, RTLD_DEEPBIND));
  if (!strcmp(how, "runpath")) printf("ran: %d\n", run_plugin("first.plain", 0));
  if (!strcmp(how, "static-tls")) static_tls(plugin);
  return 0;
}
