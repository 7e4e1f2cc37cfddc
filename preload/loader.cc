// The loader's calls that matter to the recorder.
#include <link.h>

#include "capture/process.h"
#include "real.h"
#include "signal_safe/thread_state.h"

namespace {
using fbleprof::preload::Real;
using Callback = int (*)(dl_phdr_info*, size_t, void*);
constinit Real<int (*)(Callback, void*)> real_dl_iterate_phdr{"dl_iterate_phdr"};
constinit Real<int (*)(void*)> real_dlclose{"dlclose"};

// The one object that holds this thread's next frame, without the loader's lock. libunwind asks for
// all objects to find one; it stops at the first that holds the address it looks for. All that are
// known to hold code are shown to it, from the loader's list, which only dlopen and dlclose change,
// at its end and at the place removed; _dl_find_object vouches for each before it is read.
int iterate_without_lock(Callback callback, void* argument) {
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next) {
    dl_find_object object;
    if (_dl_find_object(map->l_ld, &object) != 0 || object.dlfo_link_map != map) continue;
    const auto* elf = static_cast<const ElfW(Ehdr)*>(object.dlfo_map_start);
    const unsigned char* magic = elf->e_ident;
    if (magic[0] != 0x7f || magic[1] != 'E' || magic[2] != 'L' || magic[3] != 'F') continue;
    dl_phdr_info info{};
    info.dlpi_addr = map->l_addr;
    info.dlpi_name = map->l_name;
    info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(
        reinterpret_cast<const char*>(elf) + elf->e_phoff);
    info.dlpi_phnum = elf->e_phnum;
    info.dlpi_adds = 1;
    if (const int result = callback(&info, sizeof info, argument)) return result;
  }
  return 0;
}
}  // namespace

FBLEPROF_INTERPOSE int dl_iterate_phdr(Callback callback, void* argument) {
  if (fbleprof_hot.top && fbleprof_hot.self->unwinding) {
    return iterate_without_lock(callback, argument);
  }
  return real_dl_iterate_phdr.get()(callback, argument);
}

FBLEPROF_INTERPOSE int dlclose(void* handle) {
  const int result = real_dlclose.get()(handle);
  fbleprof::capture::note_unloading();
  return result;
}

namespace fbleprof::preload {
void resolve_loader() {
  real_dl_iterate_phdr.resolve();
  real_dlclose.resolve();
}
}  // namespace fbleprof::preload
