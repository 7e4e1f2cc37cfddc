// Calls of libc's that a preloaded library replaces, alone and with what else the wrappers of calls
// might call in their place. With -DREPLACES, that library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <threads.h>
#include <unistd.h>

#ifdef REPLACES

static int locks, unlocks, lists;

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  ++locks;
  return ((int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_lock"))(mutex);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  ++unlocks;
  return ((int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_unlock"))(mutex);
}
// Of the locks of this kind, only the try.
int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  (void)lock;
  return dprintf(1, "a try that the program did not make\n");
}
int printf(const char* format, ...) { return dprintf(1, "ours, for %s", format); }
// Of the functions of this kind, only the one with a list.
int vfprintf(FILE* stream, const char* format, va_list list) {
  (void)stream, (void)format, (void)list;
  return ++lists;
}
__attribute__((destructor)) static void say(void) {
  dprintf(1, "%d locks, %d unlocks, %d lists\n", locks, unlocks, lists);
}

#else

int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  mtx_t other;
  mtx_init(&other, mtx_plain);
  for (int i = 0; i < 10; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    mtx_lock(&other);
    mtx_unlock(&other);
  }
  pthread_rwlock_wrlock(&lock);
  printf("%d and text\n", 1);
  fprintf(stdout, "%d and %s %.1f\n", 2, "text", 2.5);
  return 0;
}

#endif
