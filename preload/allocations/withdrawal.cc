#include "withdrawal.h"

#include <link.h>
#include <sys/mman.h>

#include <cstdint>

#include "arch/kernel.h"
#include "loader.h"
#include "next.h"

namespace fbleprof::preload {

namespace {

// The entry of our symbol table; null: the program has a definition before ours.
ElfW(Sym) * own_symbol(const char* name) {
  Dl_info info;
  void* symbol = nullptr;
  void* first = dlsym(RTLD_DEFAULT, name);
  if (first == nullptr || dladdr1(first, &info, &symbol, RTLD_DL_SYMENT) == 0) return nullptr;
  return info.dli_fbase == base_of(&next) ? static_cast<ElfW(Sym)*>(symbol) : nullptr;
}

// The loader passes over a symbol without a value.
void hide(ElfW(Sym) * const* symbols, int count) {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t begin = UINT64_MAX, end = 0;
  for (int i = 0; i < count; ++i) {
    const auto at = reinterpret_cast<std::uint64_t>(symbols[i]);
    begin = at < begin ? at : begin;
    end = at + sizeof *symbols[i] > end ? at + sizeof *symbols[i] : end;
  }
  begin = begin / kPage * kPage;
  end = (end + kPage - 1) / kPage * kPage;
  const auto at = static_cast<long>(begin), bytes = static_cast<long>(end - begin);
  if (arch::kernel_call(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE) != 0) return;
  for (int i = 0; i < count; ++i) __atomic_store_n(&symbols[i]->st_value, 0, __ATOMIC_RELAXED);
  arch::kernel_call(SYS_mprotect, at, bytes, PROT_READ);
}

}  // namespace

void withdraw(const char* const* names, int count) {
  ElfW(Sym) * unneeded[kMostWithdrawn];
  int found = 0;
  for (int i = 0; i < count; ++i) {
    if (ElfW(Sym)* symbol = own_symbol(names[i])) unneeded[found++] = symbol;
  }
  if (found != 0) hide(unneeded, found);
}

}  // namespace fbleprof::preload
