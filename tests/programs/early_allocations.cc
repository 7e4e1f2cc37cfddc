// A library whose own dlsym allocates, as tools that wrap all lookups do. So the wrappers of the
// allocator are called while they look for the allocator, and have little memory of their own to
// give. Prints what did not hold.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

namespace {

using Lookup = void*(void*, const char*);

int done = 0, failed = 0;
void* kept[3];
int* made;

void hold(bool holds, const char* what) {
  ++done;
  if (holds) return;
  ++failed;
  printf("early: %s\n", what);
}
#define HOLDS(condition) hold(condition, #condition)

bool is_filled(const void* block, int byte, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (static_cast<const unsigned char*>(block)[i] != byte) return false;
  }
  return true;
}

// The compiler knows the allocator's functions, and would leave out calls.
template <typename Function>
Function* hidden(Function* function) {
  asm volatile("" : "+r"(function));
  return function;
}

__attribute__((noinline)) void allocate_early() {
  static bool was_here = false;
  if (was_here) return;
  was_here = true;
  constexpr std::size_t kHalf = std::size_t{1} << 33;  // its square is 2^66
  kept[0] = hidden(malloc)(100);
  HOLDS(kept[0] != nullptr && reinterpret_cast<uintptr_t>(kept[0]) % 16 == 0);
  memset(kept[0], 1, 100);
  kept[1] = hidden(calloc)(10, 20);
  HOLDS(kept[1] != nullptr && is_filled(kept[1], 0, 200));
  kept[2] = hidden(realloc)(nullptr, 50);
  HOLDS(kept[2] != nullptr);
  memset(kept[2], 3, 50);
  errno = 0;
  HOLDS(hidden(malloc)(std::size_t{1} << 20) == nullptr && errno == ENOMEM);
  HOLDS(hidden(malloc)(SIZE_MAX) == nullptr);
  errno = 0;
  HOLDS(hidden(calloc)(kHalf, kHalf) == nullptr && errno == ENOMEM);
  errno = 0;
  HOLDS(hidden(realloc)(kept[0], SIZE_MAX / 2) == nullptr && errno == ENOMEM);
  HOLDS(is_filled(kept[0], 1, 100));
  kept[0] = hidden(realloc)(kept[0], 200);
  HOLDS(kept[0] != nullptr && is_filled(kept[0], 1, 100));
  void* aligned = nullptr;
  HOLDS(hidden(posix_memalign)(&aligned, 64, 64) == ENOMEM);
  errno = 0;
  HOLDS(hidden(aligned_alloc)(64, 64) == nullptr && errno == ENOMEM);
  errno = 0;
  HOLDS(hidden(memalign)(64, 64) == nullptr && errno == ENOMEM);
  errno = 0;
  HOLDS(hidden(valloc)(64) == nullptr && errno == ENOMEM);
  errno = 0;
  HOLDS(hidden(pvalloc)(64) == nullptr && errno == ENOMEM);
  made =
      hidden(static_cast<void* (*)(std::size_t)>(operator new)) != nullptr ? new int(5) : nullptr;
  HOLDS(made != nullptr && *made == 5);
  void* fresh = hidden(malloc)(10);
  hidden(free)(fresh);
  // Mappings come from the kernel, and fail as libc's do.
  constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS;
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, kOwn, -1, 0);
  HOLDS(mapped != MAP_FAILED);
  if (mapped != MAP_FAILED) memset(mapped, 4, 4096);
  errno = 0;
  HOLDS(mmap(nullptr, 0, PROT_READ, kOwn, -1, 0) == MAP_FAILED && errno == EINVAL);
  mapped = mremap(mapped, 4096, 8192, MREMAP_MAYMOVE);
  HOLDS(mapped != MAP_FAILED && is_filled(mapped, 4, 4096));
  errno = 0;
  HOLDS(mremap(mapped, 4096, 0, 0) == MAP_FAILED && errno == EINVAL);
  HOLDS(munmap(mapped, 8192) == 0);
  errno = 0;
  HOLDS(munmap(reinterpret_cast<void*>(1), 4096) == -1 && errno == EINVAL);
  // The last of the memory.
  int blocks = 0;
  while (blocks < 100 && hidden(malloc)(1000) != nullptr) ++blocks;
  HOLDS(blocks > 10 && blocks < 17);
}

// The usual allocator takes over what was given early.
__attribute__((destructor)) void allocate_late() {
  if (done == 0) {
    printf("early: nothing\n");
    return;
  }
  kept[0] = hidden(realloc)(kept[0], 5000);
  HOLDS(kept[0] != nullptr && is_filled(kept[0], 1, 100));
  kept[2] = hidden(realloc)(kept[2], 20);
  HOLDS(kept[2] != nullptr && is_filled(kept[2], 3, 20));
  for (void* block : kept) hidden(free)(block);
  delete made;
  printf("early: %d of %d failed\n", failed, done);
  fflush(stdout);
}

}  // namespace

// The loader's takes the return address for its caller's, so this is to become a jump.
extern "C" void* dlsym(void* handle, const char* name) noexcept {
  static Lookup* const real = reinterpret_cast<Lookup*>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  if (handle == RTLD_NEXT && strcmp(name, "calloc") == 0) allocate_early();
  return real(handle, name);
}
