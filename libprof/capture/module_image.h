// A loaded module as its program headers describe it: which memory may be read, and which is code.
// Files may claim anything; nothing outside the module's segments is read or changed.
#pragma once

#include <elf.h>
#include <sys/auxv.h>

#include <cstdint>

#include "format/format.h"
#include "signal_safe/loaded_objects.h"

namespace fbleprof::capture {

struct ModuleImage {
  std::uint64_t load_bias = 0;
  const Elf64_Phdr* headers = nullptr;
  std::uint32_t count = 0;

  // The kernel tells where the program's headers are; those of other modules are in their first
  // page. A module without headers has no segments.
  static ModuleImage of(const format::Module& module) {
    if ((module.flags & format::kModuleIsMain) != 0) {
      if (getauxval(AT_PHENT) != sizeof(Elf64_Phdr)) return {};
      return {module.load_bias, reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR)),
              static_cast<std::uint32_t>(getauxval(AT_PHNUM))};
    }
    if (module.begin == 0)
      return {};  // the profile's file has been lost, and memory took its place
    constexpr std::uint64_t kPage = 4096;
    const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(module.begin);
    if (__builtin_memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_phentsize != sizeof(Elf64_Phdr) ||
        elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > kPage) {
      return {};
    }
    return {module.load_bias, reinterpret_cast<const Elf64_Phdr*>(module.begin + elf->e_phoff),
            elf->e_phnum};
  }

  // The end of the segment with these flags (PF_R, ...) that holds the address, as far as the file
  // fills it; 0 if there is none.
  std::uint64_t segment_end(std::uint64_t address, std::uint32_t flags) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & flags) != flags) continue;
      const std::uint64_t begin = load_bias + headers[i].p_vaddr;
      if (address >= begin && address - begin < headers[i].p_filesz) {
        return begin + headers[i].p_filesz;
      }
    }
    return 0;
  }
  bool has(std::uint64_t address, std::uint64_t bytes, std::uint32_t flags) const {
    const std::uint64_t end = segment_end(address, flags);
    return end != 0 && bytes <= end - address;
  }
  bool is_code(std::uint64_t address) const { return segment_end(address, PF_X) != 0; }

  // Calls function(begin, end) for the segments of code.
  template <typename Function>
  void for_each_code(Function function) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & PF_X) == 0) continue;
      const std::uint64_t begin = load_bias + headers[i].p_vaddr;
      function(begin, begin + headers[i].p_memsz);
    }
  }

  // The address of the part of this type (PT_DYNAMIC, ...), or 0.
  std::uint64_t part(std::uint32_t type) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (headers[i].p_type != type) continue;
      const std::uint64_t begin = load_bias + headers[i].p_vaddr;
      return has(begin, headers[i].p_filesz, PF_R) ? begin : 0;
    }
    return 0;
  }

  // The module as an object with an unwind table.
  signal_safe::LoadedObject object() const {
    signal_safe::LoadedObject object;
    object.load_bias = load_bias;
    object.eh_frame_header = reinterpret_cast<const std::uint8_t*>(part(PT_GNU_EH_FRAME));
    for (std::uint32_t i = 0; i < count; ++i) {
      if (headers[i].p_type != PT_LOAD) continue;
      const std::uint64_t begin = load_bias + headers[i].p_vaddr;
      if (object.end == 0 || begin < object.begin) object.begin = begin;
      if (begin + headers[i].p_memsz > object.end) object.end = begin + headers[i].p_memsz;
    }
    return object;
  }
};

}  // namespace fbleprof::capture
