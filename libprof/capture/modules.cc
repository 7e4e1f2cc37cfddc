// For an address, the loader gives the whole range of its object, except for a program linked with
// holes between its segments (Debian's node has a hole of one page): then it gives only the
// segment. The program's true extent is in its program headers, whose address the kernel gives.
// Libraries are mapped in one piece, including holes.
#include "capture/modules.h"

#include <link.h>
#include <sys/auxv.h>

#include "arch/kernel.h"
#include "capture/glob.h"
#include "capture/program_path.h"
#include "capture/threads.h"
#include "format/format.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using signal_safe::LoadedModule;
using signal_safe::session;

namespace {

constexpr std::uint64_t kPage = 4096;
std::uint64_t page_end(std::uint64_t address) { return (address + kPage - 1) / kPage * kPage; }

// Takes a program's extent and build-id from its program headers, if they are known.
void widen_to_segments(LoadedModule& program) {
  if (getauxval(AT_PHENT) != sizeof(Elf64_Phdr)) return;
  program.headers = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  if (!program.headers) return;
  program.header_count = static_cast<std::uint32_t>(getauxval(AT_PHNUM));
  for (std::uint32_t i = 0; i < program.header_count; ++i) {
    const Elf64_Phdr& segment = program.headers[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = program.load_bias + segment.p_vaddr;
    const std::uint64_t end = begin + segment.p_memsz;
    if (begin / kPage * kPage < program.begin) program.begin = begin / kPage * kPage;
    if (end > program.end) program.end = end;
  }
}

bool is_still_loaded(const format::Module& module) {
  if (module.flags & format::kModuleIsMain) return true;
  signal_safe::LoadedObject object;
  // Another thread may already have loaded another module in its place. Do not read the name, which
  // may be gone too. The loader knows the last byte; a module that was registered when it was
  // mapped (add_mapped_modules) ends with its last page.
  return signal_safe::find_object(module.begin, &object) && object.begin == module.begin &&
         page_end(object.end) == page_end(module.end);
}

}  // namespace

// A fork in the middle of another thread's dlclose leaves in the child a module that the loader
// still lists, without its memory. The loader unmaps a module in one piece.
bool is_mapped(std::uint64_t begin) {
  unsigned char in_core;
  return !kernel_failed(
      kernel_call(SYS_mincore, static_cast<long>(begin), 1, reinterpret_cast<long>(&in_core)));
}

bool is_listed(const format::Module& module) {
  if ((module.flags & format::kModuleIsMain) != 0) return true;
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next) {
    if (map->l_addr == module.load_bias) return true;
  }
  return false;
}

void add_loaded_modules() {
  bool is_main = true;
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next, is_main = false) {
    signal_safe::LoadedObject object;
    if (!signal_safe::find_object(reinterpret_cast<std::uint64_t>(map->l_ld), &object)) continue;
    LoadedModule module;
    module.begin = object.begin;
    // The program itself is always there, and may begin with a hole.
    if (!is_main && !is_mapped(module.begin)) continue;
    module.end = object.end;
    module.load_bias = map->l_addr;
    module.path = is_main ? program_path() : map->l_name;
    module.flags = format::kModuleIsListed;
    if (is_main) {
      module.flags |= format::kModuleIsMain;
      widen_to_segments(module);
    }
    session.code_map.add_module(module);
  }
}

namespace {

// Notes that a module is gone. Returns whether slots of caches may lead to it: they lead only to
// hooked functions.
bool retire(format::Ref ref) {
  auto* module = session.arena.at<format::Module>(ref);
  const std::uint32_t flags = __atomic_fetch_and(
      &module->flags, ~(format::kModuleIsSettled | format::kModuleIsListed), __ATOMIC_RELAXED);
  session.code_map.retire(ref, signal_safe::monotonic_ns() - session.start_monotonic_ns);
  return (flags & format::kModuleIsHooked) != 0;
}

// A module of another name at this place is gone: it was unloaded where we did not see it.
bool is_registered(const link_map& map) {
  static Path path;
  for (format::Ref ref = __atomic_load_n(&session.arena.header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    const auto* module = session.arena.at<format::Module>(ref);
    if (module->unloaded_ns == 0 && module->load_bias == map.l_addr) {
      if ((module->flags & format::kModuleIsMain) != 0) return true;
      if (equal(path_of(*module, path), map.l_name)) return true;
      if (retire(ref)) forget_code();
    }
    ref = module->older;
  }
  return false;
}

}  // namespace

// _dl_find_object does not know these modules yet, so their own headers give their extent.
void add_mapped_modules() {
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next) {
    if (map->l_addr == 0 || is_registered(*map) || !is_mapped(map->l_addr)) continue;
    const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(map->l_addr);
    if (__builtin_memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) continue;
    LoadedModule module;
    module.headers = reinterpret_cast<const Elf64_Phdr*>(map->l_addr + elf->e_phoff);
    module.header_count = elf->e_phnum;
    module.begin = map->l_addr;
    for (std::uint32_t i = 0; i < module.header_count; ++i) {
      const Elf64_Phdr& segment = module.headers[i];
      if (segment.p_type != PT_LOAD) continue;
      const std::uint64_t end = map->l_addr + segment.p_vaddr + segment.p_memsz;
      if (end > module.end) module.end = page_end(end);
    }
    module.load_bias = map->l_addr;
    module.path = map->l_name;
    module.flags = format::kModuleIsListed;
    module.loaded_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
    session.code_map.add_module(module);
  }
}

format::Module* loaded_module_at(std::uint64_t begin) {
  for (format::Ref ref = __atomic_load_n(&session.arena.header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    auto* module = session.arena.at<format::Module>(ref);
    if (module->unloaded_ns == 0 && module->begin == begin) return module;
    ref = module->older;
  }
  return nullptr;
}

format::Module* next_loaded_module(std::uint64_t above) {
  format::Module* next = nullptr;
  for_each_loaded_module([&](format::Module& module) {
    if (module.begin > above && (!next || module.begin < next->begin)) next = &module;
  });
  return next;
}

const char* path_of(const format::Module& module, Path& path) {
  path.clear();
  if (module.path == 0) return path.c_str();
  const auto* text = session.arena.at<format::String>(module.path);
  for (std::uint32_t i = 0; i < text->length; ++i) path.add(text->bytes[i]);
  return path.c_str();
}

bool is_recorder(const format::Module& module) {
  const auto own = reinterpret_cast<std::uint64_t>(&is_recorder);
  return own >= module.begin && own < module.end;
}

bool is_own_library(const char* path) {
  return glob_match("libfbleprof*.so", 0, name_in_path(path));
}
bool is_own_library(const format::Module& module) {
  Path path;
  return is_recorder(module) || is_own_library(path_of(module, path));
}

namespace {
bool is_watched = false;
}
void note_loader_watch(bool is) { is_watched = is; }
bool is_loader_watched() { return is_watched; }

void note_unloading(Unloaded which) {
  bool was_hooked = false;
  signal_safe::forget_unloaded_objects();
  for (format::Ref ref = __atomic_load_n(&session.arena.header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    const auto* module = session.arena.at<format::Module>(ref);
    const bool is_meant = which == Unloaded::kAll || (module->flags & format::kModuleIsListed) == 0;
    if (module->unloaded_ns == 0 && is_meant && !is_still_loaded(*module)) {
      was_hooked |= retire(ref);
    }
    ref = module->older;
  }
  // Once for all unloaded modules, and only if one of them can be in a cache.
  if (was_hooked) forget_code();
}

}  // namespace fbleprof::capture
