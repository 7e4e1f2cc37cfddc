#include "next.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "loader.h"
#include "recorder.h"

namespace fbleprof::preload {

constinit NextAllocator next{};

namespace {

bool is_looking = false;

alignas(16) char early[16 * 1024];
std::size_t early_used = 0;
constexpr std::size_t kAlignment = 16;  // of blocks; the size is stored before each block

template <typename Function>
void find(Function** function, const char* name) {
  *function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void find_next_allocator() {
  // Before the constructors there is one thread.
  if (is_looking) return;
  is_looking = true;
  find(&next.calloc, "calloc");
  find(&next.realloc, "realloc");
  find(&next.free, "free");
  find(&next.posix_memalign, "posix_memalign");
  find(&next.aligned_alloc, "aligned_alloc");
  find(&next.memalign, "memalign");
  find(&next.valloc, "valloc");
  find(&next.pvalloc, "pvalloc");
  find(&next.mmap, "mmap");
  find(&next.munmap, "munmap");
  find(&next.mremap, "mremap");
  // Lookups that fail allocate their messages, which are not the program's: early memory.
  find_next_operators();
  // Last: it shows that all are found, and dlerror forgets the failures.
  decltype(next.malloc) found;
  find(&found, "malloc");
  __atomic_store_n(&next.malloc, found, __ATOMIC_RELEASE);
  settle_operators();
  is_looking = false;
}

const void* base_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

void* early_memory(std::size_t bytes) {
  if (bytes > sizeof early) return no_memory();
  const std::size_t all = (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  if (all > sizeof early - early_used) return no_memory();
  char* block = early + early_used + kAlignment;
  early_used += all;
  reinterpret_cast<std::size_t*>(block)[-1] = bytes;
  return block;
}

bool is_early(const void* block) { return block >= early && block < early + sizeof early; }

std::size_t bytes_of_early(const void* block) { return static_cast<const std::size_t*>(block)[-1]; }

}  // namespace fbleprof::preload

FBLEPROF_INTERPOSE void fbleprof_describe_allocator(fbleprof_allocator* allocator) {
  using namespace fbleprof::preload;
  if (!has_next()) return;
  Dl_info first;
  void* symbol = nullptr;
  void* malloc = dlsym(RTLD_DEFAULT, "malloc");
  if (dladdr1(malloc, &first, &symbol, RTLD_DL_SYMENT) != 0 && first.dli_fbase != base_of(&next)) {
    // A program at a fixed address that takes malloc's address (Debian's python3) has a stub for
    // it, which the loader then finds: its symbol has a value, but defines nothing.
    const auto* found = static_cast<const ElfW(Sym)*>(symbol);
    if (found == nullptr || found->st_shndx != SHN_UNDEF) allocator->unseen = first.dli_fname;
  }
  // Of the program's own allocator, the blocks of operator new are seen.
  allocator->is_libcs =
      allocator->unseen == nullptr && !has_foreign_operators() &&
      base_of(reinterpret_cast<void*>(next.malloc)) == base_of(reinterpret_cast<void*>(&abort));
}
