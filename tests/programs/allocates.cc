// Allocates in every possible way, always the same. Its parts, chosen by arguments:
//   containers  maps, strings, vectors
//   forms       each function of the allocator and each form of new
//   fails       operator new throws; other calls that fail, and some that are rare
//   leaks       1000 blocks of 100 bytes that nothing points to, and 50 of 1000 that stay known
//   peak        holds 8 MiB for a while, then 1 MiB
//   threads     blocks that other threads free
//   fork        a child that allocates, too
//   remaps      moves two pages, then the first of them, and unmaps the second
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "containers.h"

#define NOT_INLINED __attribute__((noinline))

static NOT_INLINED void containers() {
  std::map<std::string, std::string> map;
  fill(map, 5000);
  printf("%zu entries, %ld\n", map.size(), lists(200));
}

static void* volatile sink;
static NOT_INLINED void use(void* block) { sink = block; }

struct alignas(64) Wide {
  char bytes[192];
};
static NOT_INLINED void forms() {
  void* block = malloc(11);
  use(block);
  block = realloc(block, 111);
  use(block);
  free(reallocarray(block, 3, 333));
  block = calloc(7, 77);
  use(block);
  free(block);
  free(strdup("seventeen letters"));
  if (posix_memalign(&block, 64, 640) == 0) free(block);
  free(aligned_alloc(128, 1280));
  free(memalign(32, 320));
  free(valloc(5000));
  use(nullptr);
  int* one = new int(1);
  use(one);
  delete one;
  int* many = new int[100];
  use(many);
  delete[] many;
  one = new (std::nothrow) int(2);
  use(one);
  operator delete(one, std::nothrow);
  many = new (std::nothrow) int[200];
  use(many);
  operator delete[](many, std::nothrow);
  Wide* wide = new Wide;
  use(wide);
  delete wide;
  wide = new Wide[3];
  use(wide);
  delete[] wide;
  wide = new (std::nothrow) Wide;
  use(wide);
  delete wide;
  // More memory than exists: the call fails, and the block stays.
  block = malloc(50);
  use(block);
  void* none = realloc(block, static_cast<size_t>(-1) / 4);
  if (none == nullptr) free(block);
}
// The compiler knows what these do, and would leave them out.
template <typename Function>
static Function* hidden(Function* function) {
  asm volatile("" : "+r"(function));
  return function;
}
static void say(const char* what, bool holds) { printf("%s: %s\n", what, holds ? "yes" : "no"); }

static NOT_INLINED void rare() {
  constexpr size_t kHalf = size_t{1} << 33;  // its square is 2^66
  errno = 0;
  say("reallocarray", hidden(reallocarray)(nullptr, kHalf, kHalf) == nullptr && errno == ENOMEM);
  errno = 0;
  say("calloc", hidden(calloc)(kHalf, kHalf) == nullptr && errno == ENOMEM);
  void* block = nullptr;
  say("posix_memalign", hidden(posix_memalign)(&block, 3, 10) == EINVAL && block == nullptr);
  block = hidden(pvalloc)(10);
  say("pvalloc", reinterpret_cast<uintptr_t>(block) % static_cast<uintptr_t>(getpagesize()) == 0);
  // Old programs have this name; libc has it for them only.
  auto* old_free = reinterpret_cast<decltype(&free)>(dlsym(RTLD_DEFAULT, "cfree"));
  (old_free != nullptr ? old_free : free)(block);
  errno = 0;
  say("mmap", mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
                  errno == EINVAL);
  say("mmap64", mmap64(nullptr, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
  void* reserved = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mremap", mremap(reserved, 4096, 0, 0) == MAP_FAILED);
  say("munmap", munmap(reserved, 4096) == 0);
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mapped", mapped != MAP_FAILED && munmap(mapped, 4096) == 0);
}

// Under DHAT this ends the program.
static NOT_INLINED void fails() {
  rare();
  try {
    use(operator new(static_cast<size_t>(-1) / 4));
  } catch (const std::bad_alloc&) {
    puts("not that much");
  }
}

static void* volatile kept[50];
static NOT_INLINED void leak() {
  sink = malloc(100);
  sink = nullptr;
}
static NOT_INLINED void keep(int i) {
  kept[i] = malloc(1000);
  memset(kept[i], 1, 1000);
}
static NOT_INLINED void leaks() {
  for (int i = 0; i < 1000; ++i) leak();
  for (int i = 0; i < 50; ++i) keep(i);
}

static NOT_INLINED char* hold(size_t bytes) {
  char* block = static_cast<char*>(malloc(bytes));
  memset(block, 1, bytes);
  return block;
}
static NOT_INLINED char* hold_less(size_t bytes) {
  char* block = static_cast<char*>(malloc(bytes));
  memset(block, 2, bytes);
  return block;
}
static NOT_INLINED void peak() {
  char* blocks[128];
  for (char*& block : blocks) block = hold(64 << 10);
  for (char* block : blocks) free(block);
  for (int i = 0; i < 16; ++i) blocks[i] = hold_less(64 << 10);
  for (int i = 0; i < 16; ++i) free(blocks[i]);
}

constexpr int kBlocks = 20000;
static void* passed[4][kBlocks];
static NOT_INLINED void* give(void* to) {
  for (void*& block : *static_cast<void*(*)[kBlocks]>(to)) block = malloc(48);
  return nullptr;
}
// A quarter of each thread's blocks: most belong to another thread than the one whose memory this
// thread took over.
static NOT_INLINED void* take(void* first) {
  const long quarter = static_cast<void*(*)[kBlocks]>(first) - passed;
  for (auto& blocks : passed) {
    for (long i = quarter; i < kBlocks; i += 4) free(blocks[i]);
  }
  return nullptr;
}
static NOT_INLINED void threads() {
  for (auto* function : {give, take}) {
    pthread_t all[4];
    for (int i = 0; i < 4; ++i) {
      pthread_create(&all[i], nullptr, function, passed[i]);
    }
    for (pthread_t thread : all) pthread_join(thread, nullptr);
  }
}

static NOT_INLINED void in_child() {
  for (int i = 0; i < 3000; ++i) use(malloc(1000));
}
static NOT_INLINED void forks() {
  void* mine = malloc(5000);
  fflush(stdout);
  if (const pid_t child = fork(); child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
  } else {
    free(mine);
    in_child();
    exit(0);
  }
  free(mine);
}

static NOT_INLINED void remaps() {
  constexpr size_t kPage = 4096;
  constexpr int kMove = MREMAP_MAYMOVE | MREMAP_FIXED;
  auto* places =
      static_cast<char*>(mmap(nullptr, 8 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void* pages =
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pages = mremap(pages, 2 * kPage, 2 * kPage, kMove, places);
  say("moved", pages == places);
  say("too much", mremap(pages, 2 * kPage, size_t{1} << 50, MREMAP_MAYMOVE) == MAP_FAILED);
  say("the first", mremap(pages, kPage, kPage, kMove, places + 4 * kPage) != MAP_FAILED);
  say("the second", munmap(places + kPage, kPage) == 0);
}

int main(int count, char** arguments) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  for (int i = 1; i < count; ++i) {
    const std::string_view part = arguments[i];
    if (part == "containers") containers();
    if (part == "forms") forms();
    if (part == "fails") fails();
    if (part == "leaks") leaks();
    if (part == "peak") peak();
    if (part == "threads") threads();
    if (part == "fork") forks();
    if (part == "remaps") remaps();
  }
}
