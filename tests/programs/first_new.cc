// first_new PLUGIN: a thread makes the program's first `new` of an aligned type while it holds a
// mutex, for which the constructor of a library waits that another thread is loading.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile bool is_loading;
struct alignas(64) Aligned {
  char bytes[64];
};
static Aligned* volatile made;

extern "C" __attribute__((visibility("default"))) void wait_for_mutex() {
  is_loading = true;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void* hold(void* unused) {
  pthread_mutex_lock(&mutex);
  while (!is_loading) usleep(1000);
  usleep(50'000);
  made = new Aligned;
  delete made;
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(int, char** argv) {
  pthread_t thread;
  pthread_create(&thread, nullptr, hold, nullptr);
  usleep(20'000);
  const void* library = dlopen(argv[1], RTLD_NOW);
  pthread_join(thread, nullptr);
  std::puts(library != nullptr ? "loaded" : dlerror());
}
