#include "capture/loader_symbols.h"

#include <elf.h>
#include <link.h>

#include <cstdint>

#include "capture/text.h"

namespace fbleprof::capture {

namespace {

// One object's symbols, from its dynamic section.
class Symbols {
 public:
  explicit Symbols(const link_map& map) : bias_(map.l_addr) {
    for (const ElfW(Dyn)* entry = map.l_ld; entry && entry->d_tag != DT_NULL; ++entry) {
      switch (entry->d_tag) {
        case DT_STRTAB:
          strings_ = at<char>(entry->d_un.d_ptr);
          break;
        case DT_SYMTAB:
          symbols_ = at<ElfW(Sym)>(entry->d_un.d_ptr);
          break;
        case DT_VERSYM:
          versions_ = at<std::uint16_t>(entry->d_un.d_ptr);
          break;
        case DT_GNU_HASH:
          gnu_hash_ = at<std::uint32_t>(entry->d_un.d_ptr);
          break;
        case DT_HASH:
          hash_ = at<std::uint32_t>(entry->d_un.d_ptr);
          break;
        default:
          break;
      }
    }
  }

  void* find(const char* name) const {
    if (!strings_ || !symbols_) return nullptr;
    return gnu_hash_ ? find_by_gnu_hash(name) : hash_ ? find_by_hash(name) : nullptr;
  }

 private:
  // The loader relocates these addresses, but not in objects that it cannot write (the vDSO).
  template <typename T>
  const T* at(ElfW(Addr) address) const {
    return reinterpret_cast<const T*>(address < bias_ ? bias_ + address : address);
  }

  void* value_of(std::uint32_t index, const char* name) const {
    constexpr std::uint16_t kHidden = 0x8000;  // a version for old programs only
    const ElfW(Sym)& symbol = symbols_[index];
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return nullptr;
    if (versions_ && (versions_[index] & kHidden) != 0) return nullptr;
    if (!equal(strings_ + symbol.st_name, name)) return nullptr;
    void* value = reinterpret_cast<void*>(bias_ + symbol.st_value);
    // The symbol of a function that chooses the implementation.
    if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
      return reinterpret_cast<void* (*)()>(value)();
    }
    return value;
  }

  void* find_by_gnu_hash(const char* name) const {
    std::uint32_t hash = 5381;
    for (const char* c = name; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t bucket_count = gnu_hash_[0], first = gnu_hash_[1],
                        filter_words = gnu_hash_[2];
    const std::uint32_t* buckets = gnu_hash_ + 4 + 2 * filter_words;
    const std::uint32_t* chains = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    std::uint32_t index = buckets[hash % bucket_count];
    if (index < first) return nullptr;
    for (;; ++index) {
      const std::uint32_t chained = chains[index - first];
      if ((chained | 1) == (hash | 1)) {
        if (void* value = value_of(index, name)) return value;
      }
      if (chained & 1) return nullptr;
    }
  }

  void* find_by_hash(const char* name) const {
    const std::uint32_t bucket_count = hash_[0];
    std::uint32_t hash = 0;
    for (const char* c = name; *c; ++c) {
      hash = (hash << 4) + static_cast<unsigned char>(*c);
      hash = (hash ^ (hash & 0xf0000000) >> 24) & 0x0fffffff;
    }
    if (bucket_count == 0) return nullptr;
    for (std::uint32_t index = hash_[2 + hash % bucket_count]; index != 0;
         index = hash_[2 + bucket_count + index]) {
      if (void* value = value_of(index, name)) return value;
    }
    return nullptr;
  }

  ElfW(Addr) bias_;
  const char* strings_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const std::uint16_t* versions_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
};

}  // namespace

namespace {

bool is_last = false;

// The vDSO's functions are the ones that libc's call.
bool is_vdso(const link_map& map) {
  const char* vdso = "linux-vdso";
  const char* name = map.l_name;
  while (*vdso && *name == *vdso) ++name, ++vdso;
  return !*vdso;
}

// The entry of the object that has this dynamic section.
const link_map* entry_of(const void* dynamic) {
  const link_map* map = _r_debug.r_map;
  while (map && map->l_ld != dynamic) map = map->l_next;
  return map;
}

void* definition_from(const link_map* map, const char* name) {
  for (; map; map = map->l_next) {
    if (void* found = Symbols(*map).find(name)) return found;
  }
  return nullptr;
}

const char* file_name(const char* path) {
  const char* name = path;
  for (; *path; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

bool is_libc(const char* name) {
  // Since glibc 2.34, only the first has more than names for old programs.
  constexpr const char* kParts[] = {"libc.so.6", "libpthread.so.0", "librt.so.1", "libanl.so.1"};
  for (const char* part : kParts) {
    if (equal(name, part)) return true;
  }
  return false;
}

// Whether the program names this library among those that it needs.
bool is_needed_by_program(const char* name) {
  const link_map& program = *_r_debug.r_map;
  const ElfW(Dyn)* dynamic = program.l_ld;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = dynamic; entry && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    const ElfW(Addr) address = entry->d_un.d_ptr;
    strings = reinterpret_cast<const char*>(address < program.l_addr ? program.l_addr + address
                                                                     : address);
  }
  for (const ElfW(Dyn)* entry = dynamic; strings && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    const char* needed = strings + entry->d_un.d_val;
    if (equal(needed, name) || equal(file_name(needed), name)) return true;
  }
  return false;
}

}  // namespace

void look_at_all_objects() { is_last = true; }

void* next_definition(const char* name, const void* after) {
  const link_map* entry = entry_of(after);
  for (const link_map* map = _r_debug.r_map; is_last && map; map = map->l_next) {
    if (map == entry || is_vdso(*map)) continue;
    if (void* found = Symbols(*map).find(name)) return found;
  }
  return entry ? definition_from(entry->l_next, name) : nullptr;
}
void* next_definition(const char* name) { return next_definition(name, _DYNAMIC); }

void* any_definition(const char* name) { return definition_from(_r_debug.r_map, name); }

// The loader lists the program, then what is preloaded, then what the program needs.
Definition next_definition_of_libc(const char* name, const void* after) {
  Definition found;
  const link_map* map = entry_of(after);
  bool is_preloaded = true;
  while (map && (map = map->l_next)) {
    const char* file = file_name(map->l_name);
    is_preloaded = is_preloaded && !is_needed_by_program(file);
    void* function = Symbols(*map).find(name);
    if (!function) continue;
    if (!found.next) found.next = function;
    found.is_libcs = is_libc(file);
    if (!is_preloaded && !found.is_libcs) continue;
    found.of_libc = function;
    break;
  }
  return found;
}

void* definition_of_libc(const char* name) {
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next) {
    if (is_libc(file_name(map->l_name))) return Symbols(*map).find(name);
  }
  return nullptr;
}

const char* own_file() {
  const link_map* own = entry_of(_DYNAMIC);
  return own && own->l_name ? own->l_name : "";
}

}  // namespace fbleprof::capture
