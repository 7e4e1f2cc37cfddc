// Uses each form of operator new and delete. As a plugin of a C program, it brings the C++ library,
// which is then in nobody's scope but its own. As a program that replaces operator delete
// (-DREPLACED), it counts its calls.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#ifdef REPLACED
static int deleted = 0;
void operator delete(void* block) noexcept {
  ++deleted;
  free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
#endif

namespace {

struct alignas(64) Wide {
  char bytes[192];
};
int failed = 0;
template <typename Type>
Type* checked(Type* block) {
  asm volatile("" : "+r"(block));  // the compiler may leave out a pair of calls
  failed += block == nullptr || reinterpret_cast<std::uintptr_t>(block) % alignof(Type) != 0;
  return block;
}

void use_all() {
  delete checked(new int(1));
  delete[] checked(new int[10]);
  ::operator delete(checked(new (std::nothrow) int(2)), std::nothrow);
  ::operator delete[](checked(new (std::nothrow) int[20]), std::nothrow);
  delete checked(new Wide);
  delete[] checked(new Wide[3]);
  const std::align_val_t alignment{64};
  ::operator delete(checked(new (std::nothrow) Wide), alignment, std::nothrow);
  ::operator delete[](checked(new (std::nothrow) Wide[2]), alignment, std::nothrow);
  ::operator delete(nullptr);
  delete checked(static_cast<int*>(::operator new(sizeof(int))));
}

}  // namespace

extern "C" void run_plugin(void (*callback)()) {
  use_all();
  if (failed != 0) std::printf("%d are wrong\n", failed);
  callback();
}

#ifdef REPLACED
int main() {
  for (int i = 0; i < 100; ++i) run_plugin([] {});
  std::printf("deleted %d\n", deleted);
}
#endif
