// Finds the loaded object that holds an address.
//
// The loader answers without a lock (_dl_find_object, glibc 2.35). An older loader lacks that
// function, and the interrupted code may hold its lock. Then we keep our own table. If an address
// is not in the table, we walk the loader's list of objects. Another thread may change that list
// meanwhile, so we let the kernel read it: a pointer that leads nowhere gives an error instead of a
// fault.
//
// Unless it says otherwise: any thread, hooks and handlers included; no lock, bounded.
#pragma once

#include <elf.h>

#include <cstdint>

namespace fbleprof::signal_safe {

struct LoadedObject {
  // Of the whole object; of one segment only, if the loader says so and there are holes between a
  // program's segments.
  std::uint64_t begin = 0, end = 0;
  const std::uint8_t* eh_frame_header = nullptr;  // null: it has none
  std::uint64_t load_bias = 0;
  const char* path = nullptr;  // the loader's; "" for the main program
};

// Keeps all vector registers. False: `address` is in no object.
bool find_object(std::uint64_t address, LoadedObject* object);

// The loader's _dl_find_object, or null. Not thread-safe; call it before anything else.
void ask_loader(void* function);

// The program headers of the program itself, which may not begin with them. Not thread-safe.
void describe_program(const Elf64_Phdr* headers, std::uint32_t count);

// Forgets the objects that are gone from the loader's list. Call it after objects were unloaded.
void forget_unloaded_objects();

// The program has forbidden itself system calls: from now on, only known objects are found.
void keep_known_objects();

}  // namespace fbleprof::signal_safe
