// An allocator that makes all blocks by the malloc that the program calls, as some that check
// memory do. Its blocks are aligned to 16 bytes. Where its mremap moves memory from, it maps other
// memory before it returns, as another thread may. With -DWITH_MALLOC it is a program's own
// allocator.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef WITH_MALLOC
void* __libc_malloc(size_t bytes);
void* malloc(size_t bytes) { return __libc_malloc(bytes); }

int main(void) {
  void* volatile block = malloc(100);
  return block == NULL;
}
#else
// The compiler would make a call of this function itself.
static void* (*volatile make)(size_t) = malloc;

int posix_memalign(void** block, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) != 0) return EINVAL;
  *block = make(bytes);
  return *block != NULL ? 0 : ENOMEM;
}
void* memalign(size_t alignment, size_t bytes) {
  (void)alignment;
  return make(bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
void* valloc(size_t bytes) { return make(bytes); }
void* pvalloc(size_t bytes) { return make(bytes); }
void* calloc(size_t count, size_t bytes) {
  size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return NULL;
  }
  void* block = make(all);
  return block != NULL ? memset(block, 0, all) : NULL;
}
void* realloc(void* old, size_t bytes) {
  void* block = make(bytes);
  if (old == NULL || block == NULL) return block;
  const size_t before = malloc_usable_size(old);
  memcpy(block, old, before < bytes ? before : bytes);
  free(old);
  return block;
}

void* mremap(void* memory, size_t bytes, size_t wanted, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void* at = va_arg(rest, void*);
  va_end(rest);
  void* moved = (void*)syscall(SYS_mremap, memory, bytes, wanted, flags, at);
  if (moved != MAP_FAILED && moved != memory) {
    mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
         -1, 0);
  }
  return moved;
}
#endif
