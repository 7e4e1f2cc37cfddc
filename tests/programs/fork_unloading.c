// fork_unloading PLUGIN [FORKING]: forks 300 times while other threads load and unload the plugin.
// Prints how many children a signal ended. With FORKING, a plugin that forks when it is unloaded
// does so instead.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;

static void unload(const char* forking) {
  const pid_t self = getpid();
  void* loaded = dlopen(forking, RTLD_NOW);
  if (loaded) dlclose(loaded);
  if (getpid() != self) _exit(0);
}

static void* load(void* plugin) {
  while (!stop) {
    void* loaded = dlopen(plugin, RTLD_NOW);
    if (loaded) dlclose(loaded);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t thread[3];
  int killed = 0;
  if (argc < 2) return 2;
  for (int i = 0; i < 3; ++i) pthread_create(&thread[i], NULL, load, argv[1]);
  for (int i = 0; i < 300; ++i) {
    if (argc > 2) {
      unload(argv[2]);
      continue;
    }
    const pid_t pid = fork();
    int status = 0;
    if (pid == 0) _exit(0);
    if (waitpid(pid, &status, 0) == pid) killed += WIFSIGNALED(status);
  }
  stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
  printf("killed: %d\n", killed);
  return 0;
}
